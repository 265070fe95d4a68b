"""What a test is given: private places, nodes, checks, and an end that looks
for what was left behind."""
import ctypes
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile

from . import node as nodes
from . import procs
from .servers import Skip

PR_SET_CHILD_SUBREAPER = 36
SANITIZER = re.compile(r'ERROR: \w+Sanitizer|runtime error:|SUMMARY: ')


def be_subreaper():
    """Orphans of a killed oz0d become ours, so that none goes unseen."""
    if ctypes.CDLL(None, use_errno=True).prctl(
            PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError('prctl(PR_SET_CHILD_SUBREAPER)')


class Case:
    def __init__(self, name):
        self.name = name
        self.nodes = []
        self.closers = []
        base = os.environ.get('OZ0_TEST_DIR', '/tmp')
        self.top = tempfile.mkdtemp(prefix='oz0t-', dir=base)
        os.chmod(self.top, 0o755)  # a sandbox has a uid of its own

    # places
    def dir(self, name, open_to_all=False):
        path = os.path.join(self.top, name)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o1777 if open_to_all else 0o755)
        return path

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.top, name)
        with open(path, 'w') as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    # nodes and servers
    def node(self, servers=None, **more):
        return nodes.Node(self, servers or {}, **more)

    def rogue(self, *args, name='rogue', kind='job', **more):
        return nodes.rogue(self, name=name, kind=kind, args=args, **more)

    # checks
    def eq(self, got, want, what=''):
        if got != want:
            raise AssertionError('%s: got %r, want %r' % (
                what or 'not equal', got, want))

    def has(self, whole, **want):
        """A JSON object holds these members."""
        for k, v in want.items():
            if whole.get(k) != v:
                raise AssertionError('%s is %r, not %r, in %s' % (
                    k, whole.get(k), v, json.dumps(whole)[:2000]))

    def skip(self, why):
        raise Skip(why)

    def need_root(self):
        if os.geteuid() != 0:
            self.skip('needs root')

    def need_user(self):
        if os.geteuid() == 0:
            self.skip('is for an ordinary user')

    @property
    def root(self):
        return os.geteuid() == 0

    def nobody(self):
        return pwd.getpwnam('nobody')

    def step(self, steps, event, **want):
        """The first step of a trace with these members."""
        for s in steps:
            if s['event'] == event and all(
                    s.get(k) == v for k, v in want.items()):
                return s
        raise AssertionError('no step %s %s among %s' % (
            event, want, [(s['event'], s.get('text')) for s in steps]))

    # the end
    def finish(self):
        """Stops what runs; complains about what is left."""
        faults = []
        for close in self.closers:
            close()
        for n in self.nodes:
            running = n.proc is not None and n.proc.poll() is None
            try:
                code = n.stop()
            except subprocess.TimeoutExpired:
                faults.append('oz0d %d does not end; there is: %s' % (
                    n.pid, procs.below(n.pid, zombies=True)))
                n.proc.kill()
                n.proc.wait()
                continue
            if running and code != 0:
                faults.append('oz0d ended with %s after SIGTERM' % code)
        try:
            procs.until(self._alone, 'nothing is left', 5)
        except TimeoutError:
            faults.append('left behind: %s' % procs.below(os.getpid()))
        for path in self.logs():
            with open(path, errors='replace') as f:
                if SANITIZER.search(f.read()):
                    faults.append('a sanitizer spoke: ' + path)
        if faults:
            raise AssertionError('; '.join(faults))

    def _alone(self):
        self.reap()
        return not procs.below(os.getpid())

    def reap(self):
        """Reaps orphans that became ours, and no process of a Node's."""
        ours = {n.proc.pid for n in self.nodes if n.proc}
        while True:
            try:
                info = os.waitid(os.P_ALL, 0,
                                 os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if info is None or info.si_pid in ours:
                return
            os.waitpid(info.si_pid, 0)

    def logs(self):
        found = []
        for at, _, names in os.walk(self.top):
            found += [os.path.join(at, n) for n in names
                      if n.startswith('log.')]
        return sorted(found)

    def remove(self):
        shutil.rmtree(self.top, ignore_errors=True)

    def kill_all(self):
        for p in procs.below(os.getpid()):
            try:
                os.kill(p.pid, signal.SIGKILL)
            except OSError:
                pass
