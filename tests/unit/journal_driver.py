"""Plays oz0d for oz0-journal: frames and the log's format, written anew from
PROTOCOL.md, so that a mistake in wire/ does not hide itself.  Imported by the
test_journal_*.py beside it."""

import ctypes
import array
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

INIT, QUERY, SYNC, PING, ROTATED = 140, 141, 143, 144, 145
(READY, SEGMENT, NO_SPACE, R_JOB, R_SESSION, R_CALL, R_CHILD, R_DONE, ROW, END,
 SYNCED, PONG, LOG, R_TOOL, R_APPROVAL) = range(160, 175)
TRACE, EVENTS, JOB, CALL, JOBS, RESULT = range(1, 7)
(REC_NODE, REC_STEP, REC_JOB, REC_SESSION, REC_CALL, REC_CALL_STATE,
 REC_CALL_END, REC_CHILD, REC_TOOL, REC_APPROVAL, REC_FORGET) = range(1, 12)
RUNNING, CANCELLING, CANCELED, COMPLETED, FAILED, LOST = range(1, 7)
DEADLINE = 60  # of a wait for something that must come


def s(text):
    b = text.encode() if isinstance(text, str) else text
    return struct.pack("<I", len(b)) + b


def frame(kind, body, payload=b"", nfds=0):
    return struct.pack("<IHBBII", 16 + len(body) + len(payload), kind, nfds, 0,
                       len(body), len(payload)) + body + payload


def content(seq, kind, facts=b"", step=b"", job="", call=0):
    return struct.pack("<QH", seq, kind) + s(job) + struct.pack("<Q", call) \
        + facts + s(step)


def checksum(body):
    xxh3 = ctypes.CDLL("libxxhash.so.0").XXH3_64bits_withSeed
    xxh3.restype = ctypes.c_uint64
    xxh3.argtypes = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64
    return xxh3(body, len(body), len(body)) & 0xffffffff


def framed(body):
    length = struct.pack("<I", len(body))
    return length + struct.pack("<I", checksum(body)) + body


def header(number, first_seq):
    return b"oz0log2\n" + struct.pack("<QQQ", number, first_seq, 0)


def program():
    base = os.environ.get("OZ0_LIBEXEC") or os.getcwd()
    return os.path.join(base, "oz0-journal")


class Reader:
    def __init__(self, b):
        self.b, self.at = b, 0

    def get(self, fmt):
        v = struct.unpack_from("<" + fmt, self.b, self.at)
        self.at += struct.calcsize("<" + fmt)
        return v[0] if len(v) == 1 else v

    def str(self):
        n = self.get("I")
        v = self.b[self.at:self.at + n]
        self.at += n
        return v.decode()


