"""What a server may do on its stdio, and what it costs (L3.7a, L3.7b, L9.4)."""
import json
import os

from oz0test import procs
from oz0test.node import SERVERS, ledger_lines, ledger_rows


def one(t, *args, kind='job', node=None, **oz0):
    entry, ledger = t.rogue(*args, kind=kind, oz0=oz0)
    node = t.node({'own': entry}, **(node or {}))
    c = node.client(events=True)
    c.do('job/start', job='j1')
    return node, c, ledger


def works(t, c, patience=30):
    r = c.call('j1', 'own.echo', {'a': 1}).result(patience)
    t.has(r, state='completed')
    t.eq(r['result']['structuredContent'], {'a': 1})


def answer(*before, result='{"content":[],"v":1}'):
    return {'steps': [*before, {'answer': result}]}


def test_noise_before_and_between(t):
    """Banner, blank lines, CRLF, bad UTF-8, glued text: skipped, traced."""
    node, c, ledger = one(t, '--before', json.dumps([
        {'out': 'npm warn something\n\n\r\n'}, {'hex': 'fffe0a'},
        {'out': '[50] log{"jsonrpc":"2.0"}\n[]\n42\n"x"\nnull\n'}]))
    works(t, c)
    r = c.call('j1', 'own.script', answer(
        {'out': 'noise\n'}, {'hex': 'c3280a'},
        {'out': '{"jsonrpc":"2.0","method":"notifications/what"}\r\n'},
        {'out': '{"jsonrpc":"2.0","id":424242,"result":{}}\n'},
        {'out': '[{"jsonrpc":"2.0","id":%ID%,"result":{}}]\n'})).result()
    t.has(r, state='completed')
    t.eq(r['result']['v'], 1)


def test_L3_7b_endless_noise(t):
    """1,000 lines without a good message: stopped as broken, at once."""
    node, c, ledger = one(t)
    r = c.call('j1', 'own.script', {'steps': [
        {'out': 'noise\n', 'repeat': 1100}, {'sleep': 60}]}).result()
    t.has(r, state='failed', outcome='unknown')
    t.eq(r['error']['reason'], 'server_ended')
    works(t, c)


def test_L3_7b_good_messages_between(t):
    node, c, ledger = one(t)
    burst = [{'out': 'noise\n', 'repeat': 800},
             {'out': '{"jsonrpc":"2.0","method":"notifications/x"}\n'}]
    r = c.call('j1', 'own.script', answer(*burst, *burst, *burst)).result()
    t.has(r, state='completed')


def test_endless_line(t):
    """A valid line, then 64 MiB without an end: bounded, the valid counts."""
    node, c, ledger = one(t, node={'max_message': '1MiB'})
    r = c.call('j1', 'own.script', answer(
        result='{"content":[],"v":2}')).result()
    t.has(r, state='completed')
    worker = node.one('oz0-worker: session')
    r = c.call('j1', 'own.script', {'steps': [
        {'out': 'x' * 65536, 'repeat': 1024}, {'sleep': 60}]}).result()
    t.has(r, state='failed', outcome='unknown')
    if not os.environ.get('OZ0_TEST_SANITIZERS'):
        found = node.find('oz0-worker: session')
        for p in found:
            assert procs.memory_kib(p.pid) < 40 * 1024, procs.memory_kib(p.pid)
    assert worker


def test_too_long_line_resynchronises(t):
    """A line over the limit that answers nothing, then a good answer."""
    node, c, ledger = one(t, node={'max_message': '1MiB'})
    r = c.call('j1', 'own.script', answer(
        {'out': 'z' * 65536, 'repeat': 15}, {'out': 'z' * 70000 + '\n'})
    ).result()
    assert r['state'] == 'completed' or \
        r['error']['reason'] == 'server_ended', r
    works(t, c)


def test_stderr_floods(t):
    """Drained from the first byte, bounded, its tail in the trace."""
    node, c, ledger = one(t, '--before', '[{"err": 1048576}]')
    works(t, c)
    r = c.call('j1', 'own.script', {'steps': [
        {'err': 4 << 20}, {'errtext': 'the last words\n'},
        {'exit': 3}]}).result()
    t.has(r, state='failed', outcome='unknown')
    ended = c.event('server_ended', tool='own')
    text = json.dumps(ended)
    assert 'the last words' in text and '3' in text, ended
    assert len(text) < 20000, len(text)


