"""L9.5, no processes: fork that the kernel refuses (EAGAIN), injected by
tests/faults/shim.c."""
import errno

from oz0test import procs
from oz0test.control import Refused
from oz0test.faults import FORK, faulty

WORDS = 'Resource temporarily unavailable'


def said(w, job):
    """A call that needs a new process: refused, or failed and not made; the
    words that say why."""
    w.c.do('job/start', job=job)
    try:
        r = w.c.call(job, 'own.echo', {}).result()
    except Refused as e:
        assert e.reason in ('node_full', 'internal'), e.error
        return e.error['message']
    w.t.has(r, state='failed', outcome='not_made')
    w.t.eq(r['error']['reason'], 'server_start')
    return r['error']['message']


def test_L9_5_no_processes(t):
    """New work says why it cannot be; what runs goes on and can be stopped."""
    w, ours, _ = faulty(t)
    ours.set(FORK, errno.EAGAIN)
    for job in ('j3', 'j4'):
        words = said(w, job)
        assert WORDS in words, words
    assert ours.happened(FORK) > 0
    w.echo()  # on a server that is there
    t.eq(w.n.proc.poll(), None)
    w.stops()
    ours.clear()
    w.takes_again()
    t.eq([s['event'] for s in w.n.trace('j3') if s['event'] ==
          'attempt_started'], [])
    w.is_recorded()


def test_L9_5_no_processes_once(t):
    """A start that fails is tried again (L3.7, last row)."""
    w, ours, _ = faulty(t)
    ours.set(FORK, errno.EAGAIN, times=1)
    w.c.do('job/start', job='j3')
    try:
        r = w.c.call('j3', 'own.echo', {}).result()
        t.has(r, state='completed', outcome='made')
    except Refused as e:
        assert WORDS in e.error['message'], e.error
        t.has(w.c.call('j3', 'own.echo', {}).result(), state='completed')
    procs.until(lambda: ours.happened(FORK) == 1, 'it failed once')
    w.stops()
