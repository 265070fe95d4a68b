#!/usr/bin/python3
"""The trace checker finds nothing in good traces, and each fault in bad ones.
"""
import copy
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from check_trace import check  # noqa: E402


def S(event, **more):
    return dict(event=event, job='j1', **more)


def job(state, event, **more):
    return S(event, state=state, **more)


def server(event, **more):
    return S('server_' + event, tool='own', kind='job', session=1, **more)


def C(event, call='c1', **more):
    return S(event, call=call, **more)


def accepted(function='own.write', call='c1', **more):
    more.setdefault('session', 1)
    return C('call_accepted', call, function=function, **more)


def ended(state, outcome, attempts, call='c1', **more):
    return C('call_ended', call, state=state, outcome=outcome,
             attempts=attempts, **more)


BEGIN = [job('RUNNING', 'job_started'),
         S('session_opened', session=1, state='OPEN')]
UP = [server('started'), server('ready')]
DOWN = [S('session_closed', session=1, state='closing'),
        server('stopping'), server('ended'),
        S('session_closed', session=1, state='CLOSED'),
        job('COMPLETED', 'job_ended')]
RUN = [C('attempt_started', attempt=1)]
STOP = [C('call_cancelling', attempt=1, reason='canceled'),
        server('stopping'), C('cancel_sent', attempt=1),
        server('ended'),
        C('attempt_stopped', attempt=1, stopped='server_gone',
          outcome='unknown')]
LOST = [ended('lost', 'unknown', 1, reason='lost'),
        S('session_lost', session=1, state='LOST'),
        job('LOST', 'job_ended'), job('RUNNING', 'job_started'),
        S('session_opened', session=1, state='OPEN')]
PLUGIN = [accepted('shared.write', session=None), C('call_queued')] + RUN

NOT_CONFIRMED = [
    C('call_cancelling', attempt=1, reason='canceled'),
    C('attempt_stopped', attempt=1, stopped='not_confirmed',
      outcome='unknown')]
AFTER_ALL = C('late_answer', attempt=1, stopped='not_confirmed')

