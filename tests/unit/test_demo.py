#!/usr/bin/env python3
"""oz0-demo, driven over pipes: each function and each option, both eras.

The demo is what other tests measure the node with, so it is tested alone
first.  Runs the built program; prints TAP; what happened is read from the
server's ledger wherever there is one.  No test waits for a time: each waits
for a line or an end, and gives up after LIMIT seconds.
"""
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("OZ0_BUILDDIR", ".")
DEMO = os.path.join(BUILD, "oz0-demo")
LIMIT = 30
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Server:
    """One oz0-demo with its pipes; a line is read when it is asked for."""

    def __init__(self, *options, era="old", open_session=True):
        fd, self.ledger_path = tempfile.mkstemp(prefix="oz0-demo-ledger-")
        os.close(fd)
        self.start(options, era, open_session)

    def start(self, options, era, open_session):
        self.era = era
        self.next_id = 0
        self.buffer = b""
        self.process = subprocess.Popen(
            [DEMO, "--ledger", self.ledger_path, *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, bufsize=0)
        if era == "old" and open_session:
            self.handshake()

    def restart(self, *options):
        self.end()
        self.start(options, self.era, True)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.end()
        os.unlink(self.ledger_path)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(LIMIT)
        for pipe in (self.process.stdin, self.process.stdout,
                     self.process.stderr):
            pipe.close()

    def put(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(self.process.stdin.fileno(), view):]

    def send(self, message):
        self.put(json.dumps(message).encode() + b"\n")

    def request(self, method, params=None, ident=None, meta=None):
        """Sends; returns the id."""
        params = dict(params or {})
        if self.era == "new":
            params["_meta"] = {**META, **(meta or {})}
        elif meta:
            params["_meta"] = meta
        if ident is None:
            self.next_id += 1
            ident = self.next_id
        self.send({"jsonrpc": "2.0", "id": ident, "method": method,
                   "params": params})
        return ident

    def start_call(self, name, arguments=None, **kw):
        params = {"name": name}
        if arguments is not None:
            params["arguments"] = arguments
        params.update(kw.pop("params", {}))
        return self.request("tools/call", params, **kw)

    def line(self):
        """The next line of stdout without its end; None at its end."""
        deadline = time.monotonic() + LIMIT
        while b"\n" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select(
                    [self.process.stdout], [], [], left)[0]:
                raise AssertionError("nothing more came")
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                return None
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line

    def message(self):
        line = self.line()
        assert line is not None, "stdout ended"
        return json.loads(line)

    def answer(self, ident):
        """The answer to ident; what came before it in self.before."""
        self.before = []
        while True:
            m = self.message()
            if "method" not in m and m.get("id") == ident:
                return m
            self.before.append(m)

    def call(self, name, arguments=None, **kw):
        return self.answer(self.start_call(name, arguments, **kw))

    def handshake(self, version="2025-11-25"):
        self.next_id += 1
        ident = self.next_id
        self.send({"jsonrpc": "2.0", "id": ident, "method": "initialize",
                   "params": {"protocolVersion": version, "capabilities": {},
                              "clientInfo": {"name": "t", "version": "1"}}})
        m = self.answer(ident)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return m

    def cancel(self, ident):
        self.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                   "params": {"requestId": ident}})

    def ledger(self, event=None):
        with open(self.ledger_path, encoding="utf-8") as f:
            lines = [json.loads(text) for text in f]
        return [e for e in lines if event in (None, e["event"])]

    def wait_ledger(self, event, count=1):
        deadline = time.monotonic() + LIMIT
        while len(self.ledger(event)) < count:
            assert time.monotonic() < deadline, "no " + event
            time.sleep(0.01)
        return self.ledger(event)

    def exit_code(self):
        return self.process.wait(LIMIT)


def text_of(answer):
    return answer["result"]["content"][0]["text"]


def both(test):
    test.eras = ("old", "new")
    return test


# The functions.

@both
def test_listing(era):
    with Server(era=era) as s:
        result = s.answer(s.request("tools/list"))["result"]
        assert ("resultType" in result) == (era == "new")
        tools = {t["name"]: t for t in result["tools"]}
        assert tools["read"]["annotations"]["readOnlyHint"] is True
        assert tools["charge"]["_meta"] == {"oz0/idempotency_key": True}
        assert tools["charge"]["annotations"]["idempotentHint"] is True
        assert tools["append"]["annotations"]["idempotentHint"] is False
        assert "_meta" not in tools["append"]
        untested = set(tools) - TESTED
        assert not untested, untested


