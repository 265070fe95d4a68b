#!/usr/bin/python3
"""Runs the system tests: a whole node with real servers.

    run.py [--jobs N] [--list] [--keep] [PATTERN]...

Each test_*.py beside this file holds functions test_*(t); a PATTERN (a glob,
or part of a name) selects.  Each test runs in a process and a folder of its
own; prints TAP.  OZ0_TEST_BIN is where the programs are (the build tree),
OZ0_TEST_SERVERS what tests/servers/fetch.sh brought.  As root and as an
ordinary user: what only one of them can show is skipped by the other.
"""
import argparse
import fnmatch
import glob
import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
import traceback

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
from oz0test import case, procs  # noqa: E402
from oz0test.servers import Skip  # noqa: E402

LIMIT = 90  # seconds a test may take, unless it says `.limit`
SKIP = 77


def load():
    tests = {}
    for path in sorted(glob.glob(HERE + '/test_*.py')):
        name = os.path.basename(path)[:-3]
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for key, fn in vars(module).items():
            if key.startswith('test_') and callable(fn):
                tests['%s.%s' % (name[5:], key[5:])] = fn
    return tests


def run_here(name, fn, keep):
    """Runs one test in this process; the exit code says how it went."""
    case.be_subreaper()
    t = case.Case(name)
    code = 0
    try:
        try:
            fn(t)
        finally:
            if sys.exc_info()[0] is None:
                t.finish()
    except Skip as why:
        print('skip: %s' % why)
        code = SKIP
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        code = 1
        for n in t.nodes:
            ended = n.proc.poll()
            if ended is not None:
                print('oz0d %d ended with %d' % (n.pid, ended))
        for path in t.logs():
            with open(path, errors='replace') as f:
                print('--- %s\n%s' % (path, f.read()[-6000:]))
    t.kill_all()
    if not keep:
        t.remove()
    sys.stdout.flush()
    os._exit(code)


def describe(pid):
    """What a test that hangs is doing: each process below it."""
    lines = []
    for p in procs.below(pid, zombies=True):
        lines.append(repr(p))
        for what in ('wchan', 'stack', 'syscall'):
            try:
                with open('/proc/%d/%s' % (p.pid, what)) as f:
                    lines.append('  %s: %s' % (what, f.read().strip()))
            except OSError:
                pass
    return '\n'.join(lines)


def run_apart(name, limit, keep):
    """(code, output, seconds) of a test in a process of its own."""
    began = time.monotonic()
    argv = [sys.executable, os.path.realpath(__file__), '--here', name]
    child = subprocess.Popen(argv + (['--keep'] if keep else []),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True)
    try:
        out, _ = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        hung = describe(child.pid)
        child.send_signal(signal.SIGINT)  # it shows where it is, and logs
        try:
            out, _ = child.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            for p in procs.below(child.pid):
                try:
                    os.kill(p.pid, signal.SIGKILL)
                except OSError:
                    pass
            child.kill()
            out, _ = child.communicate()
        out += ('\nno end within %d s; what there was:\n%s\n' % (
            limit, hung)).encode()
        return 1, out, time.monotonic() - began
    return child.returncode, out, time.monotonic() - began


class Report:
    def __init__(self):
        self.lock = threading.Lock()
        self.count = 0
        self.failed = 0

    def add(self, name, code, out, seconds):
        text = out.decode('utf-8', 'replace').strip()
        with self.lock:
            self.count += 1
            if code == SKIP:
                why = text.splitlines()[-1].replace('skip: ', '', 1)
                print('ok %d - %s # SKIP %s' % (self.count, name, why))
            elif code == 0:
                print('ok %d - %s # %.1f s' % (self.count, name, seconds))
            else:
                self.failed += 1
                print('not ok %d - %s' % (self.count, name))
                for line in text.splitlines():
                    print('# ' + line)
            sys.stdout.flush()


def run_all(tests, jobs, keep):
    """Two lanes: tests marked `.alone` wait until nothing else runs."""
    report = Report()
    shared = [n for n in tests if not getattr(tests[n], 'alone', False)]
    alone = [n for n in tests if n not in shared]
    scale = float(os.environ.get('OZ0_TEST_PATIENCE', '1'))
    lock = threading.Lock()

    def lane(names):
        while True:
            with lock:
                if not names:
                    return
                name = names.pop(0)
            limit = getattr(tests[name], 'limit', LIMIT) * scale
            report.add(name, *run_apart(name, limit, keep))

    lanes = [threading.Thread(target=lane, args=(shared,))
             for _ in range(jobs)]
    for thread in lanes:
        thread.start()
    for thread in lanes:
        thread.join()
    lane(alone)
    print('1..%d' % report.count)
    return 1 if report.failed or report.count == 0 else 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--jobs', type=int, default=2)
    p.add_argument('--list', action='store_true')
    p.add_argument('--keep', action='store_true')
    p.add_argument('--here', action='store_true', help=argparse.SUPPRESS)
    p.add_argument('pattern', nargs='*')
    opt = p.parse_args()

    os.environ.setdefault('OZ0_TEST_BIN',
                          os.environ.get('OZ0_BUILDDIR', os.getcwd()))
    tests = load()
    if opt.here:
        run_here(opt.pattern[0], tests[opt.pattern[0]], opt.keep)
    if opt.pattern:
        tests = {n: f for n, f in tests.items() for g in opt.pattern
                 if fnmatch.fnmatch(n, g) or g in n}
    if opt.list:
        print('\n'.join(tests))
        return 0
    if not os.access(os.environ['OZ0_TEST_BIN'] + '/oz0d', os.X_OK):
        print('Bail out! no oz0d in ' + os.environ['OZ0_TEST_BIN'])
        return 1
    case.be_subreaper()
    return run_all(tests, opt.jobs, opt.keep)


sys.exit(main())
