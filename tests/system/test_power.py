"""durability "power": acts wait until the log is on its disk, each for its own
record alone; stops wait for nothing (DESIGN, Recording)."""
import fcntl
import os
import signal
import termios
import time

from oz0test import procs
from oz0test.faults import SYNC, faulty
from oz0test.node import ledger_rows


def notes(ledger):
    return [r['text'] for r in ledger_rows(ledger) if r['what'] == 'note']


def until_read(sock):
    """Until its peer has read all that was written: soon, so without sleep."""
    end = time.monotonic() + 30
    while fcntl.ioctl(sock, termios.TIOCOUTQ, b'\0' * 4) != b'\0' * 4:
        assert time.monotonic() < end, 'never read'
        os.sched_yield()


def test_power_flood(t):
    """A client that never pauses starves nobody: the first call is answered
    before the flood stops."""
    w, _, journals = faulty(t, durability='power')
    journals.set(SYNC, 0, partial=20)
    flood = w.n.client()
    first = w.c.call('j1', 'shared.echo', {'first': True})
    asked = []
    while not first.done():
        assert len(asked) < 4000, 'the first call starves'
        asked.append(flood.call('j2', 'shared.echo', {'i': len(asked)}))
        # each in a turn of its own, and many of them while one sync lasts
        until_read(flood.sock)
        time.sleep(0.001)
    t.has(first.result(), state='completed', outcome='made')
    assert len(asked) > 10, 'no flood'
    for a in asked:
        t.has(a.result(), state='completed', outcome='made')
    w.stops()
    w.is_recorded()


def test_power_journal_hangs(t):
    """Nothing is sent or shown while oz0-journal stands still; a cancel is
    carried out; a fresh oz0-journal lets all go on."""
    w, _, _ = faulty(t, durability='power')
    journal = w.n.one('oz0-journal')
    tree = [procs.identity(p.pid) for i in w.n.find('j1/1 own')
            for p in [i] + procs.below(i.pid)]
    assert len(tree) >= 2, tree
    os.kill(journal.pid, signal.SIGSTOP)
    waits = w.c.call('j2', 'shared.script', {'steps': [
        {'note': 'sent'}, {'answer': '{"content":[]}'}]})
    cancel = w.c.send('job/cancel', job='j1')
    procs.until(lambda: not [i for i in tree if procs.lives(i)],
                'the job has no process')
    assert not waits.done() and not cancel.done() and not w.running.done()
    t.eq(notes(w.shared_ledger), [])
    os.kill(journal.pid, signal.SIGKILL)
    t.has(waits.result(), state='completed', outcome='made')
    t.eq(notes(w.shared_ledger), ['sent'])
    t.has(w.running.result(), state='canceled')
    w.c.event('job_canceled', job='j1')
    w.is_recorded()


def test_power_journal_killed_again_and_again(t):
    """Nothing is lost by it, and nothing is made twice."""
    w, _, journals = faulty(t, durability='power')
    journals.set(SYNC, 0, partial=5)
    calls = []
    for _ in range(5):
        calls += [w.c.call('j2', 'shared.echo', {}) for _ in range(20)]
        old = w.n.one('oz0-journal').pid
        os.kill(old, signal.SIGKILL)
        calls[-20].result()
        procs.until(lambda: [p for p in w.n.find('oz0-journal')
                             if p.pid != old], 'a fresh one')
    for a in calls:
        t.has(a.result(), state='completed', outcome='made')
    w.stops()
    steps = w.n.trace('j2')
    ended = [s['call'] for s in steps if s['event'] == 'call_ended']
    t.eq(len(set(ended)), len(ended))
    made = [r for r in ledger_rows(w.shared_ledger)
            if r['what'] == 'line' and '"tools/call"' in r['text']]
    t.eq(len(made), len(ended) + 1, 'requests: j1 made one')