TESTED = set("""append ask bad_json bad_utf8 big block busy charge count crash
deaf echo effects env error file flaky flood fork input_required late
list_changed odd_id progress raw read sleep twice write""".split())


@both
def test_echo_bytes(era):
    odd = (r'{ "a" : 1.10,"b":-0,"c":12345678901234567890123,"d":1E400,'
           r'"e":"\ud800\u0000\/é","f":{"x":1,"x":2}, "g":[ ] }')
    meta = json.dumps(META) if era == "new" else "{}"
    with Server(era=era) as s:
        s.put(('{"jsonrpc":"2.0","id":"x","method":"tools/call","params":'
               '{"_meta":%s,"name":"echo","arguments":%s}}\n'
               % (meta, odd)).encode())
        line = s.line().decode()
        assert '"structuredContent":' + odd in line
        assert json.loads(line)["result"]["content"][0]["text"] == odd
        assert json.loads(line)["id"] == "x"


@both
def test_echo_huge(era):
    with Server(era=era) as s:
        pad = "p" * (4 << 20)
        answer = s.call("echo", {"pad": pad})
        assert answer["result"]["structuredContent"] == {"pad": pad}
        assert s.call("echo")["result"]["structuredContent"] == {}


@both
def test_read_big_error(era):
    with Server(era=era) as s:
        assert text_of(s.call("read")) == "a constant text"
        assert text_of(s.call("big", {"bytes": 3000000})) == "x" * 3000000
        assert text_of(s.call("big", {"bytes": 0})) == ""
        e = s.call("error", {"code": -32042, "message": "m"})["error"]
        assert e == {"code": -32042, "message": "m"}


@both
def test_bad_arguments(era):
    with Server(era=era) as s:
        for name, arguments in (("sleep", {"seconds": "1"}),
                                ("sleep", {"seconds": -1}),
                                ("sleep", {"on_cancel": "no"}),
                                ("count", {"steps": 1.5}),
                                ("charge", {"amount": 1}),
                                ("charge", {"order_id": "o"}),
                                ("file", {}), ("raw", {"hex": "abc"}),
                                ("ask", {"methods": 1}),
                                ("crash", {"code": 256})):
            assert s.call(name, arguments)["error"]["code"] == -32602, name
        assert s.call("nothing")["error"]["code"] == -32602
        ident = s.request("tools/call", {"name": "echo", "arguments": []})
        assert s.answer(ident)["error"]["code"] == -32602


@both
def test_sleep_many(era):
    with Server(era=era) as s:
        ids = [s.start_call("sleep", {"seconds": 0.5}) for _ in range(100)]
        seen = {s.message()["id"] for _ in ids}
        assert seen == set(ids)
        events = [e["event"] for e in s.ledger()
                  if e.get("function") == "sleep"]
        assert events[:100] == ["request"] * 100
        assert events[100:] == ["answered"] * 100


@both
def test_sleep_cancel(era):
    with Server(era=era) as s:
        quiet = s.start_call("sleep", {"seconds": 3600})
        error = s.start_call("sleep", {"seconds": 3600, "on_cancel": "error"})
        result = s.start_call("sleep",
                              {"seconds": 3600, "on_cancel": "result"})
        s.cancel(str(quiet))  # an id of another type is another id
        s.cancel(quiet)
        s.cancel(error)
        assert s.message()["error"]["code"] == 0
        s.cancel(result)
        assert text_of(s.answer(result)) == "woken by the cancel"
        assert [e["open"] for e in s.ledger("cancel")] == [
            False, True, True, True]
        assert [e["id"] for e in s.ledger("dropped")] == [quiet]


@both
def test_block_is_deaf(era):
    with Server(era=era) as s:
        ident = s.start_call("block", {"seconds": 0.3})
        s.wait_ledger("request", 2 if era == "old" else 1)
        s.cancel(ident)
        assert text_of(s.answer(ident)) == "blocked 0.3 s"
        cancel = s.wait_ledger("cancel")[0]
        assert cancel["open"] is False


@both
def test_deaf(era):
    with Server(era=era) as s:
        asleep = s.start_call("sleep", {"seconds": 0.2})
        deaf = s.start_call("deaf", {"seconds": 0.5})
        s.wait_ledger("request", 3 if era == "old" else 2)
        read = s.start_call("read")
        assert [s.message()["id"] for _ in range(3)] == [asleep, deaf, read]


