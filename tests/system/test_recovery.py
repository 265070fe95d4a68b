"""L9: kill -9 of each process; what the next start says."""
import os
import time

from oz0test import procs
from oz0test.node import ledger_rows


def busy_node(t, **node):
    """A node in the middle: a running call of each kind and a queued one."""
    own, own_ledger = t.rogue('--on-eof', 'ignore', '--on-term', 'ignore',
                              name='own')
    shared, shared_ledger = t.rogue(name='shared', kind='plugin', oz0={
        'max_running': 1, 'backoff_base': '0.1s'})
    n = t.node({'own': own, 'shared': shared}, **node)
    c = n.client(events=True)
    c.do('job/start', job='j1')
    steps = {'steps': [{'fork': 'double'}, {'note': 'in'}, {'sleep': 60}]}
    a = {'own': c.call('j1', 'own.script', steps, activity='a'),
         'shared': c.call('j1', 'shared.script',
                          {'steps': [{'note': 'in'}, {'sleep': 60}]},
                          activity='b')}
    for ledger in (own_ledger, shared_ledger):
        procs.until(lambda: any(r['text'] == 'in'
                                for r in ledger_rows(ledger)), 'it began')
    a['queued'] = c.call('j1', 'shared.echo', {}, activity='q')
    procs.until(lambda: c.do('node/status')['queued'] == 1, 'queued')
    return n, c, a


def test_L9_1_kill_supervisor(t):
    """Everything is dead within a second; then all is told as lost."""
    n, c, a = busy_node(t)
    done = c.call('j1', 'own.echo', {'kept': 1.5}, activity='done')
    t.has(done.result(), state='completed')
    last = max(e['seq'] for e in c.events if 'seq' in e)
    everyone = [procs.identity(p.pid) for p in n.processes()]
    assert len(everyone) >= 8, n.processes()
    n.kill9()
    procs.until(lambda: not [i for i in everyone if procs.lives(i)],
                'all is dead', 1.5)
    t.reap()
    n.start()
    t.eq(n.job_state('j1'), 'LOST')
    ends = {s['call']: s for s in n.trace('j1')
            if s['event'] == 'call_ended'}
    by_key = {}
    with n.client() as c2:
        for call in c2.do('job/status', job='j1')['calls']:
            by_key[call['key']] = (call['state'], call['outcome'])
    t.eq(by_key, {'j1/a': ('lost', 'unknown'), 'j1/b': ('lost', 'unknown'),
                  'j1/q': ('lost', 'not_made'),
                  'j1/done': ('completed', 'made')})
    t.eq(len(ends), 4)
    c3 = n.client()
    c3.subscribe(since=last)
    c3.event(where=lambda e: e.get('state') == 'LOST' or e['event'] in (
        'job_ended', 'session_lost'), job='j1')
    lost = [e for e in c3.events if e.get('state') == 'lost']
    t.eq(len(lost) >= 3, True, 'the scheduler reads it at once: %s' % lost)
    # the job goes on; the result of the ended one is still there
    c3.do('job/start', job='j1')
    r = c3.call('j1', 'own.echo', {'kept': 1.5}, activity='done')
    t.has(r.result(), state='completed', call=done.result()['call'])
    t.eq(r.raw('result', 'result', 'structuredContent'), b'{"kept": 1.5}')
    # one that was not made is made again under its key
    r = c3.call('j1', 'shared.echo', {}, activity='q').result()
    t.has(r, state='completed', key='j1/q')


def test_L9_1_next_start_waits(t):
    """A start right after kill -9 waits for the last of the old ones."""
    n, c, a = busy_node(t)
    everyone = [procs.identity(p.pid) for p in n.processes()]
    n.proc.kill()
    n.proc.wait()
    n.start()
    t.eq([i for i in everyone if procs.lives(i)], [],
         'living beside the new node')


