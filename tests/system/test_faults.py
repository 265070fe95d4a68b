"""L9.5 on the recording side: disks that are full, broken or read-only, no
descriptors, no memory, a damaged or locked database, a torn log.  New work is
refused with a clear error, running work goes on, a stop is carried out even
when it cannot be recorded, and what is recorded is so."""
import contextlib
import errno
import mmap
import os
import resource
import shutil
import sqlite3
import struct
import subprocess
import time

from oz0test import procs
from oz0test.control import Refused
from oz0test.node import ledger_rows, program

WRITE, SYNC, CREATE = range(3)  # as tests/faults/shim.c counts them
MIB = 1 << 20
SEGMENT = 16 * MIB


class Faults:
    """The words of tests/faults/shim.c: what fails in a running program."""

    def __init__(self, path):
        with open(path, 'wb') as f:
            f.write(bytes(3 * 16))
        os.chmod(path, 0o666)
        with open(path, 'r+b') as f:
            self.map = mmap.mmap(f.fileno(), 3 * 16)

    def set(self, what, error, times=0, partial=0):
        struct.pack_into('=ii', self.map, what * 16 + 4, times, partial)
        struct.pack_into('=i', self.map, what * 16, error)

    def clear(self):
        for what in range(3):
            struct.pack_into('=i', self.map, what * 16, 0)

    def happened(self, what):
        return struct.unpack_from('=i', self.map, what * 16 + 12)[0]


def sanitized():
    with open(program('oz0d'), 'rb') as f:
        return b'__asan_init' in f.read()


def built(name):
    return os.path.join(os.environ['OZ0_TEST_BIN'], 'tests/faults', name)


def faulty(t, **node):
    """A node whose oz0d and oz0-journal fail on demand: (Work, Faults of
    oz0d, Faults of oz0-journal)."""
    if sanitized():
        t.skip('a sanitizer wants to be the first library')
    where = t.dir('libexec')
    for name in ('oz0-sandbox', 'oz0-worker'):
        shutil.copy(program(name), where)
    shutil.copy(built('faulty_journal'), where + '/oz0-journal')
    ours, journals = Faults(where + '/faults-oz0d'), Faults(where + '/faults')
    w = Work(t, env={'OZ0_LIBEXEC': where, 'LD_PRELOAD': built('shim.so'),
                     'OZ0_FAULTS': where + '/faults-oz0d'}, **node)
    return w, ours, journals


class Work:
    """A node with a call that runs, and the ends that it told of."""

    def __init__(self, t, start=True, **node):
        self.t = t
        own, self.own_ledger = t.rogue(name='own')
        shared, self.shared_ledger = t.rogue(name='shared', kind='plugin')
        self.n = t.node({'own': own, 'shared': shared}, start=False, **node)
        self.told = []
        if start:
            self.begin()

    def begin(self):
        if self.n.proc is None:
            self.n.start()
        self.c = self.n.client(events=True)
        for job in ('j1', 'j2'):
            self.c.do('job/start', job=job)
        self.running = self.c.call('j1', 'own.script', {'steps': [
            {'note': 'in'}, {'sleep': 60}]}, activity='running')
        procs.until(lambda: any(r['text'] == 'in' for r in
                                ledger_rows(self.own_ledger)), 'it began')
        self.echo()

    def echo(self, size=0):
        """A call that is made and ends, or is refused."""
        r = self.c.call('j1', 'shared.echo', {'x': 'x' * size}).result()
        self.told.append((r['call'], r['state'], r['outcome']))
        self.t.has(r, state='completed', outcome='made')
        return r

    def until_refused(self, *words):
        """Fills the log until the node says no: with these words."""
        for _ in range(80):
            try:
                self.echo(900000)
            except Refused as e:
                return self.is_refusal(e, *words)
        raise AssertionError('never refused')

    def is_refusal(self, e, *words):
        self.t.eq(e.reason, 'node_full')
        for w in words:
            assert w in e.error['message'], e.error
        return e.error['message']

    def refuses(self, *words):
        """Everything new, each with the words; status says them too."""
        c = self.c
        for method, params in (
                ('job/start', {'job': 'new'}),
                ('session/open', {'job': 'j2', 'session': 9}),
                ('call/start', {'job': 'j1', 'function': 'shared.echo'}),
                ('call/start', {'job': 'j2', 'function': 'own.echo'})):
            try:
                c.do(method, **params)
            except Refused as e:
                self.is_refusal(e, *words)
                continue
            raise AssertionError('%s %s was taken' % (method, params))
        said = c.do('node/status').get('refuses') or ''
        for w in words:
            assert w in said, said

    def takes_again(self):
        procs.until(lambda: self.c.do('node/status').get('refuses') is None,
                    'it takes new work again')
        self.c.do('job/start', job='later')
        for function in ('own.echo', 'shared.echo'):
            self.t.has(self.c.call('later', function, {}).result(),
                       state='completed')

    def stops(self):
        """The running call is canceled, and its job; no process is left."""
        assert not self.running.done(), self.running.line
        tree = [procs.identity(p.pid) for i in self.n.find('j1/1 own')
                for p in [i] + procs.below(i.pid)]
        assert len(tree) >= 2, tree
        began = time.monotonic()
        self.c.do('job/cancel', job='j1')
        r = self.running.result()
        self.t.has(r, state='canceled')
        self.c.event('job_canceled', job='j1')
        assert time.monotonic() - began < 4  # L1.2: of 2 s and its ladder
        self.t.eq([i for i in tree if procs.lives(i)], [], 'of a CANCELED job')
        self.told.append((r['call'], r['state'], r['outcome']))

    def is_recorded(self, lost=0):
        """The trace and the database hold what was told; but for the last
        `lost` ends, which came while nothing could be recorded."""
        steps = self.n.trace('j1')
        seqs = [s['seq'] for s in steps]
        self.t.eq(seqs, sorted(set(seqs)), 'numbers of steps')
        ends = [(s['call'], s['state'], s['outcome']) for s in steps
                if s['event'] == 'call_ended']
        self.t.eq(len({e[0] for e in ends}), len(ends), 'one end for each')
        for told in self.told[:len(self.told) - lost]:
            assert told in ends, (told, ends[-5:])
        return steps

    def start_again(self, kill=True):
        if kill:
            self.n.kill9()
            self.t.reap()
        else:
            self.n.stop()
        self.n.start()
        self.c = self.n.client(events=True)


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
        why = w.until_refused('No space left')
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
        if data.startswith(b'oz0log1\n'):
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
            and open(os.path.join(where, x), 'rb').read(8) == b'oz0log1\n']


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
