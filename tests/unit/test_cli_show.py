"""What oz0 shows: status, ps, functions, job list, trace, logs and its own
help, with a node that is none (cli_fake.py)."""

import json
import os
import re
import signal
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli_fake import Node, Terminal, run  # noqa: E402

NODE = {"node": "n1", "version": "9", "state": "degraded", "degraded": "pid 7",
        "slots": 64, "running": 3, "queued": 1, "jobs": 2, "sessions": 4,
        "seq": 10, "policy": "none",
        "servers": [
            {"tool": "billing", "kind": "plugin", "state": "ready",
             "pid": 123, "running": 2, "restarts": 1, "era": "2025-11-25"},
            {"tool": "f\u00fc", "kind": "job", "state": "backoff",
             "job": "j1", "session": 2, "running": 0, "restarts": 0}],
        "limits": [{"tool": "f", "limit": "memory", "asked": 1,
                    "given": False}]}
CALL = {"call": "c12", "job": "j1", "run": 0, "session": 1,
        "function": "a.b", "state": "running", "key": "j1/x", "attempts": 2,
        "activity": "x", "progress": 2, "total": 4}
JOB = {"job": "j1", "tenant": "acme", "run": 0, "state": "RUNNING",
       "sessions": [{"session": 1, "state": "OPEN", "restartable": False,
                     "harness": True}], "calls": [CALL]}


def step(seq, job="j1", text=None, **more):
    return {"seq": seq, "time": "2026-12-01T08:40:34.123456Z", "job": job,
            "event": "call_ended", "text": text or "step %d" % seq, **more}


class Status(unittest.TestCase):
    def test_node(self):
        with Node({"node/status": NODE}) as n:
            out = n.run("status", code=0).stdout.decode()
        self.assertIn("node        n1 degraded (oz0 9)\n", out)
        self.assertIn("degraded    pid 7\n", out)
        self.assertIn("3 running of 64 slots, 1 queued\n", out)
        self.assertIn("memory of f", out)
        rows = [line for line in out.splitlines()
                if line.startswith(("SERVER", "billing", "f\u00fc"))]
        self.assertEqual(len({re.search("KIND|plugin|job", r).start()
                              for r in rows}), 1, rows)
        self.assertNotIn("\033", out)

    def test_job_and_call(self):
        with Node({"job/status": JOB, "call/status": CALL}) as n:
            out = n.run("status", "j1", code=0).stdout.decode()
            self.assertIn("j1 RUNNING (run 0, tenant acme)", out)
            self.assertIn("with a harness, may not start again", out)
            self.assertRegex(out, r"c12 +a\.b +running +2 +2 of 4 +x\n")
            out = n.run("status", "c12", code=0).stdout.decode()
            self.assertIn("progress    2 of 4\n", out)
            self.assertEqual(n.params("call/status"), {"call": "c12"})

    def test_many_rows(self):
        """Texts of a message stay while it is shown, however many."""
        calls = [{**CALL, "call": "c%d" % i} for i in range(100)]
        with Node({"job/status": {**JOB, "calls": calls}}) as n:
            out = n.run("status", "j1", code=0).stdout.decode()
            self.assertIn("j1 RUNNING (run 0, tenant acme)", out)
            self.assertNotIn("more", out)
            self.assertRegex(out, r"c99 +a\.b +running")
        with Node({"job/status": {**JOB, "calls": calls,
                                  "calls_left_out": 7}}) as n:
            out = n.run("status", "j1", code=0).stdout.decode()
            self.assertIn("and 7 more\n", out)

    def test_operator(self):
        """What an operator has to decide: kill switches and approvals."""
        waits = {"call": "c7", "function": "a.b", "job": "j1",
                 "tenant": "acme", "rule": 3}
        with Node({"node/status": {**NODE, "killed": ["billing", "x"],
                                   "approvals": [waits],
                                   "approvals_left_out": 4},
                   "call/status": {**CALL, "state": "waiting_approval",
                                   "rule": 3}}) as n:
            out = n.run("status", code=0).stdout.decode()
            self.assertRegex(out, r"killed +billing: ")
            self.assertRegex(out, r"killed +x: ")
            self.assertRegex(out, r"c7 +a\.b +j1 +acme +3\n")
            self.assertIn("and 4 more\n", out)
            out = n.run("status", "c12", code=0).stdout.decode()
            self.assertIn("rule 3 wants: oz0 approve c12", out)
        with Node({"node/status": {**NODE, "killed": [],
                                   "approvals": []}}) as n:
            out = n.run("status", code=0).stdout.decode()
            self.assertNotIn("killed", out)
            self.assertNotIn("APPROVAL", out)

    def test_json(self):
        raw = '{"node": "n1",  "slots":1e2}'
        with Node({"node/status": raw, "job/status": raw}) as n:
            for args in (["--json", "status"], ["status", "--json"],
                         ["status", "j1", "--json"]):
                self.assertEqual(n.run(*args, code=0).stdout.decode(),
                                 raw + "\n")

    def test_empty_answer(self):
        with Node() as n:
            for args in (["status"], ["status", "j1"], ["status", "c1"],
                         ["ps"], ["functions"], ["job", "list"], ["logs", "x"],
                         ["trace", "j1"]):
                n.run(*args, code=0)

    def test_color(self):
        with Node({"node/status": NODE}) as n:
            for env, colored in (({}, True), ({"NO_COLOR": ""}, True),
                                 ({"NO_COLOR": "1"}, False),
                                 ({"TERM": "dumb"}, False)):
                t = Terminal(n.cmd("status"), env=env)
                self.assertEqual(t.wait(), 0)
                self.assertEqual(b"\033[31mdegraded\033[0m" in t.out, colored)
                self.assertEqual(b"\033" in t.out, colored)

    def test_tamed(self):
        with Node({"node/status": {**NODE, "degraded": "a\x1b[2J",
                                   "servers": [{"tool": "x\x1b\n\x9by"}]}}
                  ) as n:
            t = Terminal(n.cmd("status"), env={"NO_COLOR": "1"})
            t.wait()
            self.assertNotIn(b"\x1b", t.out)
            self.assertIn(b"x????y", t.out)