def test_crash_at_start_is_prompt(t):
    """B046: the caller learns at once, with the exit code and the reason."""
    entry = {'command': '/bin/sh', 'args': ['-c', 'echo boom >&2; exit 3'],
             'oz0': {'kind': 'job', 'max_attempts': 1}}
    node = t.node({'own': entry})
    c = node.client(events=True)
    c.do('job/start', job='j1')
    r = c.call('j1', 'own.echo', {}).result(patience=10)
    t.has(r, state='failed', outcome='not_made')
    t.eq(r['error']['reason'], 'server_start')
    assert 'boom' in json.dumps(c.event('server_ended')), c.events


def test_command_not_there(t):
    entry = {'command': '/no/such/program', 'oz0': {'kind': 'job',
                                                    'max_attempts': 1}}
    node = t.node({'own': entry})
    c = node.client(events=True)
    c.do('job/start', job='j1')
    r = c.call('j1', 'own.echo', {}).result(patience=10)
    t.has(r, state='failed', outcome='not_made')
    assert '/no/such/program' in json.dumps(r) + json.dumps(c.events), r


def test_big_answer_then_exit(t):
    """B041: 4 MiB and gone at once: all of it counts."""
    node, c, ledger = one(t)
    a = c.call('j1', 'own.script', {'steps': [
        {'answer': '{"content":[],"s":"' + 'b' * (4 << 20) + '"}'},
        {'exit': 0}]})
    t.has(a.result(), state='completed', outcome='made')
    t.eq(len(a.raw('result', 'result', 's')), (4 << 20) + 2)


def test_ids(t):
    """String ids for ours, answers twice, errors without an id."""
    node, c, ledger = one(t)
    r = c.call('j1', 'own.script', answer(
        {'out': '{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}\n'},
        {'out': '{"jsonrpc":"2.0","id":null,"error":{"code":0,"message":""}}'
                '\n'})).result()
    t.has(r, state='completed')
    r = c.call('j1', 'own.script', {'steps': [
        {'answer': '{"content":[],"n":1}'},
        {'answer': '{"content":[],"n":2}'}]}).result()
    t.eq(r['result']['n'], 1, 'the first counts')
    r = c.call('j1', 'own.script', {'steps': [
        {'out': '{"jsonrpc":"2.0","id":"%ID%","result":{"content":[]}}\n'}]},
        timeout=5).result(patience=10)
    assert r['state'] == 'completed' or r['outcome'] == 'unknown', r
    used = [m['id'] for _, m in ledger_lines(ledger) if 'id' in m
            and 'method' in m]
    t.eq(len(used), len(set(map(str, used))), 'ids are never used again')


def test_server_requests_legacy(t):
    """ping answered, all else refused, at once, while ours wait."""
    node, c, ledger = one(t)
    for method in ('ping', 'roots/list', 'sampling/createMessage', 'x/y'):
        a = c.call('j1', 'own.script', {'steps': [
            {'request': method}, {'until': 'cancel'}]})
        procs.until(lambda: any(m.get('id') == 7777 for _, m in
                                ledger_lines(ledger)), 'it was answered')
        got = [m for _, m in ledger_lines(ledger) if m.get('id') == 7777][-1]
        if method == 'ping':
            t.eq(got.get('result'), {})
        else:
            t.eq(got['error']['code'], -32601)
        a_call = [e for e in c.events if e['event'] == 'call_accepted'][-1]
        c.do('call/cancel', call=a_call['call'])
        a.result()
        os.truncate(ledger, 0)


def test_server_requests_modern(t):
    """2026-07-28: a server's request is logged and dropped, not answered."""
    node, c, ledger = one(t, '--era', 'modern')
    r = c.call('j1', 'own.script', answer({'request': 'ping'},
                                          {'sleep': 0.2})).result()
    t.has(r, state='completed')
    works(t, c)
    t.eq([m for _, m in ledger_lines(ledger) if m.get('id') == 7777], [])


def test_modern_meta(t):
    """The required _meta on each modern request."""
    node, c, ledger = one(t, '--era', 'modern')
    works(t, c)
    for _, m in ledger_lines(ledger):
        if 'id' in m:
            meta = m['params']['_meta']
            t.eq(meta['io.modelcontextprotocol/protocolVersion'],
                 '2026-07-28')
            assert isinstance(
                meta['io.modelcontextprotocol/clientCapabilities'], dict)
    assert not [m for _, m in ledger_lines(ledger)
                if m.get('method') == 'initialize']


def test_discover_exit(t):
    """EOF on the probe: started once more, straight to initialize."""
    node, c, ledger = one(t, '--on-discover', 'exit')
    works(t, c)
    t.eq(len([r for r in ledger_rows(ledger) if r['what'] == 'start']), 2)


