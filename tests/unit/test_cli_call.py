"""oz0 call and oz0 cancel at each answer that a node may give, with a node
that is none (cli_fake.py)."""

import json
import os
import queue
import signal
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli_fake import Node, Terminal  # noqa: E402

ANSWER = {"call": "c12", "job": "j1", "run": 0, "session": 1,
          "function": "a.b", "state": "completed", "key": "j1/x",
          "attempts": 1, "outcome": "made"}
TEXT = {"content": [{"type": "text", "text": "hello"}]}


def answers(**more):
    return Node({"call/start": {**ANSWER, **more}})


def failed(reason="timeout", **more):
    return {"state": "failed", "error": {"reason": reason, "message": "why"},
            **more}


class Exits(unittest.TestCase):
    """The exit code, by the state, the outcome or the error."""

    def code(self, node, want, *args):
        with node:
            return node.run("call", "--job", "j1", *args, "a.b", code=want)

    def test_states(self):
        for want, more in (
                (0, {"result": TEXT}),
                (1, {"result": {**TEXT, "isError": True}}),
                (0, {"result": {**TEXT, "isError": False}}),
                (3, failed("refused", state="refused", outcome="not_made")),
                (3, failed("killed", state="refused", outcome="unknown")),
                (4, failed("canceled", state="canceled", outcome="made")),
                (4, failed("killed", state="canceled", outcome="unknown")),
                (5, failed("server_start", outcome="not_made")),
                (6, failed("timeout", outcome="unknown")),
                (6, failed("timeout", outcome="made")),
                (5, failed("lost", state="lost", outcome="not_made")),
                (6, failed("lost", state="lost", outcome="unknown"))):
            with self.subTest(**more):
                self.code(answers(**more), want)

    def test_errors(self):
        for want, code, reason in (
                (2, -32602, None), (2, -32601, None),
                (3, 1, "not_allowed"), (5, 1, "unknown_job"),
                (5, 1, "unknown_tool"), (5, 1, "already_ended"),
                (5, 1, "busy_activity"), (5, 1, "draining"),
                (5, 1, "node_full"), (6, 1, "internal")):
            data = {"reason": reason} if reason else {}
            with self.subTest(code=code, **data):
                r = self.code(Node({"call/start": lambda c, q: c.error(
                    q, code, "because of it", **data)}), want)
                self.assertEqual(r.stderr, b"oz0: because of it\n")
                self.assertEqual(r.stdout, b"")

    def test_error_as_json(self):
        with Node({"call/start": lambda c, q: c.error(
                q, 1, "no such job", reason="unknown_job")}) as n:
            r = n.run("--json", "call", "--job", "j1", "a.b", code=5)
        self.assertEqual(json.loads(r.stdout), {"error": {
            "code": 1, "message": "no such job",
            "data": {"reason": "unknown_job"}}})

    def test_job_that_cannot_be_had(self):
        """Of two errors the first is the reason."""
        with Node({"job/start": lambda c, q: c.error(
                q, 1, "it drains", reason="draining"),
                "call/start": lambda c, q: c.error(
                    q, 1, "no job", reason="unknown_job")}) as n:
            r = n.run("call", "a.b", code=5)
        self.assertEqual(r.stderr, b"oz0: it drains\n")


