#!/usr/bin/python3
"""Replays a trace against the rules of LIFECYCLE and says what broke them.

    check_trace.py [--kind TOOL=job|plugin]... [--once FUNCTION]...
                   [--max-attempts N] [--open] [FILE]

FILE (or stdin) is what `oz0 --json trace JOB` prints, or the events of any
run: one step a line.  Prints each fault, and ends with 1 if there is any.
Every call must have ended, unless --open says that the run goes on.  --once
names functions that must not be made again by themselves; a tool's kind is
also learnt from its server's steps.
"""
import argparse
import json
import sys

ENDED = ('completed', 'failed', 'refused', 'canceled', 'lost')
JOB_ENDED = ('CANCELED', 'COMPLETED', 'FAILED')

# state x event of a call, as its steps show it; what is not here is a fault.
# `between` waits for what follows an attempt: a retry, or the end.
CALL = {
    ('queued', 'policy_checked'): 'queued',
    ('queued', 'call_queued'): 'queued',
    ('queued', 'call_waiting_approval'): 'waiting_approval',
    ('queued', 'attempt_started'): 'running',
    ('queued', 'attempt_ended'): 'between',  # its server did not start
    ('waiting_approval', 'call_waiting_approval'): 'waiting_approval',
    ('waiting_approval', 'call_approved'): 'queued',
    ('waiting_approval', 'call_denied'): 'denied',
    ('waiting_approval', 'call_queued'): 'queued',  # the policy changed
    ('waiting_approval', 'policy_checked'): 'queued',
    ('running', 'attempt_ended'): 'between',
    ('running', 'call_cancelling'): 'cancelling',
    ('cancelling', 'call_cancelling'): 'cancelling',  # for a stronger cause
    ('cancelling', 'cancel_sent'): 'cancelling',
    ('cancelling', 'late_answer'): 'cancelling',
    ('cancelling', 'attempt_stopped'): 'between',
    ('between', 'retry_waiting'): 'queued',
}

# An attempt that is being stopped for one cause may come to be stopped for a
# stronger one, and the trace says so.
STRENGTH = {'timeout': 1, 'call_timeout': 1, 'canceled': 2, 'killed': 2,
            'lost': 3}
END_OF_CAUSE = {
    'timeout': {('failed', 'timeout'), ('failed', 'call_timeout')},
    'call_timeout': {('failed', 'call_timeout')},
    'canceled': {('canceled', 'canceled')},
    'killed': {('canceled', 'killed')},
    'lost': {('lost', 'lost')},
}


def is_unconfirmed(step):
    """An answer after the stop of its attempt was not confirmed."""
    return step.get('event') == 'late_answer' and \
        step.get('stopped') == 'not_confirmed'


class Call:
    def __init__(self, step):
        self.job = step['job']
        self.function = step.get('function', '.')
        self.tool = self.function.split('.')[0]
        self.session = step.get('session')
        self.state = 'queued'
        self.attempts = 0        # as their numbers say
        self.started = 0         # those that were started
        self.cause = None        # why it is being stopped
        self.cause_seq = 0
        self.late = False
        self.unconfirmed = set()  # attempts that may be answered still
        self.stopped = None
        self.outcome = None      # of the last attempt
        self.may_be_made = False  # one ended otherwise than not made
        self.end = None          # its state and outcome, once it has ended
        self.ends = 0


class Job:
    def __init__(self):
        self.state = None
        self.servers = {}        # (session, tool): [state, seq of its end]
        self.sessions = {}       # number: state
        self.harnesses = set()
        self.keys = {}           # key: name of the call that holds it

    def forget_processes(self):
        self.servers.clear()
        self.sessions.clear()
        self.harnesses.clear()


