"""The steps of a trace as oz0-control(7) has them: every step that a test
sees, as an event or in a trace, has the fields that the page gives it."""
import os
import re

PAGE = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                    '../../../man/oz0-control.7')
COMMON = {'seq', 'time', 'event', 'text'}


def documented():
    """{event: (fields that it has, fields that it may have)}"""
    with open(PAGE) as f:
        text = f.read().partition('\n.Ss Steps\n')[2].partition('\n.Ss ')[0]
    rows = {}
    for event, words in re.findall(r'^\.It Cm (\w+)\n\.Ql \{(.*)\}', text,
                                   re.M):
        fields = words.split(', ')
        rows[event] = ({f for f in fields if not f.endswith('?')} | COMMON,
                       {f[:-1] for f in fields if f.endswith('?')} | {'job'})
    return rows


ROWS = documented()


def check(step):
    """An AssertionError that names what the page does not know of `step`."""
    event = step.get('event')
    if event == 'progress':
        return
    assert event in ROWS, 'oz0-control(7) has no step %s' % event
    must, may = ROWS[event]
    assert must <= step.keys(), '%s without %s: %s' % (
        event, ', '.join(sorted(must - step.keys())), step)
    more = step.keys() - must - may
    assert not more, '%s has %s, which oz0-control(7) does not: %s' % (
        event, ', '.join(sorted(more)), step)
