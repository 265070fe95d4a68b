"""oz0d: signals, exit codes, configuration, sockets, its launcher."""
import json
import os
import signal
import socket
import subprocess
import time

from oz0test import procs, servers
from oz0test.control import Client, Refused
from oz0test.node import Node, ledger_rows, program


def check(t, config, *args, **env):
    """oz0d -n with this configuration."""
    text = config if isinstance(config, str) else json.dumps(config)
    path = t.write('check.json', text)
    return subprocess.run([program('oz0d'), '-n', '-c', path, *args],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, **env}, timeout=30)


def test_usage(t):
    for args in (['-Q'], ['stray'], ['-c']):
        r = subprocess.run([program('oz0d')] + args, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=30)
        t.eq(r.returncode, 2, str(args))
        assert r.stderr, 'no word about %s' % args
    r = subprocess.run([program('oz0d'), '-V'], stdout=subprocess.PIPE,
                       timeout=30)
    t.eq(r.returncode, 0)
    assert r.stdout.strip()


def test_config_errors_name_the_path(t):
    """An unknown key under oz0's own, or a bad value: the path is said."""
    def tool(**oz0):
        return {'mcpServers': {'a': {'command': 'true', 'oz0': oz0}}}
    cases = [
        ({'node': {'slotz': 3}}, 'node.slotz'),
        ({'node': {'slots': 'many'}}, 'node.slots'),
        ({'node': {'slots': -1}}, 'node.slots'),
        ({'node': {'max_message': '16Mib'}}, 'node.max_message'),
        ({'node': {'drain_timeout': '5 parsecs'}}, 'node.drain_timeout'),
        ({'node': {'drain_timeout': -1}}, 'node.drain_timeout'),
        ({'node': {'drain_timeout': 1e300}}, 'node.drain_timeout'),
        ({'node': {'admins': ['no-such-user-x']}}, 'node.admins'),
        ({'node': {'durability': 'maybe'}}, 'node.durability'),
        (tool(timeot='1s'), 'mcpServers.a.oz0.timeot'),
        (tool(kind='jobb'), 'mcpServers.a.oz0.kind'),
        (tool(sandbox={'netwrk': 'none'}), 'mcpServers.a.oz0.sandbox.netwrk'),
        (tool(timeout=True), 'mcpServers.a.oz0.timeout'),
        ({'mcpServers': {'a': {'oz0': {}}}}, 'mcpServers.a'),
        ({'mcpServers': {'a': {'command': 'x',
                               'env': {'K': '${env:NOT_SET_X}'}}}},
         'mcpServers.a.env.K'),
        ({'mcpServers': {'a': {'command': 'x',
                               'env': {'K': '${file:/no/such}'}}}},
         'mcpServers.a.env.K'),
        ({'mcpServers': {'my server': {'command': 'x'}}}, 'my server'),
    ]
    for config, path in cases:
        r = check(t, config)
        t.eq(r.returncode, 2, json.dumps(config) + r.stderr.decode())
        assert path in r.stderr.decode(), '%s is not in: %s' % (
            path, r.stderr.decode())
    r = check(t, '{"node": {')
    t.eq(r.returncode, 2)
    r = check(t, {'mcpServers': {'a b.c': {'command': 'x'}}})
    assert 'a_b_c' in r.stderr.decode() or 'a-b-c' in r.stderr.decode(), \
        'no name proposed: ' + r.stderr.decode()


def test_config_check_prints_defaults(t):
    r = check(t, {'mcpServers': {'a': {
        'command': 'x', 'alwaysAllow': [], 'env': {'K': '${env:SECRET_X}'}}}},
              SECRET_X='hush-9')
    t.eq(r.returncode, 0, r.stderr.decode())
    shown = json.loads(r.stdout)
    t.has(shown['node'], slots=64, queue=100000, durability='process',
          isolation='required')
    t.eq(shown['mcpServers']['a']['oz0']['kind'], 'job')
    assert 'alwaysAllow' in r.stderr.decode(), 'no warning'
    assert b'hush-9' not in r.stdout + r.stderr