class Connection(unittest.TestCase):
    def lost(self, *pieces, words=b""):
        def start(c, q):
            for p in pieces:
                c.raw(p)
            c.close()
        with Node({"call/start": start}) as n:
            r = n.run("call", "--job", "j1", "a.b", code=7)
        self.assertIn(words, r.stderr)
        self.assertEqual(r.stdout, b"")

    def test_closed(self):
        self.lost(words=b"was lost: it was closed\n")

    def test_half_a_line(self):
        self.lost(b'{"jsonrpc":"2.0","id":1,"resu',
                  words=b"closed within a message")

    def test_no_json(self):
        self.lost(b"hello\n", words=b"no JSON object")
        self.lost(b"[]\n", words=b"no JSON object")
        self.lost(b"\xff\n", words=b"no JSON object")

    def test_no_answer(self):
        self.lost(b'{"jsonrpc":"2.0","id":1}\n', words=b"no answer")
        self.lost(b'{"id":"x","result":{}}\n', words=b"no answer")
        self.lost(b'{"id":1,"error":"x"}\n', words=b"no answer")

    def test_no_socket(self):
        with Node() as n:
            r = n.run("--socket", n.path + ".no", "call", "a.b", code=7)
        self.assertIn(b"does oz0d run?", r.stderr)

    def test_turned_away(self):
        """The node says why before it has read anything, and closes."""
        def away(c):
            c.error(None, 1, "your user has no role", reason="not_allowed")
            c.sock.close()
        with Node(on_connect=away) as n:
            for _ in range(20):  # whether oz0 has written by then or not
                r = n.run("call", "a.b", code=3)
                self.assertEqual(r.stderr, b"oz0: your user has no role\n")

    def test_pieces_and_events(self):
        """An answer in single bytes, after other answers and events."""
        def start(c, q):
            c.event(seq=1, event="call_accepted", job="j1")
            c.result({"id": 4711}, {"not": "ours"})
            line = b'{"jsonrpc":"2.0","id":%d,"result":%s}\n' % (
                q["id"], json.dumps({**ANSWER, "result": TEXT}).encode())
            for i in range(len(line)):
                c.raw(line[i:i + 1])
        with Node({"call/start": start}) as n:
            self.assertEqual(n.run("call", "--job", "j1", "a.b",
                                   code=0).stdout, b"hello\n")


class Output(unittest.TestCase):
    def show(self, result, *args, code=0):
        with Node({"call/start": lambda c, q: c.result(
                q, json.dumps(ANSWER)[:-1] + ',"result":' + result + "}")}
                  ) as n:
            return n.run(*args, "call", "--job", "j1", "a.b", code=code).stdout

    def test_bytes(self):
        """--json gives the node's own bytes: numbers, order, twice."""
        raw = r'{"b": 1.10, "a":1e400,"a":12345678901234567890,"c":"\u00e9"}'
        self.assertIn(b'"result":' + raw.encode() + b"}\n",
                      self.show(raw, "--json"))

    def test_texts(self):
        self.assertEqual(self.show(json.dumps({"content": [
            {"type": "text", "text": "one\n"}, {"type": "text", "text": ""},
            {"type": "text", "text": "two"}]})), b"one\n\ntwo\n")
        self.assertEqual(self.show(
            r'{"content":[{"type":"text","text":"\ud83d\ude00 \u00e9 \u20ac '
            r'\u0000 \ud800 \ud800\u0041 \n\t\"\\\/"}]}'),
            '\U0001f600 \xe9 \u20ac \0 \ufffd \ufffdA \n\t"\\/\n'.encode())

    def test_others(self):
        self.assertEqual(self.show(json.dumps({"content": [
            {"type": "image", "mimeType": "image/png", "data": "QUJD"},
            {"type": "resource", "resource": {"uri": "f:x", "text": "in"}},
            {"type": "resource", "resource": {
                "uri": "f:y", "mimeType": "a/b", "blob": "QUJDREVG"}},
            {"type": "resource_link", "uri": "f:z"}]})),
            b"[image image/png, 3 bytes]\nin\n[resource a/b f:y, 6 bytes]\n"
            b"[resource_link f:z]\n")

    def test_structured_alone(self):
        self.assertEqual(self.show(
            '{"content":[],"structuredContent":{"n":1.10}}'), b'{"n":1.10}\n')
        self.assertEqual(self.show('{"odd":1}'), b'{"odd":1}\n')

    def test_huge(self):
        text = "x" * (16 << 20)
        self.assertEqual(self.show(json.dumps({"content": [
            {"type": "text", "text": text}]})), text.encode() + b"\n")

    def test_evicted(self):
        with answers(evicted=True) as n:
            r = n.run("call", "--job", "j1", "a.b", code=0)
            self.assertIn(b"no longer kept", r.stderr)
            r = n.run("--json", "call", "--job", "j1", "a.b", code=0)
            self.assertTrue(json.loads(r.stdout)["evicted"])

    def test_failure_in_words(self):
        with answers(**failed(outcome="unknown", stopped="server_gone")) as n:
            r = n.run("call", "--job", "j1", "a.b", code=6)
        self.assertEqual(
            r.stderr, b"oz0: a.b failed: timeout: why (call c12 of job j1; 1 "
            b"attempt; outcome: unknown; stopped: server_gone)\n")

    def test_full_disk(self):
        with answers(result=TEXT) as n, open("/dev/full", "wb") as full:
            r = n.run("call", "--job", "j1", "a.b", stdout=full, code=6)
        self.assertIn(b"cannot write the output", r.stderr)

    def test_control_characters(self):
        """On a terminal they are tamed, elsewhere they are bytes."""
        evil = {"content": [{"type": "text",
                             "text": "a\x1b[2Jb\x07\x9b\r\nc\x7f"}]}
        with answers(result=evil) as n:
            self.assertEqual(
                n.run("call", "--job", "j1", "a.b").stdout,
                evil["content"][0]["text"].encode() + b"\n")
            t = Terminal(n.cmd("call", "--job", "j1", "a.b"))
            self.assertEqual(t.wait(), 0)
            self.assertEqual(t.out.replace(b"\r", b""), b"a?[2Jb??\nc?\n")
        with answers(**failed(error={"reason": "rpc_error",
                                     "message": "x\x1b[2J"})) as n:
            t = Terminal(n.cmd("call", "--job", "j1", "a.b"))
            self.assertEqual(t.wait(), 6)
            self.assertNotIn(b"\x1b", t.out)


