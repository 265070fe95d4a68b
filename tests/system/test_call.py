"""Calls: what a scheduler sends and gets back, byte for byte."""
import json
import re

from oz0test.control import Refused
from oz0test.node import ledger_lines

# Everything a reader that builds a tree would spoil.
AWKWARD = [
    b'{"n":1.10}',
    b'{"n":18446744073709551616,"m":-9007199254740993}',
    b'{"n":1e400,"m":-0,"o":-0.0,"p":1E+2,"q":1.7976931348623158e308}',
    b'{"a":1,"a":2,"a":{"a":3,"a":4}}',
    b'{"s":"\\u00e9\\/\\b\\f\\n\\r\\t\\"\\\\"}',
    b'{"s":"\\ud83d\\ude00 \\ud800 \\udc00"}',
    b'{"s":"\\u0000 a \\u0001"}',
    '{"s":"\u2028 \u2029 \u00e9 \U0001f600 \ufeff"}'.encode(),
    b'{ "z" : [ ] ,\t"y":{ } , "x" : [1 ,2 , [3]] }',
    b'{"":"","\\u006e":null,"t":true,"f":false}',
    b'{"deep":' + b'[' * 60 + b']' * 60 + b'}',
]


def rogues(t, era='legacy'):
    """A job server and a plugin of one make, in one node."""
    job, job_ledger = t.rogue('--era', era, name='own')
    plugin, plugin_ledger = t.rogue('--era', era, name='shared',
                                    kind='plugin')
    node = t.node({'own': job, 'shared': plugin})
    return node, {'own': job_ledger, 'shared': plugin_ledger}


def bytes_through(t, era):
    node, ledgers = rogues(t, era)
    c = node.client()
    c.do('job/start', job='j1')
    for tool, ledger in ledgers.items():
        for i, raw in enumerate(AWKWARD):
            a = c.call('j1', tool + '.echo', raw_arguments=raw,
                       activity='%s-%d' % (tool, i))
            t.has(a.result(), state='completed', outcome='made', attempts=1)
            t.eq(a.raw('result', 'result', 'structuredContent'), raw)
        arrived = [json_member(line, 'params', 'arguments')
                   for line, m in ledger_lines(ledger)
                   if m.get('method') == 'tools/call']
        t.eq(arrived, AWKWARD, 'what the server was sent')


def json_member(line, *path):
    import rawjson
    return rawjson.member(line, *path)


def test_bytes_legacy(t):
    bytes_through(t, 'legacy')


def test_bytes_modern(t):
    bytes_through(t, 'modern')


def test_line_ends_become_spaces(t):
    """CR and LF between tokens, and nothing else, become spaces."""
    entry, ledger = t.rogue()
    node = t.node({'own': entry})
    c = node.client()
    c.do('job/start', job='j1')
    a = c.call('j1', 'own.script', {'steps': [
        {'answer': '{"content":[],\r"structuredContent":{"a":\t1}}'}]})
    t.has(a.result(), state='completed')
    t.eq(a.raw('result', 'result'),
         b'{"content":[], "structuredContent":{"a":\t1}}')


def test_L2_1_key_in_meta(t):
    """L2.1, L2.2: the key travels in _meta; run 0 and run 1 have two forms."""
    node, ledgers = rogues(t)
    c = node.client()
    c.do('job/start', job='j1')
    a = c.call('j1', 'own.meta', {}, activity='a.1').result()
    t.has(a, key='j1/a.1', run=0)
    t.eq(a['result']['structuredContent']['oz0/idempotency_key'], 'j1/a.1')
    c.do('job/end', job='j1')
    node.wait_job('j1', 'COMPLETED')
    c.do('job/start', job='j1', run=1)
    a = c.call('j1', 'own.meta', {}, activity='a.1').result()
    t.has(a, key='j1/anr1/a.1', run=1)
    t.eq(a['result']['structuredContent']['oz0/idempotency_key'],
         'j1/anr1/a.1')


def test_L2_2_join_and_refuse(t):
    """L2.2: the same again joins and is answered alike, made once; other
    arguments are refused."""
    node, ledgers = rogues(t)
    c = node.client(events=True)
    c.do('job/start', job='j1')
    steps = {'steps': [{'sleep': 0.5}, {'answer': '{"content":[],"n":1.50}'}]}
    first = c.call('j1', 'own.script', steps, activity='x')
    c.event('attempt_started')
    second = node.client().call('j1', 'own.script', steps, activity='x')
    try:
        c.call('j1', 'own.script', {'steps': []}, activity='x').result()
        raise AssertionError('other arguments were taken')
    except Refused as e:
        t.eq(e.reason, 'busy_activity')
    t.eq(first.result()['call'], second.result()['call'])
    t.eq(first.raw('result', 'result'), b'{"content":[],"n":1.50}')
    t.eq(second.raw('result', 'result'), b'{"content":[],"n":1.50}')
    third = c.call('j1', 'own.script', steps, activity='x')
    t.eq(third.raw('result', 'result'), b'{"content":[],"n":1.50}')
    sent = [1 for _, m in ledger_lines(ledgers['own'])
            if m.get('method') == 'tools/call']
    t.eq(len(sent), 1, 'requests the server got')


