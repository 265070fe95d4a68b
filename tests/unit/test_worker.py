"""oz0-worker as it is: confined, over a socketpair, with servers that do what
real ones do and worse (worker_fake.py).  Each test runs as its caller and,
started by root, under a uid of its own and as an ordinary user.
"""

import json
import os
import re
import select
import signal
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import worker_driver as d  # noqa: E402
from worker_driver import (  # noqa: E402
    CANCEL_SENT, DRAINED, END, FAILED, FUNCTION, LISTED, NOISE, PROGRESS,
    SENT, S_READY, STDERR)

PROGRAM = d.program()
HERE = os.path.dirname(os.path.abspath(__file__))
FAKE = [sys.executable, os.path.join(HERE, "worker_fake.py")]
MODERN = "2026-07-28"
with open(PROGRAM, "rb") as program:
    ASAN = b"__asan_init" in program.read()  # memory says nothing then


class Worker(d.Worker):
    """Adds what servers noted on stderr."""

    def ledger(self, server):
        text = b"".join(e.payload for e in self.seen
                        if e.type == STDERR and e.server == server)
        return [json.loads(line)["ledger"] for line in text.splitlines()
                if line.startswith(b'{"ledger"')]

    def until_noted(self, server, key, n=1):
        while True:
            found = [x[key] for x in self.ledger(server) if key in x]
            if len(found) >= n:
                return found
            self.read()

    def fake(self, *scene, **how):
        return self.start(FAKE + list(scene), **how)

    def fake_ready(self, *scene, **how):
        return self.ready(FAKE + list(scene), **how)

    def answer(self, server, template, **how):
        """Has the server answer with this line, ID being the id."""
        return self.result(
            server, "f", json.dumps({"raw": template}).encode(), **how)

    def rss(self):
        return int(self.status("VmRSS").split()[0]) * 1024


def raw(template):
    return json.dumps({"raw": template}).encode()


