"""oz0-journal with a database that is damaged, odd, locked or read by others
(B213, B217, B219 to B221): set aside, waited for, nothing lost."""

import os
import sqlite3
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from journal_driver import *  # noqa: E402,F403


def damaged_copies(st):
    return [n for n in os.listdir(st) if n.startswith("journal.db.damaged-")]


def fill(st, n=500):
    j = Journal(st).start()
    w = Writer(st).begin(j)
    w.put(w.job("j1", RUNNING))
    for i in range(n):
        w.put(w.step("j1", text="q" * 100))
    assert len(seqs(j)) == n + 1
    return j, w


def test_damaged_database():
    def garbage(path):
        with open(path, "r+b") as f:
            f.seek(4096)
            f.write(os.urandom(4096 * 3))

    def header_gone(path):
        with open(path, "r+b") as f:
            f.write(b"\0" * 100)

    def no_table(path):
        db = sqlite3.connect(path)
        db.execute("drop table steps")
        db.commit()
        db.close()

    def foreign(path):
        os.unlink(path)
        db = sqlite3.connect(path)
        db.execute("create table t(a)")
        db.commit()
        db.close()

    def cut(path):
        os.truncate(path, os.stat(path).st_size // 2)

    for harm in (garbage, header_gone, no_table, foreign, cut):
        with State() as st:
            j, w = fill(st)
            assert j.end() == 0
            harm(os.path.join(st, "journal.db"))
            j = Journal(st).start()
            assert damaged_copies(st), harm
            j.until("words on it", lambda: j.said("set aside"))
            assert j.ready[0] == w.seq - 1, (harm, j.ready)
            assert seqs(j) == list(range(1, w.seq)), harm
            assert j.end() == 0
            j = Journal(st).start()  # and it is well again
            assert not j.said("set aside") and len(seqs(j)) == w.seq - 1
            assert j.end() == 0


def test_damaged_while_running():
    with State() as st:
        j, w = fill(st, 3000)
        j.kill()
        j = Journal(st).start()
        # pages under its feet, as a broken disk would
        for name in ("journal.db", "journal.db-wal"):
            path = os.path.join(st, name)
            size = os.stat(path).st_size if os.path.exists(path) else 0
            if size > 8192:
                with open(path, "r+b") as f:
                    f.seek(4096)
                    f.write(os.urandom(size - 4096))
        w.begin(j)
        for i in range(3000):
            w.put(w.step("j1", text="q" * 100))
        rows, error, _ = j.ask(TRACE, "j1")
        if error == 0:
            rows, error, _ = j.ask(EVENTS)
        rows, error, _ = j.ask(TRACE, "j1", w.seq - 5)
        assert error == 0 and len(rows) == 5, (error, j.logs)
        j.send(PING, struct.pack("<Q", 9))
        j.until("pong", lambda: 9 in j.pongs)
        assert j.end() == 0
        j = Journal(st).start()
        assert j.ready[0] == w.seq - 1
        assert seqs(j)[-1] == w.seq - 1
        assert j.end() == 0


def test_wal_without_database():
    with State() as st:
        j, w = fill(st)
        j.kill()
        assert os.stat(st + "/journal.db-wal").st_size > 0
        os.unlink(st + "/journal.db")
        j = Journal(st).start()
        assert j.said("without its database"), j.logs
        assert any(n.endswith("-wal") for n in damaged_copies(st))
        assert seqs(j) == list(range(1, w.seq))
        assert j.end() == 0


def test_odd_wals():
    """An empty and a 32-byte write-ahead log are no reason to give up."""
    for wal in (b"", b"\0" * 32, os.urandom(32), os.urandom(9000)):
        with State() as st:
            j, w = fill(st)
            assert j.end() == 0
            with open(st + "/journal.db-wal", "wb") as f:
                f.write(wal)
            j = Journal(st).start()
            assert seqs(j) == list(range(1, w.seq)) and j.end() == 0
            assert not damaged_copies(st)


def test_copies_are_bounded():
    with State() as st:
        j, w = fill(st, 10)
        assert j.end() == 0
        for i in range(6):
            with open(st + "/journal.db", "wb") as f:
                f.write(b"nonsense" * 1000)
            os.utime(st + "/journal.db")
            for n in damaged_copies(st):  # of another second
                os.rename(os.path.join(st, n), os.path.join(
                    st, "journal.db.damaged-2026010%dT000000Z" % i))
            j = Journal(st).start()
            assert len(seqs(j)) == w.seq - 1 and j.end() == 0
            assert len(damaged_copies(st)) <= 3, damaged_copies(st)


def test_locked():
    """Another program holds a write lock: waited for, nothing lost."""
    with State() as st:
        j, w = fill(st, 10)
        db = sqlite3.connect(st + "/journal.db", isolation_level=None)
        db.execute("begin immediate")
        w.put(w.step("j1"))
        j.until("hold", lambda: j.said("the log keeps"))
        # what is only in the log is served from there
        assert seqs(j) == list(range(1, w.seq))
        rows, _, more = j.ask(TRACE, "j1", w.seq - 1, 1)
        assert len(rows) == 1 and not more
        w.put(w.job("j2", RUNNING))
        assert seqs(j, "j2") == [w.seq - 1]
        j.send(PING, struct.pack("<Q", 1))
        j.until("pong", lambda: 1 in j.pongs)
        db.execute("rollback")
        j.until("intake", lambda: j.said("takes in"))
        assert seqs(j) == list(range(1, w.seq - 1))
        assert j.end() == 0
        # and at start
        db.execute("begin exclusive")
        j = Journal(st)
        j.until("hold", lambda: j.said("the start waits"))
        j.send(PING, struct.pack("<Q", 1))
        j.until("pong", lambda: 1 in j.pongs)
        assert j.ready is None
        db.execute("rollback")
        db.close()
        j.start()
        assert j.end() == 0


def test_reader_elsewhere():
    """A long transaction of a reader neither stops nor loses anything."""
    with State() as st:
        j = Journal(st, size=65536).start()
        w = Writer(st).begin(j)
        w.put(w.job("j1", RUNNING))
        seqs(j)
        db = sqlite3.connect(st + "/journal.db", isolation_level=None)
        db.execute("begin")
        db.execute("select count(*) from steps").fetchall()
        for i in range(10):
            while w.at < 60000:
                w.put(w.step("j1", text="z" * 500))
            w.begin(j)
        assert len(seqs(j)) == w.seq - 1
        assert len(os.listdir(st + "/log")) >= 10  # kept: not on the disk
        db.execute("rollback")
        db.close()
        j.until("removal", lambda: not j.pump(0.05)
                and len(os.listdir(st + "/log")) <= 7)  # 4 in reserve
        assert j.end() == 0


if __name__ == "__main__":
    run_all(globals())
