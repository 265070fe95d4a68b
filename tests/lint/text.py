#!/usr/bin/python3
"""Text of the tree: no C file over 600 lines and no script over 1,000, no line
that ends in blanks, no unfinished work, 80 columns in C, a comment at the head
of each .c file."""
import os
import re
import subprocess
import sys

TOP = os.environ.get('OZ0_SRCDIR', '.')
MAX_C, MAX = 600, 1000
SKIP = ('tests/fuzz/corpus/', 'tests/servers/package-lock.json', 'build/',
        'build-aux/', 'autom4te.cache/', '.git/')
ROOTS = ('base', 'wire', 'sandbox', 'supervisor', 'worker', 'journal', 'cli',
         'examples', 'tests', 'bench', 'contrib', 'man', 'configure.ac',
         'Makefile.am', 'autogen.sh', 'check.sh', 'demo.sh', '.ci/run',
         'README.md', 'ARCHITECTURE.md', 'PROTOCOL.md', 'SECURITY.md',
         'HACKING.md', 'NEWS')
UNFINISHED = re.compile(r'\b(TO' r'DO|FIX' r'ME|XX' r'X)\b')
WORK_PATH = '/wo' 'rk/'


def files():
    """What git tracks; in a tarball, what is there."""
    try:
        out = subprocess.run(['git', '-C', TOP, 'ls-files', '-z'], check=True,
                             stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL).stdout
        found = [n for n in out.decode().split('\0') if n]
    except (OSError, subprocess.CalledProcessError):
        found = []
        for root in ROOTS:
            path = os.path.join(TOP, root)
            if os.path.isfile(path):
                found.append(root)
            for at, _, names in os.walk(path):
                found += [os.path.relpath(os.path.join(at, n), TOP)
                          for n in names]
    return [n for n in sorted(found) if not n.startswith(SKIP)
            and os.path.isfile(os.path.join(TOP, n))]


def width(line):
    """Columns, with tabs of 8."""
    n = 0
    for c in line:
        n = n + 8 - n % 8 if c == '\t' else n + 1
    return n


def faults(name):
    with open(os.path.join(TOP, name), 'rb') as f:
        data = f.read()
    if b'\0' in data:
        return
    try:
        lines = data.decode('utf-8').split('\n')
    except UnicodeDecodeError:
        yield '%s: not UTF-8' % name
        return
    code = name.endswith(('.c', '.h', '.py', '.sh', '.mk', '.mjs'))
    most = MAX_C if name.endswith(('.c', '.h')) else MAX
    if code and len(lines) > most + 1:
        yield '%s: %d lines, over %d' % (name, len(lines) - 1, most)
    for i, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield '%s:%d: ends in blanks' % (name, i)
        if UNFINISHED.search(line):
            yield '%s:%d: unfinished: %s' % (name, i, line.strip())
        if WORK_PATH in line:
            yield '%s:%d: a path of somebody\'s machine' % (name, i)
        if name.endswith(('.c', '.h')) and width(line) > 80:
            yield '%s:%d: %d columns' % (name, i, width(line))
    if name.endswith('.c') and not data.startswith(b'/*'):
        yield '%s: no word at its head on what it is for' % name
    if data and not data.endswith(b'\n') and code:
        yield '%s: no newline at its end' % name


found = [line for name in files() for line in faults(name)]
for line in found:
    print(line)
sys.exit(1 if found else 0)