def test_discover_silent(t):
    node, c, ledger = one(t, '--on-discover', 'silent')
    works(t, c, patience=60)


def test_discover_odd_errors(t):
    for code in ('0', '-32602', '-32000'):
        entry, _ = t.rogue('--on-discover', code, name='r' + code)
        node = t.node({'own': entry}, name='n' + code)
        c = node.client()
        c.do('job/start', job='j1')
        works(t, c)


def test_versions(t):
    """Each known version is taken, an unknown one is an error that names it."""
    for v in ('2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'):
        entry, _ = t.rogue('--version', v, name='r' + v)
        node = t.node({'own': entry}, name='n' + v)
        c = node.client(events=True)
        c.do('job/start', job='j1')
        works(t, c)
        t.eq(c.event('server_ready')['era'], v)
    entry, _ = t.rogue('--version', '1999-01-01', oz0={'max_attempts': 1})
    node = t.node({'own': entry}, name='old')
    c = node.client(events=True)
    c.do('job/start', job='j1')
    r = c.call('j1', 'own.echo', {}).result()
    t.has(r, state='failed', outcome='not_made')
    assert '1999-01-01' in json.dumps(r) + json.dumps(c.events), r


def test_paging(t):
    tools = [{'name': 'f%d' % i, 'inputSchema': {'type': 'object'}}
             for i in range(30)]
    tools[7]['name'] = 'echo'
    node, c, ledger = one(t, '--tools', json.dumps(tools), '--pages', '1')
    works(t, c)
    listed = c.do('tool/functions', tool='own')
    text = json.dumps(listed)
    assert all('f%d' % i in text for i in range(30) if i != 7), text


def test_paging_without_end(t):
    node, c, ledger = one(t, '--pages', '-1', max_attempts=1)
    r = c.call('j1', 'own.echo', {}).result(patience=30)
    t.has(r, state='failed', outcome='not_made')


def test_list_changed(t):
    """list_changed: asked again, and calls go on."""
    node, c, ledger = one(t)
    works(t, c)
    before = len([m for _, m in ledger_lines(ledger)
                  if m.get('method') == 'tools/list'])
    r = c.call('j1', 'own.script', answer(
        {'out': '{"jsonrpc":"2.0","method":"notifications/tools/'
                'list_changed"}\n'})).result()
    t.has(r, state='completed')
    procs.until(lambda: len([m for _, m in ledger_lines(ledger)
                             if m.get('method') == 'tools/list']) > before,
                'the listing is asked for again')
    works(t, c)


def test_input_required_state_only(t):
    """L3.7a: a requestState alone is answered, new id, same key."""
    node, c, ledger = one(t, '--era', 'modern')
    r = c.call('j1', 'own.script', {'steps': [
        {'answer': '{"resultType":"input_required","requestState":"q\\u00e9"}'
         }]}, activity='x').result()
    t.has(r, state='failed', outcome='unknown')
    t.eq(r['error']['reason'], 'input_required')
    calls = [m for _, m in ledger_lines(ledger)
             if m.get('method') == 'tools/call']
    t.eq(len(calls), 11, 'the request and ten rounds')
    t.eq(len({m['id'] for m in calls}), 11)
    t.eq({m['params']['_meta']['oz0/idempotency_key'] for m in calls},
         {'j1/x'})
    t.eq({m['params'].get('requestState') for m in calls[1:]}, {'q\u00e9'})


def test_L3_7a_input_never_offered(t):
    node, c, ledger = one(t, '--era', 'modern')
    r = c.call('j1', 'own.script', {'steps': [
        {'answer': '{"resultType":"input_required","inputRequests":{"a":'
         '{"method":"elicitation/create","params":{}}},"requestState":"s"}'}
    ]}).result()
    t.has(r, state='failed', outcome='unknown', attempts=1)
    t.eq(r['error']['reason'], 'input_required')


def test_L9_3_plugin_ends(t):
    """Started again; its calls in flight fail with unknown outcome."""
    node, c, ledger = one(t, kind='plugin', backoff_base='0.1s')
    r = c.call('j1', 'own.script', {'steps': [{'exit': 7}]}).result()
    t.has(r, state='failed', outcome='unknown')
    t.eq(r['error']['reason'], 'server_ended')
    works(t, c)
    server = c.do('node/status')['servers'][0]
    t.has(server, state='ready')
    assert server['restarts'] >= 1, server