def test_sample_of_interfaces(t):
    """The sample configuration, less what later issues bring, starts."""
    demo = {'command': program('oz0-demo'), 'oz0': {
        'kind': 'plugin', 'sandbox': {'read': [os.path.dirname(
            program('oz0-demo'))]}}}
    files = servers.filesystem()
    files['oz0'].update({'timeout': '30s'})
    files['oz0']['sandbox'].update({'network': 'none', 'memory': '1GiB',
                                    'pids': 128, 'cpu': 1.0})
    node = t.node({'demo': demo, 'files': files}, slots=64)
    c = node.client()
    c.do('job/start', job='j1')
    t.has(c.call('j1', 'demo.echo', {'a': 1}).result(), state='completed')
    r = c.call('j1', 'files.list_allowed_directories', {}).result()
    t.has(r, state='completed')


def test_second_oz0d_refuses(t):
    """B022: 69 at once; the first is undisturbed."""
    node = t.node({'own': t.rogue(kind='plugin')[0]})
    r = subprocess.run([program('oz0d'), '-c', node.config_path],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=10)
    t.eq(r.returncode, 69, r.stderr.decode())
    assert node.state_dir in r.stderr.decode(), r.stderr
    c = node.client()
    c.do('job/start', job='j1')
    t.has(c.call('j1', 'own.echo', {}).result(), state='completed')


def test_20_parallel_starts(t):
    """B205: on a stale socket exactly one wins."""
    node = t.node(start=False)
    s = socket.socket(socket.AF_UNIX)
    s.bind(node.socket)
    s.close()  # stale: nobody listens
    node.write_config()
    with open(node.dir + '/log.many', 'wb') as log:
        many = [subprocess.Popen([program('oz0d'), '-c', node.config_path],
                                 stdout=log, stderr=log, stdin=log)
                for _ in range(20)]
    try:
        procs.until(lambda: sum(p.poll() is not None for p in many) == 19,
                    'nineteen end')
        t.eq(sorted({p.returncode for p in many if p.returncode is not None}),
             [69])
        procs.until(lambda: try_hello(node.socket), 'the one answers')
        time_left = [p for p in many if p.poll() is None]
        t.eq(len(time_left), 1)
        time_left[0].send_signal(signal.SIGTERM)
        t.eq(time_left[0].wait(30), 0)
    finally:
        for p in many:
            if p.poll() is None:
                p.kill()
                p.wait()
    t.eq(os.path.exists(node.socket), False, 'socket left behind')


def try_hello(path):
    try:
        with Client(path) as c:
            return c.do('node/hello')
    except OSError:
        return None


def test_socket_path_lengths(t):
    """B206, B207: 107 bytes work, 108 and 200 are refused by name."""
    base = t.dir('s')
    for length, good in ((107, True), (108, False), (200, False)):
        path = base + '/' + 'x' * (length - len(base) - 1)
        t.eq(len(path), length)
        if good:
            node = Node(t, {}, name='long%d' % length, start=False)
            node.config['node']['socket'] = node.socket = path
            node.start()
            node.stop()
            continue
        r = check(t, {'node': {'socket': path,
                               'state_dir': base + '/state'}})
        t.eq(r.returncode, 2, 'length %d' % length)
        assert 'node.socket' in r.stderr.decode(), r.stderr
        r = check(t, {'node': {'state_dir': base + '/state'}}, '-s', path)
        t.eq(r.returncode, 2)
        t.eq(r.stderr.decode().count('-s: '), 1, 'named once')


