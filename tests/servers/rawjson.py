"""Spans of members in JSON text, without a parse that would change them.

Used by rogue.py (in the sandbox) and by the system tests, which compare what
was sent with what arrived byte for byte.  Takes valid JSON on trust.
"""

BLANK = b' \t\r\n'


def skip_blank(b, i):
    while b[i] in BLANK:
        i += 1
    return i


def skip_string(b, i):
    i += 1
    while b[i] != 0x22:
        i += 2 if b[i] == 0x5c else 1
    return i + 1


def skip_value(b, i):
    """The index behind the value that begins at i."""
    if b[i] == 0x22:
        return skip_string(b, i)
    if b[i] not in b'{[':
        while i < len(b) and b[i] not in b',]} \t\r\n':
            i += 1
        return i
    depth = 0
    while True:
        c = b[i]
        if c == 0x22:
            i = skip_string(b, i)
            continue
        if c in b'{[':
            depth += 1
        elif c in b'}]':
            depth -= 1
            if depth == 0:
                return i + 1
        i += 1


def member(b, *path):
    """The bytes of the member at path (names), or None."""
    for name in path:
        i = skip_blank(b, 0)
        if b[i] != 0x7b:
            return None
        i = skip_blank(b, i + 1)
        found = None
        while b[i] != 0x7d:
            end = skip_string(b, i)
            key = b[i + 1:end - 1]
            i = skip_blank(b, end)
            i = skip_blank(b, i + 1)  # over the colon
            end = skip_value(b, i)
            if key == name.encode():
                found = b[i:end]
                break
            i = skip_blank(b, end)
            if b[i] == 0x2c:
                i = skip_blank(b, i + 1)
        if found is None:
            return None
        b = found
    return b
