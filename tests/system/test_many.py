"""Nothing grows: sessions by the thousand, starts and crashes."""
import os
import subprocess

from oz0test import procs


def mounts():
    with open('/proc/self/mountinfo') as f:
        return len(f.readlines())


def cgroups():
    total = 0
    for at, names, _ in os.walk('/sys/fs/cgroup'):
        total += len(names)
    return total


def census(node):
    """What must stay as it is between two quiet moments."""
    sessions = node.state_dir + '/sessions'
    return {
        'descriptors': procs.fds(node.pid),
        'processes': len(node.processes()),
        'zombies': len([p for p in node.processes(zombies=True)
                        if p.dead()]),
        'mounts': mounts(),
        'cgroups': cgroups(),
        'folders': len(os.listdir(sessions))
        if os.path.isdir(sessions) else 0,
        'tmp': sorted(os.listdir(node.env['TMPDIR'])),
        'shm': sorted(n for n in os.listdir('/dev/shm') if 'oz0' in n),
    }


def flat(t, node, rounds, each):
    warm_up = max(rounds // 10, 20)
    for i in range(warm_up):
        each(i)
    quiet(node)
    before, memory = census(node), procs.memory_kib(node.pid)
    for i in range(warm_up, warm_up + rounds):
        each(i)
    quiet(node)
    after = census(node)
    t.eq(after, before, 'after %d rounds' % rounds)
    return procs.memory_kib(node.pid) - memory


def quiet(node):
    """Folders are removed and processes reaped after a session's end."""
    sessions = node.state_dir + '/sessions'
    procs.until(lambda: not node.find('j1/') and not (
        os.path.isdir(sessions) and os.listdir(sessions)), 'it is quiet', 60)
    procs.until(lambda: all(not p.dead() for p in
                            node.processes(zombies=True)), 'all reaped')


def test_1000_sessions(t):
    """Open, one call of a job server, close: a thousand times."""
    demo = os.environ['OZ0_TEST_BIN'] + '/oz0-demo'
    node = t.node({'demo': {'command': demo, 'oz0': {
        'kind': 'job', 'sandbox': {'read': [os.path.dirname(demo)]}}}},
        env={'TMPDIR': t.dir('tmp')})
    c = node.client()
    c.do('job/start', job='j1')

    def each(i):
        c.do('session/open', job='j1', session=i + 1)
        r = c.call('j1', 'demo.echo', {'i': i}, session=i + 1).result()
        t.has(r, state='completed')
        c.do('session/close', job='j1', session=i + 1)

    grown = flat(t, node, int(os.environ.get('OZ0_TEST_SESSIONS', '1000')),
                 each)
    if not os.environ.get('OZ0_TEST_SANITIZERS'):
        assert grown < 4096, 'grew by %d KiB' % grown


test_1000_sessions.limit = 400
test_1000_sessions.alone = True


def test_130_crashes(t):
    """B005: a server that crashes at each call: no zombie, no descriptor."""
    entry, _ = t.rogue(ledger=False)
    node = t.node({'own': entry}, env={'TMPDIR': t.dir('tmp')})
    c = node.client()
    c.do('job/start', job='j1')

    def each(i):
        r = c.call('j1', 'own.script', {'steps': [{'exit': 1}]}).result()
        t.has(r, state='failed')

    for i in range(30):
        each(i)
    # an init that is dying has no name any more, and is still there
    procs.until(lambda: census(node)['processes'] == 2, 'journal and worker')
    before = census(node)
    for i in range(100):
        each(i)
    # an init that is dying has no name any more, and is still there
    procs.until(lambda: census(node) == before, 'flat: %s' % before)


test_130_crashes.limit = 180


def test_500_jobs(t):
    """Many jobs with a call each, all at once, over the CLI too."""
    entry, _ = t.rogue(kind='plugin', ledger=False)
    node = t.node({'own': entry})
    c = node.client()
    asked = []
    for i in range(500):
        c.do('job/start', job='j%d' % i)
        asked.append(c.call('j%d' % i, 'own.echo', {'i': i}))
    for a in asked:
        t.has(a.result(), state='completed')
    for i in range(500):
        c.do('job/end', job='j%d' % i)
    many = [subprocess.Popen(
        [os.environ['OZ0_TEST_BIN'] + '/oz0', '--socket', node.socket,
         'call', 'own.echo', '{}'], stdout=subprocess.DEVNULL)
        for _ in range(20)]
    t.eq([p.wait(60) for p in many], [0] * 20)
