"""What enemies do at moments that are chosen badly: servers, peers of the
control socket and whoever kills processes.  After it the node serves, one end
was told of each call, and nothing is left behind."""
import fcntl
import json
import os
import resource
import signal
import subprocess
import time

from oz0test import procs
from oz0test.control import Refused

# The start of a server that is written out in a test: read() gives a message,
# say() answers it or tells of something; hello() goes through the handshake.
SERVER = r'''
import json, os, signal, sys, time
def put(data):
    while data:
        data = data[os.write(1, data):]
def say(m, result=None, **more):
    more.update({'jsonrpc': '2.0'})
    if m is not None:
        more.update({'id': m['id'], 'result': result})
    put(json.dumps(more).encode() + b'\n')
def read():
    line = sys.stdin.buffer.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)
def no(m):
    put(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'error': {
        'code': -32601, 'message': 'no'}}).encode() + b'\n')
def tools(*names):
    return [{'name': n, 'inputSchema': {'type': 'object'}} for n in names]
def hello(*names):
    while True:
        m = read()
        if m['method'] == 'server/discover':
            no(m)
        elif m['method'] == 'initialize':
            say(m, {'protocolVersion': '2025-11-25', 'serverInfo': {
                'name': 'x', 'version': '1'},
                'capabilities': {'tools': {'listChanged': True}}})
        elif m['method'] == 'tools/list':
            say(m, {'tools': tools(*names)})
            return
'''


def server(t, text, name='own', kind='job', **oz0):
    """An entry for a server of these lines of Python."""
    path = t.write(name + '.py', SERVER + text)
    box = {'read': [t.top], **oz0.pop('sandbox', {})}
    return {'command': '/usr/bin/python3', 'args': ['-u', path],
            'oz0': {'kind': kind, 'sandbox': box, **oz0}}


def begin(t, entry, jobs=('j1',), **node):
    n = t.node({'own': entry}, **node)
    c = n.client(events=True)
    for job in jobs:
        c.do('job/start', job=job)
    return n, c


def one_end_each(t, steps):
    ended = [s['call'] for s in steps if s['event'] == 'call_ended']
    t.eq(len(ended), len(set(ended)), 'one end for each call')
    accepted = {s['call'] for s in steps if s['event'] == 'call_accepted'}
    t.eq(set(ended), accepted, 'every call ends')


def test_incomplete_listing_is_dropped(t):
    """A later listing that breaks off: the one before it goes on to count."""
    n, c = begin(t, server(t, r'''
hello('f', 'g')
while True:
    m = read()
    if m['method'] == 'tools/list':
        say(m, {'tools': tools('h', 'i'), 'nextCursor': 5})
    elif m['method'] == 'tools/call':
        say(None, method='notifications/tools/list_changed')
        say(m, {'content': [], 'n': m['params']['name']})
'''))
    t.has(c.call('j1', 'own.f', {}).result(), state='completed')
    c.event('fault', where=lambda e: 'listing' in e['text'])
    t.eq(c.call('j1', 'own.g', {}).result()['result']['n'], 'g')
    r = c.call('j1', 'own.h', {}).result()
    t.eq(r['error']['reason'], 'unknown_function')
    t.eq(sorted(f['function'] for f in c.do(
        'tool/functions', tool='own')['functions']), ['own.f', 'own.g'])


def test_incomplete_first_listing(t):
    """Without any listing the start fails, with the reason."""
    n, c = begin(t, server(t, r'''
while True:
    m = read()
    if m['method'] == 'server/discover':
        no(m)
    elif m['method'] == 'initialize':
        say(m, {'protocolVersion': '2025-11-25', 'capabilities': {},
                'serverInfo': {'name': 'x', 'version': '1'}})
    elif m['method'] == 'tools/list':
        say(m, {'tools': tools('h'), 'nextCursor': 5})
'''))
    r = c.call('j1', 'own.h', {}).result()
    t.has(r, state='failed', outcome='not_made')
    t.eq(r['error']['reason'], 'server_start')
    assert 'nextCursor' in r['error']['message'], r


