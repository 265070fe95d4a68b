"""L9.5 on the recording side: disks that are full or read-only, no descriptors,
no memory, a damaged or locked database, a torn log.  New work is refused with
a clear error, running work goes on, a stop is carried out even when it cannot
be recorded, and what is recorded is so."""
import contextlib
import os
import resource
import sqlite3
import subprocess
import time

from oz0test import procs
from oz0test.control import Refused
from oz0test.faults import MIB, Work, sanitized
from oz0test.node import ledger_rows


@contextlib.contextmanager
def small_disk(t, path, size):
    t.need_root()
    os.makedirs(path, exist_ok=True)
    if subprocess.call(['mount', '-t', 'tmpfs', '-o', 'mode=755,size=%d'
                        % size, 'none', path]) != 0:
        t.skip('no tmpfs to be mounted')
    try:
        yield
    finally:
        subprocess.call(['umount', '-l', path])


def fill(path):
    with open(path, 'wb', buffering=0) as f:
        for piece in (b'b' * MIB, b'b' * 4096):
            with contextlib.suppress(OSError):
                while f.write(piece) == len(piece):
                    pass


def test_L9_5_full_disk(t):
    w = Work(t, start=False)
    with small_disk(t, w.n.state_dir, 200 * MIB):
        w.begin()
        fill(w.n.state_dir + '/ballast')
        why = w.until_refused('No space left', w.n.state_dir + '/log')
        w.refuses(why)
        assert len(w.told) > 12, 'what was reserved is used up first'
        w.is_recorded()  # and told, from the log
        w.stops()
        w.is_recorded()
        # killed and started on the full disk: it says so, waits for room,
        # and goes on by itself
        w.n.kill9()
        t.reap()
        w.n.spawn()
        procs.until(lambda: 'No space left' in w.n.log()
                    and 'the start waits' in w.n.log(), 'it is said')
        os.unlink(w.n.state_dir + '/ballast')
        w.n.wait_ready()
        w.c = w.n.client(events=True)
        t.eq(w.n.job_state('j1'), 'CANCELED')
        t.eq(w.n.job_state('j2'), 'LOST')
        w.is_recorded()
        w.c.do('job/start', job='j2')
        t.has(w.c.call('j2', 'own.echo', {}).result(), state='completed')
        w.start_again()
        w.is_recorded()
        t.eq(w.n.stop(), 0)


def test_L9_5_full_disk_running_work(t):
    """A call that runs while the disk is full ends as it would, recorded."""
    w = Work(t, start=False)
    with small_disk(t, w.n.state_dir, 200 * MIB):
        w.begin()
        more = w.c.call('j2', 'own.script', {'steps': [
            {'note': 'second'}, {'until': 'cancel'}, {'answer': '{}'}]})
        procs.until(lambda: any(r['text'] == 'second' for r in
                                ledger_rows(w.own_ledger)), 'it began')
        fill(w.n.state_dir + '/ballast')
        w.until_refused('No space left')
        w.c.do('call/cancel', call=w.c.event(
            'call_accepted', job='j2')['call'])
        t.has(more.result(), state='canceled')
        w.c.do('job/end', job='j2')
        w.c.event('job_ended', job='j2')
        t.step(w.n.trace('j2'), 'call_ended', state='canceled')
        os.unlink(w.n.state_dir + '/ballast')
        w.takes_again()
        w.start_again()
        t.eq(w.n.job_state('j2'), 'COMPLETED')
        w.is_recorded()
        t.eq(w.n.stop(), 0)


def test_L9_5_read_only_at_start(t):
    """It does not start, says where and why, and harms nothing."""
    w = Work(t, start=False)
    with small_disk(t, w.n.state_dir, 100 * MIB):
        w.n.start()
        w.begin()
        w.n.stop()
        procs.until(lambda: subprocess.call(  # the last namespace is gone
            ['mount', '-o', 'remount,ro', w.n.state_dir]) == 0, 'read-only')
        w.n.spawn()
        t.eq(w.n.wait(), 69)
        assert 'Read-only file system' in w.n.log(), w.n.log()
        assert w.n.state_dir in w.n.log(), w.n.log()
        subprocess.check_call(['mount', '-o', 'remount,rw', w.n.state_dir])
        w.n.start()
        w.is_recorded()
        t.eq(w.n.stop(), 0)