@both
def test_late(era):
    with Server(era=era) as s:
        ident = s.start_call("late", {"ms": 50})
        s.cancel(ident)
        assert text_of(s.answer(ident)) == "too late"
        order = [e["event"] for e in s.ledger()][-2:]
        assert order == ["cancel", "answered"]


@both
def test_count(era):
    with Server(era=era) as s:
        s.call("count", {"steps": 2, "ms": 1})
        assert s.before == []
        for token in (7, "seven"):
            answer = s.call("count", {"steps": 3, "ms": 1},
                            meta={"progressToken": token})
            assert text_of(answer) == "counted to 3"
            seen = [m["params"] for m in s.before]
            assert [(p["progressToken"], p["progress"], p["total"])
                    for p in seen] == [(token, n, 3) for n in (1, 2, 3)]
        ident = s.start_call("count", {"steps": 1000000, "ms": 1},
                             meta={"progressToken": 9})
        s.message()
        s.cancel(ident)
        s.call("read")
        assert all("method" in m for m in s.before)


@both
def test_progress_kinds(era):
    def params(kind, token=5):
        ident = s.start_call("progress", {"kind": kind},
                             meta={"progressToken": token})
        lines = []
        while True:
            line = s.line().decode()
            m = json.loads(line)
            if m.get("id") == ident:
                assert text_of(m) == kind
                return lines
            lines.append(re.sub(r',"message":"[^"]*"', "", line))

    def values(lines):
        return [re.search(r'"progress":([^,}]*)', x)[1] for x in lines]

    with Server(era=era) as s:
        assert values(params("backwards")) == ["3", "2", "1"]
        assert values(params("same")) == ["2", "2", "2"]
        assert values(params("huge")) == ["1", "1e999"]
        assert values(params("nan")) == ["1", "NaN"]
        assert values(params("string")) == ["1", '"2"']
        assert '"no-such-token"' in params("unknown_token")[0]
        assert '"progressToken":"5"' in params("string_token")[0]
        assert '"progressToken":6' in params("string_token", "6")[0]
        assert "progressToken" not in params("no_token")[0]
        assert '"oz0/resume":"step-1"' in params("resume")[0]
        assert params("after") == []
        assert s.message()["params"]["progress"] == 4


@both
def test_write_by_key(era):
    key = {"oz0/idempotency_key": "j1/a"}
    with Server(era=era) as s:
        first = s.call("write", {"value": 1}, meta=key)
        assert text_of(first) == "wrote 1"
        again = s.call("write", {"value": 2}, meta=key)
        assert text_of(again) == "wrote 1"
        assert again["result"]["_meta"]["oz0/replayed"] is True
        assert text_of(s.call("write", {"value": 2})) == "wrote 2"
        s.restart()
        assert text_of(s.call("write", {"value": 3}, meta=key)) == "wrote 1"
        assert len(s.ledger("effect")) == 2
        keyed = [e for e in s.ledger("request") if "key" in e]
        assert {e["key"] for e in keyed} == {"j1/a"}
        assert keyed[0]["meta"]["oz0/idempotency_key"] == "j1/a"


@both
def test_write_shared_ledger(era):
    """Two servers, one ledger: what one made the other does not repeat."""
    key = {"oz0/idempotency_key": "j1/b"}
    with Server(era=era) as a, Server(era=era) as b:
        own = b.ledger_path
        b.ledger_path = a.ledger_path
        b.restart()
        assert text_of(a.call("write", {"value": "a"}, meta=key)) == (
            'wrote "a"')
        assert text_of(b.call("write", {"value": "b"}, meta=key)) == (
            'wrote "a"')
        assert len(a.ledger("effect")) == 1
        b.ledger_path = own


@both
def test_write_crash(era):
    for when, effects in (("before", 0), ("after", 1)):
        key = {"oz0/idempotency_key": "j1/" + when}
        with Server(era=era) as s:
            s.start_call("write", {"value": 1, "crash": when}, meta=key)
            assert s.line() is None
            assert s.exit_code() == -signal.SIGKILL
            assert len(s.ledger("effect")) == effects
            s.restart()
            answer = s.call("write", {"value": 1, "crash": when}, meta=key) \
                if when == "before" else s.call("write", {}, meta=key)
            assert text_of(answer) == "wrote 1"
            assert len(s.ledger("effect")) == 1


