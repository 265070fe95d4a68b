"""Entries of mcpServers for the real servers of tests/servers/fetch.sh."""
import os

from .node import SERVERS, program


class Skip(Exception):
    """Raised by a test that cannot run here; the reason is counted."""


def cache():
    path = os.environ.get('OZ0_TEST_SERVERS', '')
    if not os.path.exists(path + '/stamp'):
        raise Skip('no real servers: run tests/servers/fetch.sh and set '
                   'OZ0_TEST_SERVERS')
    return path


def entry(command, *args, kind='job', env=None, read=(), **oz0):
    e = {'command': command, 'args': list(args),
         'oz0': {'kind': kind, 'sandbox': {'read': list(read)}, **oz0}}
    if env:
        e['env'] = env
    return e


def everything(kind='job'):
    c = cache()
    return entry(c + '/node', c + '/npm/node_modules/@modelcontextprotocol/'
                 'server-everything/dist/index.js', kind=kind, read=[c])


def filesystem(kind='job', root=None):
    c = cache()
    root = root or ('/session' if kind == 'job' else '/state')
    return entry(c + '/node', c + '/npm/node_modules/@modelcontextprotocol/'
                 'server-filesystem/dist/index.js', root, kind=kind, read=[c])


def typescript(kind='job'):
    c = cache()
    return entry(c + '/node', c + '/npm/ts_server.mjs', kind=kind, read=[c])


def python(kind='job'):
    c = cache()
    return entry(c + '/venv/bin/python3', SERVERS + '/py_server.py', kind=kind,
                 read=[c, SERVERS])


def go_time(kind='job'):
    c = cache()
    return entry(c + '/npm/node_modules/mcp-time-linux-x64/bin/mcp-time',
                 kind=kind, read=[c])


def go_cron(kind='job'):
    c = cache()
    return entry(c + '/npm/node_modules/mcp-cron-linux-amd64/bin/mcp-cron',
                 '-transport', 'stdio', kind=kind, read=[c])


def rust_leanspec(kind='job'):
    c = cache()
    return entry(c + '/npm/node_modules/@leanspec/mcp-linux-x64/leanspec-mcp',
                 kind=kind, read=[c])


def demo(kind='job', *args, **oz0):
    exe = program('oz0-demo')
    return entry(exe, *args, kind=kind, read=[os.path.dirname(exe)], **oz0)
