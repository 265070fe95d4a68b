#!/usr/bin/env python3
"""Drives a billing plugin over stdio, line by line, in both eras.

  ./check_plugin.py -- python3 python/billing.py
  ./check_plugin.py -- node typescript/billing.mjs

It says what oz0-plugin(7) promises of these two, without a node in between.
Exit code 0 when all of it holds.
"""
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

LIMIT = 60
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "check", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Plugin:
    def __init__(self, command, era, folder, **environment):
        self.era, self.next_id, self.buffer = era, 0, b""
        env = {**os.environ, "BILLING_DB": folder + "/billing.db",
               "BILLING_BURST": "1000", **environment}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, bufsize=0, env=env)
        if era == "old":
            r = self.request("initialize", {
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "check", "version": "1"}})
            assert r["result"]["protocolVersion"] == "2025-11-25", r
            self.send({"jsonrpc": "2.0",
                       "method": "notifications/initialized"})
        else:
            r = self.request("server/discover")
            assert "2026-07-28" in r["result"]["supportedVersions"], r

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    def start(self, method, params=None, meta=None):
        self.next_id += 1
        params = dict(params or {})
        meta = {**(MODERN if self.era == "new" else {}), **(meta or {})}
        if meta:
            params["_meta"] = meta
        self.send({"jsonrpc": "2.0", "id": self.next_id, "method": method,
                   "params": params})
        return self.next_id

    def answer(self, ident):
        self.before = []
        deadline = time.monotonic() + LIMIT
        while True:
            while b"\n" in self.buffer:
                line, self.buffer = self.buffer.split(b"\n", 1)
                m = json.loads(line)
                if m.get("id") == ident and "method" not in m:
                    return m
                self.before.append(m)
            left = deadline - time.monotonic()
            assert left > 0 and select.select(
                [self.process.stdout], [], [], left)[0], "no answer"
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            assert more, "the server ended"
            self.buffer += more

    def request(self, *args, **kw):
        return self.answer(self.start(*args, **kw))

    def start_call(self, name, meta=None, **arguments):
        return self.start("tools/call",
                          {"name": name, "arguments": arguments}, meta)

    def call(self, name, meta=None, **arguments):
        return self.answer(self.start_call(name, meta, **arguments))["result"]

    def cancel(self, ident):
        self.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                   "params": {"requestId": ident}})


def text(result):
    return result["content"][0]["text"]


def key(word):
    return {"oz0/idempotency_key": word}


def state(plugin):
    """What was really done, as JSON."""
    return json.loads(text(plugin.call("charges")))


def check_listing(run):
    with run() as p:
        tools = {t["name"]: t
                 for t in p.request("tools/list")["result"]["tools"]}
        for name in ("charge", "set_status"):
            assert tools[name]["annotations"]["idempotentHint"] is True
            assert tools[name]["_meta"]["oz0/idempotency_key"] is True
        for name in ("charges", "wait", "reindex", "search"):
            assert tools[name]["annotations"]["readOnlyHint"] is True
        assert tools["search"]["_meta"]["oz0/resume"] is True


def check_once_per_key(run):
    order = {"order_id": "o-1", "amount": 500}
    with run() as p:
        for _ in range(3):
            r = p.call("charge", key("j1/a"), **order)
            assert text(r) == "charged 500 for o-1", r
        p.call("charge", key("j1/s1/billing.charge#0/2"), **order)
        p.call("charge", **order)
    with run() as p:  # the keys outlive the process
        p.call("charge", key("j1/a"), **order)
        assert state(p)["charges"] == [["o-1", 500]] * 3


def check_once_though_killed(run):
    """Killed at any moment of a charge, made again under its key: once."""
    for i in range(5):
        with run() as p:
            p.start_call("charge", key(f"j2/{i}"), order_id=f"k-{i}",
                         amount=1)
            time.sleep(i * 0.002)
            p.process.send_signal(signal.SIGKILL)
        with run() as p:
            r = p.call("charge", key(f"j2/{i}"), order_id=f"k-{i}", amount=1)
            assert text(r) == f"charged 1 for k-{i}"
            assert state(p)["charges"].count([f"k-{i}", 1]) == 1


def check_status_comes_back(run):
    with run() as p:
        for n, status in enumerate(("open", "closed", "open")):
            p.call("set_status", key(f"j3/{n}"), order_id="o", status=status)
        assert ["o", "open"] in state(p)["orders"]
        p.call("set_status", key("j3/1"), order_id="o", status="closed")
        assert ["o", "open"] in state(p)["orders"]


def check_busy(run):
    with run(BILLING_BURST="1", BILLING_PAUSE="3600") as p:
        order = {"order_id": "b", "amount": 1}
        assert not p.call("charge", key("j4/a"), **order).get("isError")
        r = p.call("charge", key("j4/b"), **order)
        assert r["isError"] is True
        assert r["_meta"]["oz0/retryable"] is True
        assert 0 < r["_meta"]["oz0/retry_after"] <= 3600
        # What was made under a key is told, however busy it is now.
        assert not p.call("charge", key("j4/a"), **order).get("isError")
        assert state(p)["charges"].count(["b", 1]) == 1
    with run() as p:
        p.call("charge", key("j4/b"), **order)
        assert state(p)["charges"].count(["b", 1]) == 2


def check_cancel(run):
    with run() as p:
        gone = p.start_call("wait", seconds=3600)
        p.cancel(gone)
        assert text(p.call("wait", seconds=0.01)) == "waited 0.01 s"
        assert not [m for m in p.before if m.get("id") == gone]
        p.process.stdin.close()
        p.process.wait(LIMIT)  # nothing of the cancelled call is left


def check_blocking(run):
    with run() as p:
        assert text(p.call("reindex", seconds=0.05)) == "reindexed in 0.05 s"
        p.cancel(p.start_call("reindex", seconds=0.2))
        # Whatever became of that one, the server serves on.
        assert text(p.call("wait", seconds=0.01)) == "waited 0.01 s"


def check_progress_and_resume(run):
    with run() as p:
        r = p.call("search", {"progressToken": 7}, q="x")
        assert text(r) == "searched 2023, 2024, 2025, 2026 for x"
        seen = [m["params"] for m in p.before
                if m["method"] == "notifications/progress"]
        assert [(s["progressToken"], s["progress"], s["total"])
                for s in seen] == [(7, n, 4) for n in (1, 2, 3, 4)]
        tokens = [s["_meta"]["oz0/resume"] for s in seen]
        assert tokens[1] == "after-2024"
        r = p.call("search", {"progressToken": 8, "oz0/resume": {
            "token": tokens[1], "progress": 2}}, q="x")
        assert text(r) == "searched 2025, 2026 for x"
        assert p.before[0]["params"]["progress"] == 3
        r = p.call("search", {"oz0/resume": {"token": "?", "progress": 2}},
                   q="x")
        assert text(r).startswith("searched 2023") and not p.before


def main():
    command = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else []
    if not command:
        sys.exit(__doc__)
    failed = number = 0
    for name, check in list(globals().items()):
        if not name.startswith("check_"):
            continue
        for era in ("old", "new"):
            number += 1
            with tempfile.TemporaryDirectory() as folder:
                try:
                    check(lambda **env: Plugin(command, era, folder, **env))
                    print(f"ok {number} - {name} {era}", flush=True)
                except Exception as e:
                    failed += 1
                    at = e.__traceback__
                    while at.tb_next:
                        at = at.tb_next
                    print(f"not ok {number} - {name} {era}: line "
                          f"{at.tb_lineno}: {type(e).__name__} {e}",
                          flush=True)
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
