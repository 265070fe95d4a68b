"""L6.1, L6.2: what may be called; when it is asked, and how it changes."""
import json
import signal

from oz0test import ledger, procs
from oz0test.control import Refused

OK = [{'answer': '{"content":[]}'}]
HINTS = [
    ('reads', {'readOnlyHint': True}),
    ('silent', None),
    ('harms', {'destructiveHint': True}),
    ('mild', {'destructiveHint': False, 'openWorldHint': False}),
    ('again', {'idempotentHint': True}),
    ('odd', {'readOnlyHint': 'true', 'destructiveHint': 0}),
]


def tool(t, name, kind='plugin', **oz0):
    """A server whose functions have each kind of hint."""
    listed = [{'name': 'script_' + n, 'inputSchema': {'type': 'object'},
               **({'annotations': a} if a is not None else {})}
              for n, a in HINTS]
    return t.rogue('--tools', json.dumps(listed), name=name, kind=kind,
                   oz0=oz0)


def decided(c, job, function):
    r = c.call(job, function, {'steps': OK}).result()
    if r['state'] == 'completed':
        return 'allow'
    t = r['error']['reason']
    assert (r['state'], r['outcome'], r['attempts']) == (
        'refused', 'not_made', 0), r
    return t


def table(t, policy, want, jobs=(('j1', 'default'),)):
    """want: (job, function) -> allow or the reason of the refusal."""
    a, a_path = tool(t, 'alpha')
    b, b_path = tool(t, 'beta', kind='job')
    node = t.node({'alpha': a, 'beta': b}, policy=policy)
    c = node.client()
    for job, tenant in jobs:
        c.do('job/start', job=job, tenant=tenant)
    got = {k: decided(c, *k) for k in want}
    t.eq(got, want)
    sent = len(ledger.requests(a_path)) + len(ledger.requests(b_path))
    t.eq(sent, list(want.values()).count('allow'), 'requests sent')
    return node, c


def test_L6_1_first_match_and_globs(t):
    """Tenant, tool and function globs; the first match decides; nothing
    matched: refuse."""
    jobs = (('j1', 'acme'), ('j2', 'acme-eu'), ('j3', 'other'))
    table(t, [
        {'tenant': 'acme*', 'tool': 'alpha', 'function': '*_?[ai]*',
         'decision': 'allow'},  # a bracket is a bracket
        {'tenant': 'acme*', 'tool': 'alpha', 'function': '*_??*r*',
         'decision': 'refuse'},
        {'tenant': 'acme*', 'tool': 'alpha', 'function': '*_mi?d',
         'decision': 'refuse'},
        {'tenant': 'acme', 'decision': 'allow'},
        {'tool': '?eta', 'function': '*_reads', 'decision': 'allow'},
    ], {
        ('j1', 'alpha.script_harms'): 'refused',
        ('j1', 'alpha.script_mild'): 'refused',
        ('j1', 'beta.script_mild'): 'allow',
        ('j1', 'alpha.script_silent'): 'allow',
        ('j2', 'alpha.script_harms'): 'refused',
        ('j2', 'alpha.script_reads'): 'refused',
        ('j2', 'beta.script_reads'): 'allow',
        ('j2', 'beta.script_silent'): 'refused',
        ('j3', 'alpha.script_reads'): 'refused',
        ('j3', 'beta.script_reads'): 'allow',
        ('j3', 'beta.script_harms'): 'refused',
    }, jobs)


def test_L6_1_annotations(t):
    """With MCP's defaults for hints that are absent or no booleans; known
    once the server has listed them, so also for its very first call."""
    for name, rule, refused in (
            ('destructiveHint', True, {'silent', 'harms', 'again', 'odd'}),
            ('readOnlyHint', False, {'silent', 'harms', 'mild', 'again',
                                     'odd'}),
            ('readOnlyHint', True, {'reads'}),
            ('idempotentHint', True, {'again'}),
            ('openWorldHint', False, {'mild'})):
        policy = [{'annotations': {name: rule}, 'decision': 'refuse'},
                  {'decision': 'allow'}]
        for kind in ('plugin', 'job'):
            entry, path = tool(t, '%s-%s-%s' % (name, rule, kind), kind)
            node = t.node({'own': entry}, policy=policy,
                          name='%s-%s-%s' % (name, rule, kind))
            c = node.client()
            c.do('job/start', job='j1')
            got = {n for n, _ in HINTS
                   if decided(c, 'j1', 'own.script_' + n) != 'allow'}
            t.eq(got, refused, '%s %s %s' % (name, rule, kind))
            t.eq(len(ledger.requests(path)), len(HINTS) - len(refused))
            node.stop()


test_L6_1_annotations.limit = 180


