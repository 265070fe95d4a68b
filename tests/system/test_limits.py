"""Time limits, slots, the queue and fairness (L3.5, L3.8, L3.9)."""
import time

from oz0test import procs
from oz0test.node import ledger_rows


def one(t, *args, kind='job', node=None, **oz0):
    entry, ledger = t.rogue(*args, kind=kind, oz0=oz0)
    node = t.node({'own': entry}, **(node or {}))
    c = node.client(events=True)
    c.do('job/start', job='j1')
    return node, c, ledger


def test_L3_5_stops_before_the_limit(t):
    """Of 2 s a tenth is the margin: the cancel is sent at 1.8 s."""
    node, c, ledger = one(t, timeout='2s')
    t.has(c.call('j1', 'own.echo', {}).result(), state='completed')
    began = time.monotonic()
    r = c.call('j1', 'own.script', {'steps': [{'sleep': 30}]}).result()
    took = time.monotonic() - began
    t.has(r, state='failed', outcome='unknown', attempts=1,
          stopped='server_gone')
    t.has(r['error'], reason='timeout', limit='timeout', limit_s=2)
    assert 1.75 < took < 2.6, took
    cancels = [x for x in ledger_rows(ledger)
               if 'notifications/cancelled' in x['text']]
    t.eq(len(cancels), 1)


def test_L3_5_margin_of_two_seconds(t):
    node, c, ledger = one(t, '--on-eof', 'ignore', '--on-term', 'ignore',
                          timeout='25s')
    r = c.call('j1', 'own.script', {'steps': [{'sleep': 60}]}, timeout=4)
    began = time.monotonic()
    r = r.result()
    took = time.monotonic() - began
    t.has(r['error'], reason='timeout', limit_s=4)
    # margin 0.4 s: SIGKILL at 3.6 + 0.32
    assert 3.5 < took < 5, took


def test_L3_8_caller_may_only_lower(t):
    node, c, ledger = one(t, timeout='1s')
    r = c.call('j1', 'own.script', {'steps': [{'sleep': 30}]},
               timeout=50).result()
    t.has(r['error'], reason='timeout', limit_s=1)


def test_L3_5_start_does_not_count(t):
    """A server that starts slower than the limit of a call is no timeout."""
    node, c, ledger = one(t, '--before', '[{"sleep": 2}]', timeout='1s')
    t.has(c.call('j1', 'own.echo', {}).result(), state='completed')


def test_start_timeout(t):
    node, c, ledger = one(t, '--before', '[{"sleep": 60}]',
                          start_timeout='1s', max_attempts=1)
    r = c.call('j1', 'own.echo', {}).result()
    t.has(r, state='failed', outcome='not_made')
    t.eq(r['error']['reason'], 'server_start')


def test_L3_7_late_result_is_made(t):
    """Over its limit, then a result within the margin: failed, but made."""
    node, c, ledger = one(t, kind='plugin', timeout='2s')
    r = c.call('j1', 'own.script', {'steps': [
        {'until': 'cancel'}, {'answer': '{"content":[]}'}]}).result()
    t.has(r, state='failed', outcome='made', stopped='answered')
    t.eq(r['error']['reason'], 'timeout')


def test_L3_9_slots(t):
    """Never more attempts at once than slots, as the server counts them."""
    node, c, ledger = one(t, kind='plugin', node={'slots': 3})
    steps = {'steps': [{'note': 'in'}, {'sleep': 0.1}, {'note': 'out'},
                       {'answer': '{"content":[]}'}]}
    for a in [c.call('j1', 'own.script', steps) for _ in range(30)]:
        t.has(a.result(), state='completed')
    now, most = 0, 0
    for row in ledger_rows(ledger):
        if row['what'] == 'note':
            now += 1 if row['text'] == 'in' else -1
            most = max(most, now)
    assert 2 <= most <= 3, most


def test_max_running(t):
    node, c, ledger = one(t, kind='plugin', max_running=1)
    steps = {'steps': [{'note': 'in'}, {'sleep': 0.02}, {'note': 'out'},
                       {'answer': '{"content":[]}'}]}
    for a in [c.call('j1', 'own.script', steps) for _ in range(10)]:
        t.has(a.result(), state='completed')
    notes = [r['text'] for r in ledger_rows(ledger) if r['what'] == 'note']
    t.eq(notes, ['in', 'out'] * 10)


def test_L3_9_fair(t):
    """A job with one call is not starved by one with 300 queued."""
    node, c, ledger = one(t, kind='plugin', node={'slots': 1})
    c.do('job/start', job='j2')
    steps = {'steps': [{'sleep': 0.01}, {'answer': '{"content":[]}'}]}
    many = [c.call('j1', 'own.script', steps) for _ in range(300)]
    many[0].result()
    c.call('j2', 'own.echo', {}).result()
    done = sum(a.done() for a in many)
    assert done < 20, '%d of the other job were served first' % done
    for a in many:
        a.result()


