"""The control protocol: bad peers, roles, events, limits."""
import grp
import json
import os
import resource
import socket
import subprocess

from oz0test import ledger, procs
from oz0test.control import Client, Refused


def dial(node):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.settimeout(20)
    s.connect(node.socket)
    return s


def line(s):
    data = b''
    while not data.endswith(b'\n'):
        more = s.recv(65536)
        if not more:
            return data
        data += more
    return data


def test_hello(t):
    node = t.node()
    r = node.client().do('node/hello')
    assert r['version'] and isinstance(r['features'], list), r
    t.eq(r['role'], 'admin')


def test_bad_messages(t):
    """JSON-RPC's own codes; the connection, and the node, live on."""
    node = t.node()
    s = dial(node)
    for text, code in ((b'{"jsonrpc":"2.0","id":1,"method":\n', -32700),
                       (b'\xff\xfe\n', -32700),
                       (b'{"jsonrpc":"2.0","id":2}\n', -32600),
                       (b'{"jsonrpc":"1.0","id":2,"method":"node/hello"}\n',
                        -32600),
                       (b'{"jsonrpc":"2.0","id":3,"method":"no/such"}\n',
                        -32601),
                       (b'{"jsonrpc":"2.0","id":4,"method":"job/start",'
                        b'"params":{"job":7}}\n', -32602),
                       (b'{"jsonrpc":"2.0","id":5,"method":"job/start",'
                        b'"params":{}}\n', -32602)):
        s.sendall(text)
        got = json.loads(line(s))
        t.eq(got['error']['code'], code, repr(text))
    s.sendall(b'{"jsonrpc":"2.0","id":"9","method":"node/hello"}\r\n')
    t.eq(json.loads(line(s))['id'], '9', 'ids come back as sent')
    s.close()


def test_batch_and_blank(t):
    node = t.node()
    s = dial(node)
    s.sendall(b'[{"jsonrpc":"2.0","id":1,"method":"node/hello"}]\n')
    got = json.loads(line(s))
    if isinstance(got, list):  # JSON-RPC's batch, served as a whole
        t.eq([m['id'] for m in got], [1])
        s.sendall(b'[]\n')
        got = json.loads(line(s))
    t.eq(got['error']['code'], -32600)
    s.sendall(b'\n\r\n{"jsonrpc":"2.0","id":1,"method":"node/hello"}\n')
    assert 'result' in json.loads(line(s))


def test_ids_as_sent(t):
    """B078, B079: ids of every kind; null is not a notification."""
    node = t.node()
    s = dial(node)
    for rid in (b'1', b'"1"', b'0', b'"\\u00e9"', b'9007199254740993',
                b'100000000000000000000'):
        s.sendall(b'{"jsonrpc":"2.0","id":' + rid
                  + b',"method":"node/hello"}\n')
        got = line(s)
        import rawjson
        t.eq(rawjson.member(got, 'id'), rid)
    s.sendall(b'{"jsonrpc":"2.0","id":null,"method":"node/hello"}\n')
    assert json.loads(line(s))['error']['code'] == -32600


def test_huge_line(t):
    """Over max_message: an error or the end for that peer, no one else."""
    node = t.node(max_message='1MiB')
    s = dial(node)
    try:
        s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"' + b'x' * (8 << 20))
        s.sendall(b'"}\n')
        got = line(s)
    except (BrokenPipeError, ConnectionResetError):
        got = b''
    assert got == b'' or b'error' in got, got[:200]
    node.client().do('node/hello')


