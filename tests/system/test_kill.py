"""L1.9, L1.10: the kill switch of a tool."""
from oz0test import ledger, procs
from oz0test.control import Refused

OK = [{'answer': '{"content":[]}'}]
BUSY = [{'answer': '{"content":[],"isError":true,"_meta":'
         '{"oz0/retryable":true,"oz0/retry_after":30}}'}]


def kinds(t, slots=64, policy=None):
    """A plugin and a job's tool, and one that is left alone."""
    paths, servers = {}, {}
    for name, kind in (('shared', 'plugin'), ('own', 'job'),
                       ('other', 'plugin')):
        servers[name], paths[name] = t.rogue(
            name=name, kind=kind, oz0={
                'stop_timeout': '0.5s',
                'max_running': 9 if name == 'other' else 2})
    node = t.node(servers, slots=slots, policy=policy)
    c = node.client(events=True)
    for job in ('j1', 'j2'):
        c.do('job/start', job=job)
    return node, c, paths


def hold(c, job, function, path, n):
    a = c.call(job, function, {'steps': [{'note': 'in'}, {'beat': 60}]})
    procs.until(lambda: len(ledger.rows(path, 'note')) == n, 'it runs')
    return a


def test_L1_9_running_waiting_and_new(t):
    """Running calls on every job are stopped; queued ones, those that wait
    for a retry or an approval, and new ones are refused; other tools' calls
    go on."""
    node, c, paths = kinds(t, policy=[
        {'function': 'script_honours', 'decision': 'ask'},
        {'decision': 'allow'}])
    for tool, stopped in (('shared', 'not_confirmed'),
                          ('own', 'server_gone')):
        path = paths[tool]
        since = len(c.events)
        busy = c.call('j1', tool + '.script_safe', {'steps': BUSY})
        c.event('retry_waiting', since=since)
        asks = c.call('j2', tool + '.script_honours', {'steps': OK})
        c.event('call_waiting_approval', since=since)
        running = [hold(c, 'j1', tool + '.script', path, 1),
                   hold(c, 'j2', tool + '.script', path, 2)]
        queued = None
        if tool == 'shared':  # its two places are taken
            queued = c.call('j1', tool + '.echo', {})
            procs.until(lambda: any(
                e.get('event') == 'call_accepted'
                and e['function'] == 'shared.echo' for e in c.events),
                'it is queued')
        lives = hold(c, 'j1', 'other.script', paths['other'],
                     len(ledger.rows(paths['other'], 'note')) + 1)
        sent = len(ledger.requests(path))
        t.eq(c.do('tool/kill', tool=tool), {'tool': tool, 'killed': True})
        for a in running:
            r = a.result()
            t.has(r, state='canceled', outcome='unknown', stopped=stopped,
                  attempts=1)
            t.eq(r['error']['reason'], 'killed')
        for a, attempts in ((busy, 1), (asks, 0), (queued, 0)):
            if a is None:
                continue
            r = a.result()
            t.has(r, state='refused', outcome='not_made', attempts=attempts)
            t.eq(r['error']['reason'], 'killed')
        new = c.call('j2', tool + '.script', {'steps': OK}).result()
        t.has(new, state='refused', outcome='not_made', attempts=0)
        t.eq(new['error']['reason'], 'killed')
        t.eq(len(ledger.requests(path)), sent, 'requests after the kill')
        assert not lives.done()
        t.has(c.call('j1', 'other.echo', {}).result(), state='completed')
        c.do('tool/unkill', tool=tool)
        t.has(c.call('j2', tool + '.script', {'steps': OK}).result(),
              state='completed')


