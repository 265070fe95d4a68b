#!/usr/bin/python3
"""A node under thousands of calls, while everything around it breaks.

    chaos.py	CHAOS_SEED=N reruns the choices of a run, which prints its own;
		CHAOS_CALLS (1500), CHAOS_JOBS at a time (10), CHAOS_WIDTH calls
		in flight (40), CHAOS_SUPERVISOR kills of oz0d at most (4)

Jobs make calls of oz0-demo as job server (one polite, one that ends by SIGKILL
alone) and as plugin: calls that crash it, hang, are busy, answer late, flood,
fork.  Meanwhile calls, sessions and jobs are cancelled; servers, inits,
workers, oz0-journal and oz0d itself get kill -9; clients vanish.  A scheduler
comes back each time and starts its jobs and calls again.  At the end the
ledgers, /proc and the traces must agree with LIFECYCLE.  Nothing is judged by
time; a run that makes no progress is shown and fails.  Prints TAP.
"""
import collections
import json
import os
import random
import signal
import sys
import time
import traceback

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '../system')]
from check_trace import Checker  # noqa: E402
from oz0test import case, procs  # noqa: E402
from oz0test.control import Client, Gone, Refused  # noqa: E402
from oz0test.node import program  # noqa: E402

SEED = int(os.environ.get('CHAOS_SEED') or random.randrange(1 << 32))
CALLS = int(os.environ.get('CHAOS_CALLS', '1500'))
JOBS = int(os.environ.get('CHAOS_JOBS', '10'))
WIDTH = int(os.environ.get('CHAOS_WIDTH', '40'))
SUPERVISOR_KILLS = int(os.environ.get('CHAOS_SUPERVISOR', '4'))
HANG = 120 * float(os.environ.get('OZ0_TEST_PATIENCE', '1'))
MAX_ATTEMPTS = 3

ONCE = ['append', 'fork', 'crash', 'list_changed']
EFFECTS = ('write', 'charge', 'append', 'busy', 'flaky')
# Refusals after which the same request is made again a little later.
LATER = ('node_full', 'unknown_session', 'not_allowed', 'unknown_job')


class Hang(Exception):
    pass


# ---- what is called ----

def some_function(rng, value):
    """(function, arguments) of one call; value is its own."""
    ms = rng.choice((0, 0, 5, 50))
    pick = rng.random()
    if pick < 0.20:
        return 'echo', {'value': value}
    if pick < 0.45:
        return 'write', {
            'value': value, 'before_ms': ms, 'after_ms': rng.choice((0, 30)),
            'crash': rng.choice(('never',) * 4 + ('before', 'after')),
            'silent': rng.random() < 0.1}
    if pick < 0.55:
        return 'charge', {'order_id': value, 'amount': rng.randint(1, 9999)}
    if pick < 0.70:
        return 'append', {'value': value, 'before_ms': ms, 'after_ms': ms}
    return rng.choice((
        ('busy', {'times': rng.randint(1, 3), 'retry_after': 0.02}),
        ('busy', {'times': 1}),
        ('flaky', {'times': rng.randint(1, 3), 'how': rng.choice(
            ('error', 'result', 'exit', 'hang', 'bad_json'))}),
        ('sleep', {'seconds': rng.choice((0.02, 0.2, 30)), 'on_cancel':
                   rng.choice(('silent', 'error', 'result'))}),
        ('late', {'ms': rng.choice((0, 20))}),
        ('block', {'seconds': 0.2}),
        ('deaf', {'seconds': 0.3}),
        ('count', {'steps': 4, 'ms': 10}),
        ('crash', {'signal': rng.choice((0, 9, 11)), 'when': rng.choice(
            ('before', 'after', 'partial'))}),
        ('flood', {'to': rng.choice(('stdout', 'stderr', 'notifications')),
                   'bytes': 200000}),
        ('fork', {'children': 3, 'seconds': 30}),
        ('error', {'code': rng.choice((-32603, -32601, -32602))}),
        ('twice', {}),
        ('bad_json', {'answer': rng.random() < 0.5}),
        ('odd_id', {'as': 'string'}),
        ('read', {}),
    ))