def test_2000_half_lines(t):
    """2,000 connections with half a line each; new clients are served."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        t.skip('hard limit of descriptors is %d' % hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, hard))
    node = t.node()
    idle = []
    for _ in range(2000):
        try:
            s = dial(node)
            s.sendall(b'{"jsonrpc":"2.0",')
            idle.append(s)
        except OSError:
            break  # a bound is fine, as long as others are served
    r = subprocess.run([os.environ['OZ0_TEST_BIN'] + '/oz0', '--socket',
                        node.socket, 'status'], timeout=20,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    t.eq(r.returncode, 0, r.stdout.decode())
    for s in idle:
        s.close()
    procs.until(lambda: procs.fds(node.pid) < 100, 'descriptors go back')


def test_reader_that_never_reads(t):
    """B208, B209: dropped when 4 MiB wait for it; others are unaffected."""
    entry, _ = t.rogue(kind='plugin')
    node = t.node({'own': entry})
    lazy = dial(node)
    lazy.sendall(b'{"jsonrpc":"2.0","id":1,"method":"events/subscribe",'
                 b'"params":{}}\n')
    line(lazy)
    c = node.client()
    c.do('job/start', job='j1')
    before = procs.memory_kib(node.pid)
    for _ in range(20):
        for a in [c.call('j1', 'own.echo', {'i': 1}) for _ in range(300)]:
            t.has(a.result(), state='completed')
    grown = procs.memory_kib(node.pid) - before
    if not os.environ.get('OZ0_TEST_SANITIZERS'):
        assert grown < 64 * 1024, 'grew by %d KiB' % grown
    lazy.settimeout(20)
    while lazy.recv(1 << 20):
        pass  # up to the end that the node made of it


def test_events_since(t):
    """A scheduler that comes back gets what it missed, once, in order."""
    entry, _ = t.rogue(kind='plugin')
    node = t.node({'own': entry})
    c = node.client(events=True)
    c.do('job/start', job='j1')
    for i in range(5):
        c.call('j1', 'own.echo', {'i': i}).result()
    seen = c.event('call_ended')['seq']
    c.do('job/end', job='j1')
    last = c.event('job_ended')['seq']
    again = node.client()
    again.subscribe(since=seen)
    again.event('job_ended', job='j1')
    numbers = [e['seq'] for e in again.events if 'seq' in e]
    wanted = [e['seq'] for e in c.events if e.get('seq', 0) > seen]
    t.eq([n for n in numbers if n <= last],
         [n for n in wanted if n <= last])
    # and over a restart
    node.stop()
    node.start()
    more = node.client()
    more.subscribe(since=seen)
    more.event('job_ended', job='j1')
    numbers = [e['seq'] for e in more.events if 'seq' in e]
    t.eq(numbers, sorted(set(numbers)))
    t.eq([n for n in numbers if n <= last], [n for n in wanted if n <= last])


def as_user(t, uid, gid, node, method, params):
    """Asks as another user; the answer."""
    code = ('import json,os,socket,sys\n'
            'os.setgroups([]); os.setgid(%d); os.setuid(%d)\n'
            's=socket.socket(socket.AF_UNIX)\n'
            's.connect(sys.argv[1])\n'
            's.sendall(sys.argv[2].encode()+b"\\n")\n'
            'b=b""\n'
            'while not b.endswith(b"\\n"):\n'
            '  d=s.recv(65536)\n'
            '  if not d: break\n'
            '  b+=d\n'
            'sys.stdout.buffer.write(b)\n' % (gid, uid))
    request = json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': method,
                          'params': params})
    out = subprocess.run(['/usr/bin/python3', '-c', code, node.socket,
                          request], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, timeout=30)
    return json.loads(out.stdout) if out.stdout else {'none': out.stderr}


def test_who_asked(t):
    """Root: the trace names the peer behind a start, a cancel, an approval,
    a kill switch and a policy; what the node does by itself has no name."""
    t.need_root()
    entry, path = t.rogue(kind='plugin', oz0={'stop_timeout': '0.1s'})
    node = t.node({'own': entry}, schedulers=['daemon'], policy=[
        {'function': 'echo', 'decision': 'ask'}, {'decision': 'allow'}])
    c = node.client(events=True)
    c.do('job/start', job='j1')

    def waits():
        since = len(c.events)
        a = c.call('j1', 'own.echo', {})
        return a, c.event('call_waiting_approval', since=since)['call']
    a, call = waits()
    c.do('call/approve', call=call)
    a.result()
    a, call = waits()
    c.do('call/deny', call=call)
    a.result()
    a, call = waits()
    as_user(t, 1, 1, node, 'call/cancel', {'call': call})
    t.has(a.result(), state='canceled')

    def runs():
        n = len(ledger.requests(path))
        a = c.call('j1', 'own.script', {'steps': [{'sleep': 600}]})
        procs.until(lambda: len(ledger.requests(path)) == n + 1, 'a request')
        return a
    a = runs()
    c.do('tool/kill', tool='own')
    a.result()
    c.do('tool/unkill', tool='own')
    c.do('policy/set', policy=[{'decision': 'allow'}])
    a = runs()
    as_user(t, 1, 1, node, 'job/cancel', {'job': 'j1'})
    a.result()
    node.wait_job('j1', 'CANCELED')
    named = [(e['event'], e.get('by')) for e in c.events
             if e['event'] in ('call_cancelling', 'call_ended') or 'by' in e]
    t.eq(named, [
        ('job_started', 0), ('call_approved', 0), ('call_ended', None),
        ('call_denied', 0), ('call_ended', None), ('call_ended', 1),
        ('tool_killed', 0), ('call_cancelling', 0), ('call_ended', None),
        ('tool_unkilled', 0), ('policy_changed', 0), ('job_cancelling', 1),
        ('call_cancelling', None), ('call_ended', None)])
    assert c.event('job_cancelling')['text'].endswith('(by uid 1)')


def test_roles(t):
    """SESSION, Who may do what: by the peer's uid, every row."""
    t.need_root()
    entry, _ = t.rogue(kind='plugin')
    node = t.node({'own': entry}, schedulers=['daemon'],
                  observers=['bin', '@sys'])
    c = node.client()
    c.do('job/start', job='j0')
    sys_gid = grp.getgrnam('sys').gr_gid
    peers = {'scheduler': (1, 1), 'observer': (2, 2)}
    allowed = {
        'node/status': ('scheduler', 'observer'),
        'job/list': ('scheduler', 'observer'),
        'tool/functions': ('scheduler', 'observer'),
        'job/start': ('scheduler',),
        'job/cancel': ('scheduler',),
        'call/start': ('scheduler',),
        'session/open': ('scheduler',),
        'node/drain': (), 'node/reload': (), 'tool/restart': (),
        'tool/logs': (),
    }
    params = {'job/start': {'job': 'jx'}, 'job/cancel': {'job': 'gone'},
              'call/start': {'job': 'gone', 'function': 'own.echo'},
              'session/open': {'job': 'gone', 'session': 1},
              'tool/restart': {'tool': 'own'}, 'tool/logs': {'tool': 'own'}}
    for who, (uid, gid) in peers.items():
        t.eq(as_user(t, uid, gid, node, 'node/hello', {})['result']['role'],
             who)
        for method, roles in allowed.items():
            got = as_user(t, uid, gid, node, method, params.get(method, {}))
            refused = ((got.get('error') or {}).get('data')
                       or {}).get('reason') == 'not_allowed'
            t.eq(refused, who not in roles, '%s by a %s: %s' % (
                method, who, got))
    got = as_user(t, 4000, sys_gid, node, 'node/hello', {})
    t.eq(got['result']['role'], 'observer', 'by its group')
    got = as_user(t, 4001, 4001, node, 'node/status', {})
    assert 'result' not in got, 'a stranger was served: %s' % got
    t.eq(c.do('node/status')['state'], 'ready')