class Lists(unittest.TestCase):
    def test_ps(self):
        rows = [{"pid": 1, "role": "worker", "name": "w", "age_s": 5.9},
                {"pid": 22, "role": "sandbox", "name": "s", "age_s": 200.5},
                {"pid": 3, "role": "x", "name": "y", "age_s": 18420},
                {"pid": 4, "role": "x", "name": "y", "age_s": 200000}]
        with Node({"node/ps": {"processes": rows}}) as n:
            out = n.run("ps", "j1", code=0).stdout.decode()
            self.assertEqual(n.params("node/ps"), {"job": "j1"})
            self.assertEqual([line.split()[1] for line in out.splitlines()],
                             ["AGE", "5s", "3m20s", "5h07m", "2d07h"])
            out = n.run("ps", "--json", code=0).stdout.splitlines()
            self.assertEqual([json.loads(x) for x in out], rows)

    def test_functions(self):
        rows = [{"function": "a.b", "repeatable": True, "why": "it reads"},
                {"function": "a.c", "repeatable": False, "why": "it writes"},
                {"function": "a.d", "callable": False, "refused": "bad name"}]
        with Node({"tool/functions": {"functions": rows,
                                      "not_listed": ["own", "x"]}}) as n:
            out = n.run("functions", code=0).stdout.decode()
            self.assertRegex(out, r"a\.b +repeatable +it reads\n")
            self.assertRegex(out, r"a\.c +once +it writes\n")
            self.assertRegex(out, r"a\.d +not callable +bad name\n")
            self.assertTrue(out.endswith(": own, x\n"), out)
            out = n.run("--json", "functions", "a", code=0).stdout
            self.assertEqual([json.loads(x) for x in out.splitlines()][3:],
                             [{"tool": "own", "not_listed": True},
                              {"tool": "x", "not_listed": True}])

    def test_jobs(self):
        with Node({"job/list": {"jobs": [JOB], "more": True}}) as n:
            r = n.run("job", "list", code=0)
            self.assertRegex(r.stdout.decode(), r"j1 +acme +0 +RUNNING\n")
            self.assertIn(b"more jobs", r.stderr)

    def test_sigpipe(self):
        """As other filters: ended by the signal, silently."""
        with Node({"job/list": {"jobs": [JOB] * 100}}) as n:
            p = n.spawn("--json", "job", "list")
            p.stdout.close()
            err = p.stderr.read()
            self.assertEqual((p.wait(30), err), (-signal.SIGPIPE, b""))
            p.stderr.close()