@both
def test_write_cancel_and_silent(era):
    with Server(era=era) as s:
        early = s.start_call("write", {"before_ms": 3600000})
        s.cancel(early)
        late = s.start_call("write", {"value": 1, "after_ms": 200})
        s.wait_ledger("effect")
        s.cancel(late)
        assert text_of(s.answer(late)) == "wrote 1"
        key = {"oz0/idempotency_key": "j1/s"}
        silent = s.start_call("write", {"value": 2, "silent": True}, meta=key)
        s.wait_ledger("effect", 2)
        again = s.start_call("write", {"value": 2, "silent": True}, meta=key)
        assert text_of(s.answer(again)) == "wrote 2"
        s.cancel(silent)
        s.call("read")
        assert len(s.ledger("effect")) == 2
        assert {e["id"] for e in s.ledger("dropped")} == {early, silent}


@both
def test_charge_append_effects(era):
    with Server(era=era) as s:
        key = {"oz0/idempotency_key": "j1/s1/demo.charge#00/1"}
        order = {"order_id": "o-1", "amount": 500}
        for _ in range(2):
            assert text_of(s.call("charge", order, meta=key)) == (
                'charged 500 for "o-1"')
        for _ in range(2):
            s.call("append", {"value": "x"},
                   meta={"oz0/idempotency_key": "j1/app"})
        effects = s.call("effects")["result"]["structuredContent"]["effects"]
        assert [e["function"] for e in effects] == [
            "charge", "append", "append"]
        assert effects[0]["key"] == key["oz0/idempotency_key"]


def test_effects_without_ledger():
    with Server() as s:
        s.end()
        s.process = subprocess.Popen([DEMO], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, bufsize=0)
        s.handshake()
        key = {"oz0/idempotency_key": "j1/m"}
        for _ in range(3):
            s.call("write", {"value": 1}, meta=key)
        effects = s.call("effects")["result"]["structuredContent"]["effects"]
        assert len(effects) == 1
        fds = s.call("env")["result"]["structuredContent"]["fds"]
        assert not [f for f in fds if "ledger" in f["target"]]


@both
def test_busy(era):
    with Server(era=era) as s:
        key = {"oz0/idempotency_key": "j1/busy"}
        for _ in range(2):
            r = s.call("busy", {"times": 2, "retry_after": 0.5},
                       meta=key)["result"]
            assert r["isError"] is True
            assert r["_meta"]["oz0/retryable"] is True
            assert r["_meta"]["oz0/retry_after"] == 0.5
        s.restart()
        for _ in range(2):
            r = s.call("busy", {"times": 2}, meta=key)
            assert text_of(r) == "done" and "isError" not in r["result"]
        assert len(s.ledger("busy")) == 2 and len(s.ledger("effect")) == 1
        for wait in (-1, "soon", None, [1]):
            r = s.call("busy", {"times": 99, "retry_after": wait})["result"]
            assert r["_meta"]["oz0/retry_after"] == wait
        r = s.call("busy", {"times": 99, "retryable": "yes"})["result"]
        assert r["_meta"]["oz0/retryable"] == "yes"
        assert "oz0/retry_after" not in r["_meta"]


@both
def test_flaky(era):
    with Server(era=era) as s:
        def once(how, **arguments):
            key = {"oz0/idempotency_key": "j1/" + how}
            return s.start_call("flaky", {"how": how, **arguments}, meta=key)

        assert s.answer(once("error", code=-32001))["error"]["code"] == -32001
        assert s.answer(once("result"))["result"]["isError"] is True
        once("bad_json")
        s.line()
        hung = once("hang")
        s.wait_ledger("fault", 4)
        s.cancel(hung)
        for how in ("error", "result", "bad_json", "hang"):
            assert text_of(s.answer(once(how))) == "done"
        once("exit", code=7)
        assert s.line() is None and s.exit_code() == 7
        s.restart()
        assert text_of(s.answer(once("exit", code=7))) == "done"
        assert len(s.ledger("effect")) == 5


@both
def test_crash(era):
    with Server(era=era) as s:
        s.start_call("crash", {"signal": 9})
        assert s.line() is None and s.exit_code() == -9
        s.restart()
        s.start_call("crash", {"signal": 15})
        assert s.line() is None and s.exit_code() == -15
        s.restart()
        ident = s.start_call("crash", {"code": 3, "when": "after", "ms": 10})
        assert s.answer(ident) and s.exit_code() == 3
        s.restart()
        s.start_call("crash", {"when": "partial"})
        assert s.line() is None and s.exit_code() == 1
        assert s.buffer.startswith(b'{"jsonrpc"')


