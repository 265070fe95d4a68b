"""L2, L9.1: keys over calls, runs and nodes; joining and rejoining."""
import json
import os

from oz0test import ledger, procs
from oz0test.control import Refused

OK = [{'answer': '{"content":[],"ok":true}'}]


def one_node(t, kind='plugin', oz0=None, **node):
    entry, path = t.rogue(name='own', kind=kind, oz0=oz0)
    n = t.node({'own': entry}, **node)
    c = n.client(events=True)
    c.do('job/start', job='j1')
    return n, c, path


def test_L2_1_same_on_each_attempt(t):
    """As whole strings, by what the server was sent: on each attempt of a
    call, for each run of the job."""
    for kind in ('job', 'plugin'):
        entry, path = t.rogue(name=kind, kind=kind,
                              oz0={'backoff_base': '0.02s'})
        node = t.node({kind: entry}, name='n-' + kind)
        c = node.client()
        for run, key in ((0, 'order-7/pay.1'), (1, 'order-7/anr1/pay.1'),
                         (12, 'order-7/anr12/pay.1')):
            c.do('job/start', job='order-7', run=run)
            r = c.call('order-7', kind + '.script_safe',
                       {'tries': [[{'error': 0}], [{'error': 0}], OK]},
                       activity='pay.1').result()
            t.has(r, state='completed', attempts=3, key=key, run=run)
            c.do('job/end', job='order-7')
            sent = ledger.requests(path)[-3:]
            t.eq([x.key for x in sent], [key] * 3)
        t.eq(len(ledger.requests(path)), 9)
        node.stop()


def test_L2_2_join_by_digest(t):
    """The same arguments are the same by their canonical form; ids beyond
    the doubles stay apart."""
    node, c, path = one_node(t)
    same = [b'{"steps":[],"tries":[[{"answer":"{}"}]],"n":1.0,"a":"\\u0041"}',
            b'{ "a" : "A", "n":1, "tries":[[{"answer":"{}"}]], "steps":[] }',
            b'{"n":10e-1,"a":"A","steps":[],"tries":[[{"answer":"{}"}]]}']
    got = [c.call('j1', 'own.script', raw_arguments=raw,
                  activity='x').result() for raw in same]
    t.eq(len({r['call'] for r in got}), 1)
    t.eq(len(ledger.requests(path)), 1)
    ids = (b'{"id":9007199254740993}', b'{"id":9007199254740992}')
    c.call('j1', 'own.echo', raw_arguments=ids[0], activity='id').result()
    for function, raw in (('own.echo', ids[1]), ('own.meta', ids[0])):
        try:
            c.call('j1', function, raw_arguments=raw, activity='id').result()
            raise AssertionError('joined: %s %s' % (function, raw))
        except Refused as e:
            t.eq(e.reason, 'busy_activity')
    # absent arguments count as {}
    one = c.call('j1', 'own.echo', activity='none').result()
    two = c.call('j1', 'own.echo', raw_arguments=b'{ }',
                 activity='none').result()
    t.eq(one['call'], two['call'])


def test_L2_2_join_while_it_waits(t):
    """It joins a call that is queued, or waits for a retry, too."""
    node, c, path = one_node(t, oz0={'max_running': 1})
    busy = [{'answer': '{"content":[],"isError":true,"_meta":'
             '{"oz0/retryable":true,"oz0/retry_after":1}}'}]
    args = {'tries': [busy, OK]}
    first = c.call('j1', 'own.script_safe', args, activity='x')
    c.event('retry_waiting')
    second = node.client().call('j1', 'own.script_safe', args, activity='x')
    t.eq(first.result(), second.result())
    t.eq(len(ledger.requests(path)), 2)


def test_L2_2_each_end_is_answered_again(t):
    """Completed, failed, refused, canceled: the rejoin is answered with what
    it ended with, and never made again."""
    node, c, path = one_node(t, policy=[
        {'function': 'script_honours', 'decision': 'refuse'},
        {'decision': 'allow'}], oz0={'stop_timeout': '0.2s'})
    rows = [('script', {'steps': OK}, 'completed'),
            ('script', {'steps': [{'error': -32602}]}, 'failed'),
            ('script_honours', {'steps': OK}, 'refused'),
            ('script', {'steps': [{'sleep': 60}]}, 'canceled')]
    for i, (function, args, state) in enumerate(rows):
        since = len(c.events)
        before = len(ledger.requests(path))
        a = c.call('j1', 'own.' + function, args, activity='a%d' % i)
        if state == 'canceled':
            procs.until(lambda: len(ledger.requests(path)) > before,
                        'the request')
            c.do('call/cancel', call=c.event('attempt_started',
                                             since=since)['call'])
        r = a.result()
        t.eq(r['state'], state)
        sent = len(ledger.requests(path))
        again = c.call('j1', 'own.' + function, args, activity='a%d' % i)
        t.eq(again.result(), r)
        t.eq(len(ledger.requests(path)), sent)


