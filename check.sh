#!/bin/bash
# Runs every test, on a fresh Debian 12 too (root, or a user with sudo), and
# ends with the line `N passed, N failed, N skipped`.  All it makes is below
# build/; what each step said is in build/results/.
#
#	./check.sh [STEP]...	(all; `./check.sh -l` lists them)
#
# As root the system tests run twice, as root and as an ordinary user; as an
# ordinary user what needs root is skipped, and says so.
set -eu
cd "$(dirname "$0")"
# shellcheck source=tests/setup.sh
. tests/setup.sh

ALL="gcc unit asan asan-unit clang fuzz system-root system-user \
chaos-root chaos-user system-asan system-asan-user distcheck"
[ "${1:-}" != -l ] || { echo "$ALL"; exit 0; }
for name; do
	case " $ALL " in *" $name "*) continue ;; esac
	say "no step $name; \`./check.sh -l\` lists them"
	exit 2
done
STEPS=${*:-$ALL}
TOP=$PWD
RESULTS=$TOP/build/results
JOBS=$(nproc)
WAITING_JOBS=$((2 * JOBS)) # system tests wait more than they work
PYTHON3=/usr/bin/python3
export PYTHON3
FUZZ_SECONDS=${FUZZ_SECONDS:-20}
OPTIONS="--enable-werror PYTHON3=$PYTHON3"

wanted() {
	case " $STEPS " in *" $1 "*) return 0 ;; esac
	return 1
}

# step NAME COMMAND...: its output to build/results/NAME.log, its code to
# NAME.rc; a failure shows the end of the log and does not end the run.
step() {
	local name=$1 began code=0
	shift
	began=$(date +%s)
	"$@" >"$RESULTS/$name.log" 2>&1 </dev/null || code=$?
	echo "$code" >"$RESULTS/$name.rc"
	say "$name: exit $code, $(($(date +%s) - began)) s"
	[ "$code" = 0 ] || [ "$code" = 77 ] || tail -n 40 "$RESULTS/$name.log" >&2
	return 0
}


build() {
	local dir=$1
	shift
	# shellcheck disable=SC2086 # a list of options
	configure_in "$TOP/build/$dir" "$SRC" $OPTIONS "$@" &&
		make -C "$TOP/build/$dir" -j"$JOBS" -k all &&
		make -C "$TOP/build/$dir" -j"$JOBS" -k check TESTS=
}

# unit DIR NAME [WITHOUT]: make check; its tests are counted one by one.
# WITHOUT: a pattern of what says the same in every build and is not run again.
unit() {
	local dir=$TOP/build/$1 tests trs
	tests=$(make -s -C "$dir" list-tests | grep -Ev "${3:-^$}")
	step "$2" make -C "$dir" -j"$JOBS" -k check TESTS="$tests"
	mkdir -p "$RESULTS/$2.trs"
	(
		cd "$dir"
		find tests -name '*.trs' | while read -r trs; do
			mkdir -p "$RESULTS/$2.trs/$(dirname "$trs")"
			cp "$trs" "${trs%.trs}.log" \
				"$RESULTS/$2.trs/$(dirname "$trs")/"
		done
	)
	# counted by the .trs, unless there are none
	[ -z "$(find "$RESULTS/$2.trs" -name '*.trs')" ] || rm "$RESULTS/$2.rc"
}

# Each fuzzer for some seconds, from its corpus, as many at once as there are
# cores.
fuzz() {
	local running=0 program name
	for program in "$TOP"/build/fuzz/tests/fuzz/fuzz_*; do
		name=${program##*/}
		case $name in *.*) continue ;; esac
		step "$name" "$SRC/tests/fuzz/run.sh" "$program" \
			"$SRC/tests/fuzz/corpus/${name#fuzz_}" \
			"$TOP/build/fuzz/found/$name" "$FUZZ_SECONDS" &
		running=$((running + 1))
		[ "$running" -lt "$JOBS" ] || {
			wait -n
			running=$((running - 1))
		}
	done
	wait
}

# stage DIR: prints where the programs of build/DIR can be reached by other
# users: there, or in a copy below /tmp.
stage() {
	local dir=$TOP/build/$1 copy program
	if [ "$(id -u)" != 0 ] || setpriv --reuid 65534 --regid 65534 \
		--clear-groups test -x "$dir/oz0d" -a -r "$SERVERS/stamp"; then
		printf '%s\n' "$dir"
		return
	fi
	copy=/tmp/oz0-check/$1
	mkdir -p "$copy/tests/system"
	for program in oz0 oz0d oz0-demo oz0-journal oz0-sandbox oz0-worker \
		tests/system/hostile_worker; do
		cp "$dir/$program" "$copy/$program"
	done
	chmod -R a+rX /tmp/oz0-check
	printf '%s\n' "$copy"
}