def test_L6_1_none_and_empty(t):
    """Without the key all is allowed, and the node says so; an empty list
    refuses all."""
    node, c = table(t, None, {('j1', 'alpha.script_harms'): 'allow'})
    assert 'all calls are allowed' in c.do('node/status')['policy']
    assert 'polic' in node.log(), node.log()
    node.stop()
    entry, path = tool(t, 'own')
    node = t.node({'own': entry}, policy=[], name='n2')
    c = node.client()
    c.do('job/start', job='j1')
    t.eq(decided(c, 'j1', 'own.script_reads'), 'refused')
    t.eq(ledger.requests(path), [])
    t.eq(node.cli('call', 'own.script_reads').returncode, 3)


def test_L6_2_leaving_the_queue(t):
    """Admitted under one policy, refused by the next before it started."""
    entry, path = tool(t, 'own', max_running=1)
    node = t.node({'own': entry}, policy=[{'decision': 'allow'}])
    c = node.client(events=True)
    c.do('job/start', job='j1')
    first = c.call('j1', 'own.script_harms',
                   {'steps': [{'until': 'cancel'}] + OK})
    call = c.event('attempt_started')['call']
    procs.until(lambda: ledger.requests(path), 'the request')
    waits = c.call('j1', 'own.script_mild', {'steps': OK})
    procs.until(lambda: c.do('node/status')['queued'] == 1, 'it is queued')
    c.do('policy/set', policy=[{'function': 'script_mild',
                                'decision': 'refuse'},
                               {'decision': 'allow'}])
    c.do('call/cancel', call=call)
    r = waits.result()
    t.has(r, state='refused', outcome='not_made', attempts=0)
    t.eq(r['error']['reason'], 'refused')
    t.has(first.result(), state='canceled', stopped='answered')
    t.eq(len(ledger.requests(path)), 1)


def test_L6_2_sighup(t):
    """A file with a mistake changes nothing and is reported; a good one
    holds, also over what was set."""
    entry, path = tool(t, 'own')
    node = t.node({'own': entry}, policy=[{'decision': 'allow'}])
    c = node.client(events=True)
    c.do('job/start', job='j1')
    t.eq(decided(c, 'j1', 'own.script_mild'), 'allow')
    for bad in ([{'decision': 'perhaps'}], [{}], {'decision': 'allow'},
                [{'decision': 'refuse', 'tenent': 'x'}],
                [{'decision': 'refuse', 'annotations': {'readOnly': True}}]):
        node.config['policy'] = bad
        node.write_config()
        before = len(node.log())
        node.signal(signal.SIGHUP)
        procs.until(lambda: 'policy' in node.log()[before:], 'it is reported')
        t.eq(decided(c, 'j1', 'own.script_mild'), 'allow', str(bad))
        try:
            c.do('node/reload')
            raise AssertionError('taken: %s' % bad)
        except Refused as e:
            assert 'policy' in e.error['message'], e
    node.config['policy'] = [{'decision': 'refuse'}]
    node.write_config()
    node.signal(signal.SIGHUP)
    c.event('policy_changed')
    t.eq(decided(c, 'j1', 'own.script_mild'), 'refused')
    c.do('policy/set', policy=[{'decision': 'allow'}])
    t.eq(decided(c, 'j1', 'own.script_mild'), 'allow')
    since = len(c.events)
    node.signal(signal.SIGHUP)
    c.event('policy_changed', since=since)
    t.eq(decided(c, 'j1', 'own.script_mild'), 'refused')


def test_L6_2_policy_set(t):
    """Over the socket and with oz0; a bad one changes nothing; it holds
    until the next start."""
    entry, path = tool(t, 'own')
    node = t.node({'own': entry}, policy=[{'decision': 'allow'}])
    c = node.client(events=True)
    c.do('job/start', job='j1')
    for bad in ([{'decision': 'perhaps'}], [{'tool': 'x'}], [7],
                [{'decision': 'allow', 'x': 1}]):
        try:
            c.do('policy/set', policy=bad)
            raise AssertionError('taken: %s' % bad)
        except Refused as e:
            t.eq(e.code, -32602)
        path_bad = t.write('bad.json', json.dumps(bad))
        for how in ('check', 'set'):
            done = node.cli('policy', how, path_bad, check=2)
            assert b'policy' in done.stderr, done
        t.eq(decided(c, 'j1', 'own.script_mild'), 'allow')
    good = t.write('good.json', '[{"function": "*_mild",\n'
                   ' "decision": "refuse"}, {"decision": "allow"}]')
    node.cli('policy', 'check', good, check=0)
    t.eq(decided(c, 'j1', 'own.script_mild'), 'allow')
    node.cli('policy', 'set', good, check=0)
    t.eq(decided(c, 'j1', 'own.script_mild'), 'refused')
    shown, = node.cli_json('policy', 'show')
    t.eq(shown['policy'], [{'function': '*_mild', 'decision': 'refuse'},
                           {'decision': 'allow'}])
    t.eq(shown['from'], 'policy/set')
    node.stop()
    node.start()
    c = node.client()
    c.do('job/start', job='j2')
    t.eq(decided(c, 'j2', 'own.script_mild'), 'allow')