class Journal:
    """The process, and this end of its channel."""

    def __init__(self, state, keep=7 * 86400, sync=0, size=1 << 20, args=(),
                 wrap=()):
        ours, theirs = socket.socketpair()
        fd = os.open(state, os.O_RDONLY | os.O_DIRECTORY)
        self.sock, self.state = ours, state
        self.data, self.fds, self.eof = b"", [], False
        self.logs, self.segments, self.no_space = [], {}, []
        self.recovered, self.ready, self.done = [], None, False
        self.rows, self.ends, self.synced, self.pongs = {}, {}, 0, []
        self.next_id = 1

        def child():
            os.dup2(theirs.fileno(), 3)
            os.set_inheritable(3, True)

        # the leak checker forks, which the process has given up
        env = dict(os.environ)
        env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        self.proc = subprocess.Popen(
            list(wrap) + [program(), *args], pass_fds=(3,),
            preexec_fn=child, env=env)
        theirs.close()
        self.send(INIT, struct.pack("<IQBQ", 1, keep * 1000000, sync, size),
                  fds=[fd])
        os.close(fd)

    def send(self, kind, body, fds=()):
        b = frame(kind, body, nfds=len(fds))
        anc = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] \
            if fds else []
        self.sock.sendmsg([b], anc)

    def pump(self, timeout):
        if self.eof or not select.select([self.sock], [], [], timeout)[0]:
            return False
        try:
            b, anc, _, _ = self.sock.recvmsg(1 << 20, 4096)
        except ConnectionResetError:
            b, anc = b"", []
        for _, _, raw in anc:
            a = array.array("i")
            a.frombytes(raw[:len(raw) - len(raw) % a.itemsize])
            self.fds += list(a)
        if not b:
            self.eof = True
            return False
        self.data += b
        while len(self.data) >= 16:
            length, kind, nfds, flags, nbody, npay = struct.unpack_from(
                "<IHBBII", self.data)
            if len(self.data) < length:
                break
            body = self.data[16:16 + nbody]
            fds, self.fds = self.fds[:nfds], self.fds[nfds:]
            if flags & 1:
                payload = os.pread(fds[-1], npay, 0)
                os.close(fds.pop())
            else:
                payload = self.data[16 + nbody:length]
            self.data = self.data[length:]
            self.take(kind, Reader(body), payload, fds)
        return True

    def take(self, kind, r, payload, fds):
        if kind == READY:
            self.ready = r.get("QQQ")
        elif kind == SEGMENT:
            self.segments[r.get("Q")] = fds[0]
        elif kind == NO_SPACE:
            self.no_space.append((r.get("I"), r.str()))
        elif kind in (R_JOB, R_SESSION, R_CALL, R_CHILD, R_TOOL, R_APPROVAL):
            self.recovered.append((kind, payload))
        elif kind == R_DONE:
            self.done = True
        elif kind == ROW:
            self.rows.setdefault(r.get("Q"), []).append(payload)
        elif kind == END:
            n = r.get("Q")
            self.ends[n] = (r.get("I"), r.str(), r.get("B"))
        elif kind == SYNCED:
            self.synced = r.get("Q")
        elif kind == PONG:
            self.pongs.append(r.get("Q"))
        elif kind == LOG:
            self.logs.append((r.get("B"), r.str()))
        else:
            raise AssertionError("message %d" % kind)

    def until(self, what, condition):
        end = time.monotonic() + DEADLINE
        while not condition():
            assert not self.eof, "it ended before %s: %s" % (what, self.logs)
            assert time.monotonic() < end, "no %s: %s" % (what, self.logs)
            self.pump(1)

    def start(self):
        """READY and the recovery; returns itself."""
        self.until("end of recovery", lambda: self.done)
        return self

    def ask(self, what, job="", since=0, limit=0):
        """Rows as JSON, errno, more."""
        n, self.next_id = self.next_id, self.next_id + 1
        self.send(QUERY, struct.pack("<QB", n, what) + s(job)
                  + struct.pack("<QI", since, limit))
        self.until("answer", lambda: n in self.ends)
        error, _, more = self.ends[n]
        return [json.loads(x) for x in self.rows.get(n, [])], error, more

    def kill(self):
        self.proc.send_signal(signal.SIGKILL)
        self.proc.wait()
        self.close()

    def end(self):
        """As a supervisor that ends: the exit code."""
        self.sock.shutdown(socket.SHUT_WR)
        end = time.monotonic() + DEADLINE
        while self.proc.poll() is None:
            assert time.monotonic() < end, "it does not end"
            self.pump(0.01)
        self.close()
        return self.proc.returncode

    def close(self):
        self.sock.close()
        for fd in self.fds + list(self.segments.values()):
            os.close(fd)
        self.fds, self.segments = [], {}

    def said(self, words):
        return any(words in line for _, line in self.logs)


