# shellcheck shell=bash disable=SC2034
# Sourced by check.sh and demo.sh: packages, the source tree, a build.  Expects
# to be run from the top of the tree, under `set -eu`.

BUILD_PACKAGES="autoconf automake build-essential ca-certificates \
libbsd-dev libevent-dev libjansson-dev libmd-dev libseccomp-dev \
libsqlite3-dev libxxhash-dev pkg-config python3"

say() {
	printf '%s\n' "$*" >&2
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null 2>&1; then
		sudo "$@"
	else
		say "needs root or sudo: $*"
		return 1
	fi
}

# need_packages PACKAGE...: installs what is missing, by Debian's own means.
need_packages() {
	local missing='' package
	for package in "$@"; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null |
			grep -q ' installed$' || missing="$missing $package"
	done
	[ -n "$missing" ] || return 0
	say "installing:$missing"
	as_root apt-get -q -o DPkg::Lock::Timeout=300 update >&2
	# shellcheck disable=SC2086 # a list of names
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
		-o DPkg::Lock::Timeout=300 install --no-install-recommends \
		$missing >&2
}

# source_tree: prints where to build from.  A tree that was configured in
# place cannot be built from elsewhere: then from a copy of it.
source_tree() {
	local src=$PWD
	if [ -e config.status ]; then
		src=$PWD/build/src
		mkdir -p "$src"
		tar -cf - --exclude=./build --exclude=./.git --exclude='*.o' \
			--exclude='*.a' --exclude=./config.status \
			--exclude=./config.h --exclude=./Makefile . |
			tar -xf - -C "$src"
	fi
	if [ ! -e "$src/configure" ] || [ -n "$(find "$src" -maxdepth 2 \
		\( -name local.mk -o -name '*.ac' -o -name '*.am' \) \
		-newer "$src/configure" -print -quit)" ] ||
		[ -n "$(find "$src/tests" -name '*.mk' \
			-newer "$src/configure" -print -quit)" ]; then
		(cd "$src" && ./autogen.sh && touch configure) >&2
	fi
	printf '%s\n' "$src"
}

# configure_in DIR SOURCE [OPTION]...: configures unless that was done alike.
configure_in() {
	local dir=$1 src=$2
	shift 2
	mkdir -p "$dir"
	if [ ! -e "$dir/Makefile" ] || [ "$src/configure" -nt "$dir/Makefile" ] ||
		[ "$(cat "$dir/.options" 2>/dev/null)" != "$*" ]; then
		(cd "$dir" && "$src/configure" -q "$@")
		printf '%s\n' "$*" >"$dir/.options"
	fi
}
