#!/usr/bin/env python3
"""A harness that calls functions: an MCP client on the session's own channel.

  oz0 run --job j1 --session 1 --workspace "$PWD" -- \\
      ./harness.py demo.echo '{"a": 1}'

The channel is a Unix socket, named by OZ0_MCP inside the session; what comes
over it belongs to that session, so there is nothing to log in to.  Without a
function it lists what there is.  Exit code 0, 1 for an error result, 2 for
usage, 3 for a JSON-RPC error, 69 when there is no channel, as in this version.
"""
import json
import os
import socket
import sys


class Channel:
    """One JSON-RPC message a line, each way."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.lines = self.socket.makefile("rb")
        self.next_id = 0

    def send(self, message):
        self.socket.sendall(json.dumps(
            {"jsonrpc": "2.0", **message}).encode() + b"\n")

    def request(self, method, params):
        self.next_id += 1
        self.send({"id": self.next_id, "method": method, "params": params})
        for line in self.lines:
            m = json.loads(line)
            if m.get("id") == self.next_id and "method" not in m:
                if "error" in m:
                    print(m["error"]["message"], file=sys.stderr)
                    sys.exit(3)
                return m["result"]
            if "id" in m:  # a request of the other side: none is served
                self.send({"id": m["id"], "error": {
                    "code": -32601, "message": "Method not found"}})
        sys.exit("harness: the channel was closed")

    def open(self):
        self.request("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "harness", "version": "1"}})
        self.send({"method": "notifications/initialized"})

    def functions(self):
        cursor = {}
        while True:
            page = self.request("tools/list", cursor)
            yield from page["tools"]
            if "nextCursor" not in page:
                return
            cursor = {"cursor": page["nextCursor"]}


def main():
    if len(sys.argv) > 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        arguments = json.loads(sys.argv[2]) if len(sys.argv) == 3 else {}
    except ValueError as e:
        print(f"harness: arguments: {e}", file=sys.stderr)
        return 2
    try:
        channel = Channel(os.environ["OZ0_MCP"])
    except (KeyError, OSError) as e:
        print(f"harness: no MCP channel: {e!r}", file=sys.stderr)
        return 69
    channel.open()
    if len(sys.argv) == 1:
        for function in channel.functions():
            print(function["name"], "-", function.get("description", ""))
        return 0
    result = channel.request("tools/call", {
        "name": sys.argv[1], "arguments": arguments})
    for block in result["content"]:
        print(block.get("text", block["type"]))
    return 1 if result.get("isError") else 0


if __name__ == "__main__":
    sys.exit(main())
