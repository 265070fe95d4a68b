"""What a rogue server wrote down of the calls it was sent: the facts that
tests of keys and attempts go by."""
from .node import ledger_lines, ledger_rows


class Request:
    """One tools/call as the server read it."""

    def __init__(self, row, message):
        self.t = row['t']  # CLOCK_BOOTTIME
        self.who = (row['run'], str(message['id']))
        self.name = message['params']['name']
        self.meta = message['params'].get('_meta', {})
        self.key = self.meta.get('oz0/idempotency_key')

    def __repr__(self):
        return '%s %s at %f' % (self.name, self.key, self.t)


def requests(path, key=None):
    """In the order of the ledger."""
    rows = [r for r in ledger_rows(path) if r['what'] == 'line']
    found = [Request(row, m) for row, (_, m) in zip(rows, ledger_lines(path))
             if m.get('method') == 'tools/call']
    return [r for r in found if key is None or r.key == key]


def rows(path, what, text=None):
    return [r for r in ledger_rows(path) if r['what'] == what
            and (text is None or r['text'] == text)]


def never_overlap(t, path, key):
    """No sign of life of an attempt after the next one was read (L3.4)."""
    sent = requests(path, key)
    beats = rows(path, 'beat') + rows(path, 'answered')
    for before, after in zip(sent, sent[1:]):
        late = [r for r in beats if r['t'] > after.t
                and (r['run'], r['text']) == before.who]
        t.eq(late, [], '%r lives beside %r' % (before, after))