class Writer:
    """The log, as oz0d writes it."""

    def __init__(self, state, seq=1, number=1):
        self.state, self.seq, self.number, self.fd = state, seq, number, -1
        self.at = 0

    def begin(self, journal, number=None):
        """Goes on in a segment of the journal's."""
        if number is None:
            journal.until("segment", lambda: any(
                n > self.number or self.fd < 0 for n in journal.segments))
            number = min(n for n in journal.segments
                         if n > self.number or self.fd < 0)
        self.number = number
        self.fd = os.dup(journal.segments[number])
        self.at = 0
        self.put(header(number, self.seq))
        journal.send(ROTATED, struct.pack("<Q", number))
        return self

    def put(self, b):
        assert os.pwrite(self.fd, b, self.at) == len(b)
        self.at += len(b)

    def record(self, kind, facts=b"", job="", call=0, event=None, **fields):
        step = b""
        if event is not None:
            step = json.dumps({"seq": self.seq, "event": event, "job": job,
                               **fields}).encode()
        b = framed(content(self.seq, kind, facts, step, job, call))
        self.seq += 1
        return b

    def step(self, job, event="fault", **fields):
        return self.record(REC_STEP, job=job, event=event, **fields)

    def job(self, job, state, run=0, tenant="default", **fields):
        return self.record(
            REC_JOB, s(job) + s(tenant) + struct.pack("<IIB", run, 7, state),
            job=job, event="job_started" if state == 1 else "job_ended",
            **fields)

    def session(self, job, n, state, run=0, restartable=1):
        return self.record(
            REC_SESSION, s(job) + struct.pack("<IIBBB", run, n, state,
                                              restartable, 0),
            job=job, event="session_opened")

    def call(self, job, n, activity="a", run=0, session=1):
        return self.record(
            REC_CALL, struct.pack("<Q", n) + s(job)
            + struct.pack("<II", run, session) + s(activity) + s("demo.echo")
            + s("d" * 32) + s(job + "/" + activity) + b"\1",
            job=job, call=n, event="call_accepted")

    def call_state(self, job, n, state, attempts, outcome=0):
        return self.record(
            REC_CALL_STATE, struct.pack("<QBIBBBddB", n, state, attempts,
                                        outcome, 1, 1, 2.0, 4.0, 1),
            job=job, call=n, event="attempt_started")

    def call_end(self, job, n, answer, state=6, attempts=1, evicted=0):
        return self.record(
            REC_CALL_END, struct.pack("<QBBBBI", n, state, 1, 0, evicted,
                                      attempts) + s(answer),
            job=job, call=n, event="call_ended")

    def child(self, role, pid, born, boot="boot-1"):
        return self.record(
            REC_CHILD, s(role) + s(boot) + struct.pack("<IQB", pid, 99, born))

    def node(self, boot="boot-1"):
        return self.record(REC_NODE, s(boot) + struct.pack("<I", 1))

    def tool(self, name, killed):
        return self.record(REC_TOOL, s(name) + bytes([killed]),
                           event="tool_killed")

    def approval(self, job, key, rule):
        return self.record(REC_APPROVAL, s(job) + s(key) + s(rule), job=job,
                           event="call_approved")

    def forget(self, job):
        return self.record(REC_FORGET, s(job))

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


class State:
    """A state directory that goes away."""

    def __init__(self, where=None):
        self.where = where

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="oz0-journal-", dir=self.where)
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def seqs(journal, job="j1"):
    rows, error, more = journal.ask(TRACE, job)
    assert error == 0 and not more, (error, more)
    return [r["seq"] for r in rows]


def run(tests):
    """Each test function in turn; the first that fails ends it."""
    for t in tests:
        began = time.monotonic()
        print("%s ..." % t.__name__, flush=True)
        r = t()
        print("%s %s (%.1f s)" % (t.__name__, r or "ok",
                                  time.monotonic() - began), flush=True)


def run_all(names):
    """Every test_* of a module, or those named as arguments."""
    if not os.access(program(), os.X_OK):
        print("no", program())
        sys.exit(99)
    run([f for n, f in list(names.items()) if n.startswith("test_")
         and (len(sys.argv) < 2 or n in sys.argv[1:])])