class Trace(unittest.TestCase):
    def steps(self, last):
        """A node that gives two steps a page."""
        def trace(c, q):
            since = q["params"].get("since", 0)
            rows = [step(i) for i in range(1, last + 1) if i > since]
            c.result(q, {"steps": rows[:2], "more": len(rows) > 2})
        return trace

    def test_pages(self):
        with Node({"job/trace": self.steps(7)}) as n:
            out = n.run("--json", "trace", "j1", code=0).stdout
            self.assertEqual([json.loads(x)["seq"] for x in out.splitlines()],
                             list(range(1, 8)))
            out = n.run("trace", "j1", code=0).stdout.decode().splitlines()
            self.assertEqual(out[0], "2026-12-01 (UTC)")
            self.assertEqual(out[1], "08:40:34.123        step 1")
            self.assertEqual(len(out), 8)

    def test_call(self):
        rows = [step(1), step(2, call="c1"), step(3, call="c12")]
        with Node({"call/status": CALL, "job/trace": {"steps": rows}}) as n:
            out = n.run("--json", "trace", "c12", code=0).stdout
            self.assertEqual([json.loads(x)["seq"] for x in out.splitlines()],
                             [3])

    def test_unknown(self):
        with Node({"job/trace": lambda c, q: c.error(
                q, 1, "no job", reason="unknown_job")}) as n:
            n.run("trace", "j1", "--follow", code=5)

    def test_follow(self):
        """Steps between the pages and the events come once each; those of
        others, and progress, do not."""
        live = []

        def subscribe(c, q):
            self.assertEqual(q["params"], {"since": 10})
            live.append(c)
            c.result(q, {"seq": 13})
            for i in (8, 9, 10, 11):
                c.event(**step(i))
            c.event(**step(12, job="j2"))
            c.event(event="progress", job="j1", progress=1)
        with Node({"node/status": NODE, "job/trace": self.steps(9),
                   "events/subscribe": subscribe}) as n:
            p = n.spawn("--json", "trace", "--follow", "j1")
            seen = [json.loads(p.stdout.readline())["seq"] for _ in range(11)]
            self.assertEqual(seen, list(range(1, 12)))
            live[0].event(**step(13, event="job_ended"))
            live[0].event(**step(14, event="job_started"))
            self.assertEqual([json.loads(p.stdout.readline())["seq"]
                              for _ in range(2)], [13, 14])
            live[0].close()
            _, err = p.communicate(timeout=30)
            self.assertEqual(p.returncode, 7)
            self.assertIn(b"was lost", err)

    def test_reader_gone(self):
        """It ends although there is nothing to write."""
        with Node({"node/status": NODE, "job/trace": self.steps(1)}) as n:
            p = n.spawn("trace", "--follow", "j1")
            p.stdout.readline()
            n.asked("events/subscribe")
            p.stdout.close()
            self.assertEqual(p.wait(30), -signal.SIGPIPE)
            p.stderr.close()


