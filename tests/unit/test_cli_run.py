"""oz0 run, with a node that is none (cli_fake.py): what it asks for, what it
passes on, its terminal, and how it ends."""

import fcntl
import os
import signal
import struct
import sys
import termios
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli_fake import Node, Terminal  # noqa: E402


class Harness:
    """A node whose harness is the test, with the three descriptors."""

    def __init__(self, **methods):
        self.conn = None
        self.fds = []
        self.node = Node({"session/run": self.start, **methods})

    def start(self, c, q):
        self.conn, self.fds = c, c.fds
        c.result(q, {"job": "j1", "session": 1, "state": "OPEN"})

    def __enter__(self):
        self.node.__enter__()
        return self

    def __exit__(self, *e):
        self.close_fds()
        self.node.__exit__(*e)

    def cmd(self, *args):
        return self.node.cmd("run", "--job", "j1", "--session", "1", *args)

    def spawn(self, *args, **how):
        p = self.node.spawn("run", "--job", "j1", "--session", "1", *args,
                            **how)
        self.running()
        return p

    def running(self):
        self.node.asked("session/run")
        while self.conn is None or len(self.fds) < 3:
            time.sleep(0.001)

    def close_fds(self):
        if self.conn is not None:
            self.conn.close_fds()

    def end(self, closed=True, **how):
        self.close_fds()
        at = {"job": "j1", "session": 1}
        self.conn.event(**at, event="session_closed", state="closing")
        # others' ends are not ours
        self.conn.event(job="j2", session=1, event="harness_ended", code=99)
        self.conn.event(job="j1", session=2, event="harness_ended", code=98)
        self.conn.event(**at, event="harness_ended", **how)
        if closed:
            self.conn.event(**at, event="session_closed", state="CLOSED")


class Pipes(unittest.TestCase):
    def test_requests(self):
        with Harness() as h:
            p = h.spawn("--tenant", "t", "--tool", "a", "--tool", "b",
                        "--workspace", "/w", "--cwd", "/c", "--env", "A=b=c",
                        "--env", "FROM_HERE", "--env", "NOT_SET", "--force",
                        "--", "prog", "--job", "x", "--", "-y",
                        env={**os.environ, "FROM_HERE": "v"})
            h.end(code=0)
            self.assertEqual(p.wait(30), 0)
            p.communicate()
            n = h.node
            self.assertEqual(n.params("job/start"),
                             {"job": "j1", "tenant": "t"})
            self.assertEqual(n.params("session/open"), {
                "job": "j1", "session": 1, "workspace": "/w", "force": True,
                "tools": ["a", "b"]})
            self.assertEqual(n.params("session/run"), {
                "job": "j1", "session": 1, "command": "prog",
                "args": ["--job", "x", "--", "-y"], "cwd": "/c", "tty": False,
                "env": {"A": "b=c", "FROM_HERE": "v"}})
            order = [q["method"] for q in n.requests]
            self.assertLess(order.index("events/subscribe"),
                            order.index("session/run"))

    def test_codes(self):
        for want, how in ((0, {"code": 0}), (7, {"code": 7}),
                          (143, {"signal": 15}), (137, {"signal": 9}),
                          (125, {"how": "not started"})):
            with self.subTest(**how), Harness() as h:
                p = h.spawn("prog")
                h.end(**how)
                self.assertEqual(p.wait(30), want)
                p.communicate()

    def test_descriptors(self):
        with Harness() as h:
            p = h.spawn("prog")
            os.write(h.fds[1], b"out")
            os.write(h.fds[2], b"err")
            self.assertEqual(os.read(h.fds[0], 1), b"")  # /dev/null
            h.end(code=3)
            self.assertEqual(p.communicate(timeout=30), (b"out", b"err"))
            self.assertEqual(p.returncode, 3)

    def test_signals(self):
        with Harness() as h:
            p = h.spawn("prog")
            for i, s in enumerate((signal.SIGINT, signal.SIGTERM,
                                   signal.SIGHUP, signal.SIGQUIT,
                                   signal.SIGUSR1, signal.SIGUSR2)):
                p.send_signal(s)
                self.assertEqual(h.node.params("session/signal", i + 1),
                                 {"job": "j1", "session": 1, "signal": s})
            h.end(signal=2)
            self.assertEqual(p.wait(30), 130)
            p.communicate()

    def test_session_hangs(self):
        """The harness has ended: one signal, and the rest is not waited for.
        """
        with Harness() as h:
            p = h.spawn("prog")
            h.end(closed=False, code=5)
            # one that comes before it has seen the end is passed on
            while p.poll() is None:
                p.send_signal(signal.SIGTERM)
                time.sleep(0.02)
            self.assertEqual(p.returncode, 5)
            p.communicate()

    def test_failures(self):
        """Whatever fails of oz0's own is 125."""
        for method in ("job/start", "session/open", "events/subscribe",
                       "session/run"):
            for code, reason in ((1, "not_allowed"), (-32602, None)):
                with Node({method: lambda c, q: c.error(
                        q, code, "no", **({"reason": reason}
                                          if reason else {}))}) as n:
                    r = n.run("run", "--job", "j", "--session", "1", "x",
                              code=125)
                    self.assertEqual(r.stderr, b"oz0: no\n")
        with Node() as n:
            for args in ([], ["x"], ["--job", "j", "x"],
                         ["--job", "j", "--session", "1"],
                         ["--job", "j", "--session", "0", "x"],
                         ["--job", "j", "--session", "1", "--nope", "x"],
                         ["--job", "j", "--session", "1", "--env", "=x", "x"]):
                n.run("run", *args, code=125)
            n.run("--socket", n.path + ".no", "run", "--job", "j",
                  "--session", "1", "x", code=125)

    def test_connection_lost(self):
        with Harness() as h:
            p = h.spawn("prog")
            h.conn.close()
            h.close_fds()
            self.assertEqual(p.wait(30), 125)
            self.assertIn(b"was lost", p.communicate()[1])

    def test_session_lost(self):
        with Harness() as h:
            p = h.spawn("prog")
            h.conn.event(job="j1", session=1, event="session_lost",
                         state="LOST")
            h.close_fds()
            self.assertEqual(p.wait(30), 125)
            self.assertIn(b"nothing is known", p.communicate()[1])


