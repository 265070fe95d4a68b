"""L1: what a cancel stops, when, and what is said about it."""
import json
import os
import sys
import time

from oz0test import procs
from oz0test.control import Refused
from oz0test.node import ledger_lines, ledger_rows

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../chaos'))
from check_trace import check  # noqa: E402


def running(t, *args, steps, kind='job', stop='1s', block=False, node=None,
            **oz0):
    """A node with one call of rogue.script under way, as its ledger says."""
    entry, ledger = t.rogue(*args, kind=kind,
                            oz0={'stop_timeout': stop, **oz0})
    node = t.node({'own': entry}, **(node or {}))
    c = node.client(events=True)
    c.do('job/start', job='j1')
    a = c.call('j1', 'own.script', {'steps': [{'note': 'begun'}] + steps,
                                    'block': block})
    procs.until(lambda: [r for r in ledger_rows(ledger)
                         if r['text'] == 'begun'], 'the call began')
    return node, c, a, ledger


def session_tree(node):
    """Identities of all processes of the sandbox of `own`, init included."""
    inits = node.find('j1/1 own')
    assert inits, node.processes()
    found = [procs.identity(p.pid) for p in inits]
    for p in inits:
        found += [procs.identity(q.pid) for q in procs.below(p.pid)]
    return found


def cancel_job(t, node, c, a, ledger, patience=30):
    """Cancels; CANCELED comes after the last process is dead, not before."""
    tree = session_tree(node)
    began = time.monotonic()
    c.send('job/cancel', job='j1')
    c.event('job_cancelling', job='j1')
    c.event('job_canceled', job='j1', patience=patience)
    alive = [i for i in tree if procs.lives(i)]
    took = time.monotonic() - began
    t.eq(alive, [], 'living after CANCELED')
    r = a.result()
    t.has(r, state='canceled', stopped='server_gone')
    t.eq(r['error']['reason'], 'canceled')
    names = [e['event'] for e in c.events if e.get('job') == 'j1']
    assert names.index('call_ended') < names.index('job_canceled'), names
    t.eq(node.job_state('j1'), 'CANCELED')
    size = os.path.getsize(ledger)
    return r, took, size


def test_L1_3_polite(t):
    node, c, a, ledger = running(t, steps=[{'until': 'cancel'}])
    r, took, _ = cancel_job(t, node, c, a, ledger)
    assert took < 1, 'EOF was enough, yet it took %.2f s' % took
    t.has(r, outcome='unknown')
    cancels = [m for _, m in ledger_lines(ledger)
               if m.get('method') == 'notifications/cancelled']
    calls = [m for _, m in ledger_lines(ledger)
             if m.get('method') == 'tools/call']
    t.eq([m['params']['requestId'] for m in cancels],
         [m['id'] for m in calls], 'L1.2: the id as it was written')
    assert [x for x in ledger_rows(ledger) if x['what'] == 'eof']


def test_L1_2_ignores_eof(t):
    """SIGTERM when 40 % of the time has gone at the latest."""
    node, c, a, ledger = running(t, '--on-eof', 'ignore',
                                 steps=[{'sleep': 60}], stop='2s')
    _, took, _ = cancel_job(t, node, c, a, ledger)
    assert took < 1.6, 'SIGTERM came late: %.2f s' % took


def test_L1_2_ignores_eof_and_sigterm(t):
    node, c, a, ledger = running(t, '--on-eof', 'ignore', '--on-term',
                                 'ignore', steps=[{'sleep': 60}], stop='2s')
    _, took, size = cancel_job(t, node, c, a, ledger)
    assert 0.7 < took < 3, 'SIGKILL belongs to 80 %% of 2 s: %.2f' % took
    rows = ledger_rows(ledger)
    order = [r['what'] for r in rows if r['what'] in ('eof', 'term')]
    t.eq(order, ['eof', 'term'], 'the ladder, rung by rung')
    at = {r['what']: r['t'] for r in rows}
    assert 0 <= at['term'] - at['eof'] <= 1.2, at
    t.eq(os.path.getsize(ledger), size, 'nothing runs after CANCELED')