class Logs(unittest.TestCase):
    def line(self, n, text="said", source="own"):
        return {"n": n, "time": "2026-12-01T08:40:34.123456Z",
                "from": source, "line": text}

    def test_words(self):
        with Node({"tool/logs": {"lines": [
                self.line(5), self.line(6, "x\x1b[2J", "j1/1 own")],
                "next": 7}}) as n:
            self.assertEqual(
                n.run("logs", "own", code=0).stdout.decode(),
                "(4 earlier lines are no longer kept)\n"
                "08:40:34.123  said\n"
                "08:40:34.123  j1/1 own: x\x1b[2J\n")
            t = Terminal(n.cmd("logs", "own"))
            t.wait()
            self.assertNotIn(b"\x1b", t.out)

    def test_follow(self):
        def logs(c, q):
            since = q["params"]["since"]
            self.assertEqual(q["params"]["wait"], since > 1)
            if since < 5:
                c.result(q, {"lines": [self.line(since)], "next": since + 1})
        with Node({"tool/logs": logs}) as n:
            p = n.spawn("--json", "logs", "own", "--follow")
            self.assertEqual([json.loads(p.stdout.readline())["n"]
                              for _ in range(4)], [1, 2, 3, 4])
            n.asked("tool/logs", 5)
            p.send_signal(signal.SIGINT)
            self.assertEqual(p.wait(30), -signal.SIGINT)
            p.communicate()


class Simple(unittest.TestCase):
    """Commands that are one request."""

    def test_requests(self):
        for args, method, params in (
                ("job start j1 --tenant t --run 3", "job/start",
                 {"job": "j1", "tenant": "t", "run": 3}),
                ("job end --failed j1", "job/end",
                 {"job": "j1", "failed": True, "wait": True}),
                ("job end j1 --no-wait", "job/end",
                 {"job": "j1", "failed": False, "wait": False}),
                ("job forget j1", "job/forget", {"job": "j1"}),
                ("session open j1 2", "session/open",
                 {"job": "j1", "session": 2}),
                ("session open --tool a --tool=b --workspace /w --force j1 2",
                 "session/open", {"job": "j1", "session": 2,
                                  "tools": ["a", "b"], "workspace": "/w",
                                  "force": True}),
                ("session close j1 2", "session/close",
                 {"job": "j1", "session": 2, "wait": True}),
                ("approve c7", "call/approve", {"call": "c7"}),
                ("deny c7", "call/deny", {"call": "c7"}),
                ("kill t", "tool/kill", {"tool": "t"}),
                ("kill --server t", "tool/kill",
                 {"tool": "t", "server": True}),
                ("unkill t", "tool/unkill", {"tool": "t"}),
                ("restart t", "tool/restart", {"tool": "t"}),
                ("drain", "node/drain", {}),
                ("reload", "node/reload", {})):
            with self.subTest(args), Node({method: {"state": "X"}}) as n:
                n.run(*args.split(), code=0)
                self.assertEqual(n.params(method), params)
                self.assertEqual(n.run("--json", *args.split()).stdout,
                                 b'{"state": "X"}\n')

    def test_words(self):
        with Node({"job/start": {"state": "RUNNING"}}) as n:
            self.assertEqual(n.run("job", "start", "j1").stdout,
                             b"j1 RUNNING\n")
            self.assertEqual(n.run("session", "close", "j1", "2").stdout,
                             b"j1/2 CLOSED\n")
        with Node({"call/approve": {"call": "c7", "state": "queued"},
                   "call/deny": {"call": "c7", "state": "refused"},
                   "tool/kill": {"tool": "t", "killed": True},
                   "tool/unkill": {"tool": "t", "killed": False}}) as n:
            self.assertEqual(n.run("approve", "c7").stdout, b"c7 queued\n")
            self.assertEqual(n.run("deny", "c7").stdout, b"c7 refused\n")
            self.assertIn(b"t is killed", n.run("kill", "t").stdout)
            self.assertEqual(n.run("unkill", "t").stdout,
                             b"t may be called again\n")

    def test_turned_away(self):
        for reason, code in (("not_allowed", 3), ("already_ended", 5),
                             ("unknown_call", 5)):
            with Node({"call/approve": lambda c, q: c.error(
                    q, 1, "no: " + reason, reason=reason)}) as n:
                r = n.run("approve", "c7", code=code)
                self.assertIn(reason.encode(), r.stderr)
                self.assertEqual(r.stdout, b"")

    def test_bad_reload(self):
        with Node({"node/reload": lambda c, q: c.error(
                q, 1, "node.x is no key", reason="refused")}) as n:
            self.assertIn(b"node.x", n.run("reload", code=5).stderr)


