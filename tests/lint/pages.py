#!/usr/bin/python3
"""Man pages: mandoc finds nothing, every program has one, and the options of
its --help are those of its page."""
import glob
import os
import re
import shutil
import subprocess
import sys

TOP = os.environ.get('OZ0_SRCDIR', '.')
BUILD = os.environ.get('OZ0_BUILDDIR', '.')
PROGRAMS = {'oz0': 1, 'oz0d': 8, 'oz0-worker': 8, 'oz0-sandbox': 8,
            'oz0-journal': 8, 'oz0-demo': 1}
# started by oz0d alone, with descriptors: they need no help of their own
INNER = ('oz0-worker', 'oz0-journal')
OTHER = ('oz0.json.5', 'oz0-control.7')
found = []


def lint(path):
    if shutil.which('mandoc') is None:
        return
    r = subprocess.run(['mandoc', '-Tlint', '-Wwarning', path],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True)
    for line in r.stdout.splitlines():
        # a page of this package that is not installed yet is no fault
        if 'referenced manual not found' not in line:
            found.append(line.replace(TOP + '/', ''))


def page_options(path):
    """Options that the page defines: .It Fl x, .It Fl -long, .It Fl Fl long."""
    options = set()
    with open(path) as f:
        for line in f:
            if not line.startswith('.It Fl '):
                continue
            line = line.replace('\\-', '-').replace('Fl Fl ', 'Fl -')
            options |= {'-' + word for word in re.findall(r'Fl (\S+)', line)}
    return options


def shown_options(text):
    """Options in a help text; -dnV stands for three."""
    options = set()
    for word in re.findall(r'(?<![\w-])(--?[A-Za-z][\w-]*)', text):
        if word.startswith('--'):
            options.add(word)
        else:
            options |= {'-' + c for c in word[1:]}
    return options


def help_options(program):
    path = os.path.join(BUILD, program)
    if not os.access(path, os.X_OK):
        found.append('%s is not built' % program)
        return None
    text = help_text(program, [path])
    # a program with commands: each has a help of its own
    for name in re.findall(r'^  ([a-z]+(?: [a-z]+)?)  ',
                           text.partition('\ncommands:\n')[2], re.M):
        text += help_text(program, [path, *name.split()])
    return shown_options(text)


def help_text(program, command):
    r = subprocess.run([*command, '--help'], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                       text=True, timeout=60)
    if r.returncode != 0 and program not in INNER:
        found.append('%s --help: exit %d' % (
            ' '.join([program, *command[1:]]), r.returncode))
    return r.stdout if r.returncode == 0 else ''


def check_steps():
    """Each event of a trace stands in oz0-control(7), and no other."""
    with open(TOP + '/supervisor/record.c') as f:
        code = set(re.findall(r'^\t\[STEP_\w+\] = "(\w+)",$', f.read(), re.M))
    with open(TOP + '/man/oz0-control.7') as f:
        text = f.read().partition('\n.Ss Steps\n')[2].partition('\n.Ss ')[0]
    page = set(re.findall(r'^\.It Cm (\w+)$', text, re.M))
    for name in sorted(code - page):
        found.append('oz0-control(7) lacks the step ' + name)
    for name in sorted(page - code):
        found.append('oz0-control(7) has a step that is none: ' + name)
    if not code:
        found.append('supervisor/record.c has no names of steps')


check_steps()
for page in sorted(glob.glob(TOP + '/man/*.[1-9]')):
    lint(page)
for name in OTHER:
    if not os.path.exists('%s/man/%s' % (TOP, name)):
        found.append('no page man/%s' % name)
for program, section in PROGRAMS.items():
    page = '%s/man/%s.%d' % (TOP, program, section)
    if not os.path.exists(page):
        found.append('%s has no page' % program)
        continue
    shown = help_options(program)
    if shown is None or (program in INNER and not shown):
        continue
    # these two explain themselves
    trivial = {'--help', '-h', '--version', '-V'}
    defined = page_options(page) - trivial
    shown -= trivial
    for option in sorted(shown - defined):
        found.append('%s --help has %s, its page not' % (program, option))
    for option in sorted(defined - shown):
        found.append('the page of %s has %s, --help not' % (program, option))
for line in found:
    print(line)
sys.exit(1 if found else 0)
