#!/usr/bin/python3
"""PROTOCOL.md's table of messages is wire/message.c's.

A row of the page begins `| number | NAME | S → W |`, by the first letter of
the role (B is a sandbox), and each message of the table has one; none is
there that is not in the table.
"""
import os
import re
import sys

TOP = os.environ.get('OZ0_SRCDIR', '.')
ROLES = {'SUP': 'S', 'WKR': 'W', 'BOX': 'B', 'JNL': 'J'}


def read(name):
    with open(os.path.join(TOP, name)) as f:
        return f.read()


numbers = {name: int(n) for name, n in re.findall(
    r'^\tWIRE_([A-Z_]+) = (\d+),', read('wire/message.h'), re.M)}
table = {name: (numbers[name], ROLES[a], ROLES[b]) for name, a, b in re.findall(
    r'MSG\(([A-Z_]+), (\w+), (\w+),', read('wire/message.c'))}
page = {name: (int(n), a, b) for n, name, a, b in re.findall(
    r'^\|\s*(\d+)\s*\|\s*`?([A-Z_]+)`?\s*\|\s*(\w+)\s*(?:->|→)\s*(\w+)\s*\|',
    read('PROTOCOL.md'), re.M)}

found = []
for name in sorted(set(table) | set(page)):
    if table.get(name) != page.get(name):
        found.append('%s: wire/message.c has %s, PROTOCOL.md %s' % (
            name, table.get(name), page.get(name)))
seen = {}
for name, (n, _, _) in table.items():
    if n in seen:
        found.append('number %d is used by %s and %s' % (n, seen[n], name))
    seen[n] = name
if not table:
    found.append('no table found in wire/message.c')
for line in found:
    print(line)
sys.exit(1 if found else 0)
