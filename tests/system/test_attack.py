"""What enemies do at moments that are chosen badly: servers, peers of the
control socket and whoever kills processes.  After it the node serves, one end
was told of each call, and nothing is left behind."""
import fcntl
import json
import os
import subprocess

from oz0test import procs
from oz0test.node import program

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