def test_L2_4_made_up_activity(t):
    node, _ = rogues(t)
    c = node.client()
    c.do('job/start', job='j1')
    keys = [c.call('j1', 'own.echo', {}).result()['key'] for _ in range(3)]
    for key in keys:
        assert re.fullmatch(r'j1/h-[0-9a-f]{32}', key), key
    t.eq(len(set(keys)), 3, 'different keys')


def test_L2_6_recorded_before_sent(t):
    """L2.6: a node killed right after the request was written knows it."""
    node, ledgers = rogues(t)
    c = node.client()
    c.do('job/start', job='j1')
    c.call('j1', 'own.script', {'steps': [{'sleep': 60}]}, activity='x')

    from oz0test import procs
    procs.until(lambda: any(m.get('method') == 'tools/call' for _, m in
                            ledger_lines(ledgers['own'])), 'it arrived')
    node.kill9()
    t.reap()
    node.start()
    end = t.step(node.trace('j1'), 'call_ended')
    t.has(end, state='lost', outcome='unknown')


def test_L2_7_names(t):
    node, _ = rogues(t)
    c = node.client()
    for bad in ('c1', 'c99', '', 'a/b', 'a b', 'x' * 129, 'é'):
        try:
            c.do('job/start', job=bad)
        except Refused:
            continue
        raise AssertionError('job name taken: %r' % bad)
    for good in ('c', 'c1a', 'x' * 128, 'A.b_c-9'):
        c.do('job/start', job=good)
    for bad in ('', 'a/b', 'x' * 129, 'a b'):
        try:
            c.call('c', 'own.echo', {}, activity=bad).result()
        except Refused:
            continue
        raise AssertionError('activity taken: %r' % bad)


def test_unknown(t):
    """What no call comes of is an error; an unknown function is a result."""
    node, _ = rogues(t)
    c = node.client()
    for params, reason in ((dict(job='nope', function='own.echo'),
                            'unknown_job'),
                           (dict(job='j1', function='nope.echo'),
                            'unknown_tool')):
        if reason != 'unknown_job':
            c.do('job/start', job='j1')
        try:
            c.do('call/start', **params)
            raise AssertionError('taken: %s' % params)
        except Refused as e:
            t.eq((e.code, e.reason), (1, reason))
    r = c.do('call/start', job='j1', function='own.nope')
    t.has(r, state='failed', outcome='not_made')
    t.eq(r['error']['reason'], 'unknown_function')
    for method in ('call/cancel', 'call/status', 'call/approve', 'call/deny',
                   'job/cancel', 'job/status', 'job/trace', 'job/end',
                   'job/forget'):
        kind = method.partition('/')[0]
        try:
            c.do(method, **{kind: 'c999' if kind == 'call' else 'nope'})
            raise AssertionError('taken: %s' % method)
        except Refused as e:
            t.eq((e.code, e.reason), (1, 'unknown_' + kind), method)
    for args in (('trace', 'nope'), ('status', 'nope'), ('cancel', 'c999')):
        assert b'no ' in node.cli(*args, check=5).stderr


def test_L3_7_ends(t):
    """L3.7: what needs no retry, row by row, for a function sent once."""
    node, _ = rogues(t)
    c = node.client()
    c.do('job/start', job='j1')
    rows = [
        ([{'answer': '{"content":[],"isError":true}'}],
         'completed', 'made', None),
        ([{'error': -32602}], 'failed', 'unknown', 'rpc_error'),
        ([{'error': -32601}], 'failed', 'not_made', 'rpc_error'),
        ([{'error': -32700}], 'failed', 'not_made', 'rpc_error'),
        ([{'error': -32600}], 'failed', 'unknown', 'rpc_error'),
        ([{'error': 0}], 'failed', 'unknown', 'rpc_error'),
        ([{'error': -32603}], 'failed', 'unknown', 'rpc_error'),
        ([{'exit': 3}], 'failed', 'unknown', 'server_ended'),
        ([{'out': '{"jsonrpc":"2.0","id":%ID%,"result":\n'}],
         'failed', 'unknown', 'bad_answer'),
        ([{'out': '{"jsonrpc":"2.0","id":%ID%}\n'}],
         'failed', 'unknown', 'bad_answer'),
        ([{'out': '{"jsonrpc":"2.0","id":%ID%,"result":{"x":NaN}}\n'}],
         'failed', 'unknown', 'bad_answer'),
    ]
    for steps, state, outcome, reason in rows:
        r = c.call('j1', 'own.script', {'steps': steps}).result()
        t.has(r, state=state, outcome=outcome, attempts=1)
        t.eq(r.get('error', {}).get('reason'), reason, str(steps))
        if steps[0].get('error') is not None:
            t.eq(r['error']['code'], steps[0]['error'])