def test_deep_and_wide(t):
    """Depth and size of what a peer sends are bounded."""
    entry, _ = t.rogue(kind='plugin')
    node = t.node({'own': entry})
    c = node.client()
    c.do('job/start', job='j1')
    deep = b'{"a":' + b'[' * 100000 + b']' * 100000 + b'}'
    c.call('j1', 'own.echo', raw_arguments=deep)
    with c.cond:  # the line is no message: its id is not known
        assert c.cond.wait_for(lambda: c.strays, 30), 'no answer'
    t.eq(json.loads(c.strays[0])['error']['code'], -32700)
    c.do('node/hello')


def nested(depth):
    return b'{"a":' + b'[' * (depth - 1) + b']' * (depth - 1) + b'}'


def test_deepest_can_be_read(t):
    """What is taken from a server or a client can be read by whoever gets it:
    the answer, alone and in a batch, the trace, the event, the command line.
    Of what is deeper the sender is told."""
    entry, _ = t.rogue(kind='plugin', oz0={'trace_payload': True})
    node = t.node({'own': entry})
    c = node.client(events=True)
    c.do('job/start', job='j1')

    def answer_of(depth):
        return json.dumps({'steps': [{'answer': nested(depth).decode()}]})

    def ask(depth):
        return c.call('j1', 'own.script', json.loads(answer_of(depth)))

    a = ask(499)  # in a line of the server, 500 deep
    t.eq(a.raw('result', 'result'), nested(499))
    r = ask(500).result()
    t.has(r, state='failed', outcome='unknown')
    t.eq(r['error']['reason'], 'bad_answer')
    assert 'too deep' in r['error']['message'], r
    # arguments: params and the line are around them
    a = c.call('j1', 'own.echo', raw_arguments=nested(498))
    t.has(a.result(), state='completed')
    c.call('j1', 'own.echo', raw_arguments=nested(499))
    with c.cond:
        assert c.cond.wait_for(lambda: c.strays, 30), 'no answer'
    t.has(json.loads(c.strays.pop())['error'], code=-32700)

    c.event('call_ended', where=lambda e: 'result' in e)
    done = node.cli('call', '--job', 'j1', 'own.script', answer_of(499),
                    check=0)
    assert nested(499) in done.stdout, done
    assert nested(499) in node.cli(
        '--json', 'trace', 'j1', check=0).stdout.replace(b' ', b'')
    c.send_raw(b'[{"jsonrpc":"2.0","id":"b","method":"call/start","params":'
               b'{"job":"j1","function":"own.script","arguments":'
               + answer_of(499).encode() + b'}}]\n')
    with c.cond:
        assert c.cond.wait_for(lambda: c.strays, 30), 'no answer'
    assert nested(499) in c.strays[0], c.strays[0]


def test_arguments_must_be_an_object(t):
    entry, _ = t.rogue(kind='plugin')
    node = t.node({'own': entry})
    c = node.client()
    c.do('job/start', job='j1')
    for raw in (b'[]', b'1', b'"x"', b'true'):
        try:
            c.call('j1', 'own.echo', raw_arguments=raw).result()
            raise AssertionError('taken: %r' % raw)
        except Refused as e:
            t.eq(e.code, -32602)


def test_many_clients_one_broken(t):
    """A peer that vanishes in the middle of a line costs nobody anything."""
    node = t.node()
    with Client(node.socket) as c:
        for _ in range(200):
            s = dial(node)
            s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"node/sta')
            s.close()
            c.do('node/hello')