GOOD = {
    'completed': BEGIN + [accepted(), C('call_queued')] + UP + RUN + [
        C('attempt_ended', attempt=1, outcome='made'),
        ended('completed', 'made', 1)] + DOWN,
    'retried': BEGIN + [accepted()] + UP + RUN + [
        server('ended'), C('attempt_ended', attempt=1, outcome='unknown'),
        C('retry_waiting', attempt=2), C('call_queued')] + UP + [
        C('attempt_started', attempt=2),
        C('attempt_ended', attempt=2, outcome='made'),
        ended('completed', 'made', 2)] + DOWN,
    'timeout retried': BEGIN + [accepted()] + UP + RUN + [
        dict(STOP[0], reason='timeout')] + STOP[1:] + [
        C('retry_waiting', attempt=2)] + UP + [
        C('attempt_started', attempt=2),
        C('attempt_ended', attempt=2, outcome='made'),
        ended('completed', 'made', 2)] + DOWN,
    'canceled': BEGIN + [accepted()] + UP + RUN + STOP + [
        ended('canceled', 'unknown', 1, reason='canceled',
              stopped='server_gone')] + DOWN[:1] + DOWN[3:],
    'job canceled': BEGIN + [accepted()] + UP + RUN + [
        job('cancelling', 'job_cancelling')] + STOP + [
        ended('canceled', 'unknown', 1, reason='canceled',
              stopped='server_gone'),
        S('session_closed', session=1, state='CLOSED'),
        job('CANCELED', 'job_canceled')],
    'late answer': BEGIN + PLUGIN + [
        C('call_cancelling', attempt=1, reason='canceled'),
        C('cancel_sent', attempt=1), C('late_answer', attempt=1),
        C('attempt_stopped', attempt=1, stopped='answered', outcome='made'),
        ended('canceled', 'made', 1, reason='canceled', stopped='answered')],
    'not confirmed': BEGIN + PLUGIN + [
        C('call_cancelling', attempt=1, reason='killed'),
        C('attempt_stopped', attempt=1, stopped='not_confirmed',
          outcome='unknown'),
        ended('canceled', 'unknown', 1, reason='killed',
              stopped='not_confirmed')],
    'answered after all': BEGIN + PLUGIN + NOT_CONFIRMED + [
        ended('canceled', 'unknown', 1, reason='canceled',
              stopped='not_confirmed'),
        job('cancelling', 'job_cancelling'),
        S('session_closed', session=1, state='CLOSED'),
        job('CANCELED', 'job_canceled'), AFTER_ALL],
    'answered while it waits': BEGIN + PLUGIN + [
        dict(NOT_CONFIRMED[0], reason='timeout'), NOT_CONFIRMED[1],
        C('retry_waiting', attempt=2), dict(AFTER_ALL, outcome='made'),
        ended('canceled', 'made', 1, reason='canceled',
              stopped='not_confirmed')],
    'answered while the next one runs': BEGIN + PLUGIN + [
        dict(NOT_CONFIRMED[0], reason='timeout'), NOT_CONFIRMED[1],
        C('retry_waiting', attempt=2), C('attempt_started', attempt=2),
        AFTER_ALL, C('attempt_ended', attempt=2, outcome='made'),
        ended('completed', 'made', 2)],
    'canceled as well': BEGIN + PLUGIN + [
        dict(NOT_CONFIRMED[0], reason='timeout'), NOT_CONFIRMED[0],
        NOT_CONFIRMED[1], ended('canceled', 'unknown', 1, reason='canceled',
                                stopped='not_confirmed')],
    'did not start': BEGIN + [accepted(), server('started'), server('ended'),
                              C('attempt_ended', attempt=1,
                                outcome='not_made'),
                              C('retry_waiting', attempt=2)] + UP + [
        C('attempt_started', attempt=2),
        C('attempt_ended', attempt=2, outcome='made'),
        ended('completed', 'made', 2)],
    'lost': BEGIN + [accepted()] + UP + RUN + [
        accepted(call='c2'),
        ended('lost', 'unknown', 1, reason='lost'),
        ended('lost', 'not_made', 0, 'c2', reason='lost'),
        S('session_lost', session=1, state='LOST'),
        job('LOST', 'job_ended'), job('RUNNING', 'job_started'),
        S('session_opened', session=1, state='OPEN'),
        accepted(call='c3'), ended('canceled', 'not_made', 0, 'c3',
                                   reason='canceled')],
    'made again': BEGIN + [accepted(key='j1/a')] + UP + RUN + LOST + [
        accepted(call='c2', key='j1/a', follows='c1'),
        ended('lost', 'unknown', 0, 'c2', reason='lost')] + LOST[1:] + [
        accepted(call='c3', key='j1/a', follows='c2'),
        ended('canceled', 'unknown', 0, 'c3', reason='canceled')],
    'approved': BEGIN + [accepted(), C('policy_checked'),
                         C('call_waiting_approval'), C('call_approved'),
                         C('call_queued')] + UP + RUN + [
        C('attempt_ended', attempt=1, outcome='made'),
        ended('completed', 'made', 1)],
    'denied': BEGIN + [accepted(), C('call_waiting_approval'),
                       C('call_denied'),
                       ended('refused', 'not_made', 0, reason='denied')],
}


def without(name, event, nth=0):
    steps = GOOD[name]
    at = [i for i, s in enumerate(steps) if s['event'] == event][nth]
    return steps[:at] + steps[at + 1:]


def changed(name, event, nth=0, **new):
    steps = copy.deepcopy(GOOD[name])
    [s for s in steps if s['event'] == event][nth].update(new)
    return steps


def moved(name, event, before, nth=0):
    """The step `event` stands before the first `before`."""
    steps = without(name, event, nth)
    step = [s for s in GOOD[name] if s['event'] == event][nth]
    at = [s['event'] for s in steps].index(before)
    return steps[:at] + [step] + steps[at:]


def added(name, after, *steps, nth=0):
    old = GOOD[name]
    at = [i for i, s in enumerate(old) if s['event'] == after][nth]
    return old[:at + 1] + list(steps) + old[at + 1:]