@both
def test_flood(era):
    with Server(era=era) as s:
        ident = s.start_call("flood", {"bytes": 200000})
        noise = 0
        while True:
            line = s.line()
            if line.startswith(b"{"):
                break
            noise += len(line) + 1
        assert json.loads(line)["id"] == ident and noise >= 200000
        s.call("flood", {"to": "notifications", "bytes": 100000})
        assert len(s.before) >= 98
        ident = s.start_call("flood", {"to": "endless", "bytes": 1 << 20})
        assert s.line().startswith(b"fff")
        s.answer(ident)
        ident = s.start_call("flood", {"to": "stderr", "bytes": 1 << 20})
        got = 0
        while got < 1 << 20:
            got += len(os.read(s.process.stderr.fileno(), 65536))
        s.answer(ident)
        ident = s.start_call("flood", {"to": "notifications", "bytes": 0})
        s.message()
        s.cancel(ident)
        s.call("read")


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@both
def test_fork(era):
    with Server(era=era) as s:
        answer = s.call("fork", {"children": 3})
        pids = answer["result"]["structuredContent"]["pids"]
        loose = s.call("fork", {"hold": False, "setsid": False,
                                "ignore_sigterm": False})
        loose = loose["result"]["structuredContent"]["pids"]
        try:
            assert len(set(pids)) == 3 and len(s.ledger("forked")) == 4
            for pid in pids:
                assert os.getsid(pid) == pid
                with open("/proc/%d/comm" % pid, encoding="ascii") as f:
                    assert f.read() == "demo-orphan\n"
                os.kill(pid, signal.SIGTERM)
                assert sorted(os.listdir("/proc/%d/fd" % pid)) == [
                    "0", "1", "2"]
            assert os.listdir("/proc/%d/fd" % loose[0]) == []
            assert os.getsid(loose[0]) == os.getsid(s.process.pid)
            s.process.kill()
            s.process.wait(LIMIT)
            assert all(alive(pid) for pid in pids + loose)
            # They hold stdout: its end comes with the last of them.
            assert not select.select([s.process.stdout], [], [], 0)[0]
        finally:
            for pid in pids + loose:
                os.kill(pid, signal.SIGKILL)
        assert s.line() is None


@both
def test_odd_answers(era):
    with Server(era=era) as s:
        ident = s.start_call("twice")
        assert [s.message()["id"], s.message()["id"]] == [ident, ident]
        s.start_call("odd_id", {"as": "string"}, ident=41)
        assert s.message()["id"] == "41"
        s.start_call("odd_id", {"as": "string"}, ident="41")
        assert s.message()["id"] == 41
        s.start_call("odd_id", {"as": "float"}, ident=42)
        assert b'"id":42.0,' in s.line()
        s.start_call("odd_id", {"as": "null"})
        assert s.message()["id"] is None
        s.start_call("odd_id", {"as": "none"})
        assert "id" not in s.message()
        s.start_call("odd_id", {"as": "other"})
        assert s.message()["id"] == 987654321


@both
def test_bad_lines(era):
    with Server(era=era) as s:
        for name, fault in (("bad_json", ValueError),
                            ("bad_utf8", UnicodeDecodeError)):
            for answer in (False, True):
                ident = s.start_call(name, {"answer": answer})
                try:
                    json.loads(s.line().decode())
                except fault:
                    pass
                else:
                    raise AssertionError(name)
                if answer:
                    s.answer(ident)
        ident = s.start_call("raw", {"hex": "00ff0a"})
        assert s.line() == b"\x00\xff"
        s.answer(ident)
        ident = s.start_call("raw", {"text": "é\n"})
        assert s.line() == "é".encode()
        s.answer(ident)


@both
def test_ask(era):
    with Server(era=era) as s:
        ident = s.start_call("ask", {"methods": ["ping", "roots/list", "x"],
                                     "ms": 3600000})
        asked = [s.message() for _ in range(3)]
        assert [m["method"] for m in asked] == ["ping", "roots/list", "x"]
        assert [m["id"] for m in asked] == [0, 1, 2]
        s.send({"jsonrpc": "2.0", "id": 2,
                "error": {"code": -32601, "message": "no"}})
        s.send({"jsonrpc": "2.0", "id": 0, "result": {}})
        s.send({"jsonrpc": "2.0", "id": 99, "result": {}})
        s.send({"jsonrpc": "2.0", "id": 1, "result": {"roots": []}})
        r = s.answer(ident)["result"]["structuredContent"]
        assert r["unanswered"] == 0
        assert r["answers"] == [
            {"id": 2, "error": {"code": -32601, "message": "no"}},
            {"id": 0, "result": {}}, {"id": 1, "result": {"roots": []}}]
        assert [e["awaited"] for e in s.ledger("response")] == [
            True, True, False, True]
        ident = s.start_call("ask", {"ms": 50})
        assert s.answer(ident)["result"]["structuredContent"] == {
            "answers": [], "unanswered": 3}