def test_broken_plugin_is_told(t):
    """Why a plugin is not ready: status and the log say it, until it is."""
    script = t.write('server.py', 'print()')
    node = t.node({'own': {'command': '/usr/bin/python3', 'args': [script],
                           'oz0': {'kind': 'plugin', 'max_attempts': 1}}})
    c = node.client()
    c.do('job/start', job='j1')
    t.has(c.call('j1', 'own.echo', {}).result(), state='failed')
    server = c.do('node/status')['servers'][0]
    out = node.cli('status', check=0).stdout.decode()
    for words in ('exit code 2', script, 'sandbox.read'):
        assert words in server['reason'], server
        assert words in node.log(), node.log()
        assert words in out, out
    assert out.endswith('(oz0 logs own)\n'), out


def test_broken_plugin_is_mended(t):
    node, c, ledger = one(t, kind='plugin', backoff_base='0.1s')
    c.call('j1', 'own.script', {'steps': [{'exit': 7}]}).result()
    works(t, c)
    server = c.do('node/status')['servers'][0]
    assert 'reason' not in server, server
    assert 'it ended by itself (exit code 7)' in node.log(), node.log()


def test_slow_start_without_network(t):
    """What a server that fetches itself runs into: npx, uvx."""
    node = t.node({'own': {'command': 'sleep', 'args': ['60'],
                           'oz0': {'kind': 'job', 'start_timeout': '0.2s',
                                   'max_attempts': 1}}})
    c = node.client()
    c.do('job/start', job='j1')
    r = c.call('j1', 'own.echo', {}).result()
    for words in ('start_timeout', 'no network: see sandbox.network'):
        assert words in r['error']['message'], r


def test_restart_command(t):
    node, c, ledger = one(t, kind='plugin')
    works(t, c)
    pid = c.do('node/status')['servers'][0]['pid']
    node.cli('restart', 'own', check=0)
    works(t, c)
    assert c.do('node/status')['servers'][0]['pid'] != pid


def test_logs(t):
    node, c, ledger = one(t, '--before', '[{"errtext":"said on stderr\\n"}]',
                          kind='plugin')
    works(t, c)
    out = node.cli('logs', 'own', check=0).stdout.decode()
    assert 'said on stderr' in out, out


def test_stdio_pipe(t):
    node, c, ledger = one(t, stdio='pipe')
    works(t, c)
    c.send('job/cancel', job='j1')
    c.event('job_canceled')


def test_sandbox_seen_from_inside(t):
    """SESSION's table, as the server sees it."""
    os.environ['OZ0_TEST_SECRET'] = 'hush'
    entry, ledger = t.rogue(env={'MINE': 'yes'})
    node = t.node({'own': entry})
    c = node.client()
    c.do('job/start', job='j1')

    def see(name, args=None):
        r = c.call('j1', 'own.' + name, args or {}).result()
        return json.loads(r['result']['content'][0]['text'])
    who = see('id')
    t.eq(who['cwd'], '/session')
    if t.root:
        assert 1879048192 <= who['uid'] <= 1879113727, who['uid']
    else:
        t.eq(who['uid'], os.getuid())
    t.eq(len([f for f in who['fds'] if int(f) > 2]) <= 2, True,
         'descriptors: %s' % who['fds'])  # its ledger and the listing itself
    status = dict(line.split(':', 1) for line in who['status'].splitlines())
    for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'):
        t.eq(int(status[name], 16), 0, name)
    t.eq(status['NoNewPrivs'].strip(), '1')
    t.eq(status['Seccomp'].strip(), '2')
    env = see('env')
    t.eq(env.get('MINE'), 'yes')
    assert 'OZ0_TEST_SECRET' not in env, env
    assert set(env) <= {'PATH', 'HOME', 'LANG', 'TZ', 'TMPDIR', 'MINE',
                        'PWD', 'LC_CTYPE'}, env
    t.eq(env['HOME'], '/session')
    t.eq(see('ls', {'path': '/session'}), [])
    binds = {p.split('/')[2] for p in (t.top, SERVERS)
             if p.startswith('/tmp/')}
    t.eq(see('ls', {'path': '/tmp'}), sorted(binds))
    assert 'error' in see('ls', {'path': '/root'}), see('ls',
                                                        {'path': '/root'})
    t.eq(see('ls', {'path': '/sys'}) == [] or 'error' in see(
        'ls', {'path': '/sys'}), True)
    pids = [p for p in see('ls', {'path': '/proc'}) if p.isdigit()]
    assert len(pids) <= 3, pids
    assert sorted(see('ls', {'path': '/dev'})), 'a /dev'