# name: (the rule that is to be named, steps, what the checker knows more)
BAD = {
    'two ends': ('L9.1', added('completed', 'call_ended',
                               ended('failed', 'unknown', 1))),
    'no end': ('L9.1', without('not confirmed', 'call_ended')),
    'never accepted': ('L8.1', without('not confirmed', 'call_accepted')),
    'accepted twice': ('L2.2', added('denied', 'call_accepted', accepted())),
    'overlap': ('state', added('completed', 'attempt_started',
                               C('attempt_started', attempt=2))),
    'retry before stopped': ('state', added(
        'timeout retried', 'call_cancelling', C('retry_waiting', attempt=2))),
    'attempt skipped': ('L3.4', changed('retried', 'attempt_started', 1,
                                        attempt=3)),
    'attempt again': ('L3.4', changed('retried', 'attempt_started', 1,
                                      attempt=1)),
    'wrong attempt ends': ('L3.4', changed('retried', 'attempt_ended', 1,
                                           attempt=1)),
    'too many': ('L3.2', GOOD['retried'], dict(max_attempts=1)),
    'sent once': ('L3.1', GOOD['retried'], dict(once=['own.write'])),
    'sent once, stopped': ('L3.1', GOOD['timeout retried'],
                           dict(once=['own.write'])),
    'retry of a canceled one': ('L3.4', changed(
        'timeout retried', 'call_cancelling', reason='canceled')),
    'canceled early': ('L1.3', moved('canceled', 'call_ended',
                                     'attempt_stopped')),
    'job canceled early': ('L1.3', moved('job canceled', 'job_canceled',
                                         'attempt_stopped')),
    'job canceled, server lives': ('L1.3', without(
        'job canceled', 'server_ended')),
    'job canceled, harness lives': ('L1.3', added(
        'job canceled', 'session_opened', S('harness_started', session=1))),
    'job canceled, session open': ('L1.3', without(
        'job canceled', 'session_closed')),
    'job ended, server lives': ('L1.3', without('completed',
                                                'server_ended')),
    'job not cancelling': ('L1.3', without('job canceled',
                                           'job_cancelling')),
    'server gone, and lives': ('L1.4', moved('canceled', 'attempt_stopped',
                                             'server_ended')),
    'job server answered': ('L1.4', changed('canceled', 'attempt_stopped',
                                            stopped='answered')),
    'job server not confirmed': ('L1.4', changed(
        'canceled', 'attempt_stopped', stopped='not_confirmed')),
    'answered without an answer': ('L1.4', without('late answer',
                                                   'late_answer')),
    'stopped somehow': ('L1.4', changed('not confirmed', 'attempt_stopped',
                                        stopped=None)),
    'stopped otherwise': ('L1.4', changed('canceled', 'call_ended',
                                          stopped='answered')),
    'cancel unasked': ('state', added('completed', 'attempt_started',
                                      C('cancel_sent', attempt=1))),
    'late unasked': ('state', added('completed', 'attempt_started',
                                    C('late_answer', attempt=1))),
    'late delivered': ('L1.5', changed('late answer', 'call_ended',
                                       state='completed', reason=None)),
    'after its end': ('L1.5', added('completed', 'call_ended',
                                    C('late_answer', attempt=1))),
    'answered twice after all': ('L1.5', GOOD['answered after all']
                                 + [AFTER_ALL]),
    'answered after all, stopped': ('L1.5', changed(
        'answered after all', 'attempt_stopped', stopped='answered')),
    'answered after all, of none': ('L1.5', changed(
        'answered after all', 'late_answer', attempt=2)),
    'answered after all, never accepted': ('L8.1', changed(
        'answered after all', 'late_answer', call='c9')),
    'answered after all, by the way': ('L1.3', changed(
        'answered after all', 'late_answer', stopped=None)),
    'answered before all': ('L1.5', moved(
        'answered after all', 'late_answer', 'attempt_stopped')),
    'made after all': ('L1.10', changed(
        'answered after all', 'late_answer', outcome='made')),
    'made by the one before': ('L1.10', changed(
        'answered while the next one runs', 'late_answer', outcome='made')),
    'canceled unsaid': ('L1.10', without('canceled as well',
                                         'call_cancelling', 1)),
    'canceled twice': ('L1.10', added('canceled as well', 'call_cancelling',
                                      C('call_cancelling', attempt=1,
                                        reason='killed'), nth=1)),
    'killed by a limit': ('L1.10', changed(
        'canceled as well', 'call_cancelling', 1, reason='call_timeout')),
    'after the job': ('L1.3', added('job canceled', 'job_canceled',
                                    server('started'))),
    'call after the job': ('L1.3', added(
        'completed', 'job_ended', accepted(call='c2'),
        ended('refused', 'not_made', 0, 'c2'))),
    'started while cancelling': ('L1.3', moved(
        'job canceled', 'job_cancelling', 'attempt_started')),
    'killed, ended canceled': ('L1.10', changed(
        'not confirmed', 'call_cancelling', reason='timeout')
        [:-1] + [ended('completed', 'unknown', 1,
                       stopped='not_confirmed')]),
    'denied, completed': ('L6.3', changed('denied', 'call_ended',
                                          state='failed', reason='timeout')),
    'not approved': ('state', without('approved', 'call_approved')
                     [:5] + RUN + [ended('lost', 'unknown', 1)]),
    'server not ready': ('L3.5', without('completed', 'server_ready')),
    'server twice': ('server', added('completed', 'server_ready',
                                     server('started'), server('ready'))),
    'attempts miscounted': ('L3.4', changed('retried', 'call_ended',
                                            attempts=1)),
    'outcome forgotten': ('L3.8', changed('canceled', 'call_ended',
                                          outcome='not_made')),
    'made of nothing': ('L1.10', changed('denied', 'call_ended',
                                         outcome='unknown')),
    'may have been made': ('L1.10', changed('made again', 'call_ended', 2,
                                            outcome='not_made')),
    'forgot whom it follows': ('L2.2', changed(
        'made again', 'call_accepted', 1, follows=None)),
    'made again, not lost': ('L2.2', changed(
        'made again', 'call_ended', 1, state='failed', reason='timeout')),
    'made again, sent once': ('L2.2', GOOD['made again'],
                              dict(once=['own.write'])),
    'made without an answer': ('L1.10', changed(
        'canceled', 'call_ended', outcome='made')),
    'lost, and made': ('L3.8', changed('lost', 'call_ended',
                                       outcome='not_made')),
    'an attempt that never was': ('L3.7', changed(
        'did not start', 'attempt_ended', outcome='unknown')),
    'session closed, server lives': ('L1.3', without('completed',
                                                     'server_ended')),
    'session open twice': ('SESSION', added(
        'canceled', 'session_opened',
        S('session_opened', session=1, state='OPEN'))),
}


def numbered(steps, order=1):
    steps = [dict(s) for s in steps]
    for i, s in enumerate(steps):
        s['seq'] = 10 + 2 * i * order
    return steps


def main():
    failed = 0
    for name, steps in GOOD.items():
        faults = check(numbered(steps), kinds={'shared': 'plugin'},
                       max_attempts=3)
        if faults:
            failed += 1
            print('good trace %r: %s' % (name, faults))
    bad = {name: (rule, numbered(steps), more[0] if more else {})
           for name, (rule, steps, *more) in BAD.items()}
    backwards = numbered(GOOD['completed'])
    backwards[4]['seq'] = backwards[3]['seq']
    bad['a number twice'] = ('L8.1', backwards, {})
    for name, (rule, steps, more) in bad.items():
        faults = check(steps, kinds={'shared': 'plugin'},
                       **{'max_attempts': 3, **more})
        if not any(f.startswith(rule + ':') for f in faults):
            failed += 1
            print('bad trace %r: no %s in %s' % (name, rule, faults))
    print('%d good and %d bad traces, %d misjudged' % (
        len(GOOD), len(bad), failed))
    return 1 if failed else 0


sys.exit(main())