@both
def test_list_changed(era):
    with Server(era=era) as s:
        names = [t["name"] for t in
                 s.answer(s.request("tools/list"))["result"]["tools"]]
        if era == "new":
            listen = s.request("subscriptions/listen", {
                "notifications": {"toolsListChanged": True}})
            ack = s.message()
            assert ack["method"].endswith("subscriptions/acknowledged")
            assert ack["params"]["notifications"] == {
                "toolsListChanged": True}
        assert text_of(s.call("list_changed", {"times": 2})) == "added_1"
        changed = [m for m in s.before
                   if m["method"] == "notifications/tools/list_changed"]
        assert len(changed) == 2
        after = [t["name"] for t in
                 s.answer(s.request("tools/list"))["result"]["tools"]]
        assert after == names + ["added_1"]
        assert s.call("added_1", {"a": 1})["result"][
            "structuredContent"] == {"a": 1}
        assert s.call("added_2")["error"]["code"] == -32602
        if era == "new":
            sub = "io.modelcontextprotocol/subscriptionId"
            assert {m["params"]["_meta"][sub] for m in changed} == {listen}
            s.cancel(listen)
            s.call("list_changed")
            assert s.before == []


def test_input_required():
    with Server(era="new") as s:
        state, rounds = None, 0
        while True:
            extra = {"requestState": state} if state else {}
            r = s.call("input_required", {"rounds": 3}, params=extra)["result"]
            if r["resultType"] == "complete":
                break
            assert r["resultType"] == "input_required"
            assert "inputRequests" not in r
            state, rounds = r["requestState"], rounds + 1
        assert rounds == 3
        r = s.call("input_required", {"ask": True})["result"]
        assert r["inputRequests"]["name"]["method"] == "elicitation/create"
    with Server() as s:
        assert text_of(s.call("input_required")) == "after 0 rounds"


@both
def test_world(era):
    with Server(era=era) as s:
        r = s.call("env")["result"]["structuredContent"]
        assert r["pid"] == s.process.pid and r["uid"] == os.getuid()
        assert r["cwd"] == os.getcwd()
        here = ["%s=%s" % kv for kv in os.environ.items()]
        assert sorted(r["environment"]) == sorted(here)
        assert {0, 1, 2} <= {f["fd"] for f in r["fds"]}
        assert "NoNewPrivs:" in r["status"] and "Max" in r["limits"]

        def look(path):
            return s.call("file", {"path": path})["result"][
                "structuredContent"]

        with tempfile.TemporaryDirectory() as d:
            with open(d + "/f", "w", encoding="ascii") as f:
                f.write("text")
            os.symlink("f", d + "/l")
            assert look(d + "/f")["text"] == "text"
            assert look(d + "/l")["link"] == "f"
            assert sorted(look(d)["entries"]) == ["f", "l"]
            assert look(d + "/none")["error"] == "ENOENT"
            assert look(d + "/f/x")["error"] == "ENOTDIR"


# The protocol.

def test_versions():
    for asked, given in (("2024-11-05", "2024-11-05"),
                         ("2025-03-26", "2025-03-26"),
                         ("2025-06-18", "2025-06-18"),
                         ("2025-11-25", "2025-11-25"),
                         ("2026-07-28", "2025-11-25"),
                         ("1999-01-01", "2025-11-25")):
        with Server(open_session=False) as s:
            assert s.handshake(asked)["result"]["protocolVersion"] == given
    with Server("--max-version", "2025-03-26", open_session=False) as s:
        r = s.handshake("2025-11-25")["result"]
        assert r["protocolVersion"] == "2025-03-26"


