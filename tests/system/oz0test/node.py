"""A real node: oz0d from the build tree (or OZ0_BINDIR) in a private place."""
import json
import os
import shutil
import signal
import subprocess
import time

from . import procs, steps as documented
from .control import Client

SERVERS = os.path.realpath(os.path.join(os.path.dirname(__file__),
                                        '../../servers'))


def program(name):
    where = os.environ['OZ0_TEST_BIN']
    return os.path.join(where, name)


class Node:
    """node = t.node(servers={...}); it is started unless start=False."""

    def __init__(self, test, servers, name='n1', start=True, policy=None,
                 args=(), env=None, pass_fds=(), raw_config=None, **node):
        self.test = test
        self.dir = test.dir(name)
        os.makedirs(self.dir + '/state', exist_ok=True)
        self.state_dir = self.dir + '/state'
        self.socket = self.dir + '/control.sock'
        self.config = {'node': {'name': name, 'state_dir': self.state_dir,
                                'socket': self.socket, **node},
                       'mcpServers': servers}
        if policy is not None:
            self.config['policy'] = policy
        self.raw_config = raw_config
        self.args = list(args)
        self.env = dict(env or {})
        self.pass_fds = pass_fds
        self.proc = None
        self.starts = 0
        if start:
            self.start()

    @property
    def pid(self):
        return self.proc.pid

    @property
    def config_path(self):
        return self.dir + '/oz0.json'

    def write_config(self):
        with open(self.config_path, 'w') as f:
            f.write(self.raw_config if self.raw_config is not None
                    else json.dumps(self.config, indent=1))

    def spawn(self, extra_args=()):
        """Starts oz0d and does not wait for it."""
        self.write_config()
        self.starts += 1
        self.log_path = '%s/log.%d' % (self.dir, self.starts)
        env = {k: v for k, v in os.environ.items()
               if k not in ('NOTIFY_SOCKET', 'LISTEN_FDS', 'LISTEN_PID')}
        env.update(self.env)
        with open(self.log_path, 'wb') as log:
            self.proc = subprocess.Popen(
                [program('oz0d'), '-c', self.config_path, *self.args,
                 *extra_args],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env,
                pass_fds=self.pass_fds)
        self.test.nodes.append(self)
        return self.proc

    def start(self, patience=30):
        self.spawn()
        self.wait_ready(patience)
        return self

    def wait_ready(self, patience=30):
        def ready():
            if self.proc.poll() is not None:
                raise AssertionError('oz0d ended with %s: %s' % (
                    self.proc.returncode, self.log()))
            try:
                with Client(self.socket) as c:
                    return c.do('node/hello', patience=patience)
            except (OSError, EOFError):
                return None

        return procs.until(ready, 'the node answers', patience)

    def client(self, events=False):
        c = Client(self.socket)
        self.test.closers.append(c.close)
        if events:
            c.subscribe()
        return c

    def log(self):
        try:
            with open(self.log_path, errors='replace') as f:
                return f.read()
        except OSError:
            return ''

    def signal(self, signo):
        self.proc.send_signal(signo)

    def wait(self, patience=30):
        return self.proc.wait(patience)

    def stop(self, patience=20):
        """A fast stop: two SIGTERMs; the exit code."""
        if self.proc is None or self.proc.poll() is not None:
            return self.proc and self.proc.returncode
        self.proc.send_signal(signal.SIGTERM)
        time.sleep(0.05)  # two at once would be one
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGTERM)
        return self.proc.wait(patience)

    def kill9(self):
        self.proc.kill()
        self.proc.wait()

    def processes(self, zombies=False):
        return procs.below(self.proc.pid, zombies)

    def find(self, title):
        """The node's processes whose title or command line has this in it."""
        return [p for p in self.processes() if title in p.cmdline()
                or title in p.comm]

    def one(self, title, patience=10):
        return procs.until(lambda: self.find(title), 'a process ' + title,
                           patience)[0]

    def cli(self, *args, json_out=False, check=None, input=None, patience=60,
            **popen):
        cmd = [program('oz0'), '--socket', self.socket]
        if json_out:
            cmd.append('--json')
        done = subprocess.run(cmd + list(args), input=input,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=patience, **popen)
        if check is not None and done.returncode != check:
            raise AssertionError('oz0 %s: exit %d instead of %d\n%s%s' % (
                ' '.join(args), done.returncode, check,
                done.stdout.decode('utf-8', 'replace'),
                done.stderr.decode('utf-8', 'replace')))
        return done

    def cli_json(self, *args, check=0, **more):
        out = self.cli(*args, json_out=True, check=check, **more).stdout
        return [json.loads(line) for line in out.splitlines() if line.strip()]

    def trace(self, job):
        """All steps of a job, by pages."""
        steps, since = [], 0
        with Client(self.socket) as c:
            while True:
                page = c.do('job/trace', job=job, since=since,
                            limit=500)['steps']
                page = [s for s in page if s['seq'] > since]
                if not page:
                    return steps
                for step in page:
                    documented.check(step)
                steps += page
                since = page[-1]['seq']

    def job_state(self, job):
        with Client(self.socket) as c:
            return c.do('job/status', job=job)['state']

    def wait_job(self, job, state, patience=30):
        return procs.until(lambda: self.job_state(job) == state,
                           '%s is %s' % (job, state), patience)


def rogue(test, name='rogue', kind='job', ledger=True, args=(), oz0=None,
          **more):
    """An entry for tests/servers/rogue.py and the path of its ledger."""
    box = {'read': [SERVERS]}
    argv = [SERVERS + '/rogue.py']
    path = None
    if ledger:
        folder = test.dir('ledger-' + name, open_to_all=True)
        path = folder + '/ledger'
        box['write'] = [folder]
        argv += ['--ledger', path]
    box.update((oz0 or {}).pop('sandbox', {}))
    entry = {'command': '/usr/bin/python3', 'args': argv + list(args),
             'oz0': {'kind': kind, 'sandbox': box, **(oz0 or {})}, **more}
    return entry, path


def ledger_rows(path):
    try:
        with open(path) as f:
            return [json.loads(line) for line in f if line.endswith('\n')]
    except FileNotFoundError:
        return []


def ledger_lines(path):
    """The messages a rogue server was sent: (raw bytes, parsed)."""
    lines = []
    for row in ledger_rows(path):
        if row['what'] == 'line':
            raw = row['text'].encode('utf-8', 'surrogateescape')
            lines.append((raw, json.loads(raw)))
    return lines


def remove(path):
    shutil.rmtree(path, ignore_errors=True)
