"""L3: attempts.  What each end means, row by row and for calls that may be
made again and that may not; how long the waits are and what they hold."""
import json
import signal

from oz0test import ledger, procs

OK = [{'answer': '{"content":[],"ok":true}'}]
# steps of an attempt; outcome; what follows when the call may be made again;
# what follows when not; reason of the failure
ROWS = {
    'result': (OK, 'made', 'done', 'done', None),
    'error result': ([{'answer': '{"content":[],"isError":true}'}],
                     'made', 'done', 'done', None),
    **{'error %d' % code: ([{'error': code}], 'not_made', 'fails', 'fails',
                           'rpc_error')
       for code in (-32700, -32601, -32020, -32021, -32022)},
    **{'error %d' % code: ([{'error': code}], 'unknown', 'fails', 'fails',
                           'rpc_error')
       for code in (-32600, -32602)},
    **{'error %d' % code: ([{'error': code}], 'unknown', 'next', 'fails',
                           'rpc_error')
       for code in (-32603, 0, 7)},
    'time limit': ([{'beat': 30}], 'unknown', 'next', 'fails', 'timeout'),
    'exit': ([{'exit': 3}], 'unknown', 'next', 'fails', 'server_ended'),
    'signal': ([{'kill': signal.SIGKILL}], 'unknown', 'next', 'fails',
               'server_ended'),
    'output ended': ([{'close': 1}, {'sleep': 30}], 'unknown', 'next',
                     'fails', 'server_ended'),
    'broken answer': ([{'out': '{"jsonrpc":"2.0","id":%ID%,"result":\n'}],
                      'unknown', 'next', 'fails', 'bad_answer'),
    'too large': ([{'out': '{"jsonrpc":"2.0","id":%ID%,"result":{"s":"'},
                   {'out': 'y' * 4096, 'repeat': 600}, {'out': '"}}\n'}],
                  'unknown', 'next', 'fails', 'too_large'),
}
FAST = {'backoff_base': '0.02s', 'backoff_cap': '0.05s', 'stop_timeout': '1s'}


def one_row(t, node, c, tool, path, name):
    steps, outcome, safe, once, reason = ROWS[name]
    what = {'timeout': '0.5s'} if name == 'time limit' else {}
    for function, then in (('script_safe', safe), ('script_reads', safe),
                           ('script', once), ('script_idempotent', once),
                           ('script_honours', once)):
        activity = '%s-%s-%s' % (tool, name.replace(' ', '_'), function)
        r = c.call('j1', '%s.%s' % (tool, function),
                   {'tries': [steps, OK]}, activity=activity, **what).result()
        about = '%s, %s: %s' % (name, function, r)
        sent = ledger.requests(path, 'j1/' + activity)
        tries = 2 if then == 'next' else 1
        t.eq((len(sent), r['attempts'], r['key']),
             (tries, tries, 'j1/' + activity), about)
        if then == 'fails':
            t.eq((r['state'], r['outcome'], r['error']['reason']),
                 ('failed', outcome, reason), about)
        else:
            t.eq((r['state'], r['outcome']), ('completed', 'made'), about)
        if then == 'next':
            t.eq([s['outcome'] for s in steps_of(node, r['call'])],
                 [outcome, 'made'], about)
        # a shared server may work on: the key is for that (L3.4)
        if name != 'time limit' or 'session' in r:
            ledger.never_overlap(t, path, r['key'])


def steps_of(node, call, *events):
    """The steps at which attempts of a call ended, or others."""
    events = events or ('attempt_ended', 'attempt_stopped')
    return [s for s in node.trace('j1')
            if s.get('call') == call and s['event'] in events]


def every_row(t, kind):
    entry, path = t.rogue('--on-eof', 'ignore', name='own', kind=kind,
                          oz0=FAST)
    node = t.node({'own': entry}, max_message='2MiB')
    c = node.client()
    c.do('job/start', job='j1')
    for name in ROWS:
        one_row(t, node, c, 'own', path, name)