def test_L1_2_double_fork(t):
    node, c, a, ledger = running(
        t, steps=[{'fork': 'double', 'n': 3}, {'note': 'forked'},
                  {'until': 'cancel'}])
    procs.until(lambda: len([r for r in ledger_rows(ledger)
                             if r['what'] == 'child']) == 3, 'they forked')
    t.eq(len(session_tree(node)) >= 5, True, 'init, server, grandchildren')
    cancel_job(t, node, c, a, ledger)


def test_L1_2_holds_stdout(t):
    """A child that holds stdout open keeps nobody waiting for its end."""
    node, c, a, ledger = running(
        t, steps=[{'fork': 'hold'}, {'until': 'cancel'}])
    _, took, _ = cancel_job(t, node, c, a, ledger)
    assert took < 2.5, took


def test_L1_2_tree_of_20(t):
    node, c, a, ledger = running(
        t, steps=[{'fork': 'tree', 'n': 20}, {'until': 'cancel'}])
    procs.until(lambda: len([r for r in ledger_rows(ledger)
                             if r['what'] == 'child']) == 20, 'they forked')
    cancel_job(t, node, c, a, ledger)


def test_L1_4a_does_not_read_stdin(t):
    """Deaf, its stdin full with a begun line: the cancel is prompt."""
    node, c, a, ledger = running(t, steps=[{'sleep': 60}], block=True,
                                 stop='2s')
    fill = c.call('j1', 'own.echo', {'s': 'x' * (4 << 20)})
    procs.until(lambda: node.cli_json('status', 'j1')[0]['calls'][-1]['state']
                == 'running', 'the second runs')
    r, took, _ = cancel_job(t, node, c, a, ledger)
    assert took < 2.2, took
    t.has(fill.result(), state='canceled')
    tail = ledger_rows(ledger)[-1]
    assert tail['what'] != 'line' or 'cancelled' not in tail['text'], tail


def test_L1_4a_prompt_under_load(t):
    """Thousands of queued calls do not stand before a cancel."""
    node, c, a, ledger = running(t, steps=[{'until': 'cancel'}],
                                 node={'slots': 2}, max_running=1)
    queued = [c.call('j1', 'own.echo', {'i': i}) for i in range(5000)]
    procs.until(lambda: c.do('node/status')['queued'] >= 5000, 'queued')
    tree = session_tree(node)
    began = time.monotonic()
    c.send('job/cancel', job='j1')
    other = node.client(events=True)
    t.eq(a.result()['state'], 'canceled')
    assert time.monotonic() - began < 2, 'took too long'
    for q in queued:
        t.has(q.result(), state='canceled', attempts=0)
    node.wait_job('j1', 'CANCELED')
    t.eq([i for i in tree if procs.lives(i)], [])
    calls = [m for _, m in ledger_lines(ledger)
             if m.get('method') == 'tools/call']
    t.eq(len(calls), 1, 'only the first was ever sent')
    other.close()


def test_L1_4_plugin_answers_late(t):
    """stopped: answered; the late result is not delivered, but traced."""
    node, c, a, ledger = running(
        t, steps=[{'until': 'cancel'}, {'answer': '{"content":[],"late":1}'}],
        kind='plugin')
    c.do('call/cancel', call=c.event('call_accepted')['call'])
    r = a.result()
    t.has(r, state='canceled', stopped='answered', outcome='made')
    assert 'result' not in r, r
    steps = node.trace('j1')
    t.step(steps, 'cancel_sent')
    t.step(steps, 'late_answer')
    t.step(steps, 'attempt_stopped', stopped='answered')
    t.has(c.do('node/status')['servers'][0], tool='own', state='ready')