def test_L2_2_evicted(t):
    """A result beyond result_limit, or displaced by kept_results, is not
    made again: the rejoin says that it is evicted."""
    node, c, path = one_node(t, result_limit='16KiB', kept_results='20KiB')
    args = {i: {'steps': [{'answer': json.dumps(
        {'content': [], 's': 'x' * size})}]}
        for i, size in enumerate((10000, 9000, 9500, 40000, 10))}
    for i, a in args.items():
        r = c.call('j1', 'own.script', a, activity='a%d' % i).result()
        assert 'result' in r and 'evicted' not in r, i
    # the last 20 KiB hold a1 (as a0 went for a2), a2 and a4; never a3
    want = {0: True, 1: False, 2: False, 3: True, 4: False}
    for i, evicted in want.items():
        r = c.call('j1', 'own.script', args[i], activity='a%d' % i).result()
        t.has(r, state='completed', outcome='made', key='j1/a%d' % i)
        t.eq(r.get('evicted', False), evicted, 'a%d' % i)
        t.eq('result' in r, not evicted, 'a%d' % i)
    t.eq(len(ledger.requests(path)), len(args))
    done = node.cli('call', '--job', 'j1', '--activity', 'a3', 'own.script',
                    json.dumps(args[3]), check=0)
    assert b'no longer kept' in done.stderr, done
    t.eq(len(ledger.requests(path)), len(args))


def test_L2_2_rejoin_over_kill_9(t):
    """Ends of a lost job's calls are answered by the next node, byte for
    byte, evicted ones as evicted; nothing is made again."""
    node, c, path = one_node(t, result_limit='4KiB')
    raw = b'{"n":1.10,"big":18446744073709551616,"a":1,"a":2}'
    rows = {'echo': ('own.echo', raw),
            'big': ('own.echo', b'{"s":"' + b'x' * 5000 + b'"}'),
            'bad': ('own.script', b'{"steps":[{"error":-32602}]}')}
    before = {}
    for activity, (function, arguments) in rows.items():
        a = c.call('j1', function, raw_arguments=arguments,
                   activity=activity)
        before[activity] = (a.result(), a.raw('result', 'result'))
    sent = len(ledger.requests(path))
    node.kill9()
    t.reap()
    node.start()
    c = node.client()
    t.eq(node.job_state('j1'), 'LOST')
    c.do('job/start', job='j1')
    for activity, (function, arguments) in rows.items():
        a = c.call('j1', function, raw_arguments=arguments,
                   activity=activity)
        r = a.result()
        was, raw_result = before[activity]
        if activity == 'big':
            t.eq((r.get('evicted'), 'result' in r), (True, False))
            continue
        t.eq(r, was)
        t.eq(a.raw('result', 'result'), raw_result)
    t.eq(len(ledger.requests(path)), sent, 'requests')


def test_L9_1_outcomes_after_a_kill(t):
    """not_made when no attempt is recorded or the last ended not made, else
    unknown."""
    node, c, path = one_node(t, oz0={'max_running': 1,
                                     'backoff_base': '60s',
                                     'backoff_cap': '60s'})
    busy = [{'answer': '{"content":[],"isError":true,"_meta":'
             '{"oz0/retryable":true,"oz0/retry_after":60}}'}]
    c.call('j1', 'own.script_safe', {'steps': busy}, activity='busy')
    c.event('retry_waiting')
    c.call('j1', 'own.script', {'steps': [{'note': 'in'}, {'sleep': 60}]},
           activity='runs')
    procs.until(lambda: ledger.rows(path, 'note'), 'it runs')
    c.call('j1', 'own.echo', {}, activity='queued')
    procs.until(lambda: c.do('node/status')['queued'] == 2, 'it is queued')
    node.kill9()
    t.reap()
    node.start()
    c = node.client()
    calls = c.do('job/status', job='j1')['calls']
    t.eq({x['key']: (x['state'], x['outcome']) for x in calls},
         {'j1/busy': ('lost', 'not_made'), 'j1/runs': ('lost', 'unknown'),
          'j1/queued': ('lost', 'not_made')})
    # lost and neither: never made again
    c.do('job/start', job='j1')
    sent = len(ledger.requests(path, 'j1/runs'))
    r = c.call('j1', 'own.script', {'steps': [{'note': 'in'},
                                              {'sleep': 60}]},
               activity='runs').result()
    t.has(r, state='lost', outcome='unknown')
    t.eq(len(ledger.requests(path, 'j1/runs')), sent)
    # not made: made again under its key
    r = c.call('j1', 'own.echo', {}, activity='queued').result()
    t.has(r, state='completed', key='j1/queued')


