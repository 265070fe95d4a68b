"""A node with work under way, for tests of what happens when its disk or its
limits fail (L9.5); and faults on demand, by tests/faults/shim.c."""
import mmap
import os
import shutil
import struct
import time

from . import procs
from .control import Refused
from .node import ledger_rows, program

WRITE, SYNC, CREATE, FORK = range(4)  # as tests/faults/shim.c counts them
MIB = 1 << 20


class Faults:
    """The words of tests/faults/shim.c: what fails in a running program."""

    def __init__(self, path):
        with open(path, 'wb') as f:
            f.write(bytes(4 * 16))
        os.chmod(path, 0o666)
        with open(path, 'r+b') as f:
            self.map = mmap.mmap(f.fileno(), 4 * 16)

    def set(self, what, error, times=0, partial=0):
        struct.pack_into('=ii', self.map, what * 16 + 4, times, partial)
        struct.pack_into('=i', self.map, what * 16, error)

    def clear(self):
        for what in range(4):
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