class Call:
    """What the scheduler knows of one."""

    def __init__(self, job, activity, function, arguments):
        self.job = job
        self.activity = activity
        self.function = function
        self.arguments = arguments
        self.answer = None      # under way
        self.starts = 0
        self.results = []       # each end that it was told of

    @property
    def value(self):
        return '%s.%s' % (self.job.name, self.activity)


class Job:
    def __init__(self, name):
        self.name = name
        self.calls = []
        self.todo = []          # calls to be started (again)
        self.open = set()       # calls under way
        self.ending = False     # told to end, or cancelled
        self.over = False


class Chaos:
    def __init__(self, t):
        self.t = t
        self.rng = random.Random(SEED)
        self.ledgers = {}
        self.node = None
        self.jobs = []          # those that are not over
        self.all_jobs = []
        self.made = 0           # calls so far
        self.ends = 0           # answers so far
        self.next_act = 10
        self.kills = 0
        self.acts = collections.Counter()
        self.clients = []
        self.numbers = {}       # key: the number of its last call
        self.seen = 0           # of the events
        self.last_seq = 0
        self.seqs = set()
        self.twice = []         # numbers that came again
        self.moved = time.monotonic()
        self.faults = []

    # ---- the node ----

    def server(self, name, kind, *args, **oz0):
        folder = self.t.dir('ledger', open_to_all=True)
        path = '%s/%s' % (folder, name)
        with open(path, 'a'):
            os.chmod(path, 0o666)  # a sandbox has a uid of its own
        self.ledgers[name] = path
        demo = program('oz0-demo')
        return {'command': demo, 'args': ['--ledger', path, *args], 'oz0': {
            'kind': kind, 'timeout': '2s', 'stop_timeout': '1s',
            'max_attempts': MAX_ATTEMPTS, 'backoff_base': '0.05s',
            'backoff_cap': '0.4s', 'start_timeout': '60s',
            'sandbox': {'read': [os.path.dirname(demo)],
                        'write': [folder]}, **oz0}}

    def begin(self):
        self.node = self.t.node({
            'own': self.server('own', 'job'),
            'stubborn': self.server('stubborn', 'job', '--ignore-eof',
                                    '--ignore-sigterm'),
            'shared': self.server('shared', 'plugin',
                                  restart_when_stuck=True),
        }, slots=24, policy=[
            {'tool': 'shared', 'function': 'charge', 'decision': 'ask'},
            {'decision': 'allow'}])
        self.connect()
        self.quiet('at first')
        self.descriptors = procs.fds(self.node.pid)

    def connect(self):
        self.watch = self.client()
        self.watch.subscribe(since=self.last_seq)
        self.seen = 0
        self.clients = [self.client() for _ in range(3)]

    def client(self):
        return procs.until(self.try_client, 'the node takes a client', HANG)

    def try_client(self):
        try:
            return Client(self.node.socket)
        except OSError:
            return None

    def moving(self):
        self.moved = time.monotonic()

    def wait(self, fact, what):
        """Goes on with what happens until the fact is true."""
        self.moving()
        while not fact():
            self.look()
            if time.monotonic() - self.moved > HANG:
                raise Hang('nothing moves: ' + what)
            with self.watch.cond:
                self.watch.cond.wait(0.02)

    # ---- events ----

    def look(self):
        """Takes in events and answers."""
        with self.watch.cond:
            new = self.watch.events[self.seen:]
            self.seen += len(new)
        for e in new:
            self.moving()
            seq = e.get('seq')
            if seq is not None:
                if seq in self.seqs:
                    self.twice.append(seq)
                self.seqs.add(seq)
                self.last_seq = max(self.last_seq, seq)
            if e.get('event') == 'call_accepted':
                self.numbers[e['key']] = e['call']
            elif e.get('event') == 'call_waiting_approval':
                self.decide(e['call'])
        for job in list(self.jobs):
            for call in list(job.open):
                self.take(job, call)

    def decide(self, call):
        method = 'call/deny' if self.rng.random() < 0.2 else 'call/approve'
        try:
            self.watch.send(method, call=call)
        except OSError:
            pass  # it is asked again when the call is started again

    def take(self, job, call):
        answer = call.answer
        if not answer.done():
            if answer.client.closed:  # vanished, or the node did
                job.open.discard(call)
                job.todo.append(call)
            return
        self.moving()
        job.open.discard(call)
        try:
            call.results.append(answer.result())
            self.ends += 1
        except Refused as e:
            if e.reason in LATER and not job.ending:
                job.todo.append(call)
            elif e.reason not in LATER + ('already_ended',):
                self.faults.append('%s: %s' % (call.value, e))

    # ---- making calls ----

    def start(self, job, call):
        client = self.rng.choice(self.clients)
        call.starts += 1
        try:
            call.answer = client.call(job.name, call.function, call.arguments,
                                      activity=call.activity)
            job.open.add(call)
        except OSError:
            job.todo.append(call)

    def new_job(self):
        job = Job('j%d' % (len(self.all_jobs) + 1))
        for i in range(self.rng.randint(5, 40)):
            tool = self.rng.choice(('own', 'own', 'stubborn', 'shared',
                                    'shared'))
            activity = 'a%d' % i
            name, arguments = some_function(
                self.rng, '%s.%s' % (job.name, activity))
            job.calls.append(Call(job, activity, tool + '.' + name,
                                  arguments))
        job.todo = job.calls[:]
        self.made += len(job.calls)
        self.jobs.append(job)
        self.all_jobs.append(job)
        self.ask('job/start', job=job.name)

    def ask(self, method, **params):
        """A request whose refusal is an answer too; None: the node is gone."""
        try:
            return self.watch.do(method, patience=HANG, **params)
        except Refused as e:
            return {'refused': e.reason}
        except (Gone, OSError):
            return None

    def feed(self):
        width = sum(len(j.open) for j in self.jobs)
        for job in self.jobs:
            while job.todo and width < WIDTH and len(job.open) < 12:
                self.start(job, job.todo.pop(0))
                width += 1

    def settle(self):
        """Jobs whose calls have ended, end."""
        for job in list(self.jobs):
            if job.open or job.todo:
                continue
            if not job.ending:
                job.ending = True
                self.ask('job/cancel' if self.rng.random() < 0.2
                         else 'job/end', job=job.name)
            state = (self.ask('job/status', job=job.name) or {}).get('state')
            if state in ('CANCELED', 'COMPLETED', 'FAILED'):
                job.over = True
                self.jobs.remove(job)
                self.moving()
            elif state == 'LOST':  # with its node, while it was ending
                self.ask('job/start', job=job.name)
                job.ending = False

    # ---- breaking things ----

    def act(self):
        acts = [(10, self.cancel_call), (3, self.cancel_job),
                (3, self.close_session), (8, self.kill_server),
                (6, self.kill_init), (4, self.kill_worker),
                (1, self.stop_worker), (2, self.kill_plugins_worker),
                (2, self.kill_journal), (2, self.reload), (3, self.vanish),
                (1, self.switch)]
        act = self.rng.choices([a for _, a in acts],
                               [w for w, _ in acts])[0]
        if self.kills < SUPERVISOR_KILLS and \
                self.made > CALLS * (self.kills + 1) / (SUPERVISOR_KILLS + 1):
            act = self.kill_supervisor
        self.acts[act.__name__] += 1
        act()

    def some_open(self):
        found = [c for j in self.jobs for c in sorted(
            j.open, key=lambda c: c.activity)]
        return self.rng.choice(found) if found else None

    def cancel_call(self):
        call = self.some_open()
        if call is not None:
            number = self.numbers.get('%s/%s' % (call.job.name,
                                                 call.activity))
            if number is not None:
                self.watch.send('call/cancel', call=number, wait=False)

    def cancel_job(self):
        if self.jobs:
            job = self.rng.choice(self.jobs)
            job.ending = True
            job.todo = []
            self.ask('job/cancel', job=job.name, wait=False)

    def close_session(self):
        if self.jobs:
            self.watch.send('session/close', session=1,
                            job=self.rng.choice(self.jobs).name)

    def kill_one(self, wanted, signo=signal.SIGKILL):
        found = [p for p in self.node.processes() if wanted(p)]
        if found:
            try:
                os.kill(self.rng.choice(found).pid, signo)
            except ProcessLookupError:
                pass

    def kill_server(self):
        self.kill_one(lambda p: p.comm == 'oz0-demo')

    def kill_init(self):
        self.kill_one(lambda p: 'oz0-sandbox: ' in p.cmdline())

    def kill_worker(self):
        self.kill_one(lambda p: 'oz0-worker: session' in p.cmdline())

    def stop_worker(self):
        self.kill_one(lambda p: 'oz0-worker: session' in p.cmdline(),
                      signal.SIGSTOP)

    def kill_plugins_worker(self):
        self.kill_one(lambda p: 'oz0-worker: plugins' in p.cmdline())

    def kill_journal(self):
        self.kill_one(lambda p: p.comm.startswith('oz0-journal'))

    def reload(self):
        self.node.signal(signal.SIGHUP)

    def vanish(self):
        at = self.rng.randrange(len(self.clients))
        self.clients[at].close()
        self.clients[at] = self.client()

    def switch(self):
        tool = self.rng.choice(('own', 'shared'))
        self.ask('tool/kill', tool=tool)
        self.ask('tool/unkill', tool=tool)

    def kill_supervisor(self):
        """kill -9; what it left dies; the next one goes on, and so do we."""
        self.kills += 1
        left = [(p.pid, p.start) for p in self.node.processes()]
        self.node.proc.kill()
        self.node.proc.wait()
        self.node.start(patience=HANG)  # waits for the last of the old ones
        alive = [i for i in left if procs.lives(i)]
        if alive:
            self.faults.append('living beside the next node: %s' % alive)
        self.t.reap()
        for c in [self.watch] + self.clients:
            c.close()
        self.connect()
        for job in self.jobs:
            if not job.ending:
                r = self.ask('job/start', job=job.name)
                if r is None or 'refused' in r:
                    self.faults.append('%s does not go on: %s' % (
                        job.name, r))
        self.moving()

    # ---- the run ----

    def run(self):
        self.begin()
        self.moving()
        while self.made < CALLS or self.jobs:
            if self.made < CALLS and len(self.jobs) < JOBS:
                self.new_job()
            self.feed()
            self.look()
            self.settle()
            if self.ends >= self.next_act:
                self.next_act = self.ends + self.rng.randint(2, 20)
                self.act()
            if self.node.proc.poll() is not None:
                raise Hang('oz0d ended by itself with %s'
                           % self.node.proc.returncode)
            if time.monotonic() - self.moved > HANG:
                raise Hang('nothing moves')
            with self.watch.cond:
                self.watch.cond.wait(0.01)

    def quiet(self, when):
        """The plugin is up, and nothing else is."""
        def alone():
            names = [p.cmdline() for p in self.node.processes()]
            return not [n for n in names if 'session' in n or '/1 ' in n]

        self.ask('job/start', job='quiet')
        r = self.watch.call('quiet', 'shared.read', {}).result(HANG)
        if r['state'] != 'completed':
            self.faults.append('%s: the plugin does not answer: %s' % (
                when, r))
        procs.until(alone, 'sessions are gone ' + when, HANG)
        sessions = self.node.state_dir + '/sessions'
        procs.until(lambda: not os.path.isdir(sessions)
                    or not os.listdir(sessions),
                    'session folders are removed ' + when, HANG)
        procs.until(lambda: all(not p.dead() for p in self.node.processes(
            zombies=True)), 'all is reaped ' + when, HANG)

    # ---- verdicts; each gives a list of faults ----

    def check_answers(self):
        faults = self.faults[:]
        for job in self.all_jobs:
            for c in job.calls:
                ends = {(r['call'], r['state'], r['outcome'])
                        for r in c.results}
                by_call = collections.Counter(e[0] for e in ends)
                faults += ['%s: %s was shown with %d ends: %s' % (
                    c.value, n, k, sorted(ends))
                    for n, k in by_call.items() if k > 1]
        return faults + ['seq %d came twice' % s for s in self.twice]

    def check_traces(self):
        faults, calls = [], 0
        once = ['%s.%s' % (tool, f) for tool in self.ledgers for f in ONCE]
        for job in self.all_jobs:
            checker = Checker(once=once, max_attempts=MAX_ATTEMPTS,
                              kinds={'own': 'job', 'stubborn': 'job',
                                     'shared': 'plugin'})
            steps = self.node.trace(job.name)
            for step in steps:
                checker.feed(step)
            new = checker.finish()
            calls += len(checker.calls)
            if new and len(faults) < 20:
                new += ['  ' + json.dumps(s)[:300] for s in steps if any(
                    s.get('call') and s['call'] in f for f in new)][:60]
            faults += ['%s: %s' % (job.name, f) for f in new]
        self.note = '%d calls' % calls
        return faults

    def rows(self, tool):
        rows = []
        with open(self.ledgers[tool], errors='replace') as f:
            for line in f:
                try:
                    rows.append(json.loads(line))
                except ValueError:
                    pass  # half a line of one that was killed
        return rows

    def check_overlap(self):
        """L3.4 in the server's own ledger.  `run` tells its lives apart."""
        faults = []
        for tool in ('own', 'stubborn'):
            last, open_ = {}, {}
            for row in self.rows(tool):
                key = row.get('key')
                if key is None:
                    continue
                run = row['run']
                if row['event'] == 'request':
                    if last.get(key) == run and open_.get(key):
                        faults.append('%s: two at once in one server' % key)
                    last[key], open_[key] = run, True
                elif last.get(key) != run:
                    faults.append('%s: %s of an earlier attempt beside a '
                                  'later one' % (key, row['event']))
                elif row['event'] in ('answered', 'dropped'):
                    open_[key] = False
        return faults

    def check_overlap_shared(self):
        """On the plugin, but where a stop was not confirmed."""
        loose = set()
        for job in self.all_jobs:
            for step in self.node.trace(job.name):
                if step.get('stopped') == 'not_confirmed':
                    loose.add(step['call'])
        loose = {k for k, n in self.keys().items() if n & loose}
        last, faults = {}, []
        for row in self.rows('shared'):
            key = row.get('key')
            if key is None or key in loose:
                continue
            if row['event'] == 'request':
                if last.get(key) == row['run']:
                    faults.append('%s: two at once' % key)
                last[key] = row['run']
            elif row['event'] in ('answered', 'dropped'):
                if last.get(key) == row['run']:
                    last[key] = None
        return faults

    def keys(self):
        """All call numbers of each key."""
        found = {}
        for job in self.all_jobs:
            for step in self.node.trace(job.name):
                if step['event'] == 'call_accepted':
                    found.setdefault(step['key'], set()).add(step['call'])
        return found

    def check_effects(self):
        """Each effect once; none where nothing was made."""
        count = collections.Counter()
        for tool in self.ledgers:
            for row in self.rows(tool):
                if row['event'] == 'effect' and row.get('key'):
                    count[row['key']] += 1
        faults, effects = [], 0
        for job in self.all_jobs:
            for c in job.calls:
                name = c.function.split('.')[1]
                key = '%s/%s' % (job.name, c.activity)
                n = count.pop(key, 0)
                effects += n
                if n > 1:
                    faults.append('%s of %s: %d effects' % (
                        key, c.function, n))
                if name not in EFFECTS or not c.results:
                    continue
                last = c.results[-1]
                done = last['state'] == 'completed' and \
                    last['outcome'] == 'made' and \
                    not last['result'].get('isError')
                if done and n != 1:
                    faults.append('%s of %s completed, %d effects' % (
                        key, c.function, n))
                if n and all(r['outcome'] == 'not_made' for r in c.results):
                    faults.append('%s of %s not made, %d effects' % (
                        key, c.function, n))
        faults += ['%s: an effect of no call' % k for k in count]
        self.note = '%d effects' % effects
        return faults

    def check_node(self):
        status = self.ask('node/status')
        faults = ['%s is %r' % (k, status.get(k)) for k in (
            'running', 'queued') if status.get(k) != 0]
        if status.get('state') != 'ready':
            faults.append('the node is %s' % status.get('state'))
        for c in self.clients:
            c.close()
        self.clients = []
        self.quiet('at the end')
        at_end = [procs.fds(self.node.pid)]

        def flat():  # the ends of closed clients are seen in a moment
            at_end[0] = procs.fds(self.node.pid)
            return at_end[0] <= self.descriptors

        try:
            procs.until(flat, 'descriptors', 10)
        except TimeoutError:
            faults.append('oz0d has %d descriptors, it began with %d: %s' % (
                at_end[0], self.descriptors, self.descriptor_names()))
        return faults

    def descriptor_names(self):
        at = '/proc/%d/fd' % self.node.pid
        return sorted(os.readlink('%s/%s' % (at, n)) for n in os.listdir(at))

    def check_end(self):
        self.watch.close()
        self.t.finish()
        sessions = self.node.state_dir + '/sessions'
        left = os.listdir(sessions) if os.path.isdir(sessions) else []
        return ['left in sessions/: %s' % left] if left else []

    def diagnose(self):
        print('# open calls:')
        for job in self.jobs:
            print('# %s ending=%s todo=%d' % (job.name, job.ending,
                                              len(job.todo)))
            for c in job.open:
                print('#   %s %s %s' % (c.value, c.function, c.arguments))
        try:
            with Client(self.node.socket) as c:
                print('# status: %s' % json.dumps(c.do('node/status'))[:4000])
                for job in self.jobs[:3]:
                    print('# %s' % json.dumps(c.do(
                        'job/status', job=job.name))[:4000])
        except Exception as e:  # whatever it is, the rest is to be shown
            print('# no status: %r' % e)
        for p in procs.below(os.getpid(), zombies=True):
            print('# %r' % p)
        for path in self.t.logs()[-2:]:
            with open(path, errors='replace') as f:
                print('# --- %s' % path)
                for line in f.read()[-8000:].splitlines():
                    print('# ' + line)


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def add(self, name, faults, note=''):
        self.count += 1
        self.failed += bool(faults)
        print('%sok %d - chaos.%s%s' % ('not ' if faults else '', self.count,
                                        name, ' # ' + note if note else ''))
        for f in faults[:100]:
            print('# ' + f)
        sys.stdout.flush()


