#!/bin/bash
# Shows a node at work: builds oz0 if need be, starts a node with the plugin
# oz0-demo, makes calls, cancels one, prints the trace, stops everything.  On
# a fresh Debian 12 it installs what the build needs (root, or sudo).
set -eu
cd "$(dirname "$0")"
# shellcheck source=tests/setup.sh
. tests/setup.sh

# shellcheck disable=SC2086 # a list of names
need_packages $BUILD_PACKAGES
SRC=$(source_tree)
BUILD=$PWD/build/demo
[ ! -x build/check/oz0d ] || BUILD=$PWD/build/check
say "building in $BUILD"
mkdir -p "$BUILD"
{
	[ "$BUILD" != "$PWD/build/demo" ] || configure_in "$BUILD" "$SRC"
	make -C "$BUILD" -j"$(nproc)" oz0 oz0d oz0-demo oz0-journal \
		oz0-sandbox oz0-worker
} >"$BUILD.log" 2>&1 || {
	tail -n 30 "$BUILD.log" >&2
	say "the build failed: $BUILD.log"
	exit 1
}

HOME_OF_DEMO=$(mktemp -d /tmp/oz0-demo.XXXXXX)
chmod 755 "$HOME_OF_DEMO"
PATH=$BUILD:$PATH
OZ0_SOCKET=$HOME_OF_DEMO/control.sock
export PATH OZ0_SOCKET
NODE=
# shellcheck disable=SC2317 # called by the trap
stop() {
	[ -z "$NODE" ] || {
		kill -TERM "$NODE" 2>/dev/null || true
		wait "$NODE" || true
		NODE=
	}
	rm -rf "$HOME_OF_DEMO"
}
trap stop EXIT

# show COMMAND...: as a person would type it, then what it says
show() {
	local word
	printf '\n$'
	for word; do
		case $word in
		*[!A-Za-z0-9_./=-]*) printf " '%s'" "$word" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
	printf '\n'
	"$@"
}

cat >"$HOME_OF_DEMO/oz0.json" <<JSON
{
  "node": {
    "name": "demo",
    "state_dir": "$HOME_OF_DEMO/state",
    "socket": "$OZ0_SOCKET"
  },
  "mcpServers": {
    "demo": {
      "command": "$BUILD/oz0-demo",
      "oz0": { "kind": "plugin", "sandbox": { "read": ["$BUILD"] } }
    },
    "own": {
      "command": "$BUILD/oz0-demo",
      "args": ["--ignore-eof", "--ignore-sigterm"],
      "oz0": { "kind": "job", "sandbox": { "read": ["$BUILD"] } }
    }
  }
}
JSON

# the node tells when it is ready, as it would tell systemd
printf '$ oz0d -c oz0.json &\n'
mkfifo "$HOME_OF_DEMO/ready"
(
	exec /usr/bin/python3 - "$HOME_OF_DEMO/notify" <<'PY' >"$HOME_OF_DEMO/ready"
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('listening', flush=True)
s.settimeout(60)
while b'READY=1' not in s.recv(4096):
    pass
print('ready', flush=True)
PY
) &
exec 9<"$HOME_OF_DEMO/ready"
read -r _ <&9
NOTIFY_SOCKET=$HOME_OF_DEMO/notify oz0d -c "$HOME_OF_DEMO/oz0.json" \
	2>"$HOME_OF_DEMO/log" &
NODE=$!
read -r word <&9 || word=
exec 9<&-
[ "$word" = ready ] || {
	cat "$HOME_OF_DEMO/log" >&2
	say "the node did not start"
	exit 1
}

show oz0 job start order-7
show oz0 call --job order-7 --activity greet demo.echo '{"price": 1.10}'
show oz0 call --job order-7 --activity pay demo.charge \
	'{"order_id": "o-1", "amount": 500}'
printf '\n(the same activity again: answered, not made again)\n'
show oz0 call --job order-7 --activity pay demo.charge \
	'{"order_id": "o-1", "amount": 500}'

printf '\n(progress, a line a step; on a terminal it is a bar)\n'
show oz0 call --progress --job order-7 --activity count demo.count \
	'{"steps": 4, "ms": 250}'
printf '\n(a service that is busy once: called again after the wait it names)\n'
show oz0 call --job order-7 --activity refund demo.busy \
	'{"times": 1, "retry_after": 1}'

printf '\n(a call of the job'\''s own server, which ignores EOF and SIGTERM)\n'
printf '\n$ oz0 call --job order-7 own.sleep '\''{"seconds": 600}'\'' &\n'
oz0 call --job order-7 --activity long own.sleep '{"seconds": 600}' \
	>"$HOME_OF_DEMO/call" 2>&1 &
CALL=$!
# the trace, followed, tells when its attempt has begun
grep -q '"own"' < <(oz0 --json trace order-7 --follow 2>/dev/null |
	grep --line-buffered '"attempt_started"')

show oz0 ps order-7
show oz0 cancel --no-wait order-7
show oz0 status order-7
printf '\n(the same again, waiting until the last process is dead)\n'
show oz0 cancel order-7
show oz0 status order-7
code=0
wait "$CALL" || code=$?
printf '\n(what the call that was cancelled said, and its exit code)\n'
cat "$HOME_OF_DEMO/call"
printf 'exit %s\n' "$code"

show oz0 trace order-7
printf '\n$ kill -TERM %s\n' "$NODE"
kill -TERM "$NODE"
code=0
wait "$NODE" || code=$?
NODE=
printf 'oz0d: exit %s; nothing of it is left\n' "$code"
exit "$code"