def test_sigterm_drains(t):
    """A running call may end; queued ones end lost at once; exit 0."""
    entry, ledger = t.rogue(kind='plugin')
    node = t.node({'own': entry}, slots=1, drain_timeout='20s')
    c = node.client(events=True)
    c.do('job/start', job='j1')
    a = c.call('j1', 'own.script', {'steps': [
        {'note': 'in'}, {'sleep': 1}, {'answer': '{"content":[]}'}]})
    procs.until(lambda: any(r['text'] == 'in' for r in ledger_rows(ledger)),
                'it began')
    queued = c.call('j1', 'own.echo', {})
    procs.until(lambda: c.do('node/status')['queued'] == 1, 'queued')
    node.signal(signal.SIGTERM)
    r = queued.result()
    t.has(r, state='lost', outcome='not_made')
    t.has(a.result(), state='completed')
    t.eq(node.wait(), 0)
    t.eq(procs.below(node.pid), [])
    t.eq(os.path.exists(node.socket), False)
    node.start()
    t.eq(node.job_state('j1'), 'LOST')


def test_second_sigterm_is_fast(t):
    """B019: the second escalates; all is dead when it exits 0."""
    entry, ledger = t.rogue('--on-eof', 'ignore', '--on-term', 'ignore',
                            oz0={'stop_timeout': '1s'})
    node = t.node({'own': entry}, drain_timeout='60s')
    c = node.client()
    c.do('job/start', job='j1')
    c.call('j1', 'own.script', {'steps': [{'note': 'in'}, {'sleep': 60}]})
    procs.until(lambda: any(r['text'] == 'in' for r in ledger_rows(ledger)),
                'it began')
    everyone = [procs.identity(p.pid) for p in node.processes()]
    node.signal(signal.SIGTERM)
    procs.until(lambda: c.do('node/status')['state'] == 'draining', 'drains')
    began = time.monotonic()
    node.signal(signal.SIGTERM)
    t.eq(node.wait(), 0)
    assert time.monotonic() - began < 5
    t.eq([i for i in everyone if procs.lives(i)], [])


def test_drain_timeout(t):
    entry, ledger = t.rogue(oz0={'stop_timeout': '1s'})
    node = t.node({'own': entry}, drain_timeout='1s')
    c = node.client()
    c.do('job/start', job='j1')
    c.call('j1', 'own.script', {'steps': [{'note': 'in'}, {'sleep': 60}]})
    procs.until(lambda: any(r['text'] == 'in' for r in ledger_rows(ledger)),
                'it began')
    began = time.monotonic()
    node.signal(signal.SIGTERM)
    t.eq(node.wait(), 0)
    took = time.monotonic() - began
    assert 0.9 < took < 5, took
    node.start()
    steps = node.trace('j1')
    t.step(steps, 'call_ended', state='lost')


def test_sighup(t):
    """B033, B034: a new value takes effect; a bad file changes nothing and
    says why; running calls go on."""
    entry, ledger = t.rogue(oz0={'timeout': '60s'})
    node = t.node({'own': entry})
    c = node.client()
    c.do('job/start', job='j1')
    a = c.call('j1', 'own.script', {'steps': [
        {'note': 'in'}, {'sleep': 2}, {'answer': '{"content":[]}'}]})
    procs.until(lambda: any(r['text'] == 'in' for r in ledger_rows(ledger)),
                'it began')
    node.raw_config = '{"node": {"slotz": 1}}'
    node.write_config()
    node.signal(signal.SIGHUP)
    procs.until(lambda: 'node.slotz' in node.log(), 'it says why')
    t.eq(c.do('node/status')['slots'], 64)
    node.raw_config = None
    for key, value in (('max_message', '1MiB'), ('keep_jobs', '1h'),
                       ('message_budget', '1GiB'), ('follow_parent', True)):
        node.config['node'][key] = value
        node.write_config()
        try:
            c.do('node/reload')
            raise AssertionError('%s was taken' % key)
        except Refused as e:
            assert 'node.' + key in e.error['message'], e.error
        del node.config['node'][key]
    node.config['node']['slots'] = 7
    node.config['mcpServers']['own']['oz0']['timeout'] = '1s'
    node.write_config()
    node.signal(signal.SIGHUP)
    procs.until(lambda: c.do('node/status')['slots'] == 7, 'new slots')
    t.has(a.result(), state='completed')  # 2 s: it keeps the old limit
    r = c.call('j1', 'own.script', {'steps': [{'sleep': 30}]}).result()
    t.has(r['error'], reason='timeout', limit_s=1)