def test_L9_1_kill_in_a_row(t):
    """Ten kills at moments that shift: numbers never come back."""
    entry, _ = t.rogue(kind='plugin')
    n = t.node({'own': entry})
    seen, calls = set(), set()
    for i in range(10):
        with n.client(events=True) as c:
            c.do('job/start', job='j%d' % i)
            asked = [c.call('j%d' % i, 'own.echo', {'i': k})
                     for k in range(20)]
            for a in asked[:2 * i + 1]:
                calls.add(a.result()['call'])
            with c.cond:
                seqs = [e['seq'] for e in c.events if 'seq' in e]
        assert not seen & set(seqs), 'a number came twice'
        seen |= set(seqs)
        n.kill9()
        t.reap()
        n.start()
    t.eq(len(calls), sum(2 * i + 1 for i in range(10)), 'call numbers')
    for i in range(10):
        steps = n.trace('j%d' % i)
        ended = [s['call'] for s in steps if s['event'] == 'call_ended']
        t.eq(len(ended), len(set(ended)), 'one end for each call')
        accepted = {s['call'] for s in steps if s['event'] == 'call_accepted'}
        t.eq(set(ended), accepted)


def test_L9_2_kill_session_worker(t):
    """Its calls fail unknown, its servers are stopped, another worker comes
    at the next call; the plugin's call is untouched."""
    n, c, a = busy_node(t)
    worker = n.one('oz0-worker: session j1/1')
    tree = [procs.identity(q.pid) for i in n.find('j1/1 own')
            for q in procs.below(i.pid)]
    os.kill(worker.pid, 9)
    r = a['own'].result()
    t.has(r, state='failed', outcome='unknown')
    t.eq(r['error']['reason'], 'worker_ended')
    procs.until(lambda: not [i for i in tree if procs.lives(i)],
                'its servers are dead')
    c.event('worker_ended')
    t.has(c.call('j1', 'own.echo', {}).result(), state='completed')
    assert not a['shared'].done()


def test_L9_2_kill_plugin_worker(t):
    n, c, a = busy_node(t)
    os.kill(n.one('oz0-worker: plugins').pid, 9)
    r = a['shared'].result()
    t.has(r, state='failed', outcome='unknown')
    t.eq(r['error']['reason'], 'worker_ended')
    t.has(a['queued'].result(), state='completed')
    assert not a['own'].done(), 'another job\'s call was harmed'


def test_L9_2_hung_worker(t):
    """Five pings unanswered: as dead."""
    n, c, a = busy_node(t)
    os.kill(n.one('oz0-worker: session j1/1').pid, 19)
    began = time.monotonic()
    r = a['own'].result()
    took = time.monotonic() - began
    t.has(r, state='failed', outcome='unknown')
    assert 3 < took < 9, took


def test_L1_cancel_with_hung_worker(t):
    """A cancel works even when the worker hangs."""
    n, c, a = busy_node(t)
    os.kill(n.one('oz0-worker: session j1/1').pid, 19)
    tree = [procs.identity(q.pid) for i in n.find('j1/1 own')
            for q in procs.below(i.pid)]
    began = time.monotonic()
    c.send('job/cancel', job='j1')
    c.event('job_canceled')
    assert time.monotonic() - began < 4
    t.eq([i for i in tree if procs.lives(i)], [])


def test_L9_2a_kill_journal(t):
    """No call fails by it; the trace is whole."""
    n, c, a = busy_node(t)
    for _ in range(3):
        j = n.one('oz0-journal')
        os.kill(j.pid, 9)
        t.has(c.call('j1', 'own.echo', {}).result(), state='completed')
        procs.until(lambda: [p for p in n.find('oz0-journal')
                             if p.pid != j.pid], 'another one')
    steps = n.trace('j1')
    ended = [s for s in steps if s['event'] == 'call_ended']
    t.eq(len(ended), 3)