def test_stdout_is_wide(t):
    """The pipe holds a whole large result (1 MiB), where that is allowed."""
    n, c = begin(t, t.rogue()[0])
    c.call('j1', 'own.echo', {}).result()
    init = n.one('oz0-sandbox: j1/1 own')
    python = [p for p in procs.below(init.pid) if 'rogue' in p.cmdline()][0]
    if not t.root:  # a confined process's descriptors are closed to others
        t.skip('needs root')
    fd = os.open('/proc/%d/fd/1' % python.pid, os.O_WRONLY)
    t.eq(fcntl.fcntl(fd, 1032), 1 << 20)  # F_GETPIPE_SZ
    os.close(fd)


def test_end_of_ready_server_is_its_own(t):
    """Its stdout's end is seen first: what is told is how it ended."""
    n, c = begin(t, t.rogue()[0])
    for step, how in (({'exit': 3}, 'exit code 3'),
                      ({'kill': 9}, 'signal 9 (SIGKILL)')):
        before = len(c.events)
        r = c.call('j1', 'own.script', {'steps': [step]}).result()
        t.eq(r['error']['reason'], 'server_ended')
        e = c.event('server_ended', since=before)
        t.has(e, how=how, reason=None, after=None)
        t.eq([e for e in c.events if e['event'] == 'server_stopping'], [])


def test_stdout_closed_but_alive(t):
    """One that only closes its stdout is stopped, and that is told."""
    n, c = begin(t, server(t, r'''
hello('f')
m = read()
os.close(1)
while True:
    time.sleep(1)
''', stop_timeout='0.5s'))
    r = c.call('j1', 'own.f', {}).result()
    t.has(r, state='failed', outcome='unknown')
    e = c.event('server_ended')
    assert e['after'] in ('SIGTERM', 'SIGKILL') and 'stdout' in e['reason'], e
    t.step(n.trace('j1'), 'server_stopping')


def test_L2_5_restartable_before_the_request(t):
    """The scheduler is told before the request that causes it is written: by
    the order of oz0d's own system calls."""
    n, c = begin(t, t.rogue()[0])
    t.has(c.call('j1', 'own.echo', {}).result(), state='completed')
    out = t.top + '/strace'
    trace = subprocess.Popen(
        ['strace', '-q', '-s', '65536', '-e', 'trace=sendto,sendmsg,writev',
         '-o', out, '-p', str(n.pid)], stderr=subprocess.PIPE)
    procs.until(lambda: trace.poll() is not None or procs.Proc(
        n.pid).status('TracerPid') == str(trace.pid), 'strace is there')
    if trace.poll() is not None:
        t.skip('strace: ' + trace.stderr.read().decode())
    r = c.call('j1', 'own.script', {'steps': [{'answer': '{"content":[]}'}]})
    t.has(r.result(), state='completed')
    trace.terminate()
    trace.wait()
    trace.stderr.close()
    with open(out) as f:
        lines = f.readlines()
    told = [i for i, x in enumerate(lines) if 'session_restartable' in x]
    asked = [i for i, x in enumerate(lines) if 'j1/h-' in x
             and 'script' in x and '"event' not in x and '\\"event' not in x]
    assert told and asked, lines
    assert told[0] < asked[0], 'the request was written first'


def test_deaf_server(t):
    """One that closes its stdin and lives is stopped and started afresh, once
    it owes no answer; the answer that it owes still counts."""
    for kind in ('job', 'plugin'):
        n, c = begin(t, server(t, r'''
hello('f')
m = read()
os.close(0)
time.sleep(0.2)
say(m, {'content': [], 'pid': os.getpid()})
while True:
    time.sleep(1)
''', kind=kind, stop_timeout='0.3s'), name=kind)
        t.has(c.call('j1', 'own.f', {}).result(), state='completed')
        r = c.call('j1', 'own.f', {}).result()  # made if its retry is late
        assert r['outcome'] in ('made', 'not_made'), r
        e = c.event('server_ended')
        assert 'closed its stdin' in e['reason'], e
        procs.until(lambda: c.call('j1', 'own.f', {}).result()['state']
                    == 'completed', 'it serves again')