def test_dd_holds_over_sighup(t):
    """-dd is at debug level whatever the configuration says, also after it
    was read again."""
    node = Node(t, {}, name='dd', start=False)
    node.args = ['-dd']
    node.config['node']['log_level'] = 'info'
    node.start()
    c = node.client()
    c.do('node/reload')
    c.do('job/start', job='told-at-debug')
    procs.until(lambda: 'job told-at-debug is RUNNING' in node.log(),
                'debug lines go on')


def test_sigusr1(t):
    node = t.node()
    node.signal(signal.SIGUSR1)
    procs.until(lambda: '"slots":64' in node.log().replace(' ', ''),
                'the state is in the log')


def notifications(sock, until):
    """What arrives at NOTIFY_SOCKET, up to a word."""
    got = []
    while not any(until in g for g in got):
        got += sock.recv(4096).decode().splitlines()
    return got


def test_sd_notify(t):
    path = t.dir('n') + '/notify'
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.settimeout(30)
    s.bind(path)
    node = Node(t, {}, start=False, env={'NOTIFY_SOCKET': path,
                                         'WATCHDOG_USEC': '1000000'})
    node.start()
    got = notifications(s, 'READY=1')
    got += notifications(s, 'WATCHDOG=1')
    node.signal(signal.SIGHUP)
    got = notifications(s, 'READY=1')
    assert any('RELOADING=1' in g for g in got), got
    assert any('MONOTONIC_USEC=' in g for g in got), got
    node.signal(signal.SIGTERM)
    notifications(s, 'STOPPING=1')
    t.eq(node.wait(), 0)


def test_listen_fds(t):
    """The socket that a launcher hands over is used, and left in place."""
    node = t.node(start=False)
    node.write_config()
    path = t.dir('l') + '/given.sock'
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(16)
    log = open(node.dir + '/log.1', 'wb')
    pid = os.fork()
    if pid == 0:
        os.dup2(listener.fileno(), 3)
        os.set_inheritable(3, True)
        os.dup2(log.fileno(), 2)
        os.environ.update({'LISTEN_FDS': '1', 'LISTEN_PID': str(os.getpid())})
        os.execv(program('oz0d'), ['oz0d', '-c', node.config_path])
    listener.close()
    try:
        procs.until(lambda: try_hello(path), 'it answers there')
        t.eq(os.path.exists(node.socket), False, 'a second socket')
    finally:
        os.kill(pid, signal.SIGTERM)
        _, status = os.waitpid(pid, 0)
    t.eq(status, 0)
    t.eq(os.path.exists(path), True)


def test_follow_parent(t):
    """B003: its launcher dies, and everything ends by itself."""
    entry, ledger = t.rogue('--on-eof', 'ignore', '--on-term', 'ignore')
    node = t.node({'own': entry}, start=False, follow_parent=True)
    node.write_config()
    launcher = subprocess.Popen(
        ['/bin/sh', '-c', '"$0" -c "$1" & wait', program('oz0d'),
         node.config_path], stdout=open(node.dir + '/log.1', 'wb'),
        stderr=subprocess.STDOUT)
    procs.until(lambda: try_hello(node.socket), 'it answers')
    with Client(node.socket) as c:
        c.do('job/start', job='j1')
        c.call('j1', 'own.script', {'steps': [{'note': 'in'},
                                              {'sleep': 60}]})
        procs.until(lambda: any(r['text'] == 'in' for r in
                                ledger_rows(ledger)), 'it began')
    everyone = [procs.identity(p.pid) for p in procs.below(launcher.pid)]
    assert len(everyone) > 3, everyone
    launcher.kill()
    launcher.wait()
    procs.until(lambda: not [i for i in everyone if procs.lives(i)],
                'all is dead')
    t.reap()