class Policy(unittest.TestCase):
    LIST = [{"tenant": "a*", "tool": "demo", "function": "refund_*",
             "annotations": {"destructiveHint": True, "readOnlyHint": False},
             "decision": "ask"}, {"decision": "allow"}]

    def file(self, text):
        f = tempfile.NamedTemporaryFile("w", suffix=".json")
        f.write(text)
        f.flush()
        self.addCleanup(f.close)
        return f.name

    def test_show(self):
        with Node({"policy/show": {"from": "policy/set",
                                   "policy": self.LIST}}) as n:
            out = n.run("policy", "show", code=0).stdout.decode()
        self.assertIn("policy of policy/set\n", out)
        self.assertRegex(out, r"1 +a\* +demo +refund_\* +destructiveHint, not "
                         r"readOnlyHint +ask\n")
        self.assertRegex(out, r"2 +\* +\* +\* +\* +allow\n")
        with Node({"policy/show": {"from": "none: all"}}) as n:
            self.assertEqual(n.run("policy", "show", code=0).stdout,
                             b"policy of none: all\n")
        with Node({"policy/show": {"from": "x", "policy": []}}) as n:
            self.assertIn(b"all calls are refused",
                          n.run("policy", "show", code=0).stdout)

    def test_check_and_set(self):
        """A list or a configuration, in one line; the words as they stand."""
        text = json.dumps(self.LIST, indent=1)
        whole = '{"node":{},\n"policy":\r\n%s}' % text
        for given in (text, whole):
            path = self.file(given)
            with Node({"policy/set": {"rules": 2}}) as n:
                out = n.run("policy", "check", path, code=0).stdout
                self.assertEqual(out.decode(), path + ": 2 rules, without a "
                                 "mistake\n")
                self.assertEqual(n.params("policy/set"),
                                 {"policy": self.LIST, "check": True})
                self.assertNotIn(b"\r", n.asked("policy/set")["raw"])
                out = n.run("policy", "set", path, code=0).stdout
                self.assertIn(b"has 2 rules now", out)
                self.assertEqual(n.params("policy/set", 2),
                                 {"policy": self.LIST})
                n.run("policy", "set", "-", code=0, input=given.encode())
                self.assertEqual(n.params("policy/set", 3),
                                 {"policy": self.LIST})

    def test_mistakes(self):
        for text, words in (("{", "is not JSON"), ("{}", "has no `policy`"),
                            ("[1]x", "is not JSON")):
            with Node() as n:
                r = n.run("policy", "set", self.file(text), code=2)
                self.assertIn(words.encode(), r.stderr)
                self.assertEqual(n.requests, [])
        r = run("policy", "check", "/nope/x")
        self.assertEqual(r.returncode, 2)
        self.assertIn(b"cannot read /nope/x", r.stderr)
        with Node({"policy/set": lambda c, q: c.error(
                q, -32602, "policy[0].decision: no")}) as n:
            r = n.run("policy", "set", self.file("[{}]"), code=2)
            self.assertIn(b"policy[0].decision", r.stderr)