def test_reload_keeps_what_runs(t):
    """Times that change hold for the next call, and no server is restarted
    for them; one whose command has changed is."""
    n, c = begin(t, t.rogue(kind='plugin')[0])
    c.call('j1', 'own.echo', {}).result()
    pid = n.one('oz0-sandbox: own').pid
    n.config['mcpServers']['own']['oz0'].update(timeout='1s', max_running=2)
    n.write_config()
    c.do('node/reload')
    r = c.call('j1', 'own.script', {'steps': [{'sleep': 30}]}).result()
    t.eq(r['error']['limit_s'], 1)
    t.eq(n.one('oz0-sandbox: own').pid, pid)
    n.config['mcpServers']['own']['args'].append('--on-eof')
    n.config['mcpServers']['own']['args'].append('x')
    n.write_config()
    c.do('node/reload')
    c.event('server_ended')
    t.has(c.call('j1', 'own.echo', {}).result(), state='completed')


def test_term_while_starting(t):
    """SIGTERM in every phase of a start: nothing outlives oz0d."""
    n = t.node({'own': t.rogue(kind='plugin', oz0={'eager': True})[0]},
               start=False)
    for i in range(25):
        n.spawn()
        # what a signal before main() does is not oz0d's to say
        procs.until(lambda: n.proc.poll() is not None or int(procs.Proc(
            n.pid).status('SigBlk') or '0', 16) & 1 << 14, 'it takes signals')
        time.sleep(i * 0.004)
        n.signal(signal.SIGTERM)
        t.eq(n.wait(), 0, n.log())
        t.eq(procs.below(os.getpid()), [], 'after %d ms' % (i * 4))
        t.reap()


def test_start_that_fails(t):
    """A start that cannot be ends everything it began, too."""
    n = t.node({}, start=False)
    os.mkdir(n.socket)
    n.spawn()
    t.eq(n.wait(), 69, n.log())
    t.eq(procs.below(os.getpid()), [])


def test_descriptors_of_sandboxes(t):
    """Descriptors on their way count for the user: a server that has all it
    can have under way leaves oz0d some to send (ETOOMANYREFS)."""
    n = t.node({'own': server(t, r'''
import resource, socket
hello('f')
m = read()
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
kept, sent = [], 0
while sent < 3000:
    a, b = socket.socketpair()
    kept += [a, b]
    try:
        for i in range(10):
            socket.send_fds(a, [b'x'], [1] * 250)
            sent += 250
    except OSError as e:
        break
say(m, {'content': [], 'hard': hard})
while True:
    read()
'''), 'other': t.rogue(name='other', ledger=False)[0]}, start=False)
    # each test is a process of its own
    resource.setrlimit(resource.RLIMIT_NOFILE, (2048, 2048))
    n.start()
    c = n.client(events=True)
    for job in ('j1', 'j2'):
        c.do('job/start', job=job)
    r = c.call('j1', 'own.f', {}).result()
    t.eq(r['result']['hard'], 1024)
    t.has(c.call('j2', 'other.echo', {}).result(), state='completed')


def test_variables_of_a_harness(t):
    """No name of a variable says more than a name."""
    n, c = begin(t, t.rogue()[0])
    c.do('session/open', job='j1', session=1)
    null = os.open('/dev/null', os.O_RDWR)
    for name in ('A=B', '', '='):
        try:
            c.send('session/run', job='j1', session=1, command='/bin/true',
                   args=[], env={name: 'x'}, fds=[null] * 3).result()
        except Refused as e:
            t.eq(e.code, -32602)
        else:
            raise AssertionError('%r was taken' % name)
    os.close(null)


def test_workspace_is_swapped(t):
    """A workspace is the folder that was checked, not what its path leads to
    later: it is mounted long after, and its owner may write above it."""
    mine, other = t.dir('mine'), t.dir('other')
    with open(other + '/secret', 'w') as f:
        f.write('x')
    for path in (mine, other) if t.root else ():
        os.chown(path, 1234, 1234)
    n, c = begin(t, t.rogue()[0])
    c.do('session/open', job='j1', session=1, workspace=mine)
    os.rename(mine, mine + '-before')
    os.symlink(other, mine)
    r = c.call('j1', 'own.ls', {'path': '/session'}, session=1).result()
    t.has(r, state='failed', outcome='not_made')
    assert 'it is not the folder any more' in r['error']['message'], r
    null = os.open('/dev/null', os.O_RDWR)
    try:
        c.send('session/run', job='j1', session=1, command='/bin/true',
               args=[], fds=[null] * 3).result()
    except Refused as e:
        assert 'it is not the folder any more' in str(e), e
    else:
        raise AssertionError('a harness ran in it')
    os.close(null)
