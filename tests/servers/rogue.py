#!/usr/bin/python3
"""An MCP server on stdio that does as it is told, politeness excepted.

    rogue.py [--ledger FILE] [--era legacy|modern|both] [--on-eof ignore]
        [--on-term ignore] [--on-discover exit|silent|CODE] [--before STEPS]
        [--after-init STEPS] [--tools JSON] [--pages N] [--version V]
        [--fail-starts N]

Every line it reads is written to the ledger before anything is done about
it, with the time: the ledger, not the node, is what tests believe.  The
function `script`, and each whose name begins so, takes {"steps": [...]}, or
{"tries": [STEPS, ...]}: those of the n-th request under its key, the last for
all later ones.  STEPS are the same:

    {"out": TEXT}      bytes on stdout; %ID% is the request's id as it came
    {"hex": HEX}       the same, any bytes
    {"repeat": N, "out": TEXT}
    {"err": N}         N bytes on stderr, in lines;  {"errtext": TEXT}
    {"answer": JSON}   the result, as these very bytes (a string)
    {"error": CODE}    a JSON-RPC error
    {"note": WORD}     a line in the ledger
    {"sleep": S}       in small pieces; a cancel does not end it
    {"beat": S}        the same, with a line in the ledger every 20 ms
    {"progress": JSON, "total": JSON}   a notification, where a token came
    {"close": FD}
    {"until": "cancel"}    waits for notifications/cancelled of this request
    {"until": "eof"}       waits for the end of stdin
    {"exists": PATH}       waits until there is such a file
    {"fork": "double"} a grandchild in a session of its own, which lives on
    {"fork": "hold"}   a child that holds stdout and lives on
    {"fork": "tree", "n": N}
    {"request": METHOD}    a request of the server's own, id 7777
    {"exit": CODE}     {"kill": SIGNAL}

`"block": true` beside steps makes it deaf meanwhile: nothing is read.
--fail-starts ends the first N starts that the ledger has at once.  `echo`
answers with its arguments as they came; `meta` with the request's
_meta; `env`, `ls` {"path"} and `id` tell what the process sees.
"""
import argparse
import json
import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rawjson  # noqa: E402

MODERN = '2026-07-28'
RUN = time.clock_gettime(time.CLOCK_BOOTTIME)  # which process it was
out_lock = threading.Lock()
eof = threading.Event()
cancelled = {}  # request id as text -> Event
tokens = {}     # request id -> its progressToken, as it came


class Ledger:
    def __init__(self, path):
        self.path = path
        self.fd = -1
        if path:
            self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND
                              | os.O_CLOEXEC, 0o666)

    def write(self, what, text=''):
        if self.fd != -1:
            row = {'t': time.clock_gettime(time.CLOCK_BOOTTIME), 'run': RUN,
                   'pid': os.getpid(), 'what': what, 'text': text}
            os.write(self.fd, json.dumps(row).encode() + b'\n')

    def rows(self, what):
        with open(self.path) as f:
            return [r for r in map(json.loads, f) if r['what'] == what]

    def requests(self, key):
        """Calls under this key, those of servers before this one included."""
        lines = [json.loads(r['text']) for r in self.rows('line')]
        return len([m for m in lines if m.get('method') == 'tools/call'
                    and key_of(m) == key])


def put(data):
    with out_lock:
        view = memoryview(data)
        while view:
            view = view[os.write(1, view):]


def key_of(message):
    return message['params'].get('_meta', {}).get('oz0/idempotency_key')


def fork_child(kind, ledger):
    """A process that outlives its parent, as launchers leave them."""
    pid = os.fork()
    if pid > 0:
        if kind == 'double':
            os.waitpid(pid, 0)
        return
    if kind == 'double':
        os.setsid()
        if os.fork() > 0:
            os._exit(0)
    if kind != 'hold':
        os.close(1)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    ledger.write('child', kind)
    while True:
        signal.pause()


