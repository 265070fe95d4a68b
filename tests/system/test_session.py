"""Sessions and harnesses (SESSION)."""
import json
import os
import subprocess

from oz0test import procs
from oz0test.control import Refused
from oz0test.node import program


def run(node, *args, harness, input=None, patience=60):
    return subprocess.run(
        [program('oz0'), '--socket', node.socket, 'run', *args, '--',
         *harness], input=input, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, timeout=patience)


def test_run_exit_codes(t):
    """With the harness's own code; 128+n for a signal; 125 for oz0's own."""
    node = t.node()
    for i, (script, code) in enumerate((
            ('exit 0', 0), ('exit 7', 7), ('kill -TERM $$', 143),
            ('kill -KILL $$', 137))):
        r = run(node, '--job', 'j%d' % i, '--session', '1',
                harness=['/bin/sh', '-c', script])
        t.eq(r.returncode, code, script + r.stderr.decode())
    r = run(node, '--job', 'j9', '--session', '1', harness=['/no/such'])
    t.eq(r.returncode, 125, r.stderr.decode())


def test_run_stdio(t):
    """Its three descriptors are the caller's own."""
    node = t.node()
    r = run(node, '--job', 'j1', '--session', '1', input=b'in\n',
            harness=['/bin/sh', '-c', 'cat; echo out; echo err >&2; pwd'])
    t.eq(r.returncode, 0, r.stderr.decode())
    t.eq(r.stdout, b'in\nout\n/session\n')
    assert b'err\n' in r.stderr


def test_run_is_confined_and_closes(t):
    """No network, no host files, uid of its own; its end closes the session,
    and the folder is removed."""
    node = t.node()
    c = node.client(events=True)
    r = run(node, '--job', 'j1', '--session', '2', harness=[
        '/bin/sh', '-c', 'id -u; ls /root 2>/dev/null; ls /sys 2>/dev/null; '
        'cat /proc/net/route | wc -l; touch /session/x && echo wrote; '
        'touch /usr/x 2>/dev/null || echo readonly'])
    lines = r.stdout.decode().split()
    t.eq(lines[1:], ['1', 'wrote', 'readonly'], r.stderr.decode())
    if t.root:
        assert int(lines[0]) >= 1879048192
    c.event('harness_ended', job='j1')
    c.event('session_closed', job='j1')
    procs.until(lambda: not os.listdir(node.state_dir + '/sessions')
                if os.path.isdir(node.state_dir + '/sessions') else True,
                'the folder is removed')


