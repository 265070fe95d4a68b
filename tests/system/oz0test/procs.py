"""Facts about processes, from /proc: never kill(pid, 0), which takes a zombie
for a living process."""
import contextlib
import ctypes
import os
import signal
import time


class Proc:
    def __init__(self, pid):
        self.pid = pid
        with open('/proc/%d/stat' % pid, 'rb') as f:
            text = f.read().decode('utf-8', 'replace')
        end = text.rindex(')')
        self.comm = text[text.index('(') + 1:end]
        fields = text[end + 2:].split()
        self.state = fields[0]
        self.ppid = int(fields[1])
        self.start = int(fields[19])

    def cmdline(self):
        try:
            with open('/proc/%d/cmdline' % self.pid, 'rb') as f:
                return f.read().replace(b'\0', b' ').decode(
                    'utf-8', 'replace').strip()
        except OSError:
            return ''

    def status(self, name):
        with open('/proc/%d/status' % self.pid) as f:
            for line in f:
                if line.startswith(name + ':'):
                    return line.split(':', 1)[1].strip()
        return None

    def dead(self):
        return self.state in 'ZX'

    def __repr__(self):
        return '%d %s %s (%s)' % (self.pid, self.state, self.cmdline(),
                                  self.comm)


def everything():
    found = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                found[int(name)] = Proc(int(name))
            except (OSError, ValueError):
                pass
    return found


def below(pid, zombies=False):
    """The descendants of pid, living ones unless zombies are asked for."""
    procs = everything()
    children = {}
    for p in procs.values():
        children.setdefault(p.ppid, []).append(p)
    found, todo = [], [pid]
    while todo:
        for p in children.get(todo.pop(), []):
            todo.append(p.pid)
            if zombies or not p.dead():
                found.append(p)
    return found


def identity(pid):
    """What tells a process from a later one of the same number."""
    return (pid, Proc(pid).start)


def lives(ident):
    try:
        p = Proc(ident[0])
    except OSError:
        return False
    return p.start == ident[1] and not p.dead()


def fds(pid):
    return len(os.listdir('/proc/%d/fd' % pid))


def memory_kib(pid):
    """Its share of memory; what is resident where that may not be read (a
    confined process of an ordinary user)."""
    try:
        with open('/proc/%d/smaps_rollup' % pid) as f:
            for line in f:
                if line.startswith('Pss:'):
                    return int(line.split()[1])
    except PermissionError:
        return int(Proc(pid).status('VmRSS').split()[0])
    return 0


def until(fact, what, patience=30):
    """Waits for a fact that nobody announces; its value, once true."""
    end = time.monotonic() + patience
    while True:
        value = fact()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError('never: ' + what)
        time.sleep(0.01)


class Undying:
    """Keeps a process from dying by SIGKILL until release(); `how` runs in a
    process of its own and gives what release() has to do there."""

    def __init__(self, test, how, pid):
        ready, ours = os.pipe()
        theirs, self.go = os.pipe()
        self.keeper = os.fork()
        if self.keeper == 0:
            try:
                os.close(self.go)
                let_go = how(pid)
                os.write(ours, b'+')
                os.read(theirs, 1)
                let_go()
            finally:
                os._exit(0)
        os.close(ours)
        os.close(theirs)
        held = os.read(ready, 1) == b'+'
        os.close(ready)
        test.closers.append(self.release)
        if not held:
            self.release()
            test.skip('pid %d cannot be held' % pid)

    def release(self):
        if self.keeper is not None:
            with contextlib.suppress(BrokenPipeError):
                os.write(self.go, b'-')  # other keepers have its end too
            os.close(self.go)
            os.waitpid(self.keeper, 0)
        self.keeper = None


def _libc(name, *args):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*args) != 0:
        raise OSError(ctypes.get_errno(), name)


def by_namespace(pid):
    """A process that joined its pid namespace and is not reaped: a killed init
    waits for that."""
    CLONE_NEWUSER, CLONE_NEWPID = 0x10000000, 0x20000000
    ns = '/proc/%d/ns/' % pid
    fd = os.open(ns + 'pid_for_children', os.O_RDONLY | os.O_CLOEXEC)
    if os.geteuid() != 0:
        user = os.open(ns + 'user', os.O_RDONLY | os.O_CLOEXEC)
        _libc('setns', user, CLONE_NEWUSER)
    _libc('setns', fd, CLONE_NEWPID)
    member = os.fork()
    if member == 0:
        while True:
            signal.pause()
    return lambda: os.waitpid(member, 0)


def by_trace(pid):
    """A tracer that does not wait: its parent cannot reap what was killed."""
    PTRACE_SEIZE = 0x4206
    _libc('ptrace', PTRACE_SEIZE, pid, None, None)
    return lambda: None  # the end of the tracer sets it free
