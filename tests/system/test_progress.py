"""L5.1 to L5.4, L5.6: who asks for progress, what counts, what is kept and
passed on, and what is never shown."""
import json

from oz0test import ledger, procs

OK = [{'answer': '{"content":[]}'}]


def one_node(t, kind='plugin', **oz0):
    entry, path = t.rogue(name='own', kind=kind, oz0={
        'backoff_base': '0.02s', 'backoff_cap': '0.05s', **oz0})
    node = t.node({'own': entry})
    c = node.client(events=True)
    c.do('job/start', job='j1')
    return node, c, path


def reports(c, call):
    return [(e['progress'], e.get('total')) for e in c.events
            if e.get('event') == 'progress' and e['call'] == call]


def test_L5_1_who_asks(t):
    """A call that may be made again asks; another only where its caller
    does.  A token is the node's, whatever the caller put there."""
    node, c, path = one_node(t)
    for function, params, asks in (
            ('script', {}, False), ('script_idempotent', {}, False),
            ('script_honours', {}, False), ('script_safe', {}, True),
            ('script_reads', {}, True), ('script', {'progress': True}, True),
            ('script', {'progress': False}, False)):
        c.call('j1', 'own.' + function, {'steps': OK}, **params).result()
        meta = ledger.requests(path)[-1].meta
        t.eq('progressToken' in meta, asks, '%s %s' % (function, params))


def test_L5_2_kept_shown_sent(t):
    """status, events and the attempt's end have value and total; nothing has
    the message."""
    for kind in ('job', 'plugin'):
        entry, path = t.rogue(name=kind, kind=kind)
        node = t.node({kind: entry}, name='n-' + kind)
        c = node.client(events=True)
        c.do('job/start', job='j1')
        a = c.call('j1', kind + '.script_safe', {'steps': [
            {'progress': '1', 'total': '4'}, {'sleep': 0.2},
            {'progress': '2.5', 'total': '4'}, {'sleep': 1}] + OK})
        call = c.event('progress', progress=2.5)['call']
        t.has(c.do('call/status', call=call), progress=2.5, total=4,
              state='running')
        t.has(c.do('job/status', job='j1')['calls'][0], progress=2.5)
        words = node.cli('status', call, check=0).stdout.decode()
        assert '2.5 of 4' in words, words
        t.has(a.result(), state='completed')
        t.eq(reports(c, call), [(1, 4), (2.5, 4)])
        t.has(t.step(node.trace('j1'), 'attempt_ended'), progress=2.5,
              total=4)
        t.has(c.do('call/status', call=call), progress=2.5, total=4)
        everything = json.dumps(node.trace('j1')) + json.dumps(c.events)
        assert 'hush-2f8' not in everything + node.log() + words
        node.stop()


def test_L5_3_what_counts(t):
    """Not increasing, not finite, no number, an unknown token, after the
    end: dropped, and the call goes on."""
    node, c, path = one_node(t)
    odd = [{'progress': v} for v in ('5', '4', '5', '-1', '1e999', '"9"',
                                     'null', 'true', '{}', '[6]')]
    odd += [{'out': '{"jsonrpc":"2.0","method":"notifications/progress",'
             '"params":{"progressToken":%s,"progress":99}}\n' % token}
            for token in ('"nobody"', '123456', 'null', '{}')]
    odd += [{'out': '{"jsonrpc":"2.0","method":"notifications/progress",'
             '"params":{"progressToken":%TOKEN%}}\n'},
            {'out': '{"jsonrpc":"2.0","method":"notifications/progress",'
             '"params":{"progress":99}}\n'},
            {'sleep': 0.2}, {'progress': '5.5', 'total': '"x"'},
            {'sleep': 0.2}, {'progress': '6', 'total': '10'}]
    r = c.call('j1', 'own.script_safe', {'steps': odd + OK + [
        {'progress': '7'}, {'note': 'after'}]}).result()
    t.has(r, state='completed', outcome='made', attempts=1)
    procs.until(lambda: ledger.rows(path, 'note'), 'progress after the end')
    c.call('j1', 'own.echo', {}).result()
    t.eq(reports(c, r['call']), [(5, None), (5.5, None), (6, 10)])
    t.has(c.do('call/status', call=r['call']), progress=6, total=10)