def test_big_both_ways(t):
    """1 MiB of arguments and of result, and more than a memfd's threshold;
    over max_message is an error with its name."""
    entry, _ = t.rogue()
    node = t.node({'own': entry}, max_message='2MiB')
    c = node.client()
    c.do('job/start', job='j1')
    for size in (60000, 65536, 70000, 1 << 20):
        raw = b'{"s":"' + b'x' * size + b'"}'
        a = c.call('j1', 'own.echo', raw_arguments=raw)
        t.eq(a.raw('result', 'result', 'structuredContent'), raw)
    r = c.call('j1', 'own.script', {'steps': [
        {'out': '{"jsonrpc":"2.0","id":%ID%,"result":{"s":"'},
        {'out': 'y' * 4096, 'repeat': 1024}, {'out': '"}}\n'}]}).result()
    t.has(r, state='failed', outcome='unknown')
    t.eq(r['error']['reason'], 'too_large')


def test_writes_before_it_reads(t):
    """A server that writes 1 MiB before it reads its 1 MiB of arguments."""
    entry, _ = t.rogue('--before', json.dumps(
        [{'out': '{"jsonrpc":"2.0","method":"notifications/x"}\n',
          'repeat': 25000}, {'err': 1 << 20}]))
    node = t.node({'own': entry})
    c = node.client()
    c.do('job/start', job='j1')
    raw = b'{"s":"' + b'x' * (1 << 20) + b'"}'
    a = c.call('j1', 'own.echo', raw_arguments=raw)
    t.eq(a.raw('result', 'result', 'structuredContent'), raw)


def test_pipelined(t):
    """32 calls in flight on one connection, answered as they end."""
    node, _ = rogues(t)
    c = node.client()
    c.do('job/start', job='j1')
    asked = [c.call('j1', 'shared.echo', {'i': i}) for i in range(200)]
    for i, a in enumerate(asked):
        t.eq(json.loads(a.raw('result', 'result', 'structuredContent')),
             {'i': i})


def test_connection_breaks_call_goes_on(t):
    node, _ = rogues(t)
    watcher = node.client(events=True)
    c = node.client()
    c.do('job/start', job='j1')
    args = {'steps': [{'sleep': 0.5}, {'answer': '{"content":[],"v":7}'}]}
    c.call('j1', 'own.script', args, activity='x')
    watcher.event('attempt_started')
    c.close()
    watcher.event('call_ended', state='completed')
    a = watcher.call('j1', 'own.script', args, activity='x')
    t.eq(a.raw('result', 'result'), b'{"content":[],"v":7}')


def test_L8_trace_reads_in_order(t):
    """L8.1, L8.2: numbered, ordered, in words and fields; no payload."""
    node, _ = rogues(t)
    c = node.client()
    c.do('job/start', job='j1')
    r = c.call('j1', 'own.echo', {'secret': 'hush-7c1'}, activity='x').result()
    c.do('job/end', job='j1')
    node.wait_job('j1', 'COMPLETED')
    steps = node.trace('j1')
    seqs = [s['seq'] for s in steps]
    t.eq(seqs, sorted(set(seqs)))
    names = [s['event'] for s in steps]
    for before, after in (('job_started', 'call_accepted'),
                          ('call_accepted', 'attempt_started'),
                          ('server_started', 'server_ready'),
                          ('server_ready', 'attempt_started'),
                          ('attempt_started', 'attempt_ended'),
                          ('attempt_ended', 'call_ended'),
                          ('call_ended', 'job_ended')):
        assert names.index(before) < names.index(after), names
    for s in steps:
        t.has(s, job='j1')
        assert s['text'] and re.fullmatch(
            r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z', s['time']), s
    t.step(steps, 'call_ended', call=r['call'], state='completed')
    assert 'hush-7c1' not in json.dumps(steps)
    assert 'hush-7c1' not in node.log()
