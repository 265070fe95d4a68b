"""Real servers, each as a job's own server in the sandbox and as a plugin."""
import json
import os

from oz0test import servers


def text_of(result):
    return ' '.join(c.get('text', '') for c in result['result']['content'])


def check(t, make, call, want, era):
    """The server works as both kinds; the cancel of a job ends it."""
    node = t.node({'own': make('job'), 'shared': make('plugin')})
    c = node.client(events=True)
    c.do('job/start', job='j1')
    function, arguments = call
    for tool in ('own', 'shared'):
        r = c.call('j1', '%s.%s' % (tool, function), arguments).result()
        t.has(r, state='completed', outcome='made', attempts=1)
        assert want in text_of(r), r
        if era:
            ready = c.event('server_ready', tool=tool)
            t.eq(ready.get('era'), era, 'era of ' + tool)
    listed = c.do('tool/functions')
    assert function in json.dumps(listed), listed
    c.send('job/cancel', job='j1')
    c.event('job_canceled', job='j1')
    t.eq([p for p in node.processes() if 'j1/1' in p.cmdline()], [])
    r = c.do('job/status', job='j1')
    t.has(r, state='CANCELED')
    # the shared one goes on
    c.do('job/start', job='j2')
    r = c.call('j2', 'shared.' + function, arguments).result()
    t.has(r, state='completed')


def test_everything(t):
    check(t, servers.everything, ('echo', {'message': 'hello there'}),
          'hello there', '2025-11-25')


def test_filesystem(t):
    check(t, servers.filesystem, ('list_allowed_directories', {}), '/s',
          '2025-11-25')


def test_filesystem_writes_its_session(t):
    node = t.node({'files': servers.filesystem(), 'own': t.rogue()[0]})
    c = node.client()
    c.do('job/start', job='j1')
    r = c.call('j1', 'files.write_file', {'path': '/session/a.txt',
                                          'content': 'kept'}).result()
    t.has(r, state='completed')
    assert not r['result'].get('isError'), r
    r = c.call('j1', 'own.ls', {'path': '/session'}).result()
    t.eq(json.loads(text_of(r)), ['a.txt'], 'one folder for the session')


def test_typescript_v2(t):
    check(t, servers.typescript, ('read_thing', {'path': 'p'}),
          'contents of p', '2026-07-28')


def test_python_v2(t):
    check(t, servers.python, ('key', {}), '/', '2026-07-28')


def test_python_cancel_reaches_async(t):
    """L1.2 on a real SDK: the cancel ends an async function of a plugin."""
    entry = servers.python('plugin')
    entry['oz0']['stop_timeout'] = '1s'
    folder = t.dir('seen', open_to_all=True)
    entry['env'] = {'OZ0_TEST_LEDGER': folder + '/ledger'}
    entry['oz0']['sandbox']['write'] = [folder]
    node = t.node({'py': entry})
    c = node.client(events=True)
    c.do('job/start', job='j1')
    a = c.call('j1', 'py.nap', {'seconds': 30})
    from oz0test import procs
    procs.until(lambda: os.path.exists(folder + '/ledger')
                and 'begins' in open(folder + '/ledger').read(), 'it began')
    c.do('call/cancel', call=c.event('call_accepted')['call'])
    t.has(a.result(), state='canceled')
    procs.until(lambda: 'nap cancelled' in open(folder + '/ledger').read(),
                'the server saw the cancel')


def test_go_time(t):
    check(t, servers.go_time, ('current_time', {}), '20', '2025-03-26')


def test_go_official(t):
    """mcp-cron, which neither EOF nor SIGTERM ends: the ladder's last rung."""
    check(t, servers.go_cron, ('list_tasks', {}), '[]', '2025-11-25')


def test_rust(t):
    check(t, servers.rust_leanspec, ('get_capabilities', {}), 'markdown',
          '2024-11-05')
