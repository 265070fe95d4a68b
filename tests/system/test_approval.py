"""L6.3: calls that wait for an approval."""
import time

from oz0test import ledger, procs
from oz0test.control import Refused

OK = [{'answer': '{"content":[],"ok":true}'}]
ASK = [{'function': 'script*', 'decision': 'ask'}, {'decision': 'allow'}]


def one_node(t, policy=None, slots=64, **oz0):
    entry, path = t.rogue(name='own', kind='plugin', oz0=oz0)
    node = t.node({'own': entry}, policy=policy or ASK, slots=slots)
    c = node.client(events=True)
    c.do('job/start', job='j1')
    return node, c, path


def asked(c, activity, function='own.script', steps=None):
    """A call that waits, and its name."""
    since = len(c.events)
    a = c.call('j1', function, {'steps': steps or OK}, activity=activity)
    return a, c.event('call_waiting_approval', since=since)['call']


def test_L6_3_approve_and_deny(t):
    node, c, path = one_node(t)
    a, call = asked(c, 'a')
    t.has(c.do('call/status', call=call), state='waiting_approval', rule=1,
          attempts=0)
    t.eq(c.do('node/status')['approvals'], [
        {'call': call, 'function': 'own.script', 'job': 'j1',
         'tenant': 'default', 'rule': 1}])
    assert call in node.cli('status', check=0).stdout.decode()
    t.eq(ledger.requests(path), [])
    node.cli('approve', call, check=0)
    t.has(a.result(), state='completed', outcome='made', attempts=1)
    d, other = asked(c, 'b')
    node.cli('deny', other, check=0)
    r = d.result()
    t.has(r, state='refused', outcome='not_made', attempts=0)
    t.eq(r['error']['reason'], 'denied')
    t.eq([x.key for x in ledger.requests(path)], ['j1/a'])
    t.eq(c.do('node/status')['approvals'], [])
    # one by one: the approval covered that call alone
    e, third = asked(c, 'c')
    for what, reason in ((call, 'already_ended'), (other, 'already_ended'),
                         ('c999', 'unknown_call')):
        for method in ('call/approve', 'call/deny'):
            try:
                c.do(method, call=what)
                raise AssertionError('%s %s was taken' % (method, what))
            except Refused as f:
                t.eq(f.reason, reason)
    c.do('call/cancel', call=third)
    t.has(e.result(), state='canceled', outcome='not_made')
    names = [s['event'] for s in node.trace('j1')]
    assert 'call_approved' in names and 'call_denied' in names


def test_L6_3_waits_hold_no_slot(t):
    node, c, path = one_node(t, slots=1)
    waits = [asked(c, 'a%d' % i) for i in range(3)]
    t.eq(c.do('node/status')['running'], 0)
    t.has(c.call('j1', 'own.echo', {}).result(), state='completed')
    for _, call in waits:
        c.do('call/approve', call=call)
    for a, _ in waits:
        t.has(a.result(), state='completed')


def test_L6_3_asked_once_the_server_has_listed(t):
    """A rule on annotations, and the very first call: it waits before its
    first attempt, without a slot, on a job's own server as on a plugin."""
    for kind in ('job', 'plugin'):
        entry, path = t.rogue(name=kind, kind=kind)
        node = t.node({kind: entry}, name='n-' + kind, slots=1, policy=[
            {'annotations': {'readOnlyHint': False}, 'decision': 'ask'},
            {'decision': 'allow'}])
        c = node.client(events=True)
        c.do('job/start', job='j1')
        a, call = asked(c, 'a', kind + '.script')
        t.has(c.do('call/status', call=call), state='waiting_approval',
              attempts=0)
        t.has(c.call('j1', kind + '.echo', {}).result(), state='completed')
        c.do('call/approve', call=call)
        t.has(a.result(), state='completed', attempts=1)
        t.eq(len(ledger.requests(path, 'j1/a')), 1)
        node.stop()


def test_L6_3_timeout(t):
    node, c, path = one_node(t, approval_timeout='0.5s')
    began = time.monotonic()
    a, call = asked(c, 'a')
    r = a.result()
    assert time.monotonic() - began >= 0.5
    t.has(r, state='refused', outcome='not_made', attempts=0)
    t.has(r['error'], reason='approval_needed', limit='approval_timeout',
          limit_s=0.5)
    t.eq(ledger.requests(path), [])


def test_L6_3_not_part_of_call_timeout(t):
    """The limit over all attempts starts with the first of them (L3.8a)."""
    node, c, path = one_node(t, call_timeout='1s')
    a, call = asked(c, 'a')
    time.sleep(1.3)
    c.do('call/approve', call=call)
    t.has(a.result(), state='completed')


def test_L6_3_holds_for_retries(t):
    """One approval for all attempts of the call, while its rule stands."""
    node, c, path = one_node(t, backoff_base='0.02s')
    a, call = asked(c, 'a', 'own.script_safe', [{'error': 0}])
    c.do('call/approve', call=call)
    t.has(a.result(), state='failed', attempts=3)
    t.eq(len(ledger.requests(path, 'j1/a')), 3)


