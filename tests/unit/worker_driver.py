"""The supervisor's side of oz0-worker, for its tests.

Speaks the frames of wire/message.h over a socketpair, starts servers as the
supervisor would (stdin a socketpair or a pipe, stdout and stderr pipes), and
waits for events, never for time.  Worker.start() runs the real, confined
program; what it says comes out of Worker.until().
"""

import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

HEADER = struct.Struct("<IHBBII")
INLINE = 64 * 1024
PATIENCE = 60.0  # a hang is a failure; nothing waits this long otherwise

INIT, PING, START, STOP, GONE, CALL, CANCEL = 1, 2, 10, 11, 12, 20, 21
READY, PONG, LOG = 40, 41, 42
S_READY, FUNCTION, LISTED, FAILED, STDERR, DRAINED, NOISE = range(50, 57)
SENT, PROGRESS, END, CANCEL_SENT = 60, 61, 62, 63

SESSION, PLUGINS = 1, 2
JOB, PLUGIN = 1, 2
UNKNOWN, MODERN, LEGACY = 0, 1, 2
F_EOF, F_PROBE_EOF, F_HANDSHAKE, F_BROKEN, F_LISTING, F_INPUT = 1, 2, 3, 4, 5, 6
(N_NOT_JSON, N_UTF8, N_NOT_RPC, N_UNKNOWN_ID, N_TWICE, N_TOO_LONG, N_REQUEST,
 N_PROGRESS, N_LATE) = range(1, 10)
(E_RESULT, E_RPC_ERROR, E_BAD_ANSWER, E_TOO_LARGE, E_INPUT_REQUIRED, E_SERVER,
 E_CANCELED) = range(1, 8)

F_ADD_SEALS, F_GET_SEALS = 1033, 1034
SEALS = 2 | 4 | 8  # SHRINK GROW WRITE

FIELDS = {
    READY: [("version", "u32"), ("pid", "u32")],
    PONG: [("n", "u64")],
    LOG: [("level", "u8"), ("line", "str")],
    S_READY: [("server", "u32"), ("era", "str"), ("name", "str"),
              ("version", "str")],
    FUNCTION: [("server", "u32"), ("generation", "u32"), ("name", "str"),
               ("read_only", "u8"), ("destructive", "u8"),
               ("idempotent", "u8"), ("open_world", "u8"),
               ("honours_key", "u8"), ("resume", "u8"), ("refused", "str")],
    LISTED: [("server", "u32"), ("generation", "u32"), ("count", "u32"),
             ("problem", "str")],
    FAILED: [("server", "u32"), ("why", "u8"), ("message", "str")],
    STDERR: [("server", "u32")],
    DRAINED: [("server", "u32")],
    NOISE: [("server", "u32"), ("what", "u8"), ("count", "u64"),
            ("sample", "str")],
    SENT: [("attempt", "u64")],
    PROGRESS: [("attempt", "u64"), ("progress", "f64"), ("has_total", "u8"),
               ("total", "f64")],
    END: [("attempt", "u64"), ("how", "u8"), ("sent", "u8"),
          ("after_cancel", "u8"), ("is_error", "u8"), ("busy", "u8"),
          ("retry_after", "f64"), ("code", "i64"),
          ("dropped_progress", "u32"), ("message", "str")],
    CANCEL_SENT: [("attempt", "u64"), ("written", "u8")],
}
CODES = {"u8": "<B", "u16": "<H", "u32": "<I", "u64": "<Q", "i64": "<q",
         "f64": "<d"}


def field(kind, value):
    if kind == "str":
        value = value.encode() if isinstance(value, str) else value
        return struct.pack("<I", len(value)) + value
    return struct.pack(CODES[kind], value)


def body(*pairs):
    return b"".join(field(k, v) for k, v in pairs)