def test_signal_reaches_harness(t):
    node = t.node()
    c = node.client(events=True)
    p = subprocess.Popen(
        [program('oz0'), '--socket', node.socket, 'run', '--job', 'j1',
         '--session', '1', '--', '/bin/sh', '-c',
         'trap "exit 9" USR1; echo up; while :; do sleep 0.05; done'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    t.eq(p.stdout.readline(), b'up\n')
    c.event('harness_started', job='j1')
    c.do('session/signal', job='j1', session=1, signal=10)
    t.eq(p.wait(30), 9, p.stderr.read().decode())


def test_cancel_kills_harness(t):
    node = t.node()
    c = node.client(events=True)
    p = subprocess.Popen(
        [program('oz0'), '--socket', node.socket, 'run', '--job', 'j1',
         '--session', '1', '--', '/bin/sh', '-c',
         'trap "" TERM HUP; (setsid sh -c "trap \'\' TERM; sleep 100" &); '
         'echo up; sleep 100; sleep 100'], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL)
    t.eq(p.stdout.readline(), b'up\n')
    tree = [procs.identity(q.pid) for init in node.find('j1/1 harness')
            for q in procs.below(init.pid)]
    assert len(tree) >= 2, tree
    c.send('job/cancel', job='j1')
    c.event('job_canceled', job='j1')
    t.eq([i for i in tree if procs.lives(i)], [])
    p.wait(30)
    p.stdout.close()


def test_open_close(t):
    entry, _ = t.rogue(oz0={'eager': True})
    node = t.node({'own': entry})
    c = node.client(events=True)
    c.do('job/start', job='j1')
    c.do('session/open', job='j1', session=3)
    c.event('session_opened', job='j1')
    c.event('server_ready', tool='own')
    r = c.call('j1', 'own.echo', {}, session=3).result()
    t.has(r, state='completed', session=3)
    t.eq([s['state'] for s in c.do('job/status', job='j1')['sessions']],
         ['OPEN'])
    c.do('session/close', job='j1', session=3)
    c.event('session_closed', job='j1')
    t.eq(node.find('j1/3'), [])


def test_tools_of_a_session(t):
    """Only the tools it was opened with."""
    one, _ = t.rogue(name='one')
    two, _ = t.rogue(name='two')
    node = t.node({'one': one, 'two': two})
    c = node.client()
    c.do('job/start', job='j1')
    c.do('session/open', job='j1', session=1, tools=['one'])
    t.has(c.call('j1', 'one.echo', {}, session=1).result(),
          state='completed')
    try:
        r = c.call('j1', 'two.echo', {}, session=1).result()
        assert r['state'] in ('failed', 'refused'), r
    except Refused as e:
        assert e.reason in ('unknown_tool', 'not_allowed'), e


def test_workspace(t):
    """A host folder of the caller's instead of a folder of its own."""
    folder = t.dir('ws')
    if t.root:
        os.chown(folder, 1234, 1234)
    node = t.node()
    r = run(node, '--job', 'j1', '--session', '1', '--workspace', folder,
            harness=['/bin/sh', '-c', 'id -u; echo kept >f; pwd'])
    t.eq(r.returncode, 0, r.stderr.decode())
    with open(folder + '/f') as f:
        t.eq(f.read(), 'kept\n')
    uid = int(r.stdout.split()[0])
    t.eq(uid, 1234 if t.root else os.getuid())
    t.eq(os.stat(folder + '/f').st_uid, uid)


def test_folders_apart(t):
    """Two sessions see nothing of each other."""
    entry, _ = t.rogue(ledger=False)
    node = t.node({'own': entry})
    c = node.client()
    for job in ('j1', 'j2'):
        c.do('job/start', job=job)
        r = run(node, '--job', job, '--session', '5', harness=[
            '/bin/sh', '-c', 'ls -A /session; touch /session/of-' + job])
        t.eq(r.stdout, b'', r.stderr.decode())
    uids = set()
    for job in ('j1', 'j2'):
        r = c.call(job, 'own.id', {}).result()
        uids.add(json.loads(r['result']['content'][0]['text'])['uid'])
    if t.root:
        t.eq(len(uids), 2, 'a uid for each session')


def test_run_tty(t):
    """With a terminal: it is the harness's controlling one, and its size."""
    import pty
    import select
    node = t.node()
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(program('oz0'), ['oz0', '--socket', node.socket, 'run',
                                  '--job', 'j1', '--session', '1', '--',
                                  '/bin/sh', '-c',
                                  'tty; test -t 0 && echo is-tty; exit 4'])
    out = b''
    while True:
        try:
            if not select.select([fd], [], [], 30)[0]:
                break
            data = os.read(fd, 4096)
        except OSError:
            break
        if not data:
            break
        out += data
    _, status = os.waitpid(pid, 0)
    t.eq(os.waitstatus_to_exitcode(status), 4, out.decode())
    assert b'is-tty' in out, out


def refused(answer, reason, words):
    try:
        answer.result()
    except Refused as e:
        assert e.reason == reason and words in str(e), (e.reason, str(e))
    else:
        raise AssertionError('it was not refused: ' + words)


def test_resize(t):
    """The terminal's size is set, and the harness is told; no signal and no
    size for a harness that has not started, has no terminal or has ended."""
    node = t.node()
    c = node.client(events=True)
    c.do('job/start', job='j1')
    size = {'job': 'j1', 'session': 1, 'rows': 33, 'cols': 121}
    for session in (1, 2):
        c.do('session/open', job='j1', session=session)
    early = 'has not started yet'
    refused(c.send('session/resize', **size), 'not_allowed', early)
    refused(c.send('session/signal', job='j1', session=1, signal=15),
            'not_allowed', early)
    null = os.open('/dev/null', os.O_RDWR)
    master, slave = os.openpty()
    c.send('session/run', job='j1', session=2, command='/bin/sleep',
           args=['1000'], fds=[null] * 3).result()
    refused(c.send('session/resize', **{**size, 'session': 2}),
            'not_allowed', 'no pseudo-terminal')
    c.send('session/run', job='j1', session=1, command='/bin/sh', tty=True,
           args=['-c', 'trap "stty size" WINCH; echo up; '
                 'while :; do sleep 0.05; done'], fds=[slave] * 3).result()
    os.close(slave)
    with os.fdopen(master, 'rb', buffering=0) as terminal:
        def until(word):
            text = b''
            while word not in text:
                text += terminal.read(100)
        until(b'up')
        c.do('session/resize', **size)
        until(b'33 121')
    for session in (1, 2):
        c.do('session/close', job='j1', session=session)
    refused(c.send('session/resize', **size), 'already_ended', '')
    os.close(null)