def test_L6_3_lapses_when_the_rule_changes(t):
    """Approved, then another rule asks before the next attempt: a new
    approval is needed, and the call ends."""
    node, c, path = one_node(t, backoff_base='1.5s', backoff_cap='1.5s')
    busy = [{'answer': '{"content":[],"isError":true,"_meta":'
             '{"oz0/retryable":true,"oz0/retry_after":1}}'}]
    a, call = asked(c, 'a', 'own.script_safe', busy)
    c.do('call/approve', call=call)
    c.event('retry_waiting')
    c.do('policy/set', policy=[{'function': 'script_*', 'decision': 'ask'},
                               {'decision': 'allow'}])
    r = a.result()
    t.has(r, state='refused', outcome='not_made', attempts=1)
    t.eq(r['error']['reason'], 'approval_needed')
    # the same rule in another place is the same rule
    b, call = asked(c, 'b', 'own.script_safe', busy)
    since = len(c.events)
    c.do('call/approve', call=call)
    c.event('retry_waiting', since=since)
    c.do('policy/set', policy=[{'tenant': 'nobody', 'decision': 'refuse'},
                               {'function': 'script_*', 'decision': 'ask'},
                               {'decision': 'allow'}])
    t.has(b.result(), state='completed', attempts=3)


def test_L6_3_policy_changes_while_it_waits(t):
    """Looked at anew: allowed goes on, refused ends, another rule asks."""
    node, c, path = one_node(t)
    a, call = asked(c, 'a')
    c.do('policy/set', policy=[{'tool': 'own', 'decision': 'ask'}])
    t.has(c.do('call/status', call=call), state='waiting_approval')
    c.do('call/approve', call=call)
    t.has(a.result(), state='completed')
    b, call = asked(c, 'b')
    c.do('policy/set', policy=[{'decision': 'allow'}])
    t.has(b.result(), state='completed')
    c.do('policy/set', policy=ASK)
    d, call = asked(c, 'c')
    c.do('policy/set', policy=[])
    r = d.result()
    t.eq((r['state'], r['error']['reason']), ('refused', 'refused'))


def test_L6_3_holds_over_a_kill(t):
    """Given before a kill -9, it holds for the call that is started again
    under its key, and for no other."""
    node, c, path = one_node(t)
    a, call = asked(c, 'a', 'own.script_safe', [{'note': 'in'},
                                                {'sleep': 60}])
    c.do('call/approve', call=call)
    procs.until(lambda: ledger.rows(path, 'note'), 'it runs')
    b, waiting = asked(c, 'b')
    node.kill9()
    t.reap()
    node.start()
    c = node.client(events=True)
    for name in (call, waiting):
        t.has(c.do('call/status', call=name), state='lost')
    t.has(c.do('call/status', call=waiting), outcome='not_made')
    c.do('job/start', job='j1')
    again = c.call('j1', 'own.script_safe', {'steps': [
        {'note': 'in'}, {'sleep': 60}]}, activity='a')
    procs.until(lambda: len(ledger.rows(path, 'note')) == 2, 'it runs again')
    t.eq([x.key for x in ledger.requests(path)], ['j1/a'] * 2)
    # the one that was not approved asks anew
    b, waiting = asked(c, 'b')
    c.do('call/deny', call=waiting)
    t.has(b.result(), state='refused')
    c.do('job/cancel', job='j1')
    t.has(again.result(), state='canceled')


def test_L6_3_lapses_over_a_kill_when_the_rule_changed(t):
    node, c, path = one_node(t)
    a, call = asked(c, 'a', 'own.script_safe', [{'note': 'in'},
                                                {'sleep': 60}])
    c.do('call/approve', call=call)
    procs.until(lambda: ledger.rows(path, 'note'), 'it runs')
    node.kill9()
    t.reap()
    node.config['policy'] = [{'function': 'script_safe', 'decision': 'ask'}]
    node.start()
    c = node.client(events=True)
    c.do('job/start', job='j1')
    a = c.call('j1', 'own.script_safe', {'steps': [
        {'note': 'in'}, {'sleep': 60}]}, activity='a')
    call = c.event('call_waiting_approval')['call']
    c.do('call/deny', call=call)
    t.eq(a.result()['error']['reason'], 'denied')
    t.eq(len(ledger.requests(path)), 1)


def test_L6_3_ends_with_its_job(t):
    """A cancel, and a drain, end what waits at once."""
    node, c, path = one_node(t)
    a, call = asked(c, 'a')
    c.do('job/cancel', job='j1')
    t.has(a.result(), state='canceled', outcome='not_made')
    c.do('job/start', job='j2')
    since = len(c.events)
    b = c.call('j2', 'own.script', {'steps': OK})
    c.event('call_waiting_approval', since=since)
    node.signal(15)
    t.has(b.result(), state='lost', outcome='not_made')
    t.eq(node.wait(), 0)
    t.eq(ledger.requests(path), [])