def test_queue_bound_node_full(t):
    """Over the bound: node_full, nothing dropped."""
    node, c, ledger = one(t, kind='plugin', node={'slots': 1, 'queue': 10})
    steps = {'steps': [{'until': 'cancel'}, {'answer': '{"content":[]}'}]}
    first = c.call('j1', 'own.script', steps, activity='first')
    c.event('attempt_started')
    asked = [c.call('j1', 'own.echo', {'i': i}) for i in range(30)]
    from oz0test.control import Refused
    full = 0

    def refused():
        return sum(a.done() and b'node_full' in a.line for a in asked)
    procs.until(lambda: refused() >= 19, 'some are refused')
    c.do('call/cancel', call=c.event('call_accepted')['call'])
    t.has(first.result(), state='canceled')
    done = 0
    for a in asked:
        try:
            t.has(a.result(), state='completed')
            done += 1
        except Refused as e:
            t.eq(e.reason, 'node_full')
            full += 1
    t.eq((done + full, 9 <= done <= 11), (30, True), '%d done' % done)


def test_sigtstp_holds(t):
    """SIGTSTP: no new attempt; held time is credited; SIGCONT goes on."""
    import signal
    node, c, ledger = one(t, timeout='2s')
    c.call('j1', 'own.echo', {}).result()
    slow = c.call('j1', 'own.script', {'steps': [
        {'note': 'in'}, {'sleep': 2.5}, {'answer': '{"content":[]}'}]})
    procs.until(lambda: any(r['text'] == 'in' for r in ledger_rows(ledger)),
                'it began')
    node.signal(signal.SIGTSTP)
    procs.until(lambda: c.do('node/status')['state'] == 'holding', 'holding')
    held = c.call('j1', 'own.echo', {'x': 1})
    procs.until(lambda: c.do('node/status')['queued'] == 1, 'queued')
    t.has(slow.result(), state='completed')  # 2.5 s under a limit of 2
    assert not held.done()
    node.signal(signal.SIGCONT)
    t.has(held.result(), state='completed')
    t.eq(c.do('node/status')['state'], 'ready')


def full_node(t):
    """A node whose message_budget other calls have used up, and a client with
    a running call of a job's own server."""
    own, ledger = t.rogue('--on-eof', 'ignore', '--on-term', 'ignore',
                          oz0={'stop_timeout': '1s'})
    big, _ = t.rogue(name='big', kind='plugin', oz0={'stop_timeout': '1s'})
    node = t.node({'own': own, 'big': big}, message_budget='1MiB',
                  max_message='512KiB')
    other, c = node.client(events=True), node.client()
    c.do('job/start', job='j1')
    other.do('job/start', job='other')
    victim = c.call('j1', 'own.script', {'steps': [
        {'fork': 'double'}, {'note': 'in'}, {'sleep': 60}]})
    procs.until(lambda: any(r['text'] == 'in' for r in ledger_rows(ledger)),
                'it began')
    hold = {'steps': [{'until': 'cancel'}], 'fill': 'x' * 400_000}
    for _ in range(3):
        other.call('other', 'big.script', hold)
    procs.until(lambda: 'is used up' in node.log(), 'the budget is used up')
    before = other.do('node/status')['put_aside']  # of held, which was read

    def put_aside():
        return other.do('node/status')['put_aside'] - before
    return node, other, c, victim, put_aside


def test_L9_6_L1_4a_cancel_over_the_budget(t):
    """Calls that wait for room keep no cancel behind them from being read;
    nothing of them is lost, and they begin in their order."""
    node, other, c, victim, put_aside = full_node(t)
    (init,) = node.find('j1/1 own')
    tree = [procs.identity(p.pid)
            for p in [init] + procs.below(init.pid)]
    assert len(tree) >= 3, tree
    call = other.event('call_accepted', job='j1')['call']
    later = [c.call('j1', 'own.echo', {'n': n}, activity='a%d' % n)
             for n in range(5)]
    procs.until(lambda: put_aside() == 5, 'they are put aside')
    t.has(c.do('call/cancel', call=call), state='canceled',
          stopped='server_gone')
    t.eq([i for i in tree if procs.lives(i)], [], 'living after its cancel')
    t.has(victim.result(), state='canceled')
    t.eq(put_aside(), 5)
    t.eq([a.done() for a in later], [False] * 5)
    other.do('job/cancel', job='other')
    for n, a in enumerate(later):
        t.has(a.result(), state='completed', attempts=1)
        t.eq(a.raw('result', 'result', 'content') is not None, True)
    accepted = [e['call'] for e in other.events
                if e.get('event') == 'call_accepted' and e['job'] == 'j1']
    t.eq(accepted[1:], [a.result()['call'] for a in later], 'in their order')
    t.has(c.do('node/status'), put_aside=0)


