"""L1.10, L2.3: `not_made` is said of a call when it is true of each attempt."""
import os

from oz0test.node import ledger_rows, program


def once_only(t):
    """A job server that makes an effect and dies, and does not start again;
    and the path of its ledger."""
    folder = t.dir('ledger', open_to_all=True)
    script = 'test -e %s/began && exit 1; : >%s/began; exec %s --ledger %s/l' % (
        folder, folder, program('oz0-demo'), folder)
    return {'command': '/bin/sh', 'args': ['-c', script], 'oz0': {
        'kind': 'job', 'max_attempts': 2, 'backoff_base': '0.01s',
        'sandbox': {'read': [os.path.dirname(program('oz0-demo'))],
                    'write': [folder]}}}, folder + '/l'


def test_L1_10_an_earlier_attempt_may_have_made_it(t):
    entry, ledger = once_only(t)
    node = t.node({'own': entry})
    c = node.client()
    c.do('job/start', job='j1')
    r = c.call('j1', 'own.write', {'value': 1, 'crash': 'after'}).result()
    t.eq(len([x for x in ledger_rows(ledger) if x['event'] == 'effect']), 1)
    ends = [s for s in node.trace('j1') if s['event'] == 'attempt_ended']
    t.eq([s['outcome'] for s in ends], ['unknown', 'not_made'])
    t.has(r, state='failed', attempts=2, outcome='unknown')
