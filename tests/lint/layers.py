#!/usr/bin/python3
"""Includes obey the layers, and each library has one door (DESIGN).

base <- wire, base <- sandbox, then the process rooms, which never include
each other.  sandbox/ does not include wire/ but for the program oz0-sandbox
(main.c and what speaks on its control socket).
"""
import os
import re
import sys

TOP = os.environ.get('OZ0_SRCDIR', '.')
MAY = {
    'base': {'base'},
    'wire': {'base', 'wire'},
    'sandbox': {'base', 'wire', 'sandbox'},
    'supervisor': {'base', 'wire', 'sandbox', 'supervisor'},
    'worker': {'base', 'wire', 'sandbox', 'worker'},
    'journal': {'base', 'wire', 'sandbox', 'journal'},
    'cli': {'base', 'wire', 'cli'},
    'examples': {'base', 'examples'},
}
# headers of a library -> where they may be included
DOORS = {
    r'seccomp\.h': {'sandbox'},
    r'sys/capability\.h': {'sandbox'},
    r'sqlite3\.h': {'journal'},
    r'jansson\.h': {'supervisor', 'cli'},
    r'xxhash\.h': {'wire'},
    r'curl/.*': {'worker'},
    r'event2?/.*': {'supervisor', 'worker', 'journal'},
}
# `wire` of sandbox/: only what talks to the supervisor
SANDBOX_WIRE = re.compile(r'^sandbox/(main|init|control|helper|by_hand)[a-z_]*\.[ch]$')


def sources(room):
    for at, _, names in os.walk(os.path.join(TOP, room)):
        for name in sorted(names):
            if name.endswith(('.c', '.h')):
                yield os.path.relpath(os.path.join(at, name), TOP)


def faults():
    for room, may in MAY.items():
        for path in sources(room):
            with open(os.path.join(TOP, path)) as f:
                text = f.read()
            own = re.findall(r'^#\s*include\s+"([^"]+)"', text, re.M)
            for name in own:
                other = name.split('/')[0]
                if name == 'config.h':
                    continue
                if other not in may:
                    yield '%s includes "%s"' % (path, name)
                elif room == 'sandbox' and other == 'wire' \
                        and not SANDBOX_WIRE.match(path):
                    yield '%s includes "%s": only the program may' % (
                        path, name)
            for name in re.findall(r'^#\s*include\s+<([^>]+)>', text, re.M):
                for door, rooms in DOORS.items():
                    if re.fullmatch(door, name) and room not in rooms:
                        yield '%s includes <%s>: its door is %s' % (
                            path, name, '/, '.join(sorted(rooms)) + '/')


found = list(faults())
for line in found:
    print(line)
sys.exit(1 if found else 0)
