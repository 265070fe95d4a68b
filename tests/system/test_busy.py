"""L4.1, L4.2: busy results, well formed and not, and what follows."""
import json
import time

from oz0test import ledger

OK = [{'answer': '{"content":[],"ok":true}'}]


def busy(retryable='true', after=None, error='true'):
    """A busy result, its values as raw JSON; exactly these bytes come."""
    meta = '"oz0/retryable":' + retryable
    if after is not None:
        meta += ',"oz0/retry_after":' + after
    return [{'answer': '{"content":[],"isError":%s,"_meta":{%s}}' % (
        error, meta)}]


def one_node(t, kind='plugin', **oz0):
    entry, path = t.rogue(name='own', kind=kind, oz0={
        'backoff_base': '0.02s', 'backoff_cap': '0.05s', **oz0})
    node = t.node({'own': entry})
    c = node.client(events=True)
    c.do('job/start', job='j1')
    return node, c, path


def steps(node, call, event):
    return [s for s in node.trace('j1')
            if s.get('call') == call and s['event'] == event]


def wait_is_obeyed(t, kind):
    """The next attempt comes after the wait that was named, by the server's
    own clock, soon after it, and under the same key."""
    node, c, path = one_node(t, kind)
    for i, wait in enumerate(('0', '0.5', '1.25', '5e-1')):
        r = c.call('j1', 'own.script_safe',
                   {'tries': [busy(after=wait), OK]},
                   activity='a%d' % i).result()
        t.has(r, state='completed', outcome='made', attempts=2)
        one, two = ledger.requests(path, 'j1/a%d' % i)
        gap = two.t - one.t
        assert gap >= float(wait), (wait, gap)
        assert gap < float(wait) + 2, (wait, gap)
        s, = steps(node, r['call'], 'retry_waiting')
        t.has(s, attempt=2, wait_s=float(wait), key='j1/a%d' % i)
        t.has(steps(node, r['call'], 'attempt_ended')[0],
              outcome='not_made')


def test_L4_2_wait_is_obeyed_job(t):
    wait_is_obeyed(t, 'job')


def test_L4_2_wait_is_obeyed_plugin(t):
    wait_is_obeyed(t, 'plugin')


def test_L4_1_malformed(t):
    """Any other value is a fault of the server: the wait counts as not
    named, and the trace says so."""
    node, c, path = one_node(t)
    bad = [busy(after=v) for v in ('-1', '"3"', 'null', 'true', '[1]',
                                   '1e999', '-1e999', '{}')]
    for i, result in enumerate(bad):
        r = c.call('j1', 'own.script_safe', {'tries': [result, OK]},
                   activity='a%d' % i).result()
        about = '%s: %s' % (result, r)
        faults = steps(node, r['call'], 'fault')
        t.eq(len(faults), 1, about)
        assert 'oz0/retry' in faults[0]['text'], faults
        s, = steps(node, r['call'], 'retry_waiting')
        assert s['wait_s'] <= 0.05, s
        t.has(r, state='completed', outcome='made', attempts=2)
        t.eq(len(ledger.requests(path, 'j1/a%d' % i)), 2, about)


def test_L4_1_malformed_flag(t):
    """oz0/retryable is neither true nor false: an error result as any other,
    and a fault of the server."""
    node, c, path = one_node(t)
    for i, value in enumerate(('"true"', '1', 'null', '{}', '[true]')):
        a = c.call('j1', 'own.script_safe', {'steps': busy(retryable=value)},
                   activity='a%d' % i)
        r = a.result()
        t.has(r, state='completed', outcome='made', attempts=1)
        fault, = steps(node, r['call'], 'fault')
        assert 'oz0/retryable' in fault['text'], fault
        t.eq(len(ledger.requests(path, 'j1/a%d' % i)), 1)


def test_L4_1_nan(t):
    """NaN is not JSON at all: the answer is broken, not busy."""
    node, c, path = one_node(t)
    for i, raw in enumerate(('NaN', 'Infinity')):
        r = c.call('j1', 'own.script', {'steps': busy(after=raw)},
                   activity='a%d' % i).result()
        t.has(r, state='failed', outcome='unknown', attempts=1)
        t.eq(r['error']['reason'], 'bad_answer')


def test_L4_1_not_busy(t):
    """What is no error result, or says false, is not busy."""
    node, c, path = one_node(t)
    for i, result in enumerate((busy(error='false'), busy('false'),
                                busy('false', '3'))):
        a = c.call('j1', 'own.script_safe', {'steps': result},
                   activity='a%d' % i)
        t.has(a.result(), state='completed', outcome='made', attempts=1)
        t.eq(a.raw('result', 'result'), result[0]['answer'].encode())
        t.eq(len(ledger.requests(path, 'j1/a%d' % i)), 1)


def test_L4_2_otherwise_it_is_the_result(t):
    """Not to be made again, no attempt left, a wait over a minute: the
    result is the call's, byte for byte, and nothing was made."""
    node, c, path = one_node(t)
    rows = [('script', busy(after='1'), 1), ('script_honours', busy(), 1),
            ('script_safe', busy(after='60.001'), 1),
            ('script_safe', busy(after='1e300'), 1),
            ('script_safe', busy(after='0'), 3),
            ('script_reads', busy(), 3)]
    for i, (function, result, tries) in enumerate(rows):
        a = c.call('j1', 'own.' + function, {'steps': result},
                   activity='a%d' % i)
        r = a.result()
        t.has(r, state='completed', outcome='not_made', attempts=tries)
        t.eq(a.raw('result', 'result'), result[0]['answer'].encode())
        t.eq(len(ledger.requests(path, 'j1/a%d' % i)), tries)
        end, = steps(node, r['call'], 'call_ended')
        assert 'nothing was made; ' in end['text'], end


def test_L4_2_a_minute_is_taken(t):
    """60 s is no more than a minute; a cancel ends the wait at once, and the
    call was not made."""
    node, c, path = one_node(t)
    a = c.call('j1', 'own.script_safe', {'steps': busy(after='60')},
               activity='a')
    t.has(c.event('retry_waiting'), wait_s=60)
    began = time.monotonic()
    c.do('call/cancel', call=c.event('retry_waiting')['call'])
    t.has(a.result(), state='canceled', outcome='not_made', attempts=1)
    assert time.monotonic() - began < 5
    t.eq(len(ledger.requests(path)), 1)


def test_L4_2_made_later_is_made_once(t):
    """Refused while busy, then made: one effect, under the one key."""
    from oz0test import servers
    folder = t.dir('ledger', open_to_all=True)
    demo = servers.demo('plugin', '--ledger', folder + '/l')
    demo['oz0']['sandbox']['write'] = [folder]
    node = t.node({'demo': demo})
    c = node.client()
    c.do('job/start', job='j1')
    r = c.call('j1', 'demo.busy', {'times': 2, 'retry_after': 0.2},
               activity='pay').result()
    t.has(r, state='completed', outcome='made', attempts=3)
    with open(folder + '/l') as f:
        rows = [json.loads(line) for line in f]
    t.eq([r.get('key') for r in rows if r['event'] == 'busy'],
         ['j1/pay'] * 2)
    t.eq([r['key'] for r in rows if r['event'] == 'effect'], ['j1/pay'])
    calls = [r for r in rows if r['event'] == 'request'
             and r['method'] == 'tools/call']
    t.eq([r['key'] for r in calls], ['j1/pay'] * 3)
    for one, two in zip(calls, calls[1:]):
        assert two['us'] - one['us'] >= 200000, calls
