"""L9.5, a disk that fails: writes, syncs and new files that the kernel refuses,
injected by tests/faults/shim.c."""
import contextlib
import errno
import os

from oz0test import procs
from oz0test.control import Refused
from oz0test.faults import CREATE, SYNC, WRITE, faulty
from oz0test.node import ledger_rows


def test_L9_5_read_only_while_running(t):
    """As a disk does that the kernel made read-only after an error."""
    w, _, journals = faulty(t)
    journals.set(CREATE, errno.EROFS)
    w.until_refused('Read-only file system')
    w.refuses('Read-only file system')
    w.is_recorded()
    journals.clear()
    w.takes_again()
    w.stops()
    w.start_again()
    w.is_recorded()


def test_L9_5_sync_fails(t):
    """durability power, and a disk that fails to sync: never trusted again,
    not by a journal that is started again either."""
    w, _, journals = faulty(t, durability='power')
    journals.set(SYNC, errno.EIO)
    # the first to need a sync learns of it: nothing of it was sent
    r = w.c.call('j2', 'shared.echo', {'never': 'sent'}).result()
    t.has(r, state='lost', outcome='not_made')
    assert 'cannot be synced' in r['error']['message'], r
    assert 'never' not in str(ledger_rows(w.shared_ledger))
    t.eq(journals.happened(SYNC), 1)
    words = 'cannot be synced', os.strerror(errno.EIO)
    w.refuses(*words)
    journals.clear()  # the kernel calls the next one good
    os.kill(w.n.one('oz0-journal').pid, 9)
    procs.until(lambda: w.n.log().count('journal: ended') == 1, 'it is seen')
    w.is_recorded()  # by another one
    w.refuses(*words)
    t.eq(journals.happened(SYNC), 1, 'not tried again')
    w.stops()
    w.is_recorded()
    w.start_again(kill=False)
    t.eq(w.n.job_state('j1'), 'CANCELED')
    w.c.do('job/start', job='j4')
    t.has(w.c.call('j4', 'own.echo', {}).result(), state='completed')
    w.is_recorded()


def test_L9_5_sync_fails_no_attempt_begins(t):
    """What waits in the queue then is lost, never sent; what runs goes on,
    and can be canceled."""
    entry, ledger = t.rogue(name='one', kind='plugin',
                            oz0={'max_running': 1})
    w, _, journals = faulty(t, durability='power')
    w.n.config['mcpServers']['one'] = entry
    w.start_again()
    w.c.do('job/start', job='j5')
    first = w.c.call('j5', 'one.script', {'steps': [
        {'note': 'first'}, {'until': 'cancel'}]})
    second = w.c.call('j5', 'one.script', {'steps': [{'note': 'second'}]})
    procs.until(lambda: ledger_rows(ledger)[-1:] and 'first' in [
        r['text'] for r in ledger_rows(ledger)], 'it began')
    procs.until(lambda: w.c.do('node/status')['queued'] == 1, 'queued')
    journals.set(SYNC, errno.EIO)
    with contextlib.suppress(Refused):
        w.c.do('job/start', job='j6')
    procs.until(lambda: w.c.do('node/status').get('refuses'), 'it is known')
    w.c.do('call/cancel', call=w.c.event('call_accepted', job='j5')['call'])
    t.has(first.result(), state='canceled')
    t.has(second.result(), state='lost', outcome='not_made')
    w.c.do('job/cancel', job='j5')
    w.c.event('job_canceled', job='j5')
    assert 'second' not in [r['text'] for r in ledger_rows(ledger)]


def begun(state_dir):
    """The segments that hold something."""
    where = state_dir + '/log'
    return [x for x in sorted(os.listdir(where)) if x != 'marks'
            and open(os.path.join(where, x), 'rb').read(8) == b'oz0log2\n']


def handed_over(node):
    """The segments that oz0d has open."""
    found = []
    for fd in os.listdir('/proc/%d/fd' % node.pid):
        with contextlib.suppress(OSError):
            found.append(os.readlink('/proc/%d/fd/%s' % (node.pid, fd)))
    return sorted(os.path.basename(x) for x in found
                  if x.startswith(node.state_dir + '/log/'))


def test_L9_5_write_fails_once(t):
    """The log goes on in its next segment, and nobody is told of it."""
    w, ours, _ = faulty(t)
    for partial in (0, 1, 31, 33, 200, 700):
        last = begun(w.n.state_dir)[-1]
        procs.until(lambda: handed_over(w.n)[-1] > last, 'a next segment')
        failed = ours.happened(WRITE)
        ours.set(WRITE, errno.EIO, times=2 if partial else 1,
                 partial=partial)
        for _ in range(3):
            w.echo()
        t.eq(ours.happened(WRITE), failed + (2 if partial else 1))
        assert begun(w.n.state_dir)[-1] > last
        w.is_recorded()
    assert 'refused' not in w.n.log(), w.n.log()
    steps = w.is_recorded()
    w.start_again()
    t.eq(w.n.trace('j1')[:len(steps)], steps)


def test_L9_5_write_fails_for_a_while(t):
    """New work is refused meanwhile; no record is there twice or missing."""
    w, ours, _ = faulty(t)
    for i, partial in enumerate((0, 1, 31, 33, 200, 700)):
        ours.set(WRITE, errno.EIO, partial=partial)
        asked = [w.c.call('j1', 'shared.echo', {'i': k}) for k in range(20)]
        procs.until(lambda: ours.happened(WRITE) > i, 'it failed')
        ours.clear()
        for a in asked:
            try:
                r = a.result()
            except Refused as e:
                w.is_refusal(e, os.strerror(errno.EIO))
                continue
            t.has(r, state='completed')
            w.told.append((r['call'], r['state'], r['outcome']))
        procs.until(lambda: w.c.do('node/status').get('refuses') is None,
                    'a next segment')
        w.is_recorded()
    w.stops()
    steps = w.is_recorded()
    w.start_again()
    t.eq(w.n.trace('j1')[:len(steps)], steps)


def test_L9_5_write_fails_on(t):
    """Nothing can be written: nothing is begun; a stop is carried out."""
    w, ours, _ = faulty(t)
    ours.set(WRITE, errno.EIO)
    with contextlib.suppress(Refused):
        w.c.do('job/start', job='j7')
    procs.until(lambda: ours.happened(WRITE), 'it failed')
    w.refuses('cannot write the log', os.strerror(errno.EIO))
    w.stops()
    ours.clear()
    w.takes_again()
    w.start_again()
    t.eq(w.n.job_state('j1'), 'CANCELED')
    w.is_recorded()


def test_L9_5_write_fails_until_killed(t):
    """What could not be recorded is not there, and nothing else is said."""
    w, ours, _ = faulty(t)
    ours.set(WRITE, errno.ENOSPC)
    w.stops()
    w.n.kill9()
    t.reap()
    ours.clear()
    w.n.start()
    t.eq(w.n.job_state('j1'), 'LOST')
    w.is_recorded(lost=1)
    with w.n.client() as c:
        states = {x['key']: (x['state'], x['outcome'])
                  for x in c.do('job/status', job='j1')['calls']}
    t.eq(states['j1/running'], ('lost', 'unknown'))
