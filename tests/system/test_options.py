"""Options of oz0.json(5) that no other test shows: what each does, seen in
/proc, in the server's own answer, or in the trace."""
import os
import re
import shutil
import subprocess

from oz0test import ledger, procs
from oz0test.control import Refused
from oz0test.node import program

OK = {'answer': '{"content":[]}'}


def one(t, kind='job', node=None, sandbox=None, **oz0):
    entry, _ = t.rogue(kind=kind, oz0=oz0)
    entry['oz0'].setdefault('sandbox', {}).update(sandbox or {})
    n = t.node({'own': entry}, **(node or {}))
    c = n.client(events=True)
    c.do('job/start', job='j1')
    return n, c


def server_pid(c, **where):
    """The server itself: the one child of its init."""
    init = c.event('server_started', **where)['pid']
    return [p.pid for p in procs.everything().values() if p.ppid == init][0]


def folder_with_demo(t):
    """A root folder that holds oz0-demo and its libraries, no more."""
    root = t.dir('rootfs')
    demo = program('oz0-demo')
    libs = re.findall(r'(/\S+) \(', subprocess.run(
        ['ldd', demo], stdout=subprocess.PIPE, check=True).stdout.decode())
    for path, at in [(demo, '/opt/demo')] + [(x, x) for x in libs]:
        os.makedirs(os.path.dirname(root + at), exist_ok=True)
        shutil.copy(path, root + at)
    os.makedirs(root + '/proc/of-the-host')
    os.symlink('opt/demo', root + '/link')
    with open(root + '/file', 'w') as f:
        f.write('of the root')
    subprocess.run(['chmod', '-R', 'a+rX', root], check=True)
    return root


def test_sandbox_root(t):
    """`root`: a host folder in place of the made-up root, read-only; /dev,
    /proc and /tmp are the sandbox's own all the same."""
    root = folder_with_demo(t)
    n = t.node({'own': {'command': '/link', 'args': [], 'oz0': {
        'kind': 'job', 'sandbox': {'root': root}}}})
    c = n.client(events=True)
    c.do('job/start', job='j1')
    t.has(c.call('j1', 'own.echo', {'a': 1}).result(), state='completed')
    inside = '/proc/%d/root' % server_pid(c)
    t.eq(sorted(os.listdir(inside)), sorted(
        {'session', 'dev', 'tmp'} | set(os.listdir(root))))
    t.eq(os.readlink(inside + '/link'), 'opt/demo')
    with open(inside + '/file') as f:
        t.eq(f.read(), 'of the root')
    assert not os.path.exists(inside + '/proc/of-the-host')
    assert os.path.ismount(inside + '/proc')
    try:
        open(inside + '/opt/new', 'w').close()
        raise AssertionError('the root is writable')
    except OSError as e:
        t.eq(e.strerror, 'Read-only file system')


def test_sandbox_root_that_is_not_there(t):
    n, c = one(t, sandbox={'root': '/nonexistent'}, max_attempts=1)
    r = c.call('j1', 'own.echo', {}).result()
    t.has(r, state='failed', outcome='not_made')
    assert 'sandbox.root /nonexistent: No such file or directory' in \
        r['error']['message'], r


def test_sandbox_sizes(t):
    """`nofile` and `tmp`, as the kernel has them."""
    n, c = one(t, sandbox={'nofile': 2048, 'tmp': '8MiB'})
    t.has(c.call('j1', 'own.echo', {}).result(), state='completed')
    pid = server_pid(c)
    with open('/proc/%d/limits' % pid) as f:
        soft = re.search(r'Max open files\s+(\d+)', f.read()).group(1)
    t.eq(soft, '2048')
    with open('/proc/%d/mountinfo' % pid) as f:
        tmp = [x for x in f if x.split()[4] == '/tmp'][0]
    assert 'size=8192k' in tmp, tmp


def test_sandbox_strict(t):
    """A limit that cannot be kept is no start where it is demanded."""
    entry, _ = t.rogue(oz0={'sandbox': {'memory': '64MiB',
                                             'strict': True}})
    n = t.node({'own': entry}, start=False)
    n.write_config()
    r = n.cli('config', 'check', n.config_path)
    t.eq(r.returncode, 2)
    assert b'strict' in r.stderr, r.stderr