def run_steps(steps, rid, ledger):
    for s in steps:
        if 'out' in s or 'hex' in s:
            data = (bytes.fromhex(s['hex']) if 'hex' in s
                    else s['out'].encode('utf-8', 'surrogatepass'))
            data = data.replace(b'%ID%', rid)
            data = data.replace(b'%TOKEN%', tokens.get(rid, b'null'))
            for _ in range(s.get('repeat', 1)):
                put(data)
        elif 'err' in s:
            line = b'e' * 99 + b'\n'
            left = s['err']
            while left > 0:
                left -= os.write(2, line[:left])
        elif 'errtext' in s:
            os.write(2, s['errtext'].encode())
        elif 'answer' in s:
            put(b'{"jsonrpc":"2.0","id":' + rid + b',"result":'
                + s['answer'].encode() + b'}\n')
            ledger.write('answered', rid.decode())
        elif 'error' in s:
            put(b'{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"as '
                b'told"}}\n' % (rid, s['error']))
        elif 'note' in s:
            ledger.write('note', s['note'])
        elif 'sleep' in s:
            end = time.monotonic() + s['sleep']
            while time.monotonic() < end:
                time.sleep(0.02)
        elif 'beat' in s:
            end = time.monotonic() + s['beat']
            while time.monotonic() < end:
                ledger.write('beat', rid.decode())
                time.sleep(0.02)
        elif 'progress' in s:
            if rid in tokens:
                total = (',"total":' + s['total']) if 'total' in s else ''
                put(b'{"jsonrpc":"2.0","method":"notifications/progress",'
                    b'"params":{"progressToken":' + tokens[rid]
                    + (',"progress":%s%s,"message":"hush-2f8"}}\n' % (
                        s['progress'], total)).encode())
        elif 'close' in s:
            os.close(s['close'])
        elif s.get('until') == 'cancel':
            cancelled.setdefault(rid.decode(), threading.Event()).wait()
        elif s.get('until') == 'eof':
            eof.wait()
        elif 'exists' in s:
            while not os.path.exists(s['exists']):
                time.sleep(0.02)
        elif 'fork' in s:
            for _ in range(s.get('n', 1)):
                fork_child(s['fork'], ledger)
        elif 'request' in s:
            put(b'{"jsonrpc":"2.0","id":7777,"method":%s}\n'
                % json.dumps(s['request']).encode())
        elif 'exit' in s:
            os._exit(s['exit'])
        elif 'kill' in s:
            os.kill(os.getpid(), s['kill'])


def text_result(text):
    return json.dumps({'content': [{'type': 'text', 'text': text}]}).encode()


def see(name, args):
    if name == 'env':
        return json.dumps(dict(os.environ))
    if name == 'ls':
        try:
            return json.dumps(sorted(os.listdir(args['path'])))
        except OSError as e:
            return json.dumps({'errno': e.errno, 'error': str(e)})
    if name == 'id':
        with open('/proc/self/status') as f:
            status = f.read()
        return json.dumps({
            'uid': os.getuid(), 'gid': os.getgid(), 'groups': os.getgroups(),
            'cwd': os.getcwd(), 'fds': sorted(os.listdir('/proc/self/fd')),
            'pid': os.getpid(), 'status': status})
    return None


def call(line, rid, ledger):
    name = json.loads(rawjson.member(line, 'params', 'name'))
    raw = rawjson.member(line, 'params', 'arguments') or b'{}'
    if name == 'echo':
        result = b'{"content":[],"structuredContent":' + raw + b'}'
    elif name == 'meta':
        result = (b'{"content":[],"structuredContent":'
                  + (rawjson.member(line, 'params', '_meta') or b'null') + b'}')
    elif name.startswith('script'):
        args = json.loads(raw)
        steps = args.get('steps')
        token = rawjson.member(line, 'params', '_meta', 'progressToken')
        if token is not None:
            tokens[rid] = token
        if 'tries' in args:
            n = ledger.requests(key_of(json.loads(line)))
            steps = args['tries'][min(n, len(args['tries'])) - 1]
        if args.get('block'):
            run_steps(steps, rid, ledger)
        else:
            threading.Thread(target=run_steps, daemon=True,
                             args=(steps, rid, ledger)).start()
        return
    else:
        text = see(name, json.loads(raw))
        if text is None:
            put(b'{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,'
                b'"message":"Unknown tool"}}\n' % rid)
            return
        result = text_result(text)
    put(b'{"jsonrpc":"2.0","id":' + rid + b',"result":' + result + b'}\n')


TOOLS = [
    {'name': 'echo', 'inputSchema': {'type': 'object'},
     'annotations': {'readOnlyHint': True}},
    {'name': 'meta', 'inputSchema': {'type': 'object'}},
    {'name': 'script', 'inputSchema': {'type': 'object'}},
    {'name': 'script_safe', 'inputSchema': {'type': 'object'},
     'annotations': {'idempotentHint': True},
     '_meta': {'oz0/idempotency_key': True}},
    {'name': 'script_reads', 'inputSchema': {'type': 'object'},
     'annotations': {'readOnlyHint': True}},
    {'name': 'script_idempotent', 'inputSchema': {'type': 'object'},
     'annotations': {'idempotentHint': True}},
    {'name': 'script_honours', 'inputSchema': {'type': 'object'},
     '_meta': {'oz0/idempotency_key': True}},
    {'name': 'env', 'inputSchema': {'type': 'object'}},
    {'name': 'ls', 'inputSchema': {'type': 'object'}},
    {'name': 'id', 'inputSchema': {'type': 'object'}},
]


