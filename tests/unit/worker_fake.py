"""MCP servers that behave as badly as real ones do, for test_worker.py.

    worker_fake.py SCENE

Each scene is a function below.  A line {"ledger": ...} on stderr says what the
server saw: tests assert on that.
"""

import json
import os
import signal
import sys
import time

IN, OUT = sys.stdin.buffer, 1
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"


def raw(data):
    view = memoryview(data)
    while view:
        view = view[os.write(OUT, view):]


def send(message, end=b"\n"):
    raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + end)


def read_line():
    line = IN.readline()
    if not line:
        note(eof=True)
        sys.exit(0)
    return line


def read():
    return json.loads(read_line())


def note(**what):
    sys.stderr.write(json.dumps({"ledger": what}) + "\n")
    sys.stderr.flush()


def result(message, value):
    send({"id": message["id"], "result": value})


def error(message, code, text="no", **more):
    send({"id": message["id"], "error": {"code": code, "message": text,
                                         **more}})


def block_signal():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})


def await_signal():
    signal.sigwait({signal.SIGUSR1})


def tool(name, **more):
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def text(s, **more):
    return {"content": [{"type": "text", "text": s}], **more}


def legacy(tools=None, version="2025-11-25", caps=None, probe=-32601):
    """Through the handshake and the listing of an old server."""
    message = read()
    if message["method"] == "server/discover":
        error(message, probe)
        message = read()
    assert message["method"] == "initialize", message
    note(asked=message["params"])
    result(message, {"protocolVersion": version,
                     "capabilities": caps or {"tools": {}},
                     "serverInfo": {"name": "fake", "version": "1"}})
    message = read()
    assert message["method"] == "notifications/initialized", message
    assert "id" not in message
    message = read()
    assert message["method"] == "tools/list", message
    result(message, {"tools": tools or [tool("f")]})


def check_envelope(message):
    meta = message["params"]["_meta"]
    assert meta[META + "protocolVersion"] == MODERN, meta
    assert meta[META + "clientInfo"]["name"] == "oz0", meta
    assert meta[META + "clientCapabilities"] == {}, meta


def discover(message, caps=None):
    assert message["method"] == "server/discover", message
    check_envelope(message)
    result(message, {
        "resultType": "complete", "supportedVersions": [MODERN],
        "capabilities": caps or {"tools": {}},
        "serverInfo": {"name": "fake", "version": "2"}})


def modern(tools=None, caps=None):
    discover(read(), caps)
    message = read()
    check_envelope(message)
    assert message["method"] == "tools/list", message
    result(message, {"resultType": "complete", "tools": tools or [tool("f")]})


def serve(answer=None):
    while True:
        message = read()
        if message.get("method") == "tools/call":
            if answer:
                answer(message)
            else:
                result(message, text("ok"))
        else:
            note(got=message)


# ---- beginnings ----


def legacy_plain():
    legacy()
    serve()


def legacy_code_zero():
    legacy(probe=0)
    serve()


def version(v):
    legacy(version=v)
    serve()


def silent_probe():
    read()
    legacy()
    serve()


def exit_on_probe():
    if read()["method"] == "server/discover":
        sys.exit(1)
    sys.exit(2)


def exit_on_probe_once():
    message = read()
    if message["method"] == "server/discover":
        sys.exit(1)
    result(message, {"protocolVersion": "2024-11-05",
                     "capabilities": {"tools": {}}, "serverInfo": {}})
    read()
    result(read(), {"tools": [tool("f")]})
    serve()


def exit_on_initialize():
    error(read(), -32601)
    read()
    sys.exit(3)


def exit_after_initialize():
    error(read(), -32601)
    result(read(), {"protocolVersion": "2025-11-25", "capabilities": {},
                    "serverInfo": {}})
    sys.exit(0)


def refuses_once():
    error(read(), -32022, data={"supported": [MODERN], "requested": MODERN})
    modern()
    serve()