def test_L3_7_rows_of_a_job_server(t):
    every_row(t, 'job')


def test_L3_7_rows_of_a_plugin(t):
    every_row(t, 'plugin')


def test_L3_7_server_not_started(t):
    """Not made: the next attempt, for a call that is sent once, too; under
    the same limits."""
    entry, path = t.rogue('--fail-starts', '2', name='own', oz0=FAST)
    never, never_path = t.rogue('--fail-starts', '99', name='never', oz0=FAST)
    node = t.node({'own': entry, 'never': never})
    c = node.client()
    c.do('job/start', job='j1')
    r = c.call('j1', 'own.script', {'steps': OK}, activity='a').result()
    t.has(r, state='completed', outcome='made', key='j1/a')
    assert r['attempts'] in (2, 3), r  # a start may be tried in each era
    t.eq([s['outcome'] for s in steps_of(node, r['call'])],
         ['not_made'] * (r['attempts'] - 1) + ['made'])
    t.eq(len(ledger.requests(path)), 1)
    r = c.call('j1', 'never.script', {'steps': OK}, activity='b').result()
    t.has(r, state='failed', outcome='not_made', attempts=3)
    t.eq(r['error']['reason'], 'server_start')
    t.eq(ledger.requests(never_path), [])
    assert len(ledger.rows(never_path, 'start')) >= 3
    t.eq([s['outcome'] for s in steps_of(node, r['call'])], ['not_made'] * 3)


def test_L3_7_late_result(t):
    """A time limit whose result came late: made, and for a call that may be
    made again the next attempt all the same."""
    entry, path = t.rogue(name='own', kind='plugin', oz0=FAST)
    node = t.node({'own': entry})
    c = node.client()
    c.do('job/start', job='j1')
    late = [{'until': 'cancel'}] + OK
    r = c.call('j1', 'own.script', {'steps': late}, timeout=0.5).result()
    t.has(r, state='failed', outcome='made', attempts=1, stopped='answered')
    t.has(r['error'], reason='timeout', limit='timeout', limit_s=0.5)
    t.has(steps_of(node, r['call'])[0], outcome='made', stopped='answered')
    r = c.call('j1', 'own.script_safe', {'tries': [late, OK]}, activity='x',
               timeout=0.5).result()
    t.has(r, state='completed', attempts=2, outcome='made')
    t.eq(len(ledger.requests(path, 'j1/x')), 2)
    t.eq(len(steps_of(node, r['call'], 'late_answer')), 1)


def test_L3_2_max_attempts_and_backoff(t):
    """max_attempts of them, under one key; each wait within its bound, kept
    by the server's own clock, and never the same twice running."""
    base, cap, most = 0.1, 0.25, 6
    entry, path = t.rogue(name='own', oz0={
        'backoff_base': base, 'backoff_cap': cap, 'max_attempts': most})
    node = t.node({'own': entry})
    c = node.client()
    c.do('job/start', job='j1')
    calls = [c.call('j1', 'own.script_safe', {'steps': [{'error': 0}]},
                    activity='a%d' % i) for i in range(4)]
    waits = []
    for i, a in enumerate(calls):
        r = a.result()
        t.has(r, state='failed', attempts=most, outcome='unknown')
        sent = ledger.requests(path, 'j1/a%d' % i)
        t.eq(len(sent), most)
        steps = steps_of(node, r['call'], 'retry_waiting')
        t.eq([s['attempt'] for s in steps], list(range(2, most + 1)))
        for n, (s, one, two) in enumerate(zip(steps, sent, sent[1:])):
            top = min(cap, base * 2 ** n)
            assert 0 <= s['wait_s'] <= top, (s, top)
            assert two.t - one.t >= s['wait_s'] - 0.001, (s, one, two)
            waits.append(s['wait_s'])
        ended = steps_of(node, r['call'], 'call_ended')[0]
        assert 'last attempt' in ended['text'], ended
    t.eq(len(set(waits)), len(waits), 'jitter')