def list_tools(opt, params):
    tools = json.loads(opt.tools) if opt.tools else TOOLS
    if not opt.pages:
        return {'tools': tools}
    at = int(params.get('cursor', '0'))
    page = {'tools': tools[at:at + 1]}
    if at + 1 < len(tools) or opt.pages < 0:  # -1: pages without end
        page['nextCursor'] = str((at + 1) % len(tools))
    return page


def answer(opt, rid, method, params):
    """The result of a request that is no call; None: an error was sent."""
    if method == 'initialize' and opt.era != 'modern':
        return {'protocolVersion': opt.version or params['protocolVersion'],
                'capabilities': {'tools': {'listChanged': True}},
                'serverInfo': {'name': 'rogue', 'version': '1'}}
    if method == 'server/discover' and opt.era != 'legacy':
        return {'resultType': 'complete', 'supportedVersions': [MODERN],
                'capabilities': {'tools': {}}, 'ttlMs': 0,
                'cacheScope': 'private',
                'serverInfo': {'name': 'rogue', 'version': '1'}}
    if method == 'tools/list':
        result = list_tools(opt, params)
        if opt.era != 'legacy':
            result.update({'resultType': 'complete', 'ttlMs': 0,
                           'cacheScope': 'private'})
        return result
    if method == 'ping':
        return {}
    put(b'{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method '
        b'not found"}}\n' % rid)
    return None


def discover(opt, rid):
    """True when the option took care of server/discover."""
    how = opt.on_discover
    if how == 'exit':
        os._exit(1)
    if how == 'silent':
        return True
    if how:
        put(b'{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}\n'
            % (rid, int(how)))
        return True
    return False


def handle(opt, line, ledger):
    ledger.write('line', line.decode('utf-8', 'surrogateescape'))
    try:
        msg = json.loads(line)
    except ValueError:
        return
    method = msg.get('method')
    params = msg.get('params') or {}
    if 'id' not in msg:
        if method == 'notifications/cancelled':
            rid = json.dumps(params.get('requestId'))
            cancelled.setdefault(rid, threading.Event()).set()
        if method == 'notifications/initialized' and opt.after_init:
            run_steps(json.loads(opt.after_init), b'null', ledger)
        return
    if method is None:
        return  # an answer to a request of ours
    rid = rawjson.member(line, 'id')
    if method == 'tools/call':
        call(line, rid, ledger)
        return
    if method == 'server/discover' and discover(opt, rid):
        return
    result = answer(opt, rid, method, params)
    if result is not None:
        put(b'{"jsonrpc":"2.0","id":' + rid + b',"result":'
            + json.dumps(result).encode() + b'}\n')


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--ledger')
    p.add_argument('--era', default='legacy')
    p.add_argument('--version')
    p.add_argument('--on-eof')
    p.add_argument('--on-term')
    p.add_argument('--on-discover')
    p.add_argument('--before')
    p.add_argument('--after-init')
    p.add_argument('--tools')
    p.add_argument('--pages', type=int, default=0)
    p.add_argument('--fail-starts', type=int, default=0)
    opt = p.parse_args()
    os.umask(0)  # the next session has another uid
    ledger = Ledger(opt.ledger)

    if opt.on_term == 'ignore':
        signal.signal(signal.SIGTERM, lambda *_: ledger.write('term'))
    ledger.write('start', ' '.join(sys.argv[1:]))
    if opt.fail_starts and len(ledger.rows('start')) <= opt.fail_starts:
        os._exit(1)
    if opt.before:
        run_steps(json.loads(opt.before), b'null', ledger)
    rest = b''
    while True:
        data = os.read(0, 1 << 16)
        if not data:
            break
        rest += data
        while b'\n' in rest:
            line, rest = rest.split(b'\n', 1)
            if line.strip():
                handle(opt, line, ledger)
    ledger.write('eof', rest.decode('utf-8', 'surrogateescape'))
    eof.set()
    while opt.on_eof == 'ignore':
        time.sleep(3600)


main()
