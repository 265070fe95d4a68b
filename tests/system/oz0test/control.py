"""A client of the control protocol (oz0-control(7)): pipelined, with events.

Raw bytes are kept: `raw(...)` gives a member of an answer as it came.
"""
import json
import os
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../../servers'))
import rawjson  # noqa: E402
from . import steps  # noqa: E402

PATIENCE = 30  # seconds until a wait that never ends is called a failure


class Refused(Exception):
    """An error answer."""

    def __init__(self, method, error):
        self.error = error
        self.code = error.get('code')
        self.reason = (error.get('data') or {}).get('reason')
        super().__init__('%s: %s' % (method, json.dumps(error)))


class Gone(Exception):
    """The connection ended."""


class Answer:
    """A request under way; result() waits for it."""

    def __init__(self, client, method):
        self.client = client
        self.method = method
        self.line = None
        self.at = None  # time.monotonic() when it came

    def done(self):
        return self.line is not None

    def raw(self, *path, patience=PATIENCE):
        c = self.client
        with c.cond:
            if not c.cond.wait_for(lambda: self.done() or c.closed, patience):
                raise TimeoutError('no answer to ' + self.method)
        if not self.done():
            raise Gone(self.method)
        return rawjson.member(self.line, *path)

    def result(self, patience=PATIENCE):
        self.raw('id', patience=patience)
        msg = json.loads(self.line)
        if 'error' in msg:
            raise Refused(self.method, msg['error'])
        return msg['result']


class Client:
    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(path)
        self.cond = threading.Condition()
        self.answers = {}
        self.events = []      # params of each `event`, as they came
        self.strays = []      # lines that answer nothing of ours
        self.closed = False
        self.next_id = 1
        self.send_lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()

    def _read(self):
        rest = b''
        while True:
            try:
                data = self.sock.recv(1 << 20)
            except OSError:
                data = b''
            if not data:
                break
            rest += data
            if b'\n' not in data:
                continue
            lines = rest.split(b'\n')
            rest = lines.pop()
            with self.cond:
                for line in lines:
                    self._take(line)
                self.cond.notify_all()
        with self.cond:
            self.closed = True
            self.cond.notify_all()

    def _take(self, line):
        msg = json.loads(line)
        if isinstance(msg, dict) and msg.get('method') == 'event':
            self.events.append(msg['params'])
            return
        answer = None
        if isinstance(msg, dict) and isinstance(msg.get('id'), int):
            answer = self.answers.pop(msg['id'], None)
        if answer is None:
            self.strays.append(line)
            return
        answer.at = time.monotonic()
        answer.line = line

    def send_raw(self, data, fds=()):
        with self.send_lock:
            if fds:
                socket.send_fds(self.sock, [data[:1]], list(fds))
                data = data[1:]
            self.sock.sendall(data)

    def send(self, method, raw=None, fds=(), **params):
        """A request on its way.  raw: members of params as bytes, by name."""
        text = json.dumps(params)
        for name, value in (raw or {}).items():
            text = text[:-1] + (', ' if len(text) > 2 else '') \
                + json.dumps(name) + ': '
            text = text.encode() if isinstance(text, str) else text
            text = (text + value + b'}').decode('utf-8', 'surrogateescape')
        with self.cond:
            rid = self.next_id
            self.next_id += 1
            answer = self.answers[rid] = Answer(self, method)
        head = '{"jsonrpc":"2.0","id":%d,"method":%s,"params":' % (
            rid, json.dumps(method))
        self.send_raw(head.encode()
                      + text.encode('utf-8', 'surrogateescape') + b'}\n', fds)
        return answer

    def do(self, method, patience=PATIENCE, **params):
        return self.send(method, **params).result(patience)

    def call(self, job, function, arguments=None, raw_arguments=None, **more):
        raw = raw_arguments
        if raw is None and arguments is not None:
            raw = json.dumps(arguments).encode()
        return self.send('call/start', job=job, function=function,
                         raw={'arguments': raw} if raw is not None else None,
                         **more)

    def subscribe(self, since=None):
        params = {} if since is None else {'since': since}
        return self.do('events/subscribe', **params)

    def event(self, event=None, since=0, patience=PATIENCE, where=None, **want):
        """Waits for an event with these members; gives it."""
        def find():
            for e in self.events[since:]:
                if event is not None and e.get('event') != event:
                    continue
                if all(e.get(k) == v for k, v in want.items()) \
                        and (where is None or where(e)):
                    return e
            return None

        with self.cond:
            if not self.cond.wait_for(lambda: find() or self.closed, patience):
                raise TimeoutError('no event %s %s; there were: %s' % (
                    event, want, [e.get('event') for e in self.events]))
            e = find()
        if e is None:
            raise Gone('waiting for %s' % event)
        steps.check(e)
        return e