def refuses_for_ever():
    while True:
        error(read(), -32022, data={"supported": [MODERN]})


def refuses_to_legacy():
    error(read(), -32022, data={"supported": ["2025-06-18"]})
    legacy(version="2025-06-18")
    serve()


def refuses_all():
    error(read(), -32022, data={"supported": ["2031-01-01"]})
    serve()


def discover_empty():
    result(read(), {"supportedVersions": [], "capabilities": {}})
    legacy()
    serve()


def slow_modern():
    """Silent on the probe, then sees the probe as its first request."""
    first = read()
    second = read()
    assert second["method"] == "initialize"
    discover(first)
    error(second, -32022, data={"supported": [MODERN]})
    modern()
    serve()


def modern_hinted_legacy():
    error(read(), -32022, data={"supported": [MODERN]})
    modern()
    serve()


def initialize_fails():
    error(read(), -32601)
    error(read(), -32000, "no licence")
    serve()


def initialize_broken():
    error(read(), -32601)
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"x":NaN}}\n' % read()["id"])
    serve()


def asks_while_greeted():
    error(read(), -32601)
    message = read()
    send({"id": 0, "method": "roots/list"})
    send({"id": "p\u00e4", "method": "ping"})
    send({"id": message["id"], "method": "sampling/createMessage",
          "params": {}})
    answers = [read(), read(), read()]
    note(answers=answers)
    send({"method": "notifications/tools/list_changed"})
    send({"method": "notifications/message", "params": {"data": "x"}})
    result(message, {"protocolVersion": "2025-11-25", "capabilities": {},
                     "serverInfo": {"name": "fake", "version": "1"}})
    read()
    result(read(), {"tools": [tool("f")]})

    def answer(m):
        send({"id": 1, "method": "ping"})
        note(answers=[read()])
        result(m, text("ok"))
    serve(answer)


# ---- listings ----


def pages():
    legacy_to_list()
    for cursor, tools, following in (
            (None, [tool("a", annotations={
                "readOnlyHint": True, "idempotentHint": False})], ""),
            ("", [tool("b", _meta={"oz0/idempotency_key": True,
                                   "oz0/resume": "yes"}),
                  tool("bad name"), tool("a"), tool("bad name"),
                  tool("x" * 129)], "c\u00e4"),
            ("c\u00e4", [tool("c" * 128), {"inputSchema": {}}], None)):
        message = read()
        assert message["params"].get("cursor") == cursor, message
        result(message, {"tools": tools} if following is None else
               {"tools": tools, "nextCursor": following})
    serve()


def legacy_to_list():
    error(read(), -32601)
    result(read(), {"protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": "fake", "version": "1"}})
    read()


def same_cursor():
    legacy_to_list()
    while True:
        result(read(), {"tools": [], "nextCursor": "x"})


def endless_pages():
    legacy_to_list()
    n = 0
    while True:
        n += 1
        result(read(), {"tools": [], "nextCursor": str(n)})


def many_functions():
    legacy_to_list()
    result(read(), {"tools": [tool(f"f{i}") for i in range(10001)]})
    serve()


def no_tools():
    error(read(), -32601)
    result(read(), {"protocolVersion": "2025-11-25", "capabilities": {},
                    "serverInfo": {}})
    read()
    error(read(), -32601)
    serve()


def list_error():
    legacy_to_list()
    error(read(), -32603, "cannot list")
    serve()


