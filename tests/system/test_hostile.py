"""L9.4: a worker that was taken over harms only its own calls."""
import os
import shutil

from oz0test import procs
from oz0test.node import program


def hostile(t, mode):
    """A libexec of its own: the real programs, and a hostile oz0-worker for
    whoever is started while the file `mode` does not say `real`."""
    where = t.dir('libexec-' + mode)
    for name in ('oz0-sandbox', 'oz0-journal'):
        shutil.copy(program(name), where)
    shutil.copy(os.path.join(os.environ['OZ0_TEST_BIN'],
                             'tests/system/hostile_worker'),
                where + '/oz0-worker')
    with open(where + '/mode', 'w') as f:
        f.write(mode + '\n')
    entry, _ = t.rogue(name='r-' + mode, kind='plugin')
    own, _ = t.rogue(name='o-' + mode)
    node = t.node({'own': own, 'shared': entry}, name='n-' + mode,
                  env={'OZ0_LIBEXEC': where})
    return node


def one(t, mode, state, outcome):
    """The call of the hostile worker fails; the supervisor lives, serves the
    control socket, keeps a true trace, and leaves no descriptor behind."""
    node = hostile(t, mode)
    c = node.client(events=True)
    c.do('job/start', job='j1')
    before = procs.fds(node.pid)
    r = c.call('j1', 'own.echo', {}, timeout=20).result()
    t.has(r, state=state, outcome=outcome)
    if state == 'completed':
        return node, c, r
    t.eq(r['error']['reason'], 'worker_ended')
    assert 'stolen' not in str(r)
    c.event('worker_ended')
    c.do('job/start', job='j2')
    t.eq(c.do('node/hello')['role'], 'admin')
    c.send('job/cancel', job='j1')
    c.event('job_canceled', job='j1')
    t.step(node.trace('j1'), 'call_ended', state=state)
    procs.until(lambda: procs.fds(node.pid) <= before + 1,
                'descriptors go back')
    return node, c, r


def test_stand_in_works(t):
    """The stand-in is believed when it is good: so the others do bite."""
    _, _, r = one(t, 'good', 'completed', 'made')
    t.eq(r['result'], {'content': [], 'good': True})


def test_not_json(t):
    one(t, 'not-json', 'failed', 'unknown')


def test_two_values(t):
    one(t, 'two-values', 'failed', 'unknown')


def test_two_lines(t):
    one(t, 'two-lines', 'failed', 'unknown')


def test_bad_utf8(t):
    one(t, 'bad-utf8', 'failed', 'unknown')


def test_others_attempt(t):
    one(t, 'others-attempt', 'failed', 'unknown')


def test_end_twice(t):
    """The first answer counted; the second changes nothing."""
    node = hostile(t, 'end-twice')
    c = node.client(events=True)
    c.do('job/start', job='j1')
    for _ in range(3):
        r = c.call('j1', 'own.echo', {}).result()
        t.eq(r['result'], {'n': 1})
    c.do('job/end', job='j1')
    ended = [s['call'] for s in node.trace('j1') if s['event'] == 'call_ended']
    t.eq(len(ended), len(set(ended)), 'one end for each call')


def test_late_twice(t):
    """A late answer is traced once; who claims it again is ended, and writes
    nothing into a call."""
    node = hostile(t, 'late-twice')
    c = node.client(events=True)
    for job in ('j1', 'j2'):
        c.do('job/start', job=job)
    first = c.call('j1', 'shared.echo', {})
    call = c.event('attempt_started', job='j1')['call']
    c.do('job/cancel', job='j1')
    t.has(first.result(), state='canceled', stopped='not_confirmed')
    r = c.call('j2', 'shared.echo', {}).result()
    t.has(r, state='failed', outcome='unknown')
    t.eq(r['error']['reason'], 'worker_ended')
    late = [s for job in ('j1', 'j2') for s in node.trace(job)
            if s['event'] == 'late_answer']
    t.eq([(s['job'], s['call'], s['attempt'], s['stopped']) for s in late],
         [('j1', call, 1, 'not_confirmed')])


def test_unknown_type(t):
    one(t, 'unknown-type', 'failed', 'unknown')


def test_wrong_direction(t):
    one(t, 'wrong-direction', 'failed', 'unknown')


def test_huge_length(t):
    one(t, 'huge-length', 'failed', 'unknown')


def test_short_body(t):
    one(t, 'short-body', 'failed', 'unknown')


def test_garbage(t):
    one(t, 'garbage', 'failed', 'unknown')


def test_dies(t):
    one(t, 'dies', 'failed', 'unknown')


def test_hangs(t):
    one(t, 'hangs', 'failed', 'unknown')


def test_flood(t):
    """Endless frames from one worker: others are served, memory is bounded."""
    node = hostile(t, 'flood')
    c = node.client(events=True)
    c.do('job/start', job='j1')
    a = c.call('j1', 'own.echo', {}, timeout=4)
    other = node.client()
    for _ in range(50):
        other.do('node/status')
    if not os.environ.get('OZ0_TEST_SANITIZERS'):
        assert procs.memory_kib(node.pid) < 64 * 1024
    assert a.result()['state'] == 'failed'
    c.send('job/cancel', job='j1')
    c.event('job_canceled', job='j1')