def demo_ledger(path):
    with open(path) as f:
        return [json.loads(line) for line in f if line.endswith('\n')]


def test_L2_2_lost_and_made_again_is_made_once(t):
    """A write that honours the key, its effect made and its answer never
    given, then kill -9 of the node: started again under its key the server
    sees it twice and does it once."""
    from oz0test import servers
    entries = {}
    for name, kind in (('shared', 'plugin'), ('own', 'job')):
        folder = t.dir('ledger-' + name)
        os.chmod(folder, 0o777)
        open(folder + '/l', 'w').close()
        os.chmod(folder + '/l', 0o666)  # the next session has another uid
        entries[name] = servers.demo(kind, '--ledger', folder + '/l')
        entries[name]['oz0']['sandbox']['write'] = [folder]
    node = t.node(entries)
    for tool in entries:
        job, key = 'k-' + tool, 'k-%s/pay' % tool
        path = '%s/ledger-%s/l' % (t.top, tool)
        c = node.client()
        c.do('job/start', job=job)
        args = {'value': 'v', 'silent': True}
        c.call(job, tool + '.write', args, activity='pay')

        def effects():
            return [r for r in demo_ledger(path)
                    if r['event'] == 'effect' and r['key'] == key]
        procs.until(lambda: effects(), 'the effect')
        node.kill9()
        t.reap()
        node.start()
        c = node.client()
        calls = c.do('job/status', job=job)['calls']
        t.eq([(x['state'], x['outcome']) for x in calls],
             [('lost', 'unknown')])
        c.do('job/start', job=job)
        r = c.call(job, tool + '.write', args, activity='pay').result()
        t.has(r, state='completed', outcome='made', key=key)
        t.eq(r['result']['_meta']['oz0/replayed'], True)
        t.eq(len(effects()), 1)
        sent = [x for x in demo_ledger(path) if x['event'] == 'request'
                and x.get('key') == key]
        t.eq(len(sent), 2)


def test_L2_2_lost_and_again_says_what_the_first_left(t):
    """A call that makes a lost one again says of the effect under its key
    what is known of it, before it is made itself: canceled while it waits,
    and lost over another kill -9, its outcome is unknown, not `not_made`."""
    from oz0test import servers
    path = t.dir('ledger') + '/l'
    os.chmod(t.dir('ledger'), 0o777)
    open(path, 'w').close()
    os.chmod(path, 0o666)
    entry = servers.demo('plugin', '--ledger', path)
    entry['oz0']['sandbox']['write'] = [t.dir('ledger')]
    node = t.node({'own': entry})

    def again(first):
        """Starts the job and the call anew; it waits for an approval."""
        c = node.client(events=True)
        if not first:
            c.do('policy/set', policy=[{'decision': 'ask'}])
        c.do('job/start', job='j1')
        a = c.call('j1', 'own.write', {'value': 'v', 'silent': True},
                   activity='pay')
        return c, a
    again(True)
    procs.until(lambda: [r for r in demo_ledger(path)
                         if r['event'] == 'effect'], 'the effect')
    for reason in ('lost', 'canceled'):
        node.kill9()
        t.reap()
        node.start()
        c, a = again(False)
        call = c.event('call_waiting_approval')['call']
        if reason == 'canceled':
            c.do('call/cancel', call=call)
            t.has(a.result(), state='canceled', outcome='unknown',
                  attempts=0)
    calls = c.do('job/status', job='j1')['calls']
    t.eq([(x['state'], x['outcome'], x['attempts']) for x in calls],
         [('lost', 'unknown', 1), ('lost', 'unknown', 0),
          ('canceled', 'unknown', 0)])
    accepted = [s for s in node.trace('j1') if s['event'] == 'call_accepted']
    t.eq([s.get('follows') for s in accepted],
         [None] + [s['call'] for s in accepted[:2]])
    t.eq(len([r for r in demo_ledger(path) if r['event'] == 'effect']), 1)