def no_more_descriptors(pid):
    """No number is free below the limit any more; what it was."""
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    used = {int(n) for n in os.listdir('/proc/%d/fd' % pid)}
    free = min(n for n in range(len(used) + 1) if n not in used)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, limits[1]))
    return limits


def test_L9_5_no_descriptors_in_journal(t):
    t.need_root()  # its /proc is closed to others
    w = Work(t)
    journal = w.n.one('oz0-journal')
    limits = no_more_descriptors(journal.pid)
    w.until_refused('Too many open files')
    w.refuses('Too many open files')
    resource.prlimit(journal.pid, resource.RLIMIT_NOFILE, limits)
    w.takes_again()
    w.stops()
    t.eq(w.n.one('oz0-journal').pid, journal.pid)
    w.start_again()
    w.is_recorded()


def test_L9_5_no_descriptors_in_oz0d(t):
    """No new server, session or client; what there is works on."""
    w = Work(t)
    limits = no_more_descriptors(w.n.pid)
    try:
        r = w.c.call('j2', 'own.echo', {}).result()
        t.has(r, state='failed', outcome='not_made')
        assert 'Too many open files' in r['error']['message'], r
    except Refused as e:
        w.is_refusal(e, 'Too many open files')
    for _ in range(20):
        w.echo(100)
    for _ in range(40):  # they wait, or are turned away
        with contextlib.suppress(OSError):
            w.n.client()
    with open('/proc/%d/stat' % w.n.pid) as f:
        before = sum(map(int, f.read().rsplit(')')[1].split()[11:13]))
    w.stops()
    time.sleep(1)  # what a busy loop would use up
    with open('/proc/%d/stat' % w.n.pid) as f:
        used = sum(map(int, f.read().rsplit(')')[1].split()[11:13])) - before
    assert used < 50, '%d ticks of the processor in a second' % used
    resource.prlimit(w.n.pid, resource.RLIMIT_NOFILE, limits)
    w.c.do('job/start', job='later')
    t.has(w.c.call('later', 'own.echo', {}).result(), state='completed')
    w.n.client().do('node/hello')
    w.start_again()
    w.is_recorded()


def vm_size(pid):
    return int(procs.Proc(pid).status('VmSize').split()[0]) * 1024


def test_L9_5_no_memory_in_oz0d(t):
    """Over the limit new work is refused, and what there is goes on."""
    if sanitized():
        t.skip('a sanitizer maps terabytes')
    w = Work(t)
    limits = resource.prlimit(w.n.pid, resource.RLIMIT_AS)
    resource.prlimit(w.n.pid, resource.RLIMIT_AS,
                     (vm_size(w.n.pid) + MIB, limits[1]))
    asked, refused = [], 0
    for i in range(200):  # each holds its arguments until it has ended
        asked.append(w.c.call('j2', 'own.script', {
            'steps': [{'sleep': 60}], 'x': 'x' * 60000}))
    for a in asked:
        procs.until(lambda: a.done() or w.c.do('node/status')['queued'] > 0,
                    'answered or queued')
        if not a.done():
            continue
        try:
            a.result()
        except Refused as e:
            w.is_refusal(e, 'memory')
            refused += 1
    assert refused > 0, 'nothing was refused'
    t.eq(w.n.proc.poll(), None)
    w.c.do('job/cancel', job='j2')
    w.c.event('job_canceled', job='j2')
    resource.prlimit(w.n.pid, resource.RLIMIT_AS, limits)
    w.takes_again()
    w.stops()
    w.start_again()
    w.is_recorded()