def test_inherited_child_and_signals(t):
    """B029: a child it did not start; blocked and ignored signals."""
    node = t.node(start=False)
    node.write_config()
    script = ('sleep 0.3 & trap "" CHLD TERM PIPE; exec "$0" -c "$1"')
    p = subprocess.Popen(['/bin/sh', '-c', script, program('oz0d'),
                          node.config_path],
                         stdout=open(node.dir + '/log.1', 'wb'),
                         stderr=subprocess.STDOUT)
    procs.until(lambda: try_hello(node.socket), 'it answers')
    procs.until(lambda: not [q for q in procs.below(p.pid, zombies=True)
                             if q.comm == 'sleep'], 'it was reaped')
    assert try_hello(node.socket)
    p.send_signal(signal.SIGTERM)
    t.eq(p.wait(30), 0)


def test_stderr_reader_gone(t):
    """B007: nobody reads its log any more: no death, no spinning."""
    node = t.node({'own': t.rogue(kind='plugin')[0]}, start=False)
    node.write_config()
    r, w = os.pipe()
    p = subprocess.Popen([program('oz0d'), '-c', node.config_path], stderr=w,
                         stdout=subprocess.DEVNULL)
    os.close(w)
    procs.until(lambda: try_hello(node.socket), 'it answers')
    os.close(r)
    with Client(node.socket) as c:
        c.do('job/start', job='j1')
        for _ in range(20):
            t.has(c.call('j1', 'own.echo', {}).result(), state='completed')
    before = cpu(p.pid)
    time.sleep(1)
    assert cpu(p.pid) - before < 20, 'it spins'
    p.send_signal(signal.SIGTERM)
    t.eq(p.wait(30), 0)


def cpu(pid):
    with open('/proc/%d/stat' % pid) as f:
        fields = f.read().rsplit(')', 1)[1].split()
    return int(fields[11]) + int(fields[12])


def test_titles(t):
    """ps is a user interface."""
    entry, _ = t.rogue()
    shared, _ = t.rogue(name='shared', kind='plugin')
    node = t.node({'own': entry, 'shared': shared})
    c = node.client()
    c.do('job/start', job='j1')
    c.call('j1', 'own.echo', {}).result()
    c.call('j1', 'shared.echo', {}).result()
    for title in ('oz0-journal', 'oz0-worker: plugins',
                  'oz0-worker: session j1/1', 'oz0-sandbox: shared',
                  'oz0-sandbox: j1/1 own'):
        assert node.find(title), (title, node.processes())
    assert procs.Proc(node.pid).cmdline().startswith('oz0d:')
    shown = node.cli('ps', check=0).stdout.decode()
    for word in ('worker', 'journal', 'own', 'shared', 'j1/1'):
        assert word in shown, shown


def test_state_dir_not_to_be_had(t):
    node = t.node(start=False)
    node.config['node']['state_dir'] = '/proc/nope'
    node.spawn()
    code = node.wait()
    assert code in (2, 69), code
    assert '/proc/nope' in node.log(), node.log()


def test_title_says_what_runs(t):
    """ps shows sessions and calls, also after more of them than it follows
    one by one."""
    entry, _ = t.rogue(kind='plugin')
    node = t.node({'shared': entry})
    c = node.client()
    c.do('job/start', job='j1')

    def shows(title):
        procs.until(lambda: procs.Proc(node.proc.pid).cmdline()
                    .startswith('oz0d: ' + title), title)
    shows('0 sessions, 0 calls')
    for _ in range(200):
        t.has(c.call('j1', 'shared.echo', {}).result(), state='completed')
    shows('0 sessions, 0 calls')
    c.call('j1', 'shared.script', {'steps': [{'until': 'cancel'}]})
    shows('0 sessions, 1 call')
    c.do('job/cancel', job='j1')
    shows('0 sessions, 0 calls')