class Event:
    """A frame of the worker: .type, .payload, and its fields by name."""

    def __init__(self, kind, data, payload):
        self.type, self.payload, at = kind, payload, 0
        for name, code in FIELDS[kind]:
            if code == "str":
                (n,) = struct.unpack_from("<I", data, at)
                value = data[at + 4:at + 4 + n].decode("utf-8", "replace")
                at += 4 + n
            else:
                (value,) = struct.unpack_from(CODES[code], data, at)
                at += struct.calcsize(CODES[code])
            setattr(self, name, value)
        assert at == len(data), f"{len(data) - at} bytes left in {kind}"

    def __repr__(self):
        short = {k: v for k, v in vars(self).items() if k != "payload"}
        return f"Event({short}, payload={self.payload[:200]!r})"


class Gone(Exception):
    """The worker closed its end of the channel."""


class Server:
    """A child process whose stdio is a worker's."""

    def __init__(self, argv, stdin="socket", env=None, cwd=None):
        if stdin == "socket":
            ours, theirs = socket.socketpair()
            self.stdin, child_in = ours.detach(), theirs.detach()
        else:
            child_in, self.stdin = os.pipe()
        self.stdout, child_out = os.pipe()
        self.stderr, child_err = os.pipe()
        # a duplicate stays here, as the supervisor keeps one
        self.proc = subprocess.Popen(
            argv, stdin=child_in, stdout=child_out, stderr=child_err,
            env=env, cwd=cwd, start_new_session=True)
        for fd in (child_in, child_out, child_err):
            os.close(fd)

    def fds(self):
        return [self.stdin, self.stdout, self.stderr]

    def close(self):
        for name in ("stdin", "stdout", "stderr"):
            fd = getattr(self, name)
            if fd >= 0:
                os.close(fd)
                setattr(self, name, -1)

    def kill(self):
        try:
            os.killpg(self.proc.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        return self.proc.wait()


class Worker:
    def __init__(self, program, kind=SESSION, max_message=16 << 20,
                 budget=512 << 20, uid=None, name="j1/1", init=True,
                 level=7, wrapper=()):
        self.sock, theirs = socket.socketpair()
        word = "session" if kind == SESSION else "plugins"
        argv = [*wrapper, program, word]
        if uid is not None:
            argv += ["--uid", str(uid), "--gid", str(uid)]
        argv.append(name)
        self.servers, self.seen, self.buffer, self.fds = {}, [], b"", []
        self.logs, self.next_server, self.next_attempt = [], 1, 1

        fd = theirs.fileno()

        def put_at_three():
            os.dup2(fd, 3, inheritable=True)
        self.proc = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, pass_fds=(3, fd),
            preexec_fn=put_at_three) if fd != 3 else subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, pass_fds=(3,))
        theirs.close()
        if init:
            self.send(INIT, body(("u32", 1), ("u8", kind), ("str", name),
                                 ("u64", max_message), ("u8", level),
                                 ("u64", budget)))
            self.until(READY)

    # frames out

    def send(self, kind, data=b"", payload=b"", fds=()):
        fds, flags, inline, memfd = list(fds), 0, payload, -1
        if len(payload) > INLINE:
            memfd = os.memfd_create("test", os.MFD_ALLOW_SEALING
                                    | os.MFD_CLOEXEC)
            view = memoryview(payload)
            while view:
                view = view[os.write(memfd, view):]
            fcntl.fcntl(memfd, F_ADD_SEALS, SEALS)
            fds.append(memfd)
            flags, inline = 1, b""
        frame = HEADER.pack(HEADER.size + len(data) + len(inline), kind,
                            len(fds), flags, len(data), len(payload))
        self.send_raw(frame + data + inline, fds)
        if memfd >= 0:
            os.close(memfd)

    def send_raw(self, data, fds=()):
        view = memoryview(data)
        while view:
            n = socket.send_fds(self.sock, [view], fds) if fds \
                else self.sock.send(view)
            view, fds = view[n:], ()

    def ping(self, n=1):
        self.send(PING, body(("u64", n)))
        return self.until(PONG, n=n)

    def start(self, argv, tool="t", kind=PLUGIN, hint=UNKNOWN, probe=15.0,
              stdin="socket", env=None, cwd=None):
        number = self.next_server
        self.next_server += 1
        server = Server(argv, stdin, env, cwd)
        self.servers[number] = server
        self.send(START, body(("u32", number), ("str", tool), ("u8", kind),
                              ("u8", hint), ("u64", int(probe * 1e6))),
                  fds=server.fds())
        for name in ("stdout", "stderr"):
            os.close(getattr(server, name))
            setattr(server, name, -1)
        if stdin != "socket":
            os.close(server.stdin)
            server.stdin = -1
        return number

    def ready(self, argv, **how):
        """A server started and listed: its number and functions."""
        number = self.start(argv, **how)
        event = self.until((LISTED, FAILED), server=number)
        assert event.type == LISTED, event
        return number

    def call(self, server, function, arguments=b"", key="j1/a1",
             progress=False, trace="", attempt=None):
        if attempt is None:
            attempt = self.next_attempt
            self.next_attempt += 1
        self.send(CALL, body(("u64", attempt), ("u32", server),
                             ("str", function), ("str", key),
                             ("u8", progress), ("str", trace)),
                  arguments)
        return attempt

    def cancel(self, attempt, reason="because", stop=False):
        self.send(CANCEL, body(("u64", attempt), ("str", reason),
                               ("u8", stop)))

    def result(self, server, function, arguments=b"", **how):
        return self.until(
            END, attempt=self.call(server, function, arguments, **how))

    def stop(self, server):
        self.send(STOP, body(("u32", server)))

    def gone(self, server):
        """Kills the server's tree and has it drained."""
        self.servers[server].kill()
        self.send(GONE, body(("u32", server)))
        self.until(DRAINED, server=server)
        self.servers.pop(server).close()

    # frames in

    def read(self, timeout=PATIENCE):
        if not select.select([self.sock], [], [], timeout)[0]:
            raise TimeoutError(f"nothing from the worker; seen {self.seen}")
        data, fds, _, _ = socket.recv_fds(self.sock, 1 << 20, 64)
        if not data:
            raise Gone()
        self.buffer += data
        self.fds += fds
        while len(self.buffer) >= HEADER.size:
            length, kind, nfds, flags, blen, plen = HEADER.unpack_from(
                self.buffer)
            if len(self.buffer) < length:
                return
            data = self.buffer[HEADER.size:HEADER.size + blen]
            payload = self.buffer[HEADER.size + blen:length]
            self.buffer = self.buffer[length:]
            if flags & 1:
                fd = self.fds.pop(0)
                assert fcntl.fcntl(fd, F_GET_SEALS) & SEALS == SEALS
                payload = os.pread(fd, plen, 0)
                os.close(fd)
            assert len(payload) == plen
            event = Event(kind, data, payload)
            if kind == LOG:
                self.logs.append(event.line)
            self.seen.append(event)

    def find(self, kinds, **want):
        kinds = kinds if isinstance(kinds, tuple) else (kinds,)
        for event in self.seen:
            if event.type in kinds and all(
                    getattr(event, k, None) == v for k, v in want.items()):
                return event
        return None

    def until(self, kinds, **want):
        """The next such event; it is taken out of .seen."""
        end = time.monotonic() + PATIENCE
        while True:
            event = self.find(kinds, **want)
            if event is not None:
                self.seen.remove(event)
                return event
            if time.monotonic() > end:
                raise TimeoutError(f"no {kinds} {want}; seen {self.seen}")
            self.read()

    def all(self, kinds, **want):
        """What has come so far and was not taken."""
        out = []
        while (event := self.find(kinds, **want)) is not None:
            self.seen.remove(event)
            out.append(event)
        return out

    def functions(self, server):
        return {e.name: e for e in self.all(FUNCTION, server=server)}

    def status(self, key):
        with open(f"/proc/{self.proc.pid}/status", encoding="ascii") as f:
            for line in f:
                if line.startswith(key + ":"):
                    return line.split(":", 1)[1].strip()
        return ""

    def close(self):
        """Ends it as a supervisor that goes away; its exit code."""
        for server in self.servers.values():
            server.kill()
            server.close()
        self.servers.clear()
        self.sock.close()
        return self.proc.wait(timeout=PATIENCE)


def program():
    """The program under test; skips the test when it is not built."""
    path = os.path.join(os.environ.get("OZ0_LIBEXEC", "."), "oz0-worker")
    if not os.access(path, os.X_OK):
        print(f"{path} is not built")
        sys.exit(77)
    return path