class Common:
    uid = None
    wrapper = ()

    def worker(self, **how):
        w = Worker(PROGRAM, uid=self.uid, wrapper=self.wrapper, **how)
        self.addCleanup(self.finish, w)
        return w

    @staticmethod
    def finish(w):
        if w.proc.poll() is None and w.sock.fileno() >= 0:
            code = w.close()
            assert code == 0, f"the worker ended with {code}"

    def assert_memory(self, n, limit):
        if not ASAN:
            self.assertLess(n, limit)

    # ---- the process ----

    def test_confined(self):
        w = self.worker(name="j9/2")
        self.assertEqual(w.ping(5).n, 5)
        pid = w.proc.pid
        self.assertEqual(w.status("Seccomp"), "2")
        self.assertEqual(w.status("NoNewPrivs"), "1")
        for caps in ("CapPrm", "CapEff", "CapBnd", "CapAmb", "CapInh"):
            self.assertEqual(int(w.status(caps), 16), 0, caps)
        if self.uid is not None:
            self.assertEqual(w.status("Uid").split(), [str(self.uid)] * 4)
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            self.assertEqual(f.read().rstrip(b"\0 "),
                             b"oz0-worker: session j9/2")
        with open(f"/proc/{pid}/comm", encoding="ascii") as f:
            self.assertEqual(f.read(), "oz0-worker\n")
        if os.getuid() == 0:
            for ns in ("user", "mnt", "net", "ipc", "uts"):
                self.assertNotEqual(os.readlink(f"/proc/{pid}/ns/{ns}"),
                                    os.readlink(f"/proc/self/ns/{ns}"), ns)
            self.assertEqual(os.listdir(f"/proc/{pid}/root/"), [])

    def test_plugins_title(self):
        w = self.worker(kind=d.PLUGINS, name="plugins")
        with open(f"/proc/{w.proc.pid}/cmdline", "rb") as f:
            self.assertEqual(f.read().rstrip(b"\0 "), b"oz0-worker: plugins")

    def test_supervisor_goes_away(self):
        w = self.worker()
        w.fake_ready("waits")
        self.assertEqual(w.close(), 0)

    def breaks(self, act, **how):
        """A worker that cannot trust its frames ends, with 70."""
        w = self.worker(**how)
        act(w)
        with self.assertRaises((d.Gone, ConnectionResetError)):
            while True:
                w.read()
        self.assertEqual(w.proc.wait(timeout=d.PATIENCE), 70)

    def test_bad_frames(self):
        init = d.body(("u32", 1), ("u8", 1), ("str", "x"), ("u64", 1 << 20),
                      ("u8", 7), ("u64", 1 << 20))
        self.breaks(lambda w: w.send_raw(b"\xff" * 64))
        self.breaks(lambda w: w.send(d.PONG, d.body(("u64", 1))))
        self.breaks(lambda w: w.send(d.PING, d.body(("u32", 1))))
        self.breaks(lambda w: w.send(d.INIT, init))  # a second one
        self.breaks(lambda w: w.send(d.PING, d.body(("u64", 1))), init=False)
        self.breaks(lambda w: w.send(d.INIT, init + b"x"), init=False)
        self.breaks(lambda w: w.send(
            d.INIT, init.replace(b"\x01\x00\x00\x00\x01", b"\x09\0\0\0\x01",
                                 1)), init=False)

    def test_bad_calls(self):
        for function, key in (('a"b', "k"), ("f", 'k"'), ("f", "k\n")):
            w = self.worker()
            s = w.fake_ready("waits")
            w.call(s, function, key=key)
            with self.assertRaises((d.Gone, ConnectionResetError)):
                while True:
                    w.read()
            self.assertEqual(w.proc.wait(timeout=d.PATIENCE), 70)

    def test_same_attempt_twice(self):
        w = self.worker()
        s = w.fake_ready("waits")
        a = w.call(s, "f")
        w.call(s, "f", attempt=a)
        with self.assertRaises((d.Gone, ConnectionResetError)):
            while True:
                w.read()
        self.assertEqual(w.proc.wait(timeout=d.PATIENCE), 70)

    # ---- beginnings ----

    def begins(self, scene, era, *args, name="fake", **how):
        w = self.worker()
        s = w.fake_ready(scene, *args, **how)
        ready = w.until(S_READY, server=s)
        self.assertEqual((ready.era, ready.name), (era, name))
        e = w.result(s, "f")
        self.assertEqual((e.how, e.sent), (d.E_RESULT, 1), e)
        return w, s

    def fails(self, scene, why, text, *args, **how):
        w = self.worker()
        s = w.fake(scene, *args, **how)
        e = w.until((FAILED, S_READY), server=s)
        self.assertEqual((e.type, getattr(e, "why", 0)), (FAILED, why), e)
        self.assertRegex(e.message, text)
        return w, s

    def test_legacy(self):
        w, s = self.begins("legacy_plain", "2025-11-25")
        asked = w.until_noted(s, "asked")[0]
        self.assertEqual(asked["protocolVersion"], "2025-11-25")
        self.assertEqual(asked["capabilities"], {})
        self.begins("legacy_code_zero", "2025-11-25")

    def test_legacy_hint(self):
        self.begins("legacy_plain", "2025-11-25", hint=d.LEGACY)

    def test_versions(self):
        for v in ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"):
            self.begins("version", v, v)
        for v in ("1999-01-01", MODERN):
            self.fails("version", d.F_HANDSHAKE, v, v)

    def test_modern(self):
        self.begins("echo", MODERN)
        self.begins("echo", MODERN, hint=d.MODERN)

    def test_silent_probe(self):
        self.begins("silent_probe", "2025-11-25", probe=0.3)

    def test_exit_on_probe(self):
        w, s = self.fails("exit_on_probe", d.F_PROBE_EOF, "server/discover")
        w.gone(s)
        s = w.fake("exit_on_probe", hint=d.LEGACY)
        self.assertEqual(w.until(FAILED, server=s).why, d.F_EOF)

    def test_exit_on_probe_once(self):
        w, s = self.fails("exit_on_probe_once", d.F_PROBE_EOF, "ended")
        w.gone(s)
        s = w.fake_ready("exit_on_probe_once", hint=d.LEGACY)
        self.assertEqual(w.result(s, "f").how, d.E_RESULT)

    def test_exits(self):
        self.fails("exit_on_initialize", d.F_EOF, "ended")
        w = self.worker()
        s = w.fake("exit_after_initialize")
        # which end of it is seen first is the kernel's affair
        self.assertIn(w.until(FAILED, server=s).why, (d.F_EOF, d.F_INPUT))

    def test_version_refused(self):
        self.begins("refuses_once", MODERN)
        self.begins("refuses_to_legacy", "2025-06-18")
        self.begins("discover_empty", "2025-11-25")
        self.fails("refuses_for_ever", d.F_HANDSHAKE, MODERN)
        self.fails("refuses_all", d.F_HANDSHAKE, "2031-01-01")

    def test_slow_modern(self):
        w, s = self.begins("slow_modern", MODERN, probe=0.3)
        late = w.until(NOISE, server=s)
        self.assertEqual(late.what, d.N_LATE)

    def test_wrong_hint(self):
        self.begins("modern_hinted_legacy", MODERN, hint=d.LEGACY)

    def test_initialize_fails(self):
        self.fails("initialize_fails", d.F_HANDSHAKE, r"no licence \(-32000\)")
        self.fails("initialize_broken", d.F_HANDSHAKE, "initialize")

    def test_asks_while_greeted(self):
        w, s = self.begins("asks_while_greeted", "2025-11-25")
        first, second = w.until_noted(s, "answers", 2)
        self.assertEqual(first[0]["id"], 0)
        self.assertEqual(first[0]["error"]["code"], -32601)
        self.assertEqual((first[1]["id"], first[1]["result"]),
                         ("p\u00e4", {}))
        self.assertEqual(first[2]["error"]["code"], -32601)
        self.assertEqual((second[0]["id"], second[0]["result"]), (1, {}))

    # ---- listings ----

    def test_pages(self):
        w = self.worker()
        s = w.fake("pages")
        self.assertEqual(w.until(LISTED, server=s).count, 6)
        found = w.all(FUNCTION, server=s)
        refused = [(f.name, f.refused) for f in found if f.refused]
        self.assertEqual([n for n, _ in refused],
                         ["bad name", "x" * 129, "(no name)"])
        for (_, why), word in zip(refused, ("characters", "longer",
                                            "no name")):
            self.assertIn(word, why)
        self.assertTrue(any("a is listed twice" in x for x in w.logs))
        good = {f.name: f for f in found if not f.refused}
        self.assertEqual(list(good), ["a", "b", "c" * 128])
        self.assertEqual((good["a"].read_only, good["a"].idempotent,
                          good["a"].destructive), (2, 1, 0))
        self.assertEqual((good["b"].honours_key, good["b"].resume), (1, 0))

    def test_endless_listings(self):
        self.lists_badly("same_cursor", "no end")
        self.lists_badly("endless_pages", "1000 pages")
        self.lists_badly("many_functions", "10000 functions")
        self.lists_badly("list_error", r"cannot list \(-32603\)")

    def lists_badly(self, scene, text):
        w = self.worker()
        s = w.fake(scene)
        e = w.until((FAILED, LISTED), server=s)
        self.assertEqual((e.type, getattr(e, "why", 0)),
                         (FAILED, d.F_LISTING), e)
        self.assertRegex(e.message, text)

    def test_no_tools(self):
        w = self.worker()
        s = w.fake("no_tools")
        e = w.until((FAILED, LISTED), server=s)
        self.assertEqual((e.type, e.count, e.problem), (LISTED, 0, ""))

    def test_listing_byte_for_byte(self):
        w = self.worker()
        s = w.fake_ready("list_raw")
        self.assertEqual(
            w.functions(s)["f"].payload,
            b'{ "inputSchema" : {"type":"object","maximum":1.10,"x":1e400,'
            b'"x":-0},"name":"f" }')

    def test_list_changed(self):
        w = self.worker()
        s = w.fake_ready("changes")
        e = w.until(LISTED, server=s)
        self.assertEqual((e.generation, e.count, e.problem), (2, 2, ""))
        e = w.until(LISTED, server=s)
        self.assertEqual(e.generation, 3)
        self.assertIn("lost it", e.problem)
        self.assertEqual(w.result(s, "g").how, d.E_RESULT)

    def test_list_changed_modern(self):
        w = self.worker()
        s = w.fake_ready("changes_modern")
        self.assertEqual(w.until(LISTED, server=s).generation, 2)
        self.assertEqual(w.until(LISTED, server=s).generation, 3)
        self.assertEqual(
            [f.name for f in w.all(FUNCTION, server=s)], ["f", "g", "h"])

    # ---- calls ----

    def test_request(self):
        w = self.worker()
        s = w.fake_ready("echo")
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        w.result(s, "f", b'{"a":[1]}', key="j1/s1/t.f#ab/1", progress=True,
                 trace=trace)
        w.result(s, "f")
        first, second = w.until_noted(s, "call", 2)
        p = first["params"]
        self.assertEqual((p["name"], p["arguments"]), ("f", {"a": [1]}))
        self.assertEqual(p["_meta"]["oz0/idempotency_key"], "j1/s1/t.f#ab/1")
        self.assertEqual(p["_meta"]["progressToken"], first["id"])
        self.assertEqual(p["_meta"]["traceparent"], trace)
        p = second["params"]
        self.assertEqual(p["arguments"], {})
        self.assertNotIn("progressToken", p["_meta"])
        self.assertNotIn("traceparent", p["_meta"])
        self.assertGreater(second["id"], first["id"])

    def test_byte_for_byte(self):
        w = self.worker()
        s = w.fake_ready("echo_raw")
        for text in ('{"n":725653563933458432,"m":18446744073709551616}',
                     '{"a":1.10,"b":-0,"c":1E400,"d":1e-00011,"d":2}',
                     '{"s":"\\ud800 \\u0000 \\/ \u2028 \u00e4"}',
                     '{ "a" :\t[ ] , "b":{"arguments":1}}',
                     '{"deep":' + "[" * 400 + "]" * 400 + "}"):
            e = w.result(s, "f", text.encode())
            self.assertEqual(e.payload.decode(),
                             '{"content":[],"echo":' + text + "}")
        # line breaks between tokens alone become spaces
        e = w.result(s, "f", b'{\r\n"a":\n1}')
        self.assertEqual(e.payload, b'{"content":[],"echo":{  "a": 1}}')

    def test_large(self):
        w = self.worker()
        s = w.fake_ready("echo_raw")
        text = b'{"a":"' + b"q" * (5 << 20) + b'"}'
        e = w.result(s, "f", text)
        self.assertEqual(e.payload, b'{"content":[],"echo":' + text + b"}")

    def test_answers(self):
        w = self.worker()
        s = w.fake_ready("answers")
        ok = '{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}\n'
        for template, how, text in (
                (ok, d.E_RESULT, ""),
                (ok.replace("ID", '"ID"'), d.E_RESULT, ""),
                (ok.replace("ID", "ID.0"), d.E_RESULT, ""),
                (ok.replace("ID", "ID").replace("\n", "\r\n"), d.E_RESULT,
                 ""),
                (ok.replace('{"content":[]}', "[]"), d.E_BAD_ANSWER,
                 "not an object"),
                (ok.replace('"content":[]', '"isError":1'), d.E_BAD_ANSWER,
                 "isError"),
                (ok.replace('"content":[]', '"x":NaN'), d.E_BAD_ANSWER,
                 "unexpected character"),
                (ok.replace("[]", '["\xff"]'), d.E_BAD_ANSWER, "UTF-8"),
                (ok.replace("}}", '},"error":{"code":1}}'), d.E_BAD_ANSWER,
                 "both"),
                (ok.replace("}}", '},"result":1}'), d.E_BAD_ANSWER, "twice"),
                (ok.replace("2.0", "1.0"), d.E_BAD_ANSWER, "jsonrpc"),
                ('{"jsonrpc":"2.0","id":ID}\n', d.E_BAD_ANSWER, "neither"),
                ('{"jsonrpc":"2.0","id":ID,"error":{"message":"x"}}\n',
                 d.E_BAD_ANSWER, "no code")):
            e = w.answer(s, template)
            self.assertEqual((e.how, e.sent), (how, 1), (template, e))
            self.assertIn(text, e.message)
        e = w.answer(s, '{"id":ID,"error":{"code":0,"message":"context '
                     'canceled","data":1.10},"jsonrpc":"2.0"}\n')
        self.assertEqual((e.how, e.code, e.message),
                         (d.E_RPC_ERROR, 0, "context canceled"))
        self.assertEqual(e.payload, b'{"code":0,"message":"context canceled"'
                         b',"data":1.10}')
        self.assertEqual(w.ping(2).n, 2)

    def test_busy(self):
        w = self.worker()
        s = w.fake_ready("answers")
        for meta, error, want in (
                ('{"oz0/retryable":true,"oz0/retry_after":1.5}', 1, (1, 1.5)),
                ('{"oz0/retryable":true}', 1, (1, -1.0)),
                ('{"oz0/retryable":true,"oz0/retry_after":0}', 1, (1, 0.0)),
                ('{"oz0/retryable":true,"oz0/retry_after":-1}', 1,
                 (2, -1.0)),
                ('{"oz0/retryable":true,"oz0/retry_after":"1"}', 1,
                 (2, -1.0)),
                ('{"oz0/retryable":true,"oz0/retry_after":1e999}', 1,
                 (2, -1.0)),
                ('{"oz0/retryable":"true"}', 1, (3, -1.0)),
                ('{"oz0/retryable":false}', 1, (0, -1.0)),
                ('{"oz0/retryable":true}', 0, (0, -1.0))):
            e = w.answer(
                s, '{"jsonrpc":"2.0","id":ID,"result":{"isError":%s,'
                '"_meta":%s}}\n' % ("true" if error else "false", meta))
            self.assertEqual((e.how, e.is_error), (d.E_RESULT, error))
            self.assertEqual((e.busy, e.retry_after), want, meta)

    def test_result_types(self):
        w = self.worker()
        s = w.fake_ready("answers", "modern")
        for more, how in (
                ("", d.E_RESULT), (',"resultType":"complete"', d.E_RESULT),
                (',"resultType":"task"', d.E_BAD_ANSWER),
                (',"resultType":null', d.E_BAD_ANSWER),
                (',"resultType":"input_required"', d.E_BAD_ANSWER),
                (',"resultType":"input_required","inputRequests":{"a":'
                 '{"method":"roots/list"}},"requestState":"s"',
                 d.E_INPUT_REQUIRED)):
            e = w.answer(s, '{"jsonrpc":"2.0","id":ID,"result":{"x":1%s}}\n'
                         % more)
            self.assertEqual(e.how, how, (more, e))
        s = w.fake_ready("answers")  # a legacy server means nothing by it
        e = w.answer(s, '{"jsonrpc":"2.0","id":ID,"result":{"resultType":'
                     '"task"}}\n')
        self.assertEqual(e.how, d.E_RESULT)

    def test_rounds(self):
        w = self.worker()
        s = w.fake_ready("rounds")
        e = w.result(s, "f", b'{"n":10}', key="j1/k")
        self.assertEqual(e.how, d.E_RESULT)
        self.assertIn(b"after 10", e.payload)
        seen = [x for x in w.ledger(s) if "round" in x]
        while len(seen) < 11:
            w.read()
            seen = [x for x in w.ledger(s) if "round" in x]
        self.assertEqual([x["round"] for x in seen], list(range(11)))
        self.assertEqual({x["key"] for x in seen}, {"j1/k"})
        self.assertEqual(len({x["id"] for x in seen}), 11)
        self.assertEqual({x["arguments"]["n"] for x in seen}, {10})
        e = w.result(s, "f", b'{"n":11}')
        self.assertEqual((e.how, e.payload), (d.E_INPUT_REQUIRED, b""))
        self.assertIn("10 times", e.message)

    def test_out_of_order(self):
        w = self.worker()
        s = w.fake_ready("out_of_order")
        a, b = w.call(s, "f"), w.call(s, "f")
        self.assertIn(b"second", w.until(END).payload)
        e = w.until(END)
        self.assertEqual(e.attempt, a)
        self.assertIn(b"first", e.payload)
        self.assertEqual(w.until(NOISE).what, d.N_TWICE)
        self.assertEqual((b, w.all(END)), (a + 1, []))

    def test_unknown_server(self):
        w = self.worker()
        e = w.result(77, "f")
        self.assertEqual((e.how, e.sent), (d.E_SERVER, 0))
        w.stop(77)
        w.send(d.GONE, d.body(("u32", 77)))
        self.assertEqual(w.ping(3).n, 3)

    def test_not_ready(self):
        w = self.worker()
        s = w.fake("silent_probe")
        e = w.result(s, "f")
        self.assertEqual((e.how, e.sent), (d.E_SERVER, 0))

    # ---- noise ----

    def test_noise(self):
        w = self.worker()
        s = w.fake_ready("noise")
        e = w.until(NOISE, server=s, what=d.N_NOT_JSON)
        self.assertIn("npm warn", e.sample)
        for junk in ("\xff\xfe\n", '{"a":"\xff"}\n',
                     '[50] log{"jsonrpc":"2.0"}\n',
                     '[{"jsonrpc":"2.0","id":1,"result":{}}]\n', "[]\n",
                     '{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}\n',
                     '{"jsonrpc":"2.0","error":{"code":-32700}}\n',
                     '{"jsonrpc":"2.0","id":4711,"result":{}}\n',
                     '{"jsonrpc":"2.0","id":-0.0,"result":{}}\n',
                     '{"jsonrpc":"2.0","id":9007199254740993,"result":1}\n',
                     '{"jsonrpc":"2.0","method":"notifications/x"}\n',
                     '{"jsonrpc":"2.0","method":"notifications/progress"}\n',
                     "\n\r\n", "null\n", "{\n", "\0\n"):
            e = w.result(s, "f", raw(junk))
            self.assertEqual(e.how, d.E_RESULT, junk)
        kinds = {e.what for e in w.all(NOISE)}
        w.gone(s)
        kinds |= {e.what for e in w.all(NOISE)}
        self.assertLessEqual({d.N_NOT_JSON, d.N_UTF8, d.N_NOT_RPC,
                              d.N_UNKNOWN_ID}, kinds)
        for e in w.seen:
            self.assertNotIn("result", getattr(e, "sample", ""))

    def test_noise_without_end(self):
        for what, text in ((b'{"lines":999}', None),
                           (b'{"lines":1000}', "1000 lines"),
                           (b'{"bytes":1048575}', None),
                           (b'{"bytes":1048577}', "bytes")):
            w = self.worker()
            s = w.fake_ready("noise")
            a = w.call(s, "f", what)
            e = w.until((END, FAILED))
            if text is None:
                self.assertEqual((e.type, e.how), (END, d.E_RESULT), what)
                continue
            self.assertEqual((e.type, e.why), (FAILED, d.F_BROKEN), what)
            self.assertIn(text, e.message)
            w.gone(s)
            e = w.until(END, attempt=a)
            self.assertEqual((e.how, e.sent), (d.E_SERVER, 1))

    def test_asks_modern(self):
        w = self.worker()
        s = w.fake_ready("asks_modern")
        self.assertEqual(w.result(s, "f").how, d.E_RESULT)
        self.assertEqual(w.until(NOISE).what, d.N_REQUEST)
        w.result(s, "f")
        self.assertEqual([x for x in w.ledger(s) if "got" in x], [])

    def test_floods_requests(self):
        w = self.worker()
        s = w.fake_ready("floods_requests")
        before = w.rss()
        self.assertEqual(w.result(s, "f").how, d.E_RESULT)
        self.assert_memory(w.rss() - before, 8 << 20)

    def test_too_large(self):
        w = self.worker(max_message=1 << 20)
        s = w.fake_ready("big")
        limit = 1 << 20
        for last in (b"false", b"true"):
            e = w.result(s, "f", b'{"size":%d,"last":%s}'
                         % (3 * limit, last))
            self.assertEqual((e.how, e.sent), (d.E_TOO_LARGE, 1), e)
            self.assertIn(str(limit), e.message)
            e = w.result(s, "f", b'{"size":%d,"last":%s}'
                         % (limit - 100, last))
            self.assertEqual(e.how, d.E_RESULT)
            self.assertGreater(len(e.payload), limit - 100)
        self.assertEqual(w.all(FAILED), [])
        w.call(s, "f", b'{"size":%d,"unknown":true}' % (3 * limit))
        self.assertEqual(w.until(FAILED).why, d.F_BROKEN)

    def test_endless_line(self):
        w = self.worker(max_message=1 << 20)
        s = w.fake_ready("endless")
        before = w.rss()
        a, b = w.call(s, "f"), w.call(s, "f")
        self.assertIn(b"in front", w.until(END, attempt=a).payload)
        e = w.until(END, attempt=b)
        self.assertEqual(e.how, d.E_TOO_LARGE)
        self.assertIn("no end", w.until(FAILED, server=s).message)
        self.assert_memory(w.rss() - before, 6 << 20)

    # ---- progress ----

    def test_progress(self):
        w = self.worker()
        s = w.fake_ready("progress")
        reports = ['{"progressToken":TOKEN,"progress":%s}' % v
                   for v in ("1", "1", "0.5", '"2"', "1e999", "null")]
        reports += ['{"progressToken":TOKEN,"progress":2,"total":4,'
                    '"message":"secret"}',
                    '{"progress":3}', '{"progressToken":99,"progress":3}',
                    '{"progressToken":"TOKEN","progress":3}', "[]", "{}"]
        e = w.result(s, "f", json.dumps({"raw": reports}).encode(),
                     progress=True)
        self.assertEqual((e.how, e.dropped_progress), (d.E_RESULT, 5))
        got = [(p.attempt, p.progress, p.has_total, p.total)
               for p in w.all(PROGRESS)]
        self.assertEqual(got[0], (e.attempt, 1, 0, 0))
        self.assertEqual(got[-1][:2], (e.attempt, 3))
        self.assertTrue(all(x[1] in (1, 2, 3) for x in got), got)
        w.gone(s)
        self.assertNotIn("secret", repr(w.seen) + repr(w.logs))

    def test_progress_not_asked(self):
        w = self.worker()
        s = w.fake_ready("progress")
        e = w.result(s, "f", json.dumps({"raw": [
            '{"progressToken":3,"progress":1}',
            '{"progressToken":4,"progress":1}']}).encode())
        self.assertEqual((e.how, e.dropped_progress), (d.E_RESULT, 1))
        self.assertEqual(w.all(PROGRESS), [])

    # ---- cancel ----

    def test_cancel(self):
        w = self.worker()
        s = w.fake_ready("waits")
        a = w.call(s, "f")
        w.until(SENT, attempt=a)
        number = w.until_noted(s, "call")[0]
        w.cancel(a, 'why "so"')
        self.assertEqual(w.until(CANCEL_SENT, attempt=a).written, 1)
        got = w.until_noted(s, "got")[0]
        self.assertEqual(got["method"], "notifications/cancelled")
        self.assertEqual(got["params"],
                         {"requestId": number, "reason": 'why "so"'})
        w.cancel(a)  # harmless, and not sent again
        w.ping(9)
        w.gone(s)
        e = w.until(END, attempt=a)
        self.assertEqual((e.how, e.sent, e.after_cancel),
                         (d.E_SERVER, 1, 1))
        self.assertEqual(len([x for x in w.ledger(s) if "got" in x]), 1)

    def test_late_answer(self):
        w = self.worker()
        s = w.fake_ready("late")
        a = w.call(s, "f", progress=True)
        w.until_noted(s, "call")
        w.cancel(a)
        e = w.until(END, attempt=a)
        self.assertEqual((e.how, e.after_cancel, e.dropped_progress),
                         (d.E_RESULT, 1, 1))
        self.assertIn(b"too late", e.payload)
        self.assertEqual(w.until(NOISE, what=d.N_TWICE).count, 1)
        self.assertEqual(w.result(s, "f").how, d.E_RESULT)

    def test_cancel_before_call(self):
        w = self.worker()
        s = w.fake_ready("waits")
        w.cancel(500)
        w.call(s, "f", attempt=500)
        e = w.until(END, attempt=500)
        self.assertEqual((e.how, e.sent, e.after_cancel),
                         (d.E_CANCELED, 0, 1))
        self.assertEqual(w.find(CANCEL_SENT, attempt=500).written, 0)
        w.gone(s)
        self.assertEqual([x for x in w.ledger(s) if "call" in x], [])

    def jam(self, w, kind):
        """A server that does not read, with one line begun and one queued."""
        s = w.fake_ready("deaf", kind=kind)
        w.until_noted(s, "deaf")
        a = w.call(s, "f", b'{"a":"' + b"a" * (4 << 20) + b'"}')
        w.until(SENT, attempt=a)
        return s, a, w.call(s, "f"), w.call(s, "f")

    def test_cancel_jammed_job(self):
        """L1.4a: stopping does not wait for a stdin that is not read."""
        w = self.worker()
        s, a, b, c = self.jam(w, d.JOB)
        w.cancel(b, stop=False)  # was not begun: nothing of it was made
        e = w.until(END, attempt=b)
        self.assertEqual((e.how, e.sent), (d.E_CANCELED, 0))
        w.cancel(a, stop=True)
        e = w.until(END, attempt=c)
        self.assertEqual((e.how, e.sent), (d.E_CANCELED, 0))
        self.assertEqual(w.until(CANCEL_SENT, attempt=a).written, 0)
        e = w.result(s, "f")
        self.assertEqual((e.how, e.sent), (d.E_SERVER, 0))
        w.servers[s].proc.send_signal(signal.SIGUSR1)
        w.until_noted(s, "eof")
        lines = [x for x in w.ledger(s) if "line" in x]
        self.assertEqual(len(lines), 1)
        self.assertFalse(lines[0]["whole"])  # the line begun was abandoned
        w.gone(s)
        e = w.until(END, attempt=a)
        self.assertEqual((e.how, e.sent, e.after_cancel),
                         (d.E_SERVER, 1, 1))

    def test_cancel_jammed_plugin(self):
        """L1.4a: the line begun is finished, the cancel is the next one."""
        w = self.worker()
        s, a, b, c = self.jam(w, d.PLUGIN)
        w.cancel(a)
        w.ping(1)
        self.assertIsNone(w.find(CANCEL_SENT))
        w.servers[s].proc.send_signal(signal.SIGUSR1)
        self.assertEqual(w.until(CANCEL_SENT, attempt=a).written, 1)
        w.until_noted(s, "line", 4)
        lines = [x for x in w.ledger(s) if "line" in x]
        self.assertGreater(lines[0]["line"], 4 << 20)
        self.assertIn("notifications/cancelled", lines[1]["tail"])
        self.assertIn("tools/call", lines[2]["tail"])
        self.assertEqual(w.all(END), [])
        self.assertLess(b, c)

    def test_cancel_read_job(self):
        """A job's server that reads gets the cancel and nothing after it."""
        w = self.worker()
        s = w.fake_ready("waits", kind=d.JOB)
        a = w.call(s, "f")
        w.until_noted(s, "call")
        w.cancel(a, stop=True)
        self.assertEqual(w.until(CANCEL_SENT, attempt=a).written, 1)
        e = w.result(s, "f")
        self.assertEqual((e.how, e.sent), (d.E_SERVER, 0))
        w.stop(s)
        w.servers[s].proc.wait(timeout=d.PATIENCE)
        w.gone(s)
        self.assertEqual(len([x for x in w.ledger(s) if "got" in x]), 1)

    def test_cancel_jammed_pipe(self):
        w = self.worker()
        s = w.fake_ready("deaf", kind=d.JOB, stdin="pipe")
        w.until_noted(s, "deaf")
        a = w.call(s, "f", b'{"a":"' + b"a" * (4 << 20) + b'"}')
        w.until(SENT, attempt=a)
        w.cancel(a, stop=True)
        self.assertEqual(w.until(CANCEL_SENT, attempt=a).written, 0)
        w.servers[s].proc.send_signal(signal.SIGUSR1)
        w.until_noted(s, "eof")

    # ---- ends, and what hinders them ----

    def test_stop(self):
        w = self.worker()
        s = w.fake_ready("answers_after_eof")
        a = w.call(s, "f")
        w.until_noted(s, "call")
        w.stop(s)
        e = w.until(END, attempt=a)
        self.assertEqual((e.how, e.sent, e.after_cancel), (d.E_RESULT, 1, 0))
        self.assertIn(b"after eof", e.payload)
        w.gone(s)
        self.assertEqual(w.all(FAILED), [])

    def test_no_deadlock(self):
        """B038: it writes before it reads, and so do we."""
        w = self.worker()
        s = w.fake_ready("writes_first")
        big = b'{"a":"' + b"a" * (2 << 20) + b'"}'
        a, b = w.call(s, "f", big), w.call(s, "f", big)
        self.assertGreater(len(w.until(END, attempt=a).payload), 2 << 20)
        self.assertEqual(w.until(END, attempt=b).how, d.E_RESULT)

    def test_reply_and_exit(self):
        """B041: all that was written is delivered, then the end."""
        w = self.worker()
        s = w.fake_ready("reply_and_exit")
        a = w.call(s, "f")
        w.servers[s].proc.wait(timeout=d.PATIENCE)
        w.send(d.GONE, d.body(("u32", s)))
        e = w.until(END, attempt=a)
        self.assertEqual((e.how, e.sent), (d.E_RESULT, 1))
        self.assertGreater(len(e.payload), 10 << 20)
        w.until(DRAINED, server=s)

    def test_cut_reply(self):
        for whole, how in ((b"true", d.E_RESULT), (b"false", d.E_SERVER)):
            w = self.worker()
            s = w.fake_ready("cut_reply")
            e = w.result(s, "f", b'{"whole":%s}' % whole)
            self.assertEqual((e.how, e.sent), (how, 1))

    def test_closes_stdout(self):
        w = self.worker()
        s = w.fake_ready("closes_stdout")
        e = w.result(s, "f")
        self.assertEqual((e.how, e.sent), (d.E_SERVER, 1))
        self.assertEqual(w.until(FAILED, server=s).why, d.F_EOF)
        e = w.result(s, "f")
        self.assertEqual((e.how, e.sent), (d.E_SERVER, 0))

    def test_closes_stdin(self):
        for stdin in ("socket", "pipe"):
            w = self.worker()
            s = w.fake_ready("closes_stdin", stdin=stdin)
            a = w.call(s, "f")
            w.until_noted(s, "closed")
            if stdin == "pipe":
                e = w.result(s, "f")
                self.assertEqual((e.how, e.sent), (d.E_SERVER, 0))
            w.servers[s].proc.send_signal(signal.SIGUSR1)
            e = w.until(END, attempt=a)
            self.assertIn(b"still here", e.payload)
            w.ping(4)

    def test_gone_with_a_holder(self):
        """Somebody else holds stdout: the supervisor's word is enough."""
        w = self.worker()
        s = w.start(FAKE + ["waits"])
        w.until(LISTED, server=s)
        holder = os.open(f"/proc/{w.servers[s].proc.pid}/fd/1", os.O_WRONLY)
        self.addCleanup(os.close, holder)
        a = w.call(s, "f")
        w.until_noted(s, "call")
        w.gone(s)
        self.assertEqual(w.until(END, attempt=a).how, d.E_SERVER)

    def test_stderr(self):
        """B035, B036: drained from the first byte; bounded; its end kept."""
        w = self.worker()
        s = w.fake_ready("loud")
        before = w.rss()
        self.assertEqual(w.result(s, "f").how, d.E_RESULT)
        w.gone(s)
        text = b"".join(e.payload for e in w.all(STDERR))
        self.assertLess(len(text), 32 << 20)
        self.assertIn(b"the last words", text)
        lost = sum(int(n) for n in re.findall(
            rb"\[oz0: (\d+) bytes of stderr were dropped\]", text))
        self.assertGreater(lost, 0)
        plain = re.sub(rb"\n\[oz0: \d+ bytes[^\n]*\]\n", b"", text)
        plain = re.sub(rb'{"ledger".*\n', b"", plain)
        self.assertEqual(lost + len(plain), 1600 * 65536 + 15)
        self.assert_memory(before, 32 << 20)

    def test_supervisor_does_not_read(self):
        """L9.6: it holds servers back instead of growing; cancels pass."""
        w = self.worker()
        s = w.fake_ready("floods_answers")
        before = w.rss()
        calls = [w.call(s, "f") for _ in range(64)]
        pid = w.proc.pid
        while not w.find(END):
            w.read()
        # leave it alone until it sleeps: what it holds then is its bound
        while True:
            with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                state = f.read().rsplit(")", 1)[1].split()[0]
            full = not select.select([], [], [], 0.2)[0]
            if state == "S" and full:
                break
        self.assert_memory(w.rss() - before, 16 << 20)
        if os.getuid() == 0:
            held = [f for f in os.listdir(f"/proc/{pid}/fd") if "memfd" in
                    os.readlink(f"/proc/{pid}/fd/{f}")]
            self.assertLess(len(held), 16)
        for a in calls:
            self.assertEqual(w.until(END, attempt=a).how, d.E_RESULT)

    def test_budget(self):
        """Half lines over the budget: the oldest one goes on, the others
        wait, and all of them end."""
        w = self.worker(kind=d.PLUGINS, budget=4 << 20)
        servers = [w.fake_ready("half_lines") for _ in range(4)]
        calls = [w.call(s, "f") for s in servers]
        done = set()
        while len(done) < 4:
            for s in servers:
                if s not in done and any(
                        "half" in x for x in w.ledger(s)):
                    w.servers[s].proc.send_signal(signal.SIGUSR1)
                    done.add(s)
            if len(done) < 4:
                w.read()
        for a in calls:
            self.assertEqual(w.until(END, attempt=a).how, d.E_RESULT)

    def test_many_servers(self):
        w = self.worker(kind=d.PLUGINS)
        servers = [w.start(FAKE + ["echo_raw"]) for _ in range(6)]
        for s in servers:
            w.until(LISTED, server=s)
        calls = {}
        for i in range(120):
            s = servers[i % 6]
            calls[w.call(s, "f", b'{"i":%d}' % i)] = i
        for a, i in calls.items():
            e = w.until(END, attempt=a)
            self.assertEqual(e.payload,
                             b'{"content":[],"echo":{"i":%d}}' % i)
        fds = len(os.listdir(f"/proc/{w.proc.pid}/fd")) \
            if os.getuid() == 0 else None
        for s in servers:
            w.gone(s)
        w.ping(1)
        if fds is not None:
            self.assertEqual(len(os.listdir(f"/proc/{w.proc.pid}/fd")),
                             fds - 18)


class AsCaller(Common, unittest.TestCase):
    pass


@unittest.skipUnless(os.getuid() == 0, "only root can be someone else")
class UnderAUid(Common, unittest.TestCase):
    uid = 1879048200


@unittest.skipUnless(os.getuid() == 0, "only root can be someone else")
class AsNobody(Common, unittest.TestCase):
    wrapper = ("setpriv", "--reuid", "65534", "--regid", "65534",
               "--clear-groups")


if __name__ == "__main__":
    unittest.main()