def test_L9_6_job_cancel_over_the_budget(t):
    """Also a job's own cancel, after which its calls are not begun; and what
    a closed connection has put aside goes with it."""
    from oz0test.control import Refused
    node, other, c, victim, put_aside = full_node(t)
    later = [c.call('j1', 'own.echo', {'n': n}) for n in range(3)]
    gone = node.client()
    gone.call('other', 'big.echo', {})
    procs.until(lambda: put_aside() == 4, 'they are put aside')
    gone.close()
    procs.until(lambda: put_aside() == 3, 'one has gone')
    t.has(c.do('job/cancel', job='j1'), state='CANCELED')
    t.eq(put_aside(), 3)
    other.do('job/cancel', job='other')
    for a in later:
        try:
            raise AssertionError(a.result())
        except Refused as e:
            t.eq((e.reason, e.error['data']['state']),
                 ('already_ended', 'CANCELED'))


def test_L9_6_bound_node_full(t):
    """Over what may wait, a call is refused at once; the rest are made."""
    from oz0test.control import Refused
    node, other, c, victim, put_aside = full_node(t)
    fill = 'x' * 60_000
    later = [c.call('j1', 'own.echo', {'n': n, 'fill': fill})
             for n in range(30)]
    c.do('node/status')  # all before it was read
    full = [a for a in later if a.done()]
    for a in full:
        try:
            raise AssertionError(a.result())
        except Refused as e:
            t.eq(e.reason, 'node_full')
            assert '`message_budget`' in str(e), e
    t.eq(put_aside(), len(later) - len(full))
    assert 0 < len(full) < len(later), len(full)
    other.do('job/cancel', job='other')
    c.do('call/cancel', call=other.event('call_accepted', job='j1')['call'])
    for a in later:
        if a not in full:
            t.has(a.result(), state='completed')


def deaf_client(node, c, running):
    """One that reads none of its answers, which use the budget up; so many
    other calls run."""
    import socket
    deaf = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    deaf.connect(node.socket)
    for n in range(4):
        deaf.sendall(b'{"jsonrpc":"2.0","id":%d,"method":"call/start",'
                     b'"params":{"job":"other","function":"big.echo",'
                     b'"arguments":{"a":"%s"}}}\n' % (n, b'x' * 500_000))
        procs.until(lambda: c.do('node/status')['running'] == running,
                    'it is made')
    procs.until(lambda: c.do('node/status')['client_bytes'] > 1 << 20,
                'answers are not read')
    return deaf


def test_L9_6_L1_4a_stop_while_results_wait(t):
    """Over the budget results stay with the workers; what a worker says of a
    stop is read all the same."""
    own, ledger = t.rogue(oz0={'stop_timeout': '1s'})
    big, _ = t.rogue(name='big', kind='plugin')
    node = t.node({'own': own, 'big': big}, message_budget='1MiB',
                  max_message='512KiB')
    c = node.client()
    for job in 'j1', 'other':
        c.do('job/start', job=job)
    call = c.call('j1', 'own.script', {'steps': [{'note': 'in'},
                                                 {'until': 'cancel'}]})
    procs.until(lambda: any(r['text'] == 'in' for r in ledger_rows(ledger)),
                'it began')
    deaf = deaf_client(node, c, 1)
    t.has(c.do('job/cancel', job='j1'), state='CANCELED')
    t.has(call.result(), state='canceled', stopped='server_gone')
    assert c.do('node/status')['client_bytes'] > 1 << 20, 'it was over before'
    assert 'hung' not in node.log(), 'a worker that was not read from'
    deaf.close()


def test_L9_6_start_while_results_wait(t):
    """Over the budget a worker is not read from: a server that is starting
    is not called too slow for that, and is ready once there is room."""
    import time
    big, _ = t.rogue(name='big', kind='plugin')
    big['oz0']['start_timeout'] = '5s'
    node = t.node({'big': big}, message_budget='1MiB', max_message='512KiB')
    c = node.client(events=True)
    c.do('job/start', job='other')
    deaf = deaf_client(node, c, 0)
    since = len(c.events)
    c.do('tool/restart', tool='big')
    c.event('server_started', since=since)
    assert c.do('node/status')['client_bytes'] > 1 << 20, 'still over'
    time.sleep(6)  # longer than start_timeout; deaf is not cut off yet
    deaf.close()
    c.event('server_ready', since=since)
    t.eq([e['event'] for e in c.events[since:]
          if e['event'].startswith('server_')],
         ['server_stopping', 'server_ended', 'server_started',
          'server_ready'])