def test_L3_9_waits_hold_no_slot(t):
    """One slot: another job's calls go on while a call waits for a retry,
    and while one waits for the start of its server."""
    entry, path = t.rogue(name='own', kind='plugin')
    slow, _ = t.rogue('--before', '[{"sleep": 3}]', name='slow')
    node = t.node({'own': entry, 'slow': slow}, slots=1)
    c = node.client(events=True)
    c.do('job/start', job='j1')
    c.do('job/start', job='j2')
    busy = [{'answer': '{"content":[],"isError":true,"_meta":'
             '{"oz0/retryable":true,"oz0/retry_after":3}}'}]
    waits = c.call('j1', 'own.script_safe', {'tries': [busy, OK]})
    starts = c.call('j1', 'slow.echo', {})
    c.event('retry_waiting')
    c.event('server_started', tool='slow')
    t.eq(c.do('node/status')['running'], 0)
    for i in range(20):
        t.has(c.call('j2', 'own.echo', {'i': i}).result(), state='completed')
    assert not waits.done() and not starts.done()
    for a in (waits, starts):
        t.has(a.result(), state='completed')


def test_L3_4_next_after_the_last_has_stopped(t):
    """A job's server that ignores EOF and SIGTERM works on until SIGKILL;
    the next attempt starts after that, on a fresh server."""
    entry, path = t.rogue('--on-eof', 'ignore', '--on-term', 'ignore',
                          name='own', oz0={**FAST, 'timeout': '1s'})
    node = t.node({'own': entry})
    c = node.client()
    c.do('job/start', job='j1')
    r = c.call('j1', 'own.script_safe', {'steps': [{'fork': 'double'},
                                                   {'beat': 30}]},
               activity='a').result()
    t.has(r, state='failed', attempts=3, outcome='unknown',
          stopped='server_gone')
    sent = ledger.requests(path, 'j1/a')
    t.eq(len(sent), 3)
    t.eq(len({one.who for one in sent}), 3, 'servers')
    assert len(ledger.rows(path, 'beat')) > 50
    ledger.never_overlap(t, path, 'j1/a')
    steps = [s['event'] for s in node.trace('j1') if s['event'] in (
        'attempt_started', 'attempt_stopped', 'server_ended')]
    t.eq(steps, ['attempt_started', 'server_ended', 'attempt_stopped'] * 3)


def test_L3_8_limits(t):
    """A caller's limit only lowers the tool's; what was hit is named."""
    entry, path = t.rogue(name='own', oz0={**FAST, 'timeout': '1s'})
    node = t.node({'own': entry})
    c = node.client()
    c.do('job/start', job='j1')
    sleep = {'steps': [{'sleep': 30}]}
    r = c.call('j1', 'own.script', sleep, timeout=100).result()
    t.has(r['error'], reason='timeout', limit='timeout', limit_s=1)
    assert 'raise `timeout`' in r['error']['message'], r
    r = c.call('j1', 'own.script', sleep, timeout=0.4).result()
    t.has(r['error'], reason='timeout', limit='timeout', limit_s=0.4)
    assert 'its caller set' in r['error']['message'], r
    assert 'raise' not in r['error']['message'], r


def test_L3_8a_call_timeout(t):
    """A limit over all attempts and waits: while one runs, while it waits,
    and instead of a wait that would outlast it."""
    tries = {'timeout': '0.5s', 'call_timeout': '1.2s', 'max_attempts': 50}
    node = t.node({
        'runs': t.rogue(name='runs', oz0={**FAST, 'call_timeout': '1s'})[0],
        'again': t.rogue(name='again', oz0={**FAST, **tries})[0],
        'waits': t.rogue(name='waits', oz0={
            **tries, 'backoff_base': '1000s', 'backoff_cap': '1000s'})[0]})
    c = node.client()
    c.do('job/start', job='j1')
    for tool, steps in (('runs', [{'sleep': 30}]), ('again', [{'sleep': 30}]),
                        ('waits', [{'error': 0}])):
        r = c.call('j1', tool + '.script_safe', {'steps': steps}).result()
        limit = 1 if tool == 'runs' else 1.2
        t.has(r, state='failed', outcome='unknown')
        t.has(r['error'], reason='call_timeout', limit='call_timeout',
              limit_s=limit)
        if tool == 'again':
            assert r['attempts'] in (2, 3), r