def test_L1_4_plugin_never_answers(t):
    """stopped: not_confirmed, when the time for stopping is over; the shared
    server lives on and serves others."""
    node, c, a, ledger = running(t, steps=[{'sleep': 3}], kind='plugin',
                                 stop='1s')
    pid = c.do('node/status')['servers'][0]['pid']
    began = time.monotonic()
    c.do('call/cancel', call=c.event('call_accepted')['call'])
    r = a.result()
    took = time.monotonic() - began
    t.has(r, state='canceled', stopped='not_confirmed', outcome='unknown')
    assert 0.9 <= took < 2, took
    c.do('job/start', job='j2')
    t.has(c.call('j2', 'own.echo', {}).result(), state='completed')
    t.eq(c.do('node/status')['servers'][0]['pid'], pid, 'the same process')


def answered(ledger):
    return [r for r in ledger_rows(ledger) if r['what'] == 'answered']


def go(t):
    """A file that a step of the server waits for, which this makes."""
    return t.dir('ledger-rogue', open_to_all=True) + '/go'


def late_answers(node):
    return [s for s in node.trace('j1') if s['event'] == 'late_answer']


def test_L1_5_answer_after_unconfirmed_stop(t):
    """It answers when nobody waits for it any more, the call ended and its job
    CANCELED: traced as that job's, once, and nothing else changes."""
    node, c, a, ledger = running(t, kind='plugin', stop='0.2s', steps=[
        {'exists': go(t)}, {'answer': '{"content":[],"late":1}'},
        {'answer': '{"content":[],"twice":1}'}])
    call = c.event('call_accepted')['call']
    c.do('job/cancel', job='j1')
    t.has(a.result(), state='canceled', stopped='not_confirmed',
          outcome='unknown')
    t.eq(answered(ledger), [], 'not yet')
    open(go(t), 'w').close()
    late = c.event('late_answer')
    t.has(late, job='j1', call=call, attempt=1, stopped='not_confirmed')
    assert 'outcome' not in late and 'effect stands' in late['text'], late
    # what came behind it was read: there is no second one
    procs.until(lambda: len(answered(ledger)) == 2, 'it answers twice')
    c.do('job/start', job='j2')
    t.has(c.call('j2', 'own.echo', {}).result(), state='completed')
    t.eq(late_answers(node), [late])
    steps = node.trace('j1')
    t.eq([s['event'] for s in steps][-2:], ['job_canceled', 'late_answer'])
    t.eq(check(steps, kinds={'own': 'plugin'}), [])
    t.has(c.do('call/status', call=call), state='canceled', outcome='unknown')
    node.kill9()
    t.reap()
    node.start()
    t.eq(node.trace('j1'), steps)


def test_L1_5_answer_after_its_job_was_forgotten(t):
    """There is no trace to write it to, nor is another job's of that name."""
    node, c, a, ledger = running(t, kind='plugin', stop='0.2s', steps=[
        {'exists': go(t)}, {'answer': '{"content":[],"late":1}'}],
        node={'log_level': 'info'})
    c.do('job/cancel', job='j1')
    a.result()
    c.do('job/forget', job='j1')
    c.do('job/start', job='j1')
    open(go(t), 'w').close()
    procs.until(lambda: answered(ledger), 'it answers')
    t.has(c.call('j1', 'own.echo', {}).result(), state='completed')
    t.eq(late_answers(node), [])
    assert 'its job is forgotten' in node.log(), node.log()


def test_L1_5_answer_after_cancel_on_job_server(t):
    """It answers on the cancel and dies: still canceled, outcome made."""
    node, c, a, ledger = running(t, steps=[
        {'until': 'cancel'}, {'answer': '{"content":[],"late":1}'}])
    c.do('call/cancel', call=c.event('call_accepted')['call'])
    r = a.result()
    t.has(r, state='canceled', stopped='server_gone')
    assert 'result' not in r
    if any(s['event'] == 'late_answer' for s in node.trace('j1')):
        t.has(r, outcome='made')