def test_L9_5_no_memory_in_journal(t):
    """It may end by it: it is started again, and nothing is lost."""
    if sanitized():
        t.skip('a sanitizer maps terabytes')
    w = Work(t)
    journal = w.n.one('oz0-journal')
    resource.prlimit(journal.pid, resource.RLIMIT_AS,
                     (vm_size(journal.pid), resource.RLIM_INFINITY))
    for _ in range(40):
        w.echo(900000)
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(journal.pid, resource.RLIMIT_AS,
                         (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    w.takes_again()
    w.is_recorded()
    w.stops()
    w.start_again()
    w.is_recorded()


def test_L9_5_locked_database(t):
    """Another program holds the database: the log keeps what happens, and
    the trace is served from there."""
    w = Work(t)
    db = sqlite3.connect(w.n.state_dir + '/journal.db', isolation_level=None)
    db.execute('begin immediate')
    for _ in range(5):
        w.echo()
    procs.until(lambda: 'the log keeps' in w.n.log(), 'it is said')
    w.is_recorded()
    w.stops()
    w.is_recorded()
    # and at start
    w.n.kill9()
    t.reap()
    w.n.spawn()
    procs.until(lambda: 'the start waits' in w.n.log(), 'it is said')
    db.execute('rollback')
    db.close()
    w.n.wait_ready()
    t.eq(w.n.job_state('j1'), 'CANCELED')
    w.is_recorded()


def test_L9_5_damaged_database(t):
    """Set aside with words; the log fills a new one; no call is harmed."""
    w = Work(t)
    for _ in range(5):
        w.echo(1000)
    w.is_recorded()
    for name in ('journal.db', 'journal.db-wal'):
        path = os.path.join(w.n.state_dir, name)
        size = os.stat(path).st_size
        with open(path, 'r+b') as f:
            f.seek(100)
            f.write(os.urandom(max(size - 100, 4096)))
    for _ in range(5):
        w.echo(1000)
    w.start_again()
    assert 'set aside' in w.n.log(), w.n.log()
    assert [x for x in os.listdir(w.n.state_dir) if 'damaged' in x]
    t.eq(w.n.job_state('j1'), 'LOST')
    w.is_recorded()
    w.start_again()
    assert 'set aside' not in w.n.log(), w.n.log()
    w.is_recorded()


def newest_segment(state_dir):
    """Path and the bytes in use of the last segment that was begun."""
    where = state_dir + '/log'
    best = None
    for name in sorted(os.listdir(where)):
        with open(os.path.join(where, name), 'rb') as f:
            data = f.read()
        if data.startswith(b'oz0log2\n'):
            best = os.path.join(where, name), len(data.rstrip(b'\0'))
    return best


def test_L9_5_torn_log(t):
    """Cut in its last record, with garbage behind: what is whole is told,
    the call whose end is torn is lost and not called anything else."""
    for cut, noise in ((1, b''), (40, b''), (40, os.urandom(4000))):
        w = Work(t, name='n-%d-%d' % (cut, len(noise)))
        r = w.echo()
        w.n.kill9()
        t.reap()
        # neither the database nor the log has its end
        for name in os.listdir(w.n.state_dir):
            if name.startswith('journal.db'):
                os.unlink(os.path.join(w.n.state_dir, name))
        path, used = newest_segment(w.n.state_dir)
        with open(path, 'r+b') as f:
            data = f.read()
            at = data.rindex(b'"event":"call_ended"', 0, used)
            f.seek(at)
            f.write(bytes(used - at))
            f.seek(at + 200 + cut)
            f.write(noise)
        w.n.start()
        w.c = w.n.client()
        w.is_recorded(lost=1)
        with w.n.client() as c:
            states = {x['call']: (x['state'], x.get('outcome'))
                      for x in c.do('job/status', job='j1')['calls']}
        t.eq(states[r['call']], ('lost', 'made'))
        w.c.do('job/start', job='j3')
        t.has(w.c.call('j3', 'own.echo', {}).result(), state='completed')
        w.told.pop()
        w.start_again()
        w.is_recorded()
