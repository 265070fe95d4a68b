"""L1.4b: processes that SIGKILL does not end.  The node is degraded until the
last of them is dead, takes no new session, and never says CANCELED before."""
import os
import re
import signal

from oz0test import procs
from oz0test.control import Refused
from oz0test.node import ledger_rows
from oz0test.procs import Undying, by_namespace, by_trace


def working(t, *jobs):
    """A node where each of the jobs has a call on a server of its own."""
    own, ledger = t.rogue(name='own', oz0={'stop_timeout': '0.5s'})
    shared, _ = t.rogue(name='shared', kind='plugin')
    n = t.node({'own': own, 'shared': shared})
    c = n.client(events=True)
    for job in jobs + ('idle',):
        c.do('job/start', job=job)
    calls = [c.call(job, 'own.script', {'steps': [
        {'note': job}, {'sleep': 60}]}) for job in jobs]
    for job in jobs:
        procs.until(lambda: job in [r['text'] for r in ledger_rows(ledger)],
                    'it began')
    return n, c, calls


def until_degraded(c, *pids):
    """Each of these is named, with its state letter, and no other is."""
    def is_it():
        s = c.do('node/status')
        words = s.get('degraded') or ''
        named = [w.partition(': ')[2] for w in words.split('; ')]
        return [s, words] if all('does not die by SIGKILL' in w for w in
                                 words.split('; ')) and sorted(
            int(m.group(1)) for m in (re.match(r'pid (\d+) \([A-Z]', w)
                                      for w in named) if m) == sorted(
            pids) else None

    s, words = procs.until(is_it, 'degraded by %s' % (pids,))
    assert s['state'] == 'degraded', s
    return words


def takes_no_session(t, c):
    try:
        c.do('session/open', job='idle', session=1)
        raise AssertionError('it was taken')
    except Refused as e:
        t.eq(e.reason, 'node_full')
        assert 'degraded' in e.error['message'], e.error
    # what runs goes on, and what needs no session
    t.has(c.call('idle', 'shared.echo', {}).result(), state='completed')


def is_well_again(t, c):
    s = procs.until(lambda: [x for x in [c.do('node/status')]
                             if x.get('degraded') is None], 'well again')[0]
    t.has(s, state='ready')
    t.has(c.call('idle', 'own.echo', {}).result(), state='completed')


def test_L1_4b_two_sandboxes(t):
    """The death of one leaves the node degraded by the other."""
    n, c, calls = working(t, 'j1', 'j2')
    pids = [n.one('%s/1 own' % job).pid for job in ('j1', 'j2')]
    trees = [[procs.identity(p.pid) for p in procs.below(pid)]
             for pid in pids]
    held = [Undying(t, by_namespace, pid) for pid in pids]
    for job in ('j1', 'j2'):
        c.send('job/cancel', job=job)
    until_degraded(c, *pids)
    t.eq([i for tree in trees for i in tree if procs.lives(i)], [])
    takes_no_session(t, c)
    t.eq([n.job_state(job) for job in ('j1', 'j2')], ['cancelling'] * 2)
    assert not calls[0].done() and not calls[1].done()

    held[0].release()
    c.event('job_canceled', job='j1')
    t.has(calls[0].result(), state='canceled', stopped='server_gone')
    until_degraded(c, pids[1])
    takes_no_session(t, c)
    t.eq(n.job_state('j2'), 'cancelling')
    assert not calls[1].done()

    held[1].release()
    c.event('job_canceled', job='j2')
    t.has(calls[1].result(), state='canceled', stopped='server_gone')
    is_well_again(t, c)
    assert n.log().count('died after all') == 2, n.log()


def test_L1_4b_worker(t):
    """A session's worker that stays: its servers are dead, and the job is
    cancelling all the same."""
    t.need_root()  # to trace it
    n, c, calls = working(t, 'j1')
    worker = n.one('oz0-worker: session j1/1').pid
    held = Undying(t, by_trace, worker)
    c.send('job/cancel', job='j1')
    t.has(calls[0].result(), state='canceled', stopped='server_gone')
    words = until_degraded(c, worker)
    assert 'worker session j1/1' in words, words
    t.eq(n.find('j1/1 own'), [])
    t.eq(n.job_state('j1'), 'cancelling')
    takes_no_session(t, c)
    held.release()
    c.event('job_canceled', job='j1')
    is_well_again(t, c)


def test_L1_4b_journal_and_worker(t):
    """oz0-journal as well, beside a worker; a fresh one follows its death."""
    t.need_root()
    n, c, calls = working(t, 'j1')
    worker = n.one('oz0-worker: session j1/1').pid
    journal = n.one('oz0-journal').pid
    held = [Undying(t, by_trace, pid) for pid in (worker, journal)]
    os.kill(journal, signal.SIGKILL)
    words = until_degraded(c, journal)
    assert 'journal oz0-journal' in words, words
    c.send('job/cancel', job='j1')
    until_degraded(c, worker, journal)
    held[0].release()
    c.event('job_canceled', job='j1')
    until_degraded(c, journal)
    takes_no_session(t, c)
    held[1].release()
    is_well_again(t, c)
    t.step(n.trace('j1'), 'job_canceled')
