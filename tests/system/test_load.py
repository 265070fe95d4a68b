"""L3.9, L1.4a: 200 jobs and 20,000 queued calls.  What is asserted are orders
and counts of the trace; times are only printed."""
import collections
import os
import re
import signal
from datetime import datetime

from oz0test import procs
from oz0test.control import Refused

CALLS = int(os.environ.get('OZ0_TEST_CALLS', '20000'))
JOBS = 200
SLOTS = 8
# What one queued call may take of oz0d: itself, its key and activity, its
# arguments here, its place in the trees, and the request that waits for it.
BYTES_PER_CALL = 2048
# Steps that may come between the decision to cancel and the cancel's being
# written: those of some turns in which every slot was freed and taken again.
STEPS_BEFORE_CANCEL = 20 * SLOTS


def held_node(t, **more):
    """A node that holds, its plugin ready: what is asked for now, waits."""
    node = t.node({'demo': {'command': os.environ['OZ0_TEST_BIN']
                            + '/oz0-demo', 'oz0': {
                                'kind': 'plugin', 'timeout': '600s',
                                'stop_timeout': '1s'}}},
                  slots=SLOTS, **more)
    c = node.client()  # who subscribes to 20,000 calls must read fast
    c.do('job/start', job='first')
    t.has(c.call('first', 'demo.echo', {}).result(), state='completed')
    return node, c


def hold(node, c):
    node.signal(signal.SIGTSTP)
    procs.until(lambda: c.do('node/status')['state'] == 'holding', 'it holds')


def fill(c, n):
    """n calls: half of them one job's, the others spread over 199."""
    for j in range(JOBS):
        c.do('job/start', job='j%d' % j)
    asked = [('j0', c.call('j0', 'demo.echo', {'i': i}))
             for i in range(n // 2)]
    for i in range(n - n // 2):
        job = 'j%d' % (1 + i % (JOBS - 1))
        asked.append((job, c.call(job, 'demo.echo', {'i': i})))
    return asked


def rss(pid):
    with open('/proc/%d/status' % pid) as f:
        return int(re.search(r'VmRSS:\s+(\d+)', f.read()).group(1)) * 1024


def queued(c):
    return c.do('node/status')['queued']


def test_L3_9_fair_full_and_bounded(t):
    """No job starves; over `queue` it is node_full, and nothing is dropped;
    memory per queued call is bounded."""
    node, c = held_node(t, queue=CALLS)
    hold(node, c)
    before = rss(node.pid)
    asked = fill(c, CALLS)
    procs.until(lambda: queued(c) == CALLS, 'all are queued', 120)
    each = (rss(node.pid) - before) / CALLS
    print('%d bytes of memory for each queued call' % each)
    if not os.environ.get('OZ0_TEST_SANITIZERS'):
        assert each <= BYTES_PER_CALL, each

    for job in ('j0', 'j7'):
        try:
            c.call(job, 'demo.echo', {}).result()
            raise AssertionError('taken over the bound')
        except Refused as e:
            t.eq(e.reason, 'node_full')
    t.eq(queued(c), CALLS)

    node.signal(signal.SIGCONT)
    for job, a in asked:
        t.has(a.result(300), state='completed', job=job, attempts=1)
    starts = sorted((e for j in range(JOBS) for e in node.trace('j%d' % j)
                     if e['event'] == 'attempt_started'),
                    key=lambda e: e['seq'])
    t.eq(len(starts), CALLS, 'each was started once')
    in_turn(t, [e['job'] for e in starts], [job for job, _ in asked])
    own = [int(e['call'][1:]) for e in starts if e['job'] == 'j0']
    t.eq(own, sorted(own), 'within a job, first come, first served')


test_L3_9_fair_full_and_bounded.limit = 300


def in_turn(t, starts, asked):
    """Of jobs that still wait, none is ever two starts ahead of another."""
    left = collections.Counter(asked)
    count = collections.Counter()
    lowest = 0
    for n, job in enumerate(starts):
        count[job] += 1
        left[job] -= 1
        if count[job] > lowest + 1:
            waiting = [count[j] for j in left if left[j]]
            lowest = min(waiting, default=count[job])
            assert count[job] <= lowest + 1, \
                'start %d: %s has had %d turns, another that waits %d' % (
                    n, job, count[job], lowest)


def at(step):
    return datetime.fromisoformat(step['time'].replace('Z', '+00:00'))


def test_L1_4a_cancel_under_load(t):
    """A running call is cancelled while 20,000 others wait and go through."""
    node, c = held_node(t, queue=CALLS)
    victim = c.call('first', 'demo.sleep', {'seconds': 500}, activity='victim')

    def running():
        return [x['call'] for x in c.do('job/status', job='first')['calls']
                if x['activity'] == 'victim' and x['state'] == 'running']

    procs.until(running, 'it runs')
    (call,) = running()
    hold(node, c)
    fill(c, CALLS)
    procs.until(lambda: queued(c) == CALLS, 'all are queued', 120)
    node.signal(signal.SIGCONT)
    procs.until(lambda: queued(c) < CALLS, 'the load moves', 120)
    c.do('call/cancel', call=call, wait=False)
    assert queued(c) > 0 or CALLS < 20000, 'the load was over before'
    t.has(victim.result(120), state='canceled')
    steps = {s['event']: s for s in node.trace('first')
             if s.get('call') == call}
    told, sent = steps['call_cancelling'], steps['cancel_sent']
    between = sent['seq'] - told['seq'] - 1
    print('%d records and %.2f ms between the decision and the cancel' % (
        between, (at(sent) - at(told)).total_seconds() * 1000))
    assert between <= STEPS_BEFORE_CANCEL, between
    assert sent['written'], sent
    procs.until(lambda: queued(c) == 0, 'nothing was dropped', 240)


test_L1_4a_cancel_under_load.limit = 300