def list_raw():
    """Schemas byte for byte, odd spelling and all."""
    legacy_to_list()
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"tools":[{ "inputSchema" : '
        b'{"type":"object","maximum":1.10,"x":1e400,"x":-0},"name":"f"\r}]}}\n'
        % read()["id"])
    serve()


def changes():
    legacy(caps={"tools": {"listChanged": True}})
    for _ in range(50):
        send({"method": "notifications/tools/list_changed"})
    result(read(), {"tools": [tool("g"), tool("h")]})
    send({"method": "notifications/tools/list_changed"})
    error(read(), -32603, "lost it")
    serve()


def changes_modern():
    discover(read(), {"tools": {"listChanged": True}})
    stream = read()
    check_envelope(stream)
    assert stream["method"] == "subscriptions/listen"
    assert stream["params"]["notifications"] == {"toolsListChanged": True}
    send({"method": "notifications/subscriptions/acknowledged", "params": {
        "_meta": {META + "subscriptionId": stream["id"]},
        "notifications": {"toolsListChanged": True}}})
    result(read(), {"tools": [tool("f")]})
    for number in (stream["id"] + 77, stream["id"]):
        send({"method": "notifications/tools/list_changed", "params": {
            "_meta": {META + "subscriptionId": number}}})
    result(read(), {"tools": [tool("g")]})
    send({"method": "notifications/cancelled",
          "params": {"requestId": stream["id"]}})
    again = read()
    assert again["method"] == "subscriptions/listen", again
    assert again["id"] != stream["id"]
    result(read(), {"tools": [tool("h")]})
    serve()


# ---- calls ----


def echo():
    """Gives the params of each call back, as they came."""
    modern()

    def answer(m):
        note(call=m)
        check_envelope(m)
        result(m, text("ok"))
    serve(answer)


def echo_raw():
    """The line itself, arguments cut out by hand, as its result."""
    legacy()
    while True:
        line = read_line()
        at = line.index(b'"arguments":') + len(b'"arguments":')
        number = json.loads(line)["id"]
        raw(b'{"result":{"content":[],"echo":' + line[at:-3]
            + b'},"id":%d,"jsonrpc":"2.0"}\r\n' % number)


def answers():
    """The answer is in the arguments: {"raw": "...ID..."}."""
    modern() if "modern" in sys.argv else legacy()

    def answer(m):
        a = m["params"]["arguments"]
        raw(a["raw"].replace("ID", str(m["id"])).encode("latin-1"))
    serve(answer)


def out_of_order():
    legacy()
    first, second = read(), read()
    result(second, text("second"))
    result(first, text("first"))
    result(first, text("again"))
    serve()


def big():
    """{"size": n, "last": bool}: an answer of that size, id last or first."""
    legacy()

    def answer(m):
        a = m["params"]["arguments"]
        filler = b"x" * a["size"]
        number = str(m["id"]).encode()
        if a.get("unknown"):
            number = b"4711"
        if a.get("last"):
            raw(b'{"result":{"a":["' + filler + b'",{"id":9}]},"id":'
                + number + b',"jsonrpc":"2.0"}\n')
        else:
            raw(b'{"jsonrpc":"2.0","id":' + number + b',"result":{"a":"'
                + filler + b'"}}\n')
    serve(answer)


def endless():
    legacy()
    first, second = read(), read()
    raw(json.dumps({"jsonrpc": "2.0", "id": first["id"],
                    "result": text("in front")}).encode() + b"\n"
        + b'{"jsonrpc":"2.0","id":%d,"result":{"a":"' % second["id"])
    for _ in range(64 << 4):
        raw(b"x" * 65536)
    raw(b'"}}\n')
    serve()


def noise():
    """{"lines": n} or {"bytes": n} of it, then the answer."""
    raw(b"\xef\xbb\xbf")
    raw(b"npm warn deprecated\r\n\n   \r\nStarting...\n")
    legacy()

    def answer(m):
        a = m["params"]["arguments"]
        for _ in range(a.get("lines", 0)):
            raw(b"noise\n")
        if "bytes" in a:
            raw(b"n" * a["bytes"] + b"\n")
        raw(a.get("raw", "").encode("latin-1"))
        result(m, text("ok"))
    serve(answer)


def asks_modern():
    modern()

    def answer(m):
        send({"id": 1, "method": "ping"})
        result(m, text("ok"))
    serve(answer)


def floods_requests():
    """Asks for ever and never reads the answers."""
    legacy()
    m = read()
    for i in range(40000):
        send({"id": i, "method": "roots/list", "params": {"pad": "x" * 100}})
    result(m, text("ok"))
    time.sleep(1000)


def progress():
    legacy()

    def answer(m):
        token = m["params"]["_meta"].get("progressToken")
        for value in m["params"]["arguments"]["raw"]:
            raw(b'{"jsonrpc":"2.0","method":"notifications/progress",'
                b'"params":' + value.replace("TOKEN", json.dumps(token))
                .encode() + b"}\n")
        result(m, text("ok"))
    serve(answer)


def rounds():
    """{"n": rounds}: input_required with a state alone that often."""
    modern()

    def answer(m):
        p = m["params"]
        state = p.get("requestState", "s\u00e40")
        assert "inputResponses" not in p
        n = int(state[2:])
        note(round=n, id=m["id"], key=p["_meta"]["oz0/idempotency_key"],
             arguments=p["arguments"])
        if n < p["arguments"]["n"]:
            result(m, {"resultType": "input_required",
                       "requestState": f"s\u00e4{n + 1}"})
        else:
            result(m, {"resultType": "complete", **text(f"after {n}")})
    serve(answer)


# ---- cancel and end ----


def waits():
    """Never answers; says what else came."""
    legacy()

    def answer(m):
        note(call=m["id"])
    serve(answer)


def late():
    """Answers what was cancelled, afterwards; then once more."""
    legacy()
    m = read()
    note(call=m["id"])
    c = read()
    note(got=c)
    send({"method": "notifications/progress", "params": {
        "progressToken": m["id"], "progress": 9}})
    result(m, text("too late"))
    result(m, text("and again"))
    serve()


def deaf():
    """Stops reading after the listing; goes on at SIGUSR1."""
    legacy()
    note(deaf=True)
    await_signal()
    while True:
        line = IN.readline()
        if not line:
            note(eof=True)
            sys.exit(0)
        note(line=len(line), tail=line[-200:].decode()
             if len(line) < 400 else "", whole=line.endswith(b"\n"))


def writes_first():
    """Writes 2 MiB before it reads the request behind the first one."""
    legacy()
    first = read()
    result(first, text("x" * (2 << 20)))
    second = read()
    result(second, text(str(len(json.dumps(second)))))
    serve()


def reply_and_exit():
    legacy()
    result(read(), text("y" * (10 << 20)))
    os._exit(0)


def cut_reply():
    """The last line has no LF: {"whole": bool}."""
    legacy()
    m = read()
    line = json.dumps({"jsonrpc": "2.0", "id": m["id"],
                       "result": text("z")}).encode()
    if not m["params"]["arguments"]["whole"]:
        line = line[:-1]
    raw(line)
    os._exit(0)


def closes_stdout():
    legacy()
    read()
    os.close(1)
    time.sleep(1000)


def closes_stdin():
    legacy()
    m = read()
    os.close(0)
    note(closed=True)
    await_signal()
    result(m, text("still here"))
    time.sleep(1000)


def loud():
    """100 MiB of stderr before the first answer."""
    for _ in range(1600):
        os.write(2, b"e" * 65535 + b"\n")
    os.write(2, b"the last words\n")
    legacy()
    serve()


def answers_after_eof():
    legacy()
    m = read()
    note(call=m["id"])
    assert not IN.read()
    result(m, text("after eof"))
    time.sleep(1000)


def floods_answers():
    """Answers every call with 1 MiB."""
    legacy()

    def answer(m):
        result(m, text("f" * (1 << 20)))
    serve(answer)


def half_lines():
    """Half of an answer, and the rest at SIGUSR1."""
    legacy()
    m = read()
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"a":"' % m["id"]
        + b"h" * (3 << 20))
    note(half=True)
    await_signal()
    raw(b'"}}\n')
    serve()


if __name__ == "__main__":
    block_signal()
    globals()[sys.argv[1]](*[a for a in sys.argv[2:] if a != "modern"])