class Arguments(unittest.TestCase):
    def sent(self, *args, **how):
        with answers(result=TEXT) as n:
            n.run("call", *args, code=0, **how)
            return n.asked("call/start")

    def test_bytes(self):
        raw = '{"b": 1.10,\r\n "a":1e400, "a":[ ]}'
        q = self.sent("--job", "j1", "a.b", raw)
        self.assertIn(raw.replace("\r\n", "  ").encode(), q["raw"])

    def test_stdin(self):
        for stdin in (b'{"n":1}', b'{"n":1}\n', b'\n {"n"\n:1}'):
            q = self.sent("--job", "j1", "a.b", "-", input=stdin)
            self.assertEqual(q["params"]["arguments"], {"n": 1})

    def test_file(self):
        with answers(result=TEXT) as n:
            path = os.path.join(n.dir.name, "args")
            with open(path, "w") as f:
                f.write('{"s":"' + "x" * (4 << 20) + '"}')
            n.run("call", "--job", "j1", "a.b", "@" + path, code=0)
            self.assertEqual(len(n.params("call/start")["arguments"]["s"]),
                             4 << 20)
            n.run("call", "--job", "j1", "a.b", "@" + path + ".no", code=2)

    def test_options(self):
        q = self.sent("--job=j1", "a.b", "--session", "3", "{}", "--activity",
                      "x", "--timeout=1.5m")
        self.assertEqual(q["params"], {
            "job": "j1", "activity": "x", "function": "a.b", "session": 3,
            "timeout": 90, "arguments": {}})

    def test_none(self):
        self.assertNotIn("arguments", self.sent("--job", "j1", "a.b")[
            "params"])

    def test_own_job(self):
        """It is started, and ended by a request sent with the call."""
        with answers(result=TEXT) as n:
            n.run("call", "a.b", code=0)
            job = n.params("job/start")["job"]
            self.assertRegex(job, "^cli-[0-9a-f]{16}$")
            n.asked("job/end")
            self.assertEqual([q["method"] for q in n.requests],
                             ["job/start", "call/start", "job/end"])
            self.assertEqual(n.params("call/start")["job"], job)
            self.assertEqual(n.params("job/end"), {"job": job, "wait": False})
            n.run("call", "a.b", code=0)
            self.assertNotEqual(n.params("job/start", 2)["job"], job)
            self.assertNotEqual(n.params("call/start", 1)["activity"],
                                n.params("call/start", 2)["activity"])

    def test_mistakes(self):
        with Node() as n:
            for words, args in (
                    (b"too few operands", []),
                    (b"too many operands: c", ["a.b", "{}", "c"]),
                    (b"unknown option --nope", ["--nope", "a.b"]),
                    (b"unknown option -x", ["a.b", "-x"]),
                    (b"option --job needs a value", ["a.b", "--job"]),
                    (b"--progress takes no value", ["a.b", "--progress=1"]),
                    (b"--job stands there twice", ["a.b", "--job=a",
                                                   "--job=b"]),
                    (b"named TOOL.FUNCTION", ["ab"]),
                    (b"named TOOL.FUNCTION", [".b"]),
                    (b"named TOOL.FUNCTION", ["a."]),
                    (b"not JSON: unexpected end at byte 1", ["a.b", "{"]),
                    (b"must be a JSON object", ["a.b", "[]"]),
                    (b"--session must be", ["a.b", "--session", "0"]),
                    (b"--session must be", ["a.b", "--session", "-1"]),
                    (b"--session must be", ["a.b", "--session", "1000001"]),
                    (b"--session must be",
                     ["a.b", "--session", "18446744073709551617"]),
                    (b"--timeout takes a time", ["a.b", "--timeout", "0"]),
                    (b"--timeout takes a time", ["a.b", "--timeout", "x"])):
                with self.subTest(args=args):
                    r = n.run("call", *args, code=2)
                    self.assertIn(words, r.stderr)
            self.assertEqual(n.requests, [])