def test_modern_meta():
    name = "io.modelcontextprotocol/"
    with Server(era="new") as s:
        d = s.answer(s.request("server/discover"))["result"]
        assert d["supportedVersions"] == ["2026-07-28"]
        assert d["resultType"] == "complete"
        assert "tools" in d["capabilities"]
        assert d["_meta"][name + "serverInfo"]["name"] == "oz0-demo"
        e = s.answer(s.request("tools/list", meta={
            name + "protocolVersion": "2099-01-01"}))["error"]
        assert e["code"] == -32022
        assert e["data"] == {"supported": ["2026-07-28"],
                             "requested": "2099-01-01"}
        for meta in ({name + "protocolVersion": 1},
                     {name + "clientCapabilities": None}):
            e = s.answer(s.request("tools/list", meta=meta))["error"]
            assert e["code"] == -32602
        for method in ("ping", "logging/setLevel", "no/such"):
            assert s.answer(s.request(method))["error"]["code"] == -32601
        s.send({"jsonrpc": "2.0", "id": 77, "method": "tools/list"})
        assert s.answer(77)["error"]["code"] == -32602


def test_both_eras_on_one_process():
    with Server(era="new") as s:
        s.answer(s.request("server/discover"))
        s.era = "old"
        assert s.handshake()["result"]["protocolVersion"] == "2025-11-25"
        assert "resultType" not in s.call("read")["result"]
        assert s.answer(s.request("ping"))["result"] == {}
        s.era = "new"
        assert s.call("read")["result"]["resultType"] == "complete"


def test_one_era():
    with Server("--era", "old", era="new") as s:
        assert s.answer(
            s.request("server/discover"))["error"]["code"] == -32601
        assert "result" in s.handshake()
    with Server("--era", "new", era="new") as s:
        e = s.handshake()["error"]
        assert e["code"] == -32022
        assert e["data"]["supported"] == ["2026-07-28"]
        assert text_of(s.call("read")) == "a constant text"


def test_json_rpc_faults():
    with Server() as s:
        for line, code in ((b"[]", -32600), (b"[{}]", -32600), (b"1", -32600),
                           (b"{", -32700), (b"\xff", -32700),
                           (b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
                            -32600),
                           (b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
                            -32600),
                           (b'{"jsonrpc":"2.0"}', -32600)):
            s.put(line + b"\n")
            m = s.message()
            assert m["error"]["code"] == code and "id" not in m, line
        s.put(b"\r\n\n")
        s.put(b'{"jsonrpc":"2.0","id":5,"method":"ping"}\r\n')
        assert s.message() == {"jsonrpc": "2.0", "id": 5, "result": {}}
    with Server(open_session=False) as s:
        assert s.answer(s.request("ping"))["result"] == {}
        assert s.answer(s.request("tools/list"))["error"]["code"] == -32602
    with Server("--era", "old", open_session=False) as s:
        assert s.answer(s.request("tools/list"))["error"]["code"] == -32600


def test_split_and_joined_lines():
    with Server() as s:
        line = b'{"jsonrpc":"2.0","id":8,"method":"ping"}\n'
        for i in range(len(line)):
            s.put(line[i:i + 1])
        assert s.message()["id"] == 8
        s.put(line * 1000)
        assert [s.message()["id"] for _ in range(1000)] == [8] * 1000


# The options.

def test_paging():
    with Server("--page-size", "4") as s:
        names, cursor, pages = [], None, 0
        while True:
            params = {"cursor": cursor} if cursor else {}
            r = s.answer(s.request("tools/list", params))["result"]
            assert len(r["tools"]) <= 4
            names += [t["name"] for t in r["tools"]]
            pages += 1
            cursor = r.get("nextCursor")
            if cursor is None:
                break
        assert set(names) == TESTED and len(names) == len(TESTED)
        assert pages == (len(names) + 3) // 4
        for bad in ("", "from--1", "from-999", "from-1x", 7):
            e = s.answer(s.request("tools/list", {"cursor": bad}))["error"]
            assert e["code"] == -32602


def test_no_hints():
    with Server("--no-hints") as s:
        for t in s.answer(s.request("tools/list"))["result"]["tools"]:
            assert "annotations" not in t and "_meta" not in t


def test_eof():
    with Server() as s:
        s.start_call("sleep", {"seconds": 3600})
        s.process.stdin.close()
        assert s.exit_code() == 0 and s.line() is None
        order = [e["event"] for e in s.ledger()][-2:]
        assert order == ["eof", "dropped"]
    with Server("--finish-on-eof") as s:
        ident = s.start_call("sleep", {"seconds": 0.1})
        s.process.stdin.close()
        assert s.answer(ident) and s.exit_code() == 0
        order = [e["event"] for e in s.ledger()][-2:]
        assert order == ["eof", "answered"]