def test_hidden_argument_is_named(t):
    """A server that ends because a file of its arguments is not in its
    sandbox: the error says so, and what to do."""
    script = t.write('server.py', 'print()')
    n = t.node({'own': {'command': '/usr/bin/python3', 'args': [script],
                        'oz0': {'kind': 'job', 'max_attempts': 1}}})
    c = n.client()
    c.do('job/start', job='j1')
    r = c.call('j1', 'own.echo', {}).result()
    t.has(r, state='failed', outcome='not_made')
    t.eq(r['error']['reason'], 'server_start')
    for words in ("can't open file", 'oz0 logs own',
                  'its argument %s is not in its sandbox' % script,
                  'sandbox.read'):
        assert words in r['error']['message'], r


def test_trace_payload(t):
    """L8.2: arguments and results are in the trace of a tool that says so,
    and nowhere else."""
    n, c = one(t, kind='plugin', trace_payload=True)
    quiet, _ = t.rogue(name='quiet', kind='plugin')
    m = t.node({'own': quiet}, name='n2')
    d = m.client()
    d.do('job/start', job='j1')
    for client in (c, d):
        t.has(client.call('j1', 'own.echo', {'secret': 's-3141'}).result(),
              state='completed')
    steps = n.trace('j1')
    t.eq(t.step(steps, 'attempt_started')['arguments'], {'secret': 's-3141'})
    t.eq(t.step(steps, 'call_ended')['result']['structuredContent'],
         {'secret': 's-3141'})
    assert 's-3141' not in str(m.trace('j1'))
    for node in (n, m):
        assert 's-3141' not in node.log(), node.log()


def test_traceparent(t):
    """The caller's trace context goes to the server with the request."""
    n, c = one(t)
    parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    r = c.call('j1', 'own.meta', {}, traceparent=parent).result()
    t.eq(r['result']['structuredContent']['traceparent'], parent)
    t.eq(t.step(n.trace('j1'), 'call_accepted')['traceparent'], parent)


def test_uid_range(t):
    """Root: sessions and plugins get uids of the range, each its own; with
    all taken a new session is refused as node_full, and goes when one ends."""
    t.need_root()
    n, c = one(t, node={'uid_range': '1900000000-1900000003'})
    taken, jobs = set(), []
    full = None
    for i in range(2, 9):
        job = 'j%d' % i
        c.do('job/start', job=job)
        try:
            c.do('session/open', job=job, session=1)
            t.has(c.call(job, 'own.echo', {}).result(), state='completed')
        except Refused as e:
            full = e
            break
        jobs.append(job)
        pid = server_pid(c, job=job)
        taken.add(int(procs.Proc(pid).status('Uid').split()[0]))
    t.eq(full.reason, 'node_full')
    assert 'uid_range' in str(full), full
    t.eq(len(taken), len(jobs))
    assert taken and all(1900000000 <= u <= 1900000003 for u in taken), taken
    c.do('job/end', job=jobs[0])
    n.wait_job(jobs[0], 'COMPLETED')
    procs.until(lambda: opens(c), 'a uid that is free again')


def opens(c):
    try:
        c.do('session/open', job='j1', session=1)
        return True
    except Refused:
        return False


def test_L9_3_restart_when_stuck(t):
    """Three stops in a row that were not confirmed: with
    `restart_when_stuck` the server is stopped and started afresh."""
    entry, path = t.rogue(kind='plugin', oz0={
        'restart_when_stuck': True, 'stop_timeout': '0.1s'})
    n = t.node({'own': entry})
    c = n.client(events=True)
    c.do('job/start', job='j1')
    for i in range(3):
        since = len(c.events)
        a = c.call('j1', 'own.script', {'steps': [{'sleep': 600}]})
        call = c.event('attempt_started', since=since)['call']
        procs.until(lambda: len(ledger.requests(path)) == i + 1, 'a request')
        c.do('call/cancel', call=call)
        t.has(a.result(), state='canceled', stopped='not_confirmed')
    first = c.event('server_started')
    c.event('server_ended', since=c.events.index(first))
    assert first['pid'] not in procs.everything()
    t.has(c.call('j1', 'own.script', {'steps': [OK]}).result(),
          state='completed')
    t.eq(len([e for e in c.events if e['event'] == 'server_started']), 2)