# system_tests NAME DIR USER [PATTERN]...: TAP to build/results/NAME.tap.
system_tests() {
	local name=$1 user=$3 tests=$SRC/tests servers=$SERVERS bin began code=0
	bin=$(stage "$2")
	shift 3
	if [ "$bin" != "$TOP/build/${bin##*/}" ]; then
		rm -rf /tmp/oz0-check/tests /tmp/oz0-check/man
		cp -a "$SRC/tests" "$SRC/man" /tmp/oz0-check/
		[ -e /tmp/oz0-check/servers/stamp ] ||
			cp -a "$SERVERS" /tmp/oz0-check/servers
		chmod -R a+rX /tmp/oz0-check
		tests=/tmp/oz0-check/tests
		servers=/tmp/oz0-check/servers
	fi
	set -- "$PYTHON3" -B "$tests/system/run.py" --jobs "$WAITING_JOBS" "$@"
	if [ "$user" != "$(id -un)" ]; then
		set -- setpriv --reuid "$user" --regid "$user" --clear-groups \
			env HOME=/nonexistent USER="$user" "$@"
	fi
	began=$(date +%s)
	(
		cd /
		ulimit -n "$(ulimit -H -n)"
		OZ0_TEST_BIN=$bin OZ0_TEST_SERVERS=$servers "$@"
	) >"$RESULTS/$name.tap" 2>"$RESULTS/$name.log" </dev/null || code=$?
	say "$name: exit $code, $(($(date +%s) - began)) s"
	grep -A 30 '^not ok' "$RESULTS/$name.tap" | head -n 200 >&2 || true
}

# chaos NAME USER: a bounded chaos run; its seed is in the TAP.
chaos() {
	local name=$1 user=$2 bin began code=0
	bin=$(stage check)
	set -- "$PYTHON3" -B "$SRC/tests/chaos/chaos.py"
	if [ "$bin" != "$TOP/build/check" ]; then
		rm -rf /tmp/oz0-check/tests /tmp/oz0-check/man
		cp -a "$SRC/tests" "$SRC/man" /tmp/oz0-check/
		chmod -R a+rX /tmp/oz0-check
		set -- "$PYTHON3" -B /tmp/oz0-check/tests/chaos/chaos.py
	fi
	if [ "$user" != "$(id -un)" ]; then
		set -- setpriv --reuid "$user" --regid "$user" --clear-groups \
			env HOME=/nonexistent USER="$user" "$@"
	fi
	began=$(date +%s)
	(cd / && OZ0_TEST_BIN=$bin "$@") >"$RESULTS/$name.tap" \
		2>"$RESULTS/$name.log" </dev/null || code=$?
	say "$name: exit $code, $(($(date +%s) - began)) s"
	grep -A 30 '^not ok' "$RESULTS/$name.tap" | head -n 100 >&2 || true
}

ordinary_user() {
	if ! getent passwd oz0-check >/dev/null; then
		useradd --system --user-group --no-create-home \
			--home-dir /nonexistent --shell /usr/sbin/nologin oz0-check
	fi
	echo oz0-check
}

rm -rf "$RESULTS"
mkdir -p "$RESULTS"
# shellcheck disable=SC2086 # a list of names
need_packages $BUILD_PACKAGES check clang codespell cppcheck git \
	libclang-rt-14-dev llvm mandoc python3-venv shellcheck spin strace xz-utils
SRC=$(source_tree)
SERVERS=$TOP/build/servers

# the network and the compilers do not compete
step servers "$SRC/tests/servers/fetch.sh" "$SERVERS" &
fetching=$!
wanted gcc && step gcc build check
wanted asan && step asan build asan --enable-sanitizers
wanted clang && step clang build clang CC=clang CFLAGS='-O1'
wanted fuzz && step fuzz-build build fuzz CC=clang --enable-fuzzing
wait "$fetching"

wanted unit && unit check unit
ASAN_OPTIONS=detect_stack_use_after_return=1:abort_on_error=0
UBSAN_OPTIONS=print_stacktrace=1
export ASAN_OPTIONS UBSAN_OPTIONS
wanted asan-unit && unit asan asan-unit '^tests/(lint|model)/'
wanted fuzz && fuzz

if [ "$(id -u)" = 0 ]; then
	other=$(ordinary_user)
	wanted system-root && system_tests system-root check root
	wanted system-user && system_tests system-user check "$other"
	wanted chaos-root && chaos chaos-root root
	wanted chaos-user && chaos chaos-user "$other"
	OZ0_TEST_SANITIZERS=1 OZ0_TEST_SESSIONS=60 OZ0_TEST_PATIENCE=3
	export OZ0_TEST_SANITIZERS OZ0_TEST_SESSIONS OZ0_TEST_PATIENCE
	wanted system-asan && system_tests system-asan asan root
	wanted system-asan-user && system_tests system-user-asan asan "$other" \
		call cancel session server
else
	wanted system-root && {
		echo 1..1
		echo 'ok 1 - everything # SKIP needs root'
	} >"$RESULTS/system-root.tap"
	wanted system-user && system_tests system-user check "$(id -un)"
	wanted chaos-user && chaos chaos-user "$(id -un)"
	OZ0_TEST_SANITIZERS=1 OZ0_TEST_SESSIONS=60 OZ0_TEST_PATIENCE=3
	export OZ0_TEST_SANITIZERS OZ0_TEST_SESSIONS OZ0_TEST_PATIENCE
	wanted system-asan-user &&
		system_tests system-user-asan asan "$(id -un)"
fi
unset OZ0_TEST_SANITIZERS OZ0_TEST_SESSIONS OZ0_TEST_PATIENCE
# The tarball has all that building and testing need: some of each kind show it.
wanted distcheck && step distcheck make -C "$TOP/build/check" \
	-j"$JOBS" distcheck AM_DISTCHECK_CONFIGURE_FLAGS="$OPTIONS" \
	TESTS="tests/unit/test_conf tests/unit/test_core_life \
tests/unit/test_control_rpc tests/unit/test_demo.py \
tests/unit/test_cli_show.py tests/unit/test_journal_process.py \
tests/fuzz/fuzz_json tests/fuzz/fuzz_frame tests/lint/protocol.py"
rm -rf /tmp/oz0-check

exec "$PYTHON3" -B tests/tally.py --expected tests/expected-skips "$RESULTS"
