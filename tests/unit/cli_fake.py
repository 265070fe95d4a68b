"""A node that is none: a control socket whose answers a test makes up, so that
oz0 can be shown each answer, good or bad, without oz0d.  And oz0 itself, run
over pipes or on a terminal of its own.
"""

import errno
import json
import os
import pty
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time

# a shell ignores it for what it runs in the background, oz0 included then
signal.signal(signal.SIGINT, signal.default_int_handler)

PATIENCE = 30
PROGRAM = os.path.join(os.environ.get("OZ0_BUILDDIR", "."), "oz0")


class Conn:
    """One connection: what oz0 sent, and what it is told."""

    def __init__(self, node, sock):
        self.node = node
        self.sock = sock
        self.fds = []

    def raw(self, data):
        try:
            self.sock.sendall(data)
        except OSError as e:
            if e.errno not in (errno.EPIPE, errno.ECONNRESET):
                raise

    def result(self, request, raw):
        """raw: the JSON text of a result, or an object."""
        if not isinstance(raw, (str, bytes)):
            raw = json.dumps(raw)
        if isinstance(raw, str):
            raw = raw.encode()
        self.raw(b'{"jsonrpc":"2.0","id":%d,"result":%s}\n'
                 % (request["id"], raw))

    def error(self, request, code, message, **data):
        error = {"code": code, "message": message}
        if data:
            error["data"] = data
        self.raw(json.dumps({"jsonrpc": "2.0",
                             "id": request and request["id"],
                             "error": error}).encode() + b"\n")

    def event(self, **step):
        self.raw(json.dumps({"jsonrpc": "2.0", "method": "event",
                             "params": step}).encode() + b"\n")

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)

    def close_fds(self):
        """Those that came with requests: pipes that are open do not end."""
        while self.fds:
            os.close(self.fds.pop())


class Node:
    """Node(**{"node/status": what}): what is a result (an object or its text)
    or a function of connection and request.  Methods that are not named are
    answered with {}.  `requests` has all that came, in order."""

    def __init__(self, methods=None, on_connect=None):
        self.methods = methods or {}
        self.on_connect = on_connect
        self.dir = tempfile.TemporaryDirectory(prefix="oz0-cli-")
        self.path = os.path.join(self.dir.name, "control.sock")
        self.requests = []
        self.conns = []
        self.failures = []
        self.changed = threading.Condition()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(8)
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)  # accept() ends
        self.listener.close()
        for c in self.conns:
            c.sock.close()
        self.dir.cleanup()
        if self.failures:
            raise self.failures[0]

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            c = Conn(self, sock)
            self.conns.append(c)
            threading.Thread(target=self.serve, args=(c,),
                             daemon=True).start()

    def serve(self, c):
        try:
            if self.on_connect is not None:
                self.on_connect(c)
                return
            self.read(c)
        except OSError:
            pass
        except Exception as e:  # a fault of the test itself
            self.failures.append(e)
            c.close()
        finally:
            c.close_fds()

    def read(self, c):
        data = b""
        while True:
            more, fds, _, _ = socket.recv_fds(c.sock, 1 << 16, 8)
            c.fds += fds
            if not more:
                return
            data += more
            *lines, data = data.split(b"\n")
            for line in lines:
                self.handle(c, line)

    def handle(self, c, line):
        r = json.loads(line)
        r["raw"] = line
        with self.changed:
            self.requests.append(r)
            self.changed.notify_all()
        what = self.methods.get(r["method"], {})
        if callable(what):
            what(c, r)
        else:
            c.result(r, what)

    def asked(self, method, n=1):
        """Waits for the n-th request of that method."""
        def found():
            return [r for r in self.requests if r["method"] == method]
        with self.changed:
            if not self.changed.wait_for(lambda: len(found()) >= n, PATIENCE):
                raise AssertionError("no %s; there came %s" % (
                    method, [r["method"] for r in self.requests]))
            return found()[n - 1]

    def params(self, method, n=1):
        return self.asked(method, n)["params"]

    def cmd(self, *args):
        return [PROGRAM, "--socket", self.path, *args]

    def run(self, *args, code=None, **how):
        r = run(*args, socket=self.path, **how)
        if code is not None and r.returncode != code:
            raise AssertionError("oz0 %s: exit %d instead of %d\n%s%s" % (
                " ".join(args), r.returncode, code, r.stdout, r.stderr))
        return r

    def spawn(self, *args, **how):
        return subprocess.Popen(self.cmd(*args), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL, **how)


def run(*args, socket=None, env=None, **how):
    cmd = [PROGRAM] + (["--socket", socket] if socket else []) + list(args)
    how.setdefault("stdin", None if "input" in how else subprocess.DEVNULL)
    if how["stdin"] is None:
        del how["stdin"]
    return subprocess.run(
        cmd, stdout=how.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE, timeout=PATIENCE,
        env={**environment(), **(env or {})}, **how)


def environment():
    return {k: v for k, v in os.environ.items()
            if k not in ("OZ0_SOCKET", "NO_COLOR")}


class Terminal:
    """oz0 as the leader of a session on a terminal of its own."""

    def __init__(self, cmd, env=None, stderr=None):
        self.pid, self.fd = pty.fork()
        self.out = b""
        if self.pid == 0:
            try:
                if stderr is not None:
                    os.dup2(stderr, 2)
                os.execve(cmd[0], cmd, {**environment(), "TERM": "xterm",
                                        **(env or {})})
            finally:
                os._exit(111)

    def read(self, until=None):
        """All that comes until the end, or until these bytes have."""
        end = time.monotonic() + PATIENCE
        while until is None or until not in self.out:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise AssertionError("the terminal shows %r" % self.out)
            try:
                more = os.read(self.fd, 65536)
            except OSError:
                more = b""
            if not more:
                break
            self.out += more
        return self.out

    def write(self, data):
        os.write(self.fd, data)

    def wait(self):
        self.read()
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)