def test_L1_6_twice_and_after_the_end(t):
    node, c, a, ledger = running(t, '--on-eof', 'ignore',
                                 steps=[{'sleep': 60}])
    call = c.event('call_accepted')['call']
    one = c.send('call/cancel', call=call)
    two = c.send('call/cancel', call=call)
    one.result()
    two.result()
    t.has(a.result(), state='canceled')
    for method, params in (('call/cancel', {'call': call}),):
        try:
            c.do(method, **params)
            raise AssertionError('not told that it had ended')
        except Refused as e:
            t.eq(e.reason, 'already_ended')
            assert 'canceled' in json.dumps(e.error), e.error
    c.do('job/end', job='j1')
    node.wait_job('j1', 'COMPLETED')
    try:
        c.do('job/cancel', job='j1')
        raise AssertionError('a job that had ended was cancelled')
    except Refused as e:
        t.eq(e.reason, 'already_ended')
        assert 'COMPLETED' in json.dumps(e.error), e.error


def test_L1_7_others_on_the_server(t):
    """Another call in flight on the stopped server: server_ended, unknown."""
    node, c, a, ledger = running(t, steps=[{'until': 'cancel'}])
    first = c.event('call_accepted')['call']
    b = c.call('j1', 'own.script', {'steps': [{'note': 'second'},
                                              {'sleep': 60}]})
    procs.until(lambda: [r for r in ledger_rows(ledger)
                         if r['text'] == 'second'], 'the second began')
    c.do('call/cancel', call=first)
    t.has(a.result(), state='canceled')
    r = b.result()
    t.has(r, state='failed', outcome='unknown')
    t.eq(r['error']['reason'], 'server_ended')


def test_L1_8_starts_afresh(t):
    node, c, a, ledger = running(t, steps=[{'until': 'cancel'}])
    c.do('call/cancel', call=c.event('call_accepted')['call'])
    t.has(a.result(), state='canceled')
    t.has(c.call('j1', 'own.echo', {}).result(), state='completed')
    t.eq(len([r for r in ledger_rows(ledger) if r['what'] == 'start']), 2)


def test_L1_3_takes_nothing_new(t):
    node, c, a, ledger = running(t, '--on-eof', 'ignore', '--on-term',
                                 'ignore', steps=[{'sleep': 60}], stop='2s')
    c.send('job/cancel', job='j1')
    c.event('job_cancelling')
    t.eq(node.job_state('j1'), 'cancelling')
    for _ in range(2):
        try:
            c.call('j1', 'own.echo', {}).result()
            raise AssertionError('taken')
        except Refused as e:
            assert e.reason in ('already_ended', 'not_allowed'), e
    c.event('job_canceled')
    try:
        c.call('j1', 'own.echo', {}).result()
        raise AssertionError('taken')
    except Refused as e:
        t.eq(e.reason, 'already_ended')


def test_L1_2_modern_cancel(t):
    """The cancel in the modern era carries the id as it was written."""
    entry, ledger = t.rogue('--era', 'modern', kind='plugin',
                            oz0={'stop_timeout': '1s'})
    node = t.node({'own': entry})
    c = node.client(events=True)
    c.do('job/start', job='j1')
    a = c.call('j1', 'own.script', {'steps': [
        {'until': 'cancel'}, {'note': 'told'}]})
    c.event('attempt_started')
    procs.until(lambda: [m for _, m in ledger_lines(ledger)
                         if m.get('method') == 'tools/call'], 'it was sent')
    c.do('call/cancel', call=c.event('call_accepted')['call'])
    t.has(a.result(), state='canceled', stopped='not_confirmed')
    assert [r for r in ledger_rows(ledger) if r['text'] == 'told']


def test_cli_cancel_waits(t):
    node, c, a, ledger = running(t, '--on-eof', 'ignore',
                                 steps=[{'sleep': 60}])
    tree = session_tree(node)
    node.cli('cancel', 'j1', check=0)
    t.eq([i for i in tree if procs.lives(i)], [])
    t.eq(node.job_state('j1'), 'CANCELED')
    out = node.cli('cancel', 'j1', check=0).stdout.decode()
    assert 'CANCELED' in out, out


def test_session_close_stops_its_calls(t):
    """L1.1, L1.10: its session's end cancels a call."""
    node, c, a, ledger = running(t, steps=[{'until': 'cancel'}])
    tree = session_tree(node)
    c.do('session/close', job='j1', session=1)
    t.has(a.result(), state='canceled')
    c.event('session_closed')
    t.eq([i for i in tree if procs.lives(i)], [])