def test_L3_1_functions_says_why(t):
    """`oz0 functions`: may be made again, or not, and why, in words."""
    node = t.node({'own': t.rogue(name='own', kind='plugin')[0]})
    c = node.client()
    c.do('job/start', job='j1')
    c.call('j1', 'own.echo', {}).result()
    rows = {r['function']: r for r in node.cli_json('functions', 'own')}
    for name, again, why in (
            ('script', False, 'neither'), ('script_safe', True, 'honours'),
            ('script_reads', True, 'reads'),
            ('script_idempotent', False, 'does not say that it honours'),
            ('script_honours', False, 'does not say that it is idempotent')):
        row = rows['own.' + name]
        t.eq(row['repeatable'], again, name)
        assert why in row['why'], row


def test_L3_6_policy_before_each_attempt(t):
    """Refused, killed or an approval needed before the next attempt: the
    call ends there, with the outcome of its last attempt."""
    for what, reason in (('refuse', 'refused'), ('ask', 'approval_needed'),
                         ('kill', 'killed')):
        entry, path = t.rogue(name=what, kind='plugin', oz0={
            'backoff_base': '1.5s', 'backoff_cap': '1.5s'})
        node = t.node({what: entry}, name='n-' + what)
        c = node.client(events=True)
        c.do('job/start', job='j1')
        for name, steps, outcome in (
                ('a', [{'error': 0}], 'unknown'),
                ('b', [{'answer': '{"content":[],"isError":true,"_meta":'
                        '{"oz0/retryable":true,"oz0/retry_after":1.5}}'}],
                 'not_made')):
            since = len(c.events)
            a = c.call('j1', what + '.script_safe', {'steps': steps},
                       activity=name)
            c.event('retry_waiting', since=since)
            if what == 'kill':
                c.do('tool/kill', tool=what)
            else:
                c.do('policy/set', policy=[{'decision': what}])
            r = a.result()
            t.has(r, state='refused', outcome=outcome, attempts=1)
            t.eq(r['error']['reason'], reason)
            t.eq(len(ledger.requests(path, 'j1/' + name)), 1)
            c.do('tool/unkill', tool=what)
            c.do('policy/set', policy=[{'decision': 'allow'}])
        node.stop()


def test_L3_5_start_of_the_server_does_not_count(t):
    """A server that takes longer to start than the call may take."""
    entry, path = t.rogue('--before', json.dumps([{'sleep': 1.5}]),
                          name='own', oz0={'timeout': '1s'})
    node = t.node({'own': entry})
    c = node.client()
    c.do('job/start', job='j1')
    t.has(c.call('j1', 'own.echo', {}).result(), state='completed',
          attempts=1)


def test_L9_3_polite_servers_are_not_stuck(t):
    """Three calls cancelled, and none of them answered, as MCP has it: the
    server takes further calls, also when it is reported as stuck."""
    entry, path = t.rogue(name='own', kind='plugin',
                          oz0={'stop_timeout': '0.2s'})
    node = t.node({'own': entry})
    c = node.client(events=True)
    c.do('job/start', job='j1')
    for i in range(3):
        since = len(c.events)
        a = c.call('j1', 'own.script', {'steps': [{'sleep': 60}]})
        call = c.event('attempt_started', since=since)['call']
        procs.until(lambda: len(ledger.requests(path)) == i + 1, 'a request')
        c.do('call/cancel', call=call)
        t.has(a.result(), state='canceled', stopped='not_confirmed')
    t.eq(c.do('node/status')['servers'][0]['state'], 'stuck')
    t.has(c.call('j1', 'own.echo', {}).result(), state='completed')
    procs.until(lambda: c.do('node/status')['servers'][0]['state'] == 'ready',
                'it is ready again')
