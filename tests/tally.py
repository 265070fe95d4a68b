#!/usr/bin/python3
"""Counts what check.sh ran and prints the one line it ends with.

    tally.py [--expected FILE] RESULTS

RESULTS is a folder of NAME.rc (a step's exit code), NAME.tap (TAP) and
NAME.trs/ (a copy of automake's *.trs with their logs).  Under CI=true a skip
that FILE does not list is a failure.
"""
import argparse
import fnmatch
import glob
import os
import re
import sys


def from_tap(path):
    """(name, verdict, note) of each line; a plan that is not met fails."""
    label = os.path.basename(path)[:-4]
    rows, plan = [], None
    with open(path, errors='replace') as f:
        for line in f:
            m = re.match(r'(not )?ok\b\s*\d*\s*-?\s*(.*)', line)
            if m:
                name, _, note = m.group(2).partition(' # ')
                skip = note.startswith('SKIP')
                rows.append(('%s: %s' % (label, name.strip()),
                             'skip' if skip else
                             'fail' if m.group(1) else 'pass',
                             note[5:].strip() if skip else ''))
            elif re.match(r'1\.\.\d+', line):
                plan = int(line[3:].split()[0])
            elif line.startswith('Bail out!'):
                rows.append((label, 'fail', line.strip()))
    if plan != len(rows):
        rows.append((label + ': plan', 'fail', 'ended early'))
    return rows


def from_trs(folder):
    """A test of automake's harness; one of libcheck counts each of its
    checks."""
    label = os.path.basename(folder)[:-4]
    rows = []
    for path in sorted(glob.glob(folder + '/**/*.trs', recursive=True)):
        name = '%s: %s' % (label, os.path.relpath(path, folder)[:-4])
        with open(path) as f:
            result = re.search(r':test-result: (\w+)', f.read())
        result = result.group(1) if result else 'ERROR'
        with open(path[:-4] + '.log', errors='replace') as f:
            log = f.read()
        sums = re.findall(
            r'^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)', log,
            re.M)
        if result == 'SKIP':
            rows.append((name, 'skip', (log.strip().splitlines()
                                        or [''])[0]))
        elif result != 'PASS':
            rows.append((name, 'fail', ''))
        else:
            passed = sum(int(n) for n, _, _ in sums) or 1
            rows += [(name, 'pass', '')] * passed
    return rows


def from_rc(path):
    with open(path) as f:
        code = f.read().strip()
    return [(os.path.basename(path)[:-3],
             {'0': 'pass', '77': 'skip'}.get(code, 'fail'), '')]


def expected(path):
    """Globs of `name # reason`, one a line."""
    with open(path) as f:
        return [line.strip() for line in f
                if line.strip() and not line.startswith('#')]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--expected')
    p.add_argument('results')
    opt = p.parse_args()
    rows = []
    for path in sorted(glob.glob(opt.results + '/*')):
        for ending, read in (('.tap', from_tap), ('.trs', from_trs),
                             ('.rc', from_rc)):
            if path.endswith(ending):
                rows += read(path)
    listed = expected(opt.expected) if opt.expected else []
    count = {'pass': 0, 'fail': 0, 'skip': 0}
    for name, verdict, note in rows:
        text = name + (' # ' + note if note else '')
        if verdict == 'skip':
            print('skipped: ' + text)
            if os.environ.get('CI') == 'true' and not any(
                    fnmatch.fnmatch(text, g) for g in listed):
                print('failed: that skip is not in %s' % opt.expected)
                verdict = 'fail'
        elif verdict == 'fail':
            print('failed: ' + text)
        count[verdict] += 1
    print('%d passed, %d failed, %d skipped' % (
        count['pass'], count['fail'], count['skip']))
    return 1 if count['fail'] or not count['pass'] else 0


sys.exit(main())