class CommandLine(unittest.TestCase):
    def commands(self):
        out = run("--help").stdout.decode()
        found = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ",
                           out.partition("\ncommands:\n")[2], re.M)
        self.assertGreater(len(found), 15)
        return found

    def test_mistakes(self):
        for words, args in (
                (b"usage: oz0", []), (b"no command nope", ["nope"]),
                (b"no command job nope", ["job", "nope"]),
                (b"job needs one more word", ["job"]),
                (b"unknown option --nope", ["--nope", "status"]),
                (b"unknown option --follow", ["status", "--follow"]),
                (b"missing after --socket", ["--socket"]),
                (b"too many operands: c", ["status", "b", "c"]),
                (b"a session must be", ["session", "open", "j1", "x"]),
                (b"--run must be", ["job", "start", "j1", "--run", "-1"])):
            with self.subTest(args=args):
                r = run(*args)
                self.assertEqual(r.returncode, 2)
                self.assertIn(words, r.stderr)
                self.assertEqual(r.stdout, b"")

    def test_help(self):
        """Each command has one, of 80 columns, on stdout."""
        for name in ["", "job", *self.commands()]:
            r = run(*name.split(), "--help")
            self.assertEqual((r.returncode, r.stderr), (0, b""), name)
            self.assertEqual([x for x in r.stdout.decode().splitlines()
                              if len(x) > 80], [])

    def test_page(self):
        """oz0(1) has each command with its own options, and no others."""
        path = os.path.join(os.environ.get("OZ0_SRCDIR", "."), "man/oz0.1")
        with open(path) as f:
            page = f.read().partition(".Sh COMMANDS")[2].partition("\n.Sh")[0]
        on_page = {}
        for part in page.split("\n.It Ic ")[1:]:
            name = re.match(r"[a-z]+( [a-z]+\b)?", part).group()
            on_page[name] = set(re.findall(r"^\.It Fl -([a-z-]+)", part,
                                           re.M))
            line = part.partition("\n")[0]
            self.assertEqual(set(re.findall(r"Fl -([a-z-]+)", line)),
                             on_page[name], line)
        shown = {}
        for name in self.commands():
            out = run(*name.split(), "--help").stdout.decode()
            shown[name] = set(re.findall(r"^  --([a-z-]+)", out, re.M))
        self.assertEqual(on_page, shown)

    def test_version(self):
        self.assertRegex(run("--version").stdout, rb"^oz0 \d+\.\d+")

    def test_socket(self):
        """Where it looks: the option, the variable, the user's own place."""
        with Node({"node/status": NODE}) as n:
            for args, env in (([], {"OZ0_SOCKET": n.path}),
                              (["--socket", n.path], {"OZ0_SOCKET": "/no"})):
                self.assertEqual(run(*args, "status", env=env).returncode, 0)
            r = run("status", "--socket=" + n.path)
            self.assertEqual(r.returncode, 0)
            r = run("--socket", "x" * 200, "status")
            self.assertEqual(r.returncode, 2)

    def test_places(self):
        """As oz0d's (INTERFACES, node.socket)."""
        with tempfile.TemporaryDirectory() as home:
            os.chmod(home, 0o755)
            for env, want in (
                    ({"XDG_RUNTIME_DIR": "/r", "XDG_STATE_HOME": "/s"},
                     "/r/oz0/control.sock"),
                    ({"XDG_RUNTIME_DIR": "r", "XDG_STATE_HOME": "/s"},
                     "/s/oz0/control.sock"),
                    ({"XDG_STATE_HOME": "s"},
                     home + "/.local/state/oz0/control.sock")):
                env = {"XDG_RUNTIME_DIR": "", "HOME": home, "OZ0_SOCKET": "",
                       **env}
                root = os.getuid() == 0
                r = run("status", env=env, **(
                    {"user": 65534, "group": 65534, "extra_groups": []}
                    if root else {}))
                self.assertEqual(r.returncode, 7)
                self.assertIn((want + ": ").encode(), r.stderr)
            if root:
                r = run("status", env={"XDG_RUNTIME_DIR": "/r"})
                if r.returncode == 7:
                    self.assertIn(b"/run/oz0/control.sock: ", r.stderr)


if __name__ == "__main__":
    unittest.main()