class Checker:
    """feed() each step, then finish(); faults is a list of words."""

    def __init__(self, kinds=None, once=(), max_attempts=None):
        self.kinds = dict(kinds or {})
        self.once = set(once)
        self.max_attempts = max_attempts
        self.calls = {}
        self.jobs = {}
        self.plugins = {}
        self.seq = 0
        self.steps = 0
        self.faults = []

    def fault(self, step, rule, words):
        self.faults.append('%s: seq %s, %s %s: %s' % (
            rule, step.get('seq'), step.get('call') or step.get('job') or '',
            step.get('event'), words))

    # ---- one step ----

    def feed(self, step):
        event = step.get('event')
        self.steps += 1
        if 'seq' in step:  # progress has none
            if step['seq'] <= self.seq:
                self.fault(step, 'L8.1', 'after seq %d' % self.seq)
            self.seq = max(self.seq, step['seq'])
        job = None
        if step.get('job') is not None:
            job = self.jobs.setdefault(step['job'], Job())
        if event == 'progress':
            return
        if job is not None and job.state in JOB_ENDED and \
                event not in ('job_started', 'fault') and \
                not is_unconfirmed(step):
            self.fault(step, 'L1.3', 'the job is %s' % job.state)
        if event.startswith('job_'):
            self.job_step(step, job)
        elif event.startswith('server_'):
            self.server_step(step, job)
        elif event.startswith('session_'):
            self.session_step(step, job)
        elif event == 'harness_started':
            job.harnesses.add(step.get('session'))
        elif event == 'harness_ended':
            job.harnesses.discard(step.get('session'))
        elif step.get('call') is not None:
            self.call_step(step, job)

    # ---- jobs ----

    def job_step(self, step, job):
        state = step.get('state')
        if step['event'] == 'job_started':
            if job.state not in (None, 'LOST') + JOB_ENDED:
                self.fault(step, 'INTERFACES', 'the job is %s' % job.state)
            job.forget_processes()
            if job.state in JOB_ENDED:
                job.keys.clear()
        elif step['event'] == 'job_cancelling':
            if job.state not in ('RUNNING', 'LOST'):
                self.fault(step, 'L1.3', 'the job is %s' % job.state)
        else:
            if step['event'] == 'job_canceled' and job.state != 'cancelling':
                self.fault(step, 'L1.3', 'it was not cancelling')
            self.no_open_call(step, lambda c: True)
            if state == 'LOST':  # with its node: the start waits for them
                job.forget_processes()
            else:
                self.nothing_lives(step, job, lambda session: True)
        job.state = state

    def no_open_call(self, step, among):
        for name, c in self.calls.items():
            if c.job == step['job'] and c.ends == 0 and among(c):
                self.fault(step, 'L1.3', '%s has not ended' % name)

    def nothing_lives(self, step, job, among):
        for (session, tool), (state, _) in job.servers.items():
            if state != 'ended' and among(session):
                self.fault(step, 'L1.3', 'server %s of session %s is %s' % (
                    tool, session, state))
        for session in job.harnesses:
            if among(session):
                self.fault(step, 'L1.3', 'the harness of session %s lives'
                           % session)
        if step['event'] in ('job_canceled', 'job_ended'):
            for session, state in job.sessions.items():
                if state not in ('CLOSED', 'LOST'):
                    self.fault(step, 'L1.3', 'session %s is %s' % (
                        session, state))

    # ---- sessions ----

    def session_step(self, step, job):
        number, state = step.get('session'), step.get('state')
        if step['event'] == 'session_opened':
            if job.sessions.get(number) in ('OPEN', 'closing'):
                self.fault(step, 'SESSION', 'it is %s'
                           % job.sessions[number])
            if job.state != 'RUNNING':
                self.fault(step, 'L1.3', 'the job is %s' % job.state)
        if state == 'CLOSED':
            self.no_open_call(step, lambda c: c.session == number)
            self.nothing_lives(step, job, lambda s: s == number)
        if state == 'LOST':
            job.harnesses.discard(number)
            for key in [k for k in job.servers if k[0] == number]:
                del job.servers[key]
        job.sessions[number] = state

    # ---- servers ----

    def server_step(self, step, job):
        tool, kind = step.get('tool'), step.get('kind')
        if kind is not None:
            self.kinds.setdefault(tool, kind)
        where = self.plugins if job is None else job.servers
        key = tool if job is None else (step.get('session'), tool)
        state = where.get(key, ['ended', 0])[0]
        event = step['event'][len('server_'):]
        allowed = {'started': ('ended', 'stopping'),
                   'ready': ('started', 'ready'),  # `it answers again`
                   'stopping': ('started', 'ready', 'ended'),
                   'ended': ('started', 'ready', 'stopping', 'ended')}[event]
        if state not in allowed and job is not None:
            self.fault(step, 'server', 'it was %s' % state)
        # A stop may come before its init has told that it started.
        if event == 'started' and state == 'stopping':
            event = state
        where[key] = [event, step.get('seq', 0)]

    def server_of(self, c):
        return self.jobs[c.job].servers.get((c.session, c.tool),
                                            ['ended', 0])

    # ---- calls ----

    def call_step(self, step, job):
        name, event = step['call'], step['event']
        if event == 'call_accepted':
            if name in self.calls:
                self.fault(step, 'L2.2', 'accepted twice')
            if job.state != 'RUNNING':
                self.fault(step, 'L1.3', 'the job is %s' % job.state)
            self.calls[name] = Call(step)
            self.follows(step, job, self.calls[name])
            return
        c = self.calls.get(name)
        if c is None:
            self.fault(step, 'L8.1', 'the call was never accepted')
            return
        if event == 'fault':
            return
        if is_unconfirmed(step):
            self.late_unconfirmed(step, c)
            return
        if c.ends and event == 'call_ended':
            c.ends += 1
            self.fault(step, 'L9.1', 'it has ended %d times' % c.ends)
            return
        if c.ends:
            self.fault(step, 'L1.5', 'after its end')
            return
        if event == 'call_ended':
            self.call_ended(step, c)
            return
        was = c.state
        c.state = CALL.get((was, event))
        if c.state is None:
            self.fault(step, 'state', 'cannot follow in state %s' % was)
            c.state = was
        handler = getattr(self, 'on_' + event, None)
        if handler is not None:
            handler(step, c, was)

    def follows(self, step, job, c):
        """L2.2: under a used key only a lost call is made again."""
        key = step.get('key')
        before = job.keys.get(key)
        if step.get('follows') != before:
            self.fault(step, 'L2.2', 'follows %s, the key %s is that of %s' % (
                step.get('follows'), key, before))
        if before is not None:
            last = self.calls[before]
            if last.end is None or last.end[0] != 'lost':
                self.fault(step, 'L2.2', '%s of that key is not lost' % before)
            elif last.end[1] != 'not_made':
                if c.function in self.once:
                    self.fault(step, 'L2.2', '%s may have made it' % before)
                c.may_be_made = True
        if key is not None:
            job.keys[key] = step['call']

    def same_attempt(self, step, c):
        if step.get('attempt') != c.attempts:
            self.fault(step, 'L3.4', 'attempt %s, and attempt %d runs' % (
                step.get('attempt'), c.attempts))

    def next_attempt(self, step, c):
        number = step.get('attempt')
        if number != c.attempts + 1:
            self.fault(step, 'L3.4', 'attempt %s follows attempt %d' % (
                number, c.attempts))
        limit = self.max_attempts
        if limit is not None and isinstance(number, int) and number > limit:
            self.fault(step, 'L3.2', 'attempt %d of at most %d' % (
                number, limit))

    def on_attempt_started(self, step, c, was):
        self.next_attempt(step, c)
        c.attempts = step.get('attempt', c.attempts + 1)
        c.started += 1
        c.cause, c.late, c.stopped, c.outcome = None, False, None, 'unknown'
        if self.jobs[c.job].state != 'RUNNING':
            self.fault(step, 'L1.3', 'the job is %s' % self.jobs[c.job].state)
        if self.kinds.get(c.tool) == 'job' and \
                self.server_of(c)[0] != 'ready':
            self.fault(step, 'L3.5', 'its server is %s' % self.server_of(c)[0])

    def on_attempt_ended(self, step, c, was):
        if was == 'queued':
            self.next_attempt(step, c)
            c.attempts = step.get('attempt', c.attempts + 1)
            if step.get('outcome') != 'not_made':
                self.fault(step, 'L3.7', 'it was never started')
        else:
            self.same_attempt(step, c)
        c.cause = None
        c.outcome = step.get('outcome')
        c.may_be_made |= c.outcome != 'not_made'

    def on_call_cancelling(self, step, c, was):
        self.same_attempt(step, c)
        if was != 'cancelling':
            c.cause_seq = step.get('seq', 0)
        elif STRENGTH.get(step.get('reason'), 0) <= STRENGTH.get(c.cause, 0):
            self.fault(step, 'L1.10', 'it was being stopped: %s' % c.cause)
        c.cause = step.get('reason')
        if c.cause not in END_OF_CAUSE:
            self.fault(step, 'L1.10', 'for no cause: %s' % c.cause)
            c.cause = 'canceled'

    def on_cancel_sent(self, step, c, was):
        self.same_attempt(step, c)

    def on_late_answer(self, step, c, was):
        self.same_attempt(step, c)
        c.late = True

    def late_unconfirmed(self, step, c):
        """L1.5: it may come at any time, after the end of call and job too,
        but only of an attempt whose stop was not confirmed, and once."""
        number = step.get('attempt')
        if number not in c.unconfirmed:
            self.fault(step, 'L1.5', 'attempt %s cannot be answered now'
                       % number)
        c.unconfirmed.discard(number)
        if 'outcome' not in step:
            return
        if c.ends or c.state not in ('queued', 'waiting_approval') or \
                number != c.attempts or step['outcome'] != 'made':
            self.fault(step, 'L1.10', 'it changes the outcome')
        c.late, c.outcome = True, step['outcome']

    def on_attempt_stopped(self, step, c, was):
        self.same_attempt(step, c)
        if step.get('stopped') == 'not_confirmed':
            c.unconfirmed.add(c.attempts)
        c.stopped, c.outcome = step.get('stopped'), step.get('outcome')
        c.may_be_made |= c.outcome != 'not_made'
        kind = self.kinds.get(c.tool)
        if c.stopped is None and c.outcome != 'not_made':
            self.fault(step, 'L1.4', 'nothing says how it stopped')
        if kind == 'job' and c.stopped not in (None, 'server_gone'):
            self.fault(step, 'L1.4', '%s of a job server' % c.stopped)
        if kind == 'job' and c.stopped == 'server_gone':
            state, seq = self.server_of(c)
            if state != 'ended' or seq < c.cause_seq:
                self.fault(step, 'L1.4', 'its server is %s' % state)
        if c.stopped == 'answered' and not c.late:
            self.fault(step, 'L1.4', 'there was no answer')

    def on_retry_waiting(self, step, c, was):
        if step.get('attempt') != c.attempts + 1:
            self.fault(step, 'L3.4', 'attempt %s after attempt %d' % (
                step.get('attempt'), c.attempts))
        if self.max_attempts is not None and c.attempts >= self.max_attempts:
            self.fault(step, 'L3.2', 'after %d attempts' % c.attempts)
        if c.function in self.once and c.outcome != 'not_made':
            self.fault(step, 'L3.1', 'made again, and its outcome was %s'
                       % c.outcome)
        if c.cause is not None and c.cause != 'timeout':
            self.fault(step, 'L3.4', 'it was stopped: %s' % c.cause)

    def call_ended(self, step, c):
        c.ends = 1
        state, reason = step.get('state'), step.get('reason')
        outcome = step.get('outcome')
        lost = (state, reason) == ('lost', 'lost')
        if state not in ENDED:
            self.fault(step, 'INTERFACES', 'state %s' % state)
        if c.state in ('running', 'cancelling') and not lost:
            self.fault(step, 'L1.3', 'attempt %d has not stopped'
                       % c.attempts)
        if c.state == 'denied' and (state, reason) != ('refused', 'denied'):
            self.fault(step, 'L6.3', 'denied, and %s' % state)
        if c.state == 'between' and c.cause is not None and \
                not lost and (state, reason) not in END_OF_CAUSE[c.cause]:
            self.fault(step, 'L1.10', 'stopped for %s, ended %s %s' % (
                c.cause, state, reason))
        if state == 'completed' and (
                c.state != 'between' or c.cause is not None):
            self.fault(step, 'L1.5', 'completed without an answer in time')
        if step.get('attempts') != c.attempts:
            self.fault(step, 'L3.4', '%s attempts, the trace has %d' % (
                step.get('attempts'), c.attempts))
        self.check_outcome(step, c, state, outcome)
        c.state = 'ended'
        c.end = (state, outcome)

    def check_outcome(self, step, c, state, outcome):
        want = c.outcome if c.attempts else 'not_made'
        if want == 'not_made' and c.may_be_made and state != 'completed':
            want = 'unknown'
        if outcome != want:
            self.fault(step, 'L3.8' if c.attempts else 'L1.10', 'outcome %s, its attempts %s' % (
                outcome, want))
        if state != 'completed' and outcome == 'made' and not c.late:
            self.fault(step, 'L1.10', 'made, and no answer came')
        if state != 'lost' and c.stopped is not None and \
                c.cause is not None and step.get('stopped') != c.stopped:
            self.fault(step, 'L1.4', 'stopped %s, its attempt %s' % (
                step.get('stopped'), c.stopped))

    # ---- the end of the trace ----

    def finish(self, all_ended=True):
        for name, c in self.calls.items():
            if all_ended and c.ends != 1:
                self.faults.append('L9.1: %s (%s) has %d ends' % (
                    name, c.state, c.ends))
        return self.faults


def check(steps, all_ended=True, **more):
    """The faults of a whole trace."""
    checker = Checker(**more)
    for step in steps:
        checker.feed(step)
    return checker.finish(all_ended)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--kind', action='append', default=[])
    p.add_argument('--once', action='append', default=[])
    p.add_argument('--max-attempts', type=int)
    p.add_argument('--open', action='store_true')
    p.add_argument('file', nargs='?')
    opt = p.parse_args()
    checker = Checker(kinds=dict(k.split('=', 1) for k in opt.kind),
                      once=opt.once, max_attempts=opt.max_attempts)
    with open(opt.file) if opt.file else sys.stdin as f:
        for line in f:
            if line.strip():
                checker.feed(json.loads(line))
    faults = checker.finish(not opt.open)
    for words in faults:
        print(words)
    print('%d steps, %d calls, %d faults' % (
        checker.steps, len(checker.calls), len(faults)))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