def test_L1_9_over_kill_9_and_restart(t):
    """Durable: over a kill -9 right after its answer, and a clean stop."""
    node, c, paths = kinds(t)
    node.cli('kill', 'own', check=0)
    node.kill9()
    t.reap()
    node.start()
    for again in range(2):
        c = node.client()
        job = 'k%d' % again
        c.do('job/start', job=job)
        t.eq(c.do('node/status')['killed'], ['own'])
        r = c.call(job, 'own.script', {'steps': OK}).result()
        t.eq((r['state'], r['error']['reason']), ('refused', 'killed'))
        t.has(c.call(job, 'shared.script', {'steps': OK}).result(),
              state='completed')
        t.eq(node.cli('call', 'own.script').returncode, 3)
        node.stop()
        node.start()
    node.cli('unkill', 'own', check=0)
    node.kill9()
    t.reap()
    node.start()
    c = node.client()
    c.do('job/start', job='k9')
    t.eq(c.do('node/status')['killed'], [])
    t.has(c.call('k9', 'own.script', {'steps': OK}).result(),
          state='completed')
    t.eq(len(ledger.requests(paths['own'])), 1)


def test_L1_9_over_a_start_without_the_tool(t):
    """Durable: also where the tool is not configured at the next start, and
    comes back by SIGHUP."""
    node, c, paths = kinds(t)
    node.cli('kill', 'own', check=0)
    node.stop()
    own = node.config['mcpServers'].pop('own')
    node.start()
    c = node.client()
    c.do('tool/list')
    node.config['mcpServers']['own'] = own
    node.write_config()
    c.do('node/reload')
    t.eq(c.do('node/status')['killed'], ['own'])
    c.do('job/start', job='k1')
    r = c.call('k1', 'own.script', {'steps': OK}).result()
    t.eq((r['state'], r['error']['reason']), ('refused', 'killed'))
    node.cli('unkill', 'own', check=0)
    t.has(c.call('k1', 'own.script', {'steps': OK}).result(),
          state='completed')


def test_L1_9_server(t):
    """--server stops a plugin's server, too; it starts again when its tool
    may be called again."""
    node, c, paths = kinds(t)
    c.call('j1', 'shared.echo', {}).result()
    init = procs.identity(node.one('shared').pid)
    a = hold(c, 'j1', 'shared.script', paths['shared'], 1)
    node.cli('kill', '--server', 'shared', check=0)
    t.has(a.result(), state='canceled')
    procs.until(lambda: not procs.lives(init), 'its server is gone')

    def state():
        return [s['state'] for s in c.do('node/status')['servers']
                if s['tool'] == 'shared']
    procs.until(lambda: state() in (['stopped'], []), 'it stays stopped')
    t.eq(node.find('oz0-sandbox: shared'), [])
    node.cli('unkill', 'shared', check=0)
    t.has(c.call('j1', 'shared.echo', {}).result(), state='completed')


def test_L1_9_without_server(t):
    """Without it the shared server lives on."""
    node, c, paths = kinds(t)
    c.call('j1', 'shared.echo', {}).result()
    init = procs.identity(node.one('shared').pid)
    node.cli('kill', 'shared', check=0)
    node.cli('unkill', 'shared', check=0)
    t.has(c.call('j1', 'shared.echo', {}).result(), state='completed')
    assert procs.lives(init)
    t.eq(len(ledger.rows(paths['shared'], 'start')), 1)


def test_L1_9_twice_unknown_and_trace(t):
    node, c, paths = kinds(t)
    for method, killed in (('tool/kill', True), ('tool/kill', True),
                           ('tool/unkill', False), ('tool/unkill', False)):
        t.eq(c.do(method, tool='own'), {'tool': 'own', 'killed': killed})
    events = [e['event'] for e in c.events
              if e.get('event') in ('tool_killed', 'tool_unkilled')]
    t.eq(events, ['tool_killed', 'tool_unkilled'])
    for method in ('tool/kill', 'tool/unkill'):
        try:
            c.do(method, tool='nope')
            raise AssertionError('taken')
        except Refused as e:
            t.eq(e.reason, 'unknown_tool')
    t.eq(node.cli('kill', 'nope').returncode, 5)