def test_ignore_eof_and_sigterm():
    with Server("--ignore-eof", "--ignore-sigterm") as s:
        ident = s.start_call("sleep", {"seconds": 0.3})
        s.process.stdin.close()
        s.wait_ledger("eof")
        s.process.send_signal(signal.SIGTERM)
        s.wait_ledger("sigterm")
        assert s.answer(ident)
        assert s.process.poll() is None
    with Server() as s:
        s.process.send_signal(signal.SIGTERM)
        assert s.exit_code() == -signal.SIGTERM
        assert len(s.ledger("sigterm")) == 1
    with Server("--ignore-sigterm") as s:
        ident = s.start_call("block", {"seconds": 0.5})
        s.wait_ledger("request", 2)
        s.process.send_signal(signal.SIGTERM)
        s.wait_ledger("sigterm")
        assert text_of(s.answer(ident)) == "blocked 0.5 s"


def test_discover_options():
    with Server("--silent-discover", era="new") as s:
        s.request("server/discover")
        assert text_of(s.call("read")) == "a constant text"
        assert s.before == []
    with Server("--exit-on-discover", era="new") as s:
        s.request("server/discover")
        assert s.line() is None and s.exit_code() == 1
    with Server("--discover-error", "-32000", era="new") as s:
        e = s.answer(s.request("server/discover"))["error"]
        assert e["code"] == -32000


def test_exit_after():
    with Server("--exit-after", "initialize", open_session=False) as s:
        s.request("initialize", {"protocolVersion": "2025-11-25"})
        assert "result" in s.message()
        assert s.line() is None and s.exit_code() == 0


def test_first_bytes():
    with Server("--banner", "--ping-first", open_session=False) as s:
        assert s.line() == b"Starting the demo server..."
        assert s.message() == {"jsonrpc": "2.0", "id": 0, "method": "ping"}
        assert "result" in s.handshake()
    with Server("--crlf", "--slow-start", "50", open_session=False) as s:
        s.request("ping")
        assert s.line() == b'{"jsonrpc":"2.0","id":1,"result":{}}\r'
    with Server("--stderr-bytes", "200000", open_session=False) as s:
        got = 0
        while got < 200000:
            got += len(os.read(s.process.stderr.fileno(), 65536))
        assert got == 200000
        assert "result" in s.handshake()


def test_no_read_until_write():
    with Server("--no-read-until-write", "1000000", open_session=False) as s:
        s.request("ping")
        select.select([s.process.stdout], [], [], LIMIT)
        assert s.ledger("request") == []
        s.answer(1)
        assert sum(len(json.dumps(m)) for m in s.before) >= 1000000


def run(*options):
    return subprocess.run([DEMO, *options], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT,
                          check=False)


def test_command_line():
    assert run("--version").stdout.startswith("oz0-demo ")
    assert "--ledger FILE" in run("--help").stdout
    for bad in (["--nothing"], ["operand"], ["--era", "middle"],
                ["--page-size", "x"], ["--page-size", "-1"],
                ["--max-version", "2026-07-28"],
                ["--ledger", "/nonexistent/ledger"]):
        r = run(*bad)
        assert r.returncode == 2 and r.stderr and not r.stdout, bad


def test_half_line_in_ledger():
    """A writer that was killed in the middle spoils no line of the next."""
    with Server() as s:
        s.end()
        with open(s.ledger_path, "w", encoding="ascii") as f:
            f.write('{"event":"eff')
        s.start((), "old", True)
        key = {"oz0/idempotency_key": "j1/h"}
        s.call("write", {"value": 1}, meta=key)
        s.restart()
        assert text_of(s.call("write", {"value": 2}, meta=key)) == "wrote 1"


def main():
    wanted = sys.argv[1:]
    failed = number = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (wanted and name not in wanted):
            continue
        for era in getattr(test, "eras", (None,)):
            number += 1
            label = name + (" " + era if era else "")
            try:
                test(*([era] if era else []))
                print("ok %d - %s" % (number, label), flush=True)
            except Exception as e:  # each failure is shown, none stops
                failed += 1
                line = e.__traceback__
                while line.tb_next:
                    line = line.tb_next
                print("not ok %d - %s: line %d: %s %r" % (
                    number, label, line.tb_lineno, type(e).__name__, e),
                    flush=True)
    print("1..%d" % number)
    print("# %d passed, %d failed" % (number - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