class Stopping(unittest.TestCase):
    """^C cancels the call and waits; the second one leaves."""

    def node(self, end):
        """The call goes on until `end` was asked for."""
        waiting = []

        def start(c, q):
            waiting.append(q)

        def stop(c, q):
            c.result(q, {"state": "cancelling"})
            c.result(waiting[0], {**ANSWER, **failed(
                "canceled", state="canceled", outcome="unknown")})
        return Node({
            "call/start": start, end: stop,
            "job/status": lambda c, q: c.result(q, {"calls": [
                {"call": "c7", "activity": "x", "state": "lost"},
                {"call": "c8", "activity": "y", "state": "running"},
                {"call": "c9", "activity": "x", "state": "running"}]})})

    def test_own_job(self):
        for signo in (signal.SIGINT, signal.SIGTERM):
            with self.node("job/cancel") as n:
                p = n.spawn("call", "a.b")
                job = n.params("call/start")["job"]
                p.send_signal(signo)
                out, err = p.communicate(timeout=30)
                self.assertEqual((p.returncode, out), (4, b""), err)
                self.assertEqual(n.params("job/cancel"),
                                 {"job": job, "wait": False})

    def test_named_job(self):
        """Its other calls, and an older one of that name, are left alone."""
        with self.node("call/cancel") as n:
            p = n.spawn("call", "--job", "j1", "--activity", "x", "a.b")
            n.asked("call/start")
            p.send_signal(signal.SIGINT)
            p.communicate(timeout=30)
            self.assertEqual(p.returncode, 4)
            self.assertEqual(n.params("call/cancel"),
                             {"call": "c9", "wait": False})

    def test_too_late(self):
        """It had ended: what it ended with is what counts."""
        def status(c, q):
            c.result(q, {"calls": [{"call": "c9", "activity": "x",
                                    "state": "completed"}]})
            c.result(n.asked("call/start"), {**ANSWER, "result": TEXT})
        with Node({"call/start": lambda c, q: None,
                   "job/status": status}) as n:
            p = n.spawn("call", "--job", "j1", "--activity", "x", "a.b")
            n.asked("call/start")
            p.send_signal(signal.SIGINT)
            self.assertEqual(p.communicate(timeout=30)[0], b"hello\n")
            self.assertEqual(p.returncode, 0)

    def test_second_signal(self):
        with Node({"call/start": lambda c, q: None}) as n:
            p = n.spawn("call", "a.b")
            n.asked("call/start")
            p.send_signal(signal.SIGINT)
            n.asked("job/cancel")
            p.send_signal(signal.SIGINT)
            _, err = p.communicate(timeout=30)
            self.assertEqual(p.returncode, -signal.SIGINT)
            self.assertIn(b"may still be stopping", err)

    def test_while_it_is_sent(self):
        """A node that does not read: nothing is made, and the job ends."""
        first = []

        def serve(c):
            if not first:
                first.append(c)  # and reads nothing
                return
            n.read(c)
        with Node(on_connect=serve) as n:
            path = os.path.join(n.dir.name, "args")
            with open(path, "w") as f:
                f.write('{"s":"' + "x" * (8 << 20) + '"}')
            p = n.spawn("call", "a.b", "@" + path)
            while not first or not first[0].sock.recv(64, 2):  # MSG_PEEK
                pass
            p.send_signal(signal.SIGINT)
            job = n.params("job/end")["job"]
            _, err = p.communicate(timeout=30)
            self.assertEqual(p.returncode, 4, err)
            self.assertIn(b"nothing made", err)
            self.assertIn(job.encode(), first[0].sock.recv(4096))