class OnTerminal(unittest.TestCase):
    def open(self, h, **how):
        t = Terminal(h.cmd("prog"), **how)
        fcntl.ioctl(t.fd, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 33, 77, 0, 0))
        h.running()
        return t

    def size(self, fd):
        return struct.unpack("HHHH", fcntl.ioctl(
            fd, termios.TIOCGWINSZ, b"\0" * 8))[:2]

    def test_bytes(self):
        with Harness() as h:
            t = self.open(h)
            self.assertTrue(h.node.params("session/run")["tty"])
            self.assertTrue(all(os.isatty(fd) for fd in h.fds))
            os.write(h.fds[1], b"hello\n")
            t.read(until=b"hello\r\n")
            t.write(b"line\r")
            self.assertEqual(os.read(h.fds[0], 100), b"line\n")
            os.write(h.fds[2], b"last words")
            h.end(code=4)
            self.assertEqual(t.wait(), 4)
            self.assertTrue(t.out.endswith(b"last words"), t.out)

    def test_size(self):
        with Harness() as h:
            t = self.open(h)
            for rows in (40, 41):
                fcntl.ioctl(t.fd, termios.TIOCSWINSZ,
                            struct.pack("HHHH", rows, 99, 0, 0))
                while self.size(h.fds[0]) != (rows, 99):
                    time.sleep(0.001)
            h.end(code=0)
            self.assertEqual(t.wait(), 0)

    def test_put_back(self):
        """The terminal is as it was, whatever ended it."""
        for code, end in ((125, lambda h: h.conn.close()),
                          (0, lambda h: h.end(code=0))):
            with Harness() as h:
                t = Terminal(["/bin/sh", "-c", "stty -g; %s; e=$?; echo; "
                              "stty -g; exit $e" % " ".join(h.cmd("prog"))])
                h.running()
                end(h)
                self.assertEqual(t.wait(), code)
                lines = [x.strip() for x in t.out.split(b"\n") if x.strip()]
                self.assertEqual(lines[0], lines[-1], t.out)

    def test_deaf_harness(self):
        """It reads nothing, and still is heard."""
        with Harness() as h:
            t = self.open(h)
            attrs = termios.tcgetattr(h.fds[0])
            attrs[3] &= ~(termios.ICANON | termios.ECHO)
            termios.tcsetattr(h.fds[0], termios.TCSANOW, attrs)
            os.set_blocking(t.fd, False)
            sent = 0
            try:
                while sent < 1 << 20:
                    sent += os.write(t.fd, b"x" * 4096)
            except BlockingIOError:
                pass
            os.set_blocking(t.fd, True)
            os.write(h.fds[1], b"I hear nothing\n")
            t.read(until=b"I hear nothing")
            h.end(code=1)
            self.assertEqual(t.wait(), 1)

    def test_stderr_elsewhere(self):
        """Where it is no terminal it is the harness's as it is."""
        with Harness() as h:
            r, w = os.pipe()
            t = self.open(h, stderr=w)
            os.close(w)
            self.assertEqual([os.isatty(fd) for fd in h.fds],
                             [True, True, False])
            os.write(h.fds[2], b"to the file")
            self.assertEqual(os.read(r, 100), b"to the file")
            os.close(r)
            h.end(code=0)
            self.assertEqual(t.wait(), 0)


if __name__ == "__main__":
    unittest.main()