def main():
    os.environ.setdefault('OZ0_TEST_BIN',
                          os.environ.get('OZ0_BUILDDIR', os.getcwd()))
    print('# CHAOS_SEED=%d CHAOS_CALLS=%d' % (SEED, CALLS))
    sys.stdout.flush()
    case.be_subreaper()
    t = case.Case('chaos')
    chaos, tap = Chaos(t), Tap()
    began = time.monotonic()
    try:
        chaos.run()
        tap.add('run', [], '%d calls, %d answers, %d jobs, %.0f s; %s' % (
            chaos.made, chaos.ends, len(chaos.all_jobs),
            time.monotonic() - began, ', '.join(
                '%s %d' % a for a in sorted(chaos.acts.items()))))
    except Exception as e:  # whatever ends the run is shown with the node
        tap.add('run', [repr(e)])
        traceback.print_exc(file=sys.stdout)
        chaos.diagnose()
        t.kill_all()
        print('1..%d' % tap.count)
        return 1
    for name in ('answers', 'traces', 'overlap', 'overlap_shared', 'effects',
                 'node', 'end'):
        chaos.note = ''
        try:
            faults = getattr(chaos, 'check_' + name)()
        except Exception as e:
            faults = [repr(e)] + traceback.format_exc().splitlines()
        tap.add(name, faults, chaos.note)
    print('1..%d' % tap.count)
    if tap.failed:
        print('# again with CHAOS_SEED=%d; kept: %s' % (SEED, t.top))
        chaos.diagnose()
        t.kill_all()
    else:
        t.remove()
    return 1 if tap.failed else 0


if __name__ == '__main__':
    sys.exit(main())