def test_L9_2a_hung_journal(t):
    """It may be busy for long; after sixty pings unanswered it is hung.  No
    call fails by it, and the trace waits for the next one."""
    n, c, a = busy_node(t)
    j = n.one('oz0-journal')
    os.kill(j.pid, 19)
    for _ in range(3):
        t.has(c.call('j1', 'own.echo', {}).result(), state='completed')
    procs.until(lambda: [p for p in n.find('oz0-journal')
                         if p.pid != j.pid], 'another one', 80)
    t.eq(len([s for s in n.trace('j1') if s['event'] == 'call_ended']), 3)


test_L9_2a_hung_journal.limit = 150


def test_kill_init(t):
    """kill -9 of a sandbox's init: the server's end, told."""
    n, c, a = busy_node(t)
    init = n.find('j1/1 own')[0]
    tree = [procs.identity(q.pid) for q in procs.below(init.pid)]
    os.kill(init.pid, 9)
    r = a['own'].result()
    t.has(r, state='failed', outcome='unknown')
    t.eq(r['error']['reason'], 'server_ended')
    procs.until(lambda: not [i for i in tree if procs.lives(i)], 'dead')
    t.has(c.call('j1', 'own.echo', {}).result(), state='completed')


def test_kill_server(t):
    """B016: the server dies alone: its helpers are killed too."""
    n, c, a = busy_node(t)
    init = n.find('j1/1 own')[0]
    tree = [procs.identity(q.pid) for q in procs.below(init.pid)]
    server = [q for q in procs.below(init.pid) if q.ppid == init.pid
              and 'rogue' in q.cmdline()]
    os.kill(min(server, key=lambda q: q.start).pid, 9)
    t.has(a['own'].result(), state='failed', outcome='unknown')
    procs.until(lambda: not [i for i in tree if procs.lives(i)],
                'helpers of a dead server')


def test_L8_3_trace_after_torn_log(t):
    """A log cut in the middle of its last record: what is whole is told."""
    entry, _ = t.rogue(kind='plugin')
    n = t.node({'own': entry})
    c = n.client()
    c.do('job/start', job='j1')
    for i in range(20):
        c.call('j1', 'own.echo', {'i': i}).result()
    before = n.trace('j1')
    n.kill9()
    t.reap()
    n.start()
    t.eq(n.trace('j1')[:len(before)], before)


def test_pid_recorded_is_not_trusted(t):
    """B017: an unrelated process under a recorded number is left alone; here
    every process of the old node is gone and time has passed."""
    n, c, a = busy_node(t)
    bystander = os.spawnv(os.P_NOWAIT, '/bin/sleep', ['sleep', '60'])
    n.kill9()
    t.reap()
    n.start()
    assert procs.lives(procs.identity(bystander))
    os.kill(bystander, 9)
    os.waitpid(bystander, 0)


def test_L2_2_lost_unknown_is_not_made_again(t):
    """A call that ended lost with unknown outcome, not repeatable: answered
    with what it ended with."""
    n, c, a = busy_node(t)
    n.kill9()
    t.reap()
    n.start()
    c = n.client()
    c.do('job/start', job='j1')
    steps = {'steps': [{'fork': 'double'}, {'note': 'in'}, {'sleep': 60}]}
    r = c.call('j1', 'own.script', steps, activity='a').result()
    t.has(r, state='lost', outcome='unknown')


def test_power_durability(t):
    """durability power: the same results, and a true trace after a kill."""
    entry, _ = t.rogue(kind='plugin')
    n = t.node({'own': entry}, durability='power')
    c = n.client()
    c.do('job/start', job='j1')
    for i in range(10):
        t.has(c.call('j1', 'own.echo', {'i': i}).result(), state='completed')
    n.kill9()
    t.reap()
    n.start()
    ended = [s for s in n.trace('j1') if s['event'] == 'call_ended']
    t.eq([s['state'] for s in ended], ['completed'] * 10)