class Progress(unittest.TestCase):
    """Events come over a connection of their own."""

    def node(self, *steps, lose=False):
        subscriber = []

        def start(c, q):
            for s in steps:
                subscriber[0].event(**{"event": "progress", "call": "c12",
                                       "job": q["params"]["job"], **s})
            if lose:
                subscriber[0].close()
            subscriber[0].event(event="progress", call="c9", job="another",
                                progress=99)
            if not lose:
                n.shown.put((c, q))
            else:
                c.result(q, {**ANSWER, "result": TEXT})

        def subscribe(c, q):
            subscriber.append(c)
            c.result(q, {"seq": 1})
        n = Node({"call/start": start, "events/subscribe": subscribe,
                  "job/status": {"calls": [{"call": "c12", "activity": "x",
                                            "state": "completed"}]}})
        n.shown = queue.Queue()
        return n

    def end(self, n):
        c, q = n.shown.get(timeout=60)
        c.result(q, {**ANSWER, "result": TEXT})

    def test_lines(self):
        for job in ([], ["--job", "j1", "--activity", "x"]):
            with self.node({"progress": 1, "total": 4},
                           {"progress": 2.5}) as n:
                p = n.spawn("call", "--progress", *job, "a.b")
                self.assertTrue(n.params("call/start")["progress"])
                self.assertEqual(p.stderr.readline(),
                                 b"c12: progress 1 of 4\n")
                self.assertEqual(p.stderr.readline(), b"c12: progress 2.5\n")
                self.end(n)
                out, err = p.communicate(timeout=30)
                self.assertEqual((out, err, p.returncode),
                                 (b"hello\n", b"", 0))

    def test_json(self):
        with self.node({"progress": 1, "total": 4}) as n:
            p = n.spawn("--json", "call", "--progress", "a.b")
            self.assertEqual(json.loads(p.stdout.readline())["progress"], 1)
            self.end(n)
            self.assertEqual(json.loads(p.communicate(timeout=30)[0])[
                "state"], "completed")

    def test_bar(self):
        with self.node({"progress": 1, "total": 4},
                       {"progress": 3, "total": 4}, {"progress": 9}) as n:
            t = Terminal(n.cmd("call", "--progress", "a.b"))
            t.read(until=b"progress 9")
            self.assertRegex(t.out, rb"\[#+\.+\] c12: progress 3 of 4")
            self.end(n)
            self.assertEqual(t.wait(), 0)
            self.assertTrue(t.out.endswith(b"\r\x1b[Khello\r\n"), t.out)

    def test_events_lost(self):
        """The node drops a subscriber: the call's result comes all the same.
        """
        with self.node({"progress": 1}, lose=True) as n:
            r = n.run("call", "--progress", "a.b", code=0)
            self.assertEqual(r.stdout, b"hello\n")


class Cancel(unittest.TestCase):
    def test_waits(self):
        for name, method, key in (("j1", "job/cancel", "job"),
                                  ("c12", "call/cancel", "call"),
                                  ("c12x", "job/cancel", "job")):
            with Node({method: {key: name, "state": "CANCELED"}}) as n:
                r = n.run("cancel", name, code=0)
                self.assertEqual(r.stdout, b"%s CANCELED\n" % name.encode())
                self.assertEqual(n.params(method), {key: name, "wait": True})

    def test_no_wait(self):
        with Node({"job/cancel": {"state": "cancelling"}}) as n:
            for args in (("cancel", "j1", "--no-wait"),
                         ("cancel", "--no-wait", "j1"),
                         ("job", "cancel", "--no-wait", "j1")):
                n.run(*args, code=0)
            self.assertFalse(n.params("job/cancel", 3)["wait"])

    def test_ended(self):
        def ended(c, q):
            c.error(q, 1, "it has ended", reason="already_ended",
                    state="COMPLETED")
        with Node({"job/cancel": ended, "call/cancel": ended}) as n:
            self.assertEqual(n.run("cancel", "j1", code=0).stdout,
                             b"j1 COMPLETED already\n")
            self.assertEqual(
                json.loads(n.run("cancel", "--json", "c12", code=0).stdout),
                {"call": "c12", "state": "COMPLETED"})

    def test_refused(self):
        for want, reason in ((3, "not_allowed"), (5, "unknown_job")):
            with Node({"job/cancel": lambda c, q: c.error(
                    q, 1, "no", reason=reason)}) as n:
                n.run("cancel", "j1", code=want)


if __name__ == "__main__":
    unittest.main()