def test_L5_3_nan_is_noise(t):
    """NaN makes the line no JSON; the call is not harmed."""
    node, c, path = one_node(t)
    r = c.call('j1', 'own.script_safe', {'steps': [
        {'progress': 'NaN'}, {'progress': '1'}] + OK}).result()
    t.has(r, state='completed')
    t.eq(reports(c, r['call']), [(1, None)])


def test_L5_3_each_attempt_counts_anew(t):
    """Within its attempt: the next one may begin below the last."""
    node, c, path = one_node(t)
    r = c.call('j1', 'own.script_safe', {'tries': [
        [{'progress': '3', 'total': '4'}, {'sleep': 0.1}, {'error': 0}],
        [{'progress': '1', 'total': '4'}] + OK]}).result()
    t.has(r, attempts=2, state='completed')
    t.eq(reports(c, r['call']), [(3, 4), (1, 4)])
    ends = [s for s in node.trace('j1') if s['event'] == 'attempt_ended']
    t.eq([s.get('progress') for s in ends], [3, 1])


def test_L5_3a_survives_a_kill(t):
    """What an attempt reported last is recorded with its end."""
    node, c, path = one_node(t, backoff_base='60s', backoff_cap='60s')
    # full jitter may draw a short wait: then there is one attempt more
    c.call('j1', 'own.script_safe', {'tries': [
        [{'progress': '2', 'total': '4'}, {'sleep': 0.1}, {'error': 0}],
        [{'sleep': 60}]]}, activity='x')
    call = c.event('retry_waiting')['call']
    node.kill9()
    t.reap()
    node.start()
    c = node.client()
    t.has(c.do('call/status', call=call), state='lost', outcome='unknown',
          progress=2, total=4)


def test_L5_4_passed_on(t):
    """An attempt that reported nothing passes on what it was given."""
    node, c, path = one_node(t)
    r = c.call('j1', 'own.script_safe', {'tries': [
        [{'progress': '2', 'total': '4'}, {'sleep': 0.1}, {'error': 0}],
        [{'error': 0}], OK]}).result()
    t.has(r, attempts=3, state='completed')
    t.has(c.do('call/status', call=r['call']), progress=2, total=4)
    ends = [s for s in node.trace('j1') if s['event'] == 'attempt_ended']
    t.eq([s.get('progress') for s in ends], [2, None, None])


def test_L5_4_prior(t):
    """A scheduler hands in what an attempt on another node reported."""
    node, c, path = one_node(t)
    for i, (prior, shown) in enumerate((
            ({'progress': 2}, {'progress': 2}),
            ({'progress': 2.5, 'total': 4, 'token': 'page:7'},
             {'progress': 2.5, 'total': 4}))):
        since = len(c.events)
        a = c.call('j1', 'own.script_safe', {'steps': [
            {'note': 'in'}, {'sleep': 0.5}] + OK}, prior=prior,
            activity='a%d' % i)
        call = c.event('attempt_started', since=since)['call']
        t.has(c.do('call/status', call=call), **shown)
        t.has(a.result(), state='completed')
        s = t.step(node.trace('j1'), 'attempt_started', call=call)
        t.eq(s['text'], 'attempt 1: started over: not a remote server')
        meta = ledger.requests(path, 'j1/a%d' % i)[0].meta
        assert 'oz0/resume' not in meta, meta
        assert 'page:7' not in json.dumps(node.trace('j1')) + node.log()
    r = c.call('j1', 'own.script_safe', {'steps': OK}).result()
    s = t.step(node.trace('j1'), 'attempt_started', call=r['call'])
    assert 'started over' not in s['text'], s


def test_L5_6_started_over(t):
    """The step of each attempt after the first."""
    for kind in ('job', 'plugin'):
        entry, path = t.rogue(name=kind, kind=kind, oz0={
            'backoff_base': '0.02s'})
        node = t.node({kind: entry}, name='n-' + kind)
        c = node.client()
        c.do('job/start', job='j1')
        r = c.call('j1', kind + '.script_safe', {'steps': [
            {'progress': '2', 'total': '4'}, {'sleep': 0.1},
            {'error': 0}]}).result()
        t.has(r, attempts=3)
        texts = [s['text'] for s in node.trace('j1')
                 if s['event'] == 'attempt_started']
        t.eq(texts[1:], ['attempt %d: started over: not a remote server' % n
                         for n in (2, 3)])
        node.stop()
