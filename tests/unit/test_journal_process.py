"""oz0-journal as a process: what the supervisor sees of it, over kills, torn
logs, damaged databases and full disks."""

import os
import random
import select
import sqlite3
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from journal_driver import *  # noqa: E402,F403


def recovered(journal):
    """(message, type of record, u64 after job and call) for each."""
    out = []
    for kind, p in journal.recovered:
        r = Reader(p)
        r.get("Q")
        t = r.get("H")
        job = r.str()
        call = r.get("Q")
        out.append((kind, t, job, call))
    return out


def test_recording():
    with State() as st:
        j = Journal(st).start()
        assert j.ready == (0, 0, 0), j.ready
        w = Writer(st).begin(j)
        w.put(w.node() + w.job("j1", RUNNING) + w.session("j1", 1, 1)
              + w.call("j1", 1) + w.call_state("j1", 1, 3, 1))
        answer = '"result":{"n":1.10,"big":18446744073709551617,"a":1,"a":2}'
        w.put(w.call_end("j1", 1, answer) + w.child("worker", 42, 1)
              + w.child("gone", 43, 1) + w.child("gone", 43, 0)
              + w.tool("billing", 1) + w.tool("demo", 1) + w.tool("demo", 0))
        assert seqs(j) == [2, 3, 4, 5, 6]
        row, = j.ask(JOB, "j1")[0]
        assert row["state"] == "RUNNING" and row["run"] == 0
        assert row["sessions"] == [
            {"session": 1, "state": "OPEN", "restartable": True}]
        assert row["calls"][0] == {
            "call": "c1", "run": 0, "session": 1, "function": "demo.echo",
            "state": "completed", "key": "j1/a", "attempts": 1,
            "outcome": "made", "activity": "a", "progress": 2, "total": 4}
        row, = j.ask(CALL, "c1")[0]
        assert row["job"] == "j1" and row["progress"] == 2
        n = j.next_id
        j.ask(RESULT, "c1")
        assert answer.encode() in j.rows[n][0], j.rows[n]
        assert j.ask(CALL, "c2")[1] == 2 and j.ask(TRACE, "jx")[1] == 2
        assert j.ask(JOBS)[0] == []
        j.kill()
        j = Journal(st).start()
        assert j.ready == (w.seq - 1, 1, 1), j.ready
        assert recovered(j) == [
            (R_JOB, REC_JOB, "j1", 0), (R_SESSION, REC_SESSION, "j1", 0),
            (R_CALL, REC_CALL, "j1", 1), (R_CALL, REC_CALL_END, "j1", 1),
            (R_CHILD, REC_CHILD, "", 0), (R_TOOL, REC_TOOL, "", 0)], \
            recovered(j)
        assert answer.encode() in j.recovered[3][1]
        assert b"worker" in j.recovered[4][1]
        assert b"billing" in j.recovered[5][1]
        # the job ends: its row alone is recovered, its answers go
        w.begin(j)
        w.put(w.job("j1", COMPLETED) + w.node("boot-2"))
        assert [r["job"] for r in j.ask(JOBS)[0]] == ["j1"]
        j.until("answers gone", lambda: j.ask(RESULT, "c1")[0][0].get(
            "evicted") is True)
        assert j.end() == 0
        j = Journal(st).start()
        assert recovered(j) == [
            (R_JOB, REC_JOB, "j1", 0), (R_TOOL, REC_TOOL, "", 0)], \
            recovered(j)
        assert len(seqs(j)) == 6
        assert j.end() == 0


def test_lost_and_runs():
    """A LOST job is recovered, with the calls of its run alone."""
    with State() as st:
        j = Journal(st).start()
        w = Writer(st).begin(j)
        w.put(w.job("j1", RUNNING) + w.session("j1", 1, 1)
              + w.call("j1", 1) + w.call_end("j1", 1, '"result":1')
              + w.job("j1", COMPLETED) + w.job("j1", RUNNING, run=1)
              + w.session("j1", 1, 1, run=1) + w.call("j1", 2, run=1)
              + w.call("j1", 3, activity="b", run=1)
              + w.call_state("j1", 3, 3, 2) + w.job("j1", LOST, run=1))
        assert j.end() == 0
        j = Journal(st).start()
        assert j.ready == (w.seq - 1, 3, 3), j.ready
        assert recovered(j) == [
            (R_JOB, REC_JOB, "j1", 0), (R_SESSION, REC_SESSION, "j1", 0),
            (R_CALL, REC_CALL, "j1", 2), (R_CALL, REC_CALL, "j1", 3),
            (R_CALL, REC_CALL_STATE, "j1", 3)], recovered(j)
        assert j.end() == 0


def approvals(journal):
    """(job, key, rule) of each that is recovered, and behind what it came."""
    out, behind = [], None
    for kind, p in journal.recovered:
        if kind == R_APPROVAL:
            r = Reader(p)
            r.get("QH"), r.str(), r.get("Q")
            out.append((r.str(), r.str(), r.str(), behind))
        else:
            behind = kind
    return out


def test_approvals():
    """Kept over a restart, until the job ends or goes on in another run."""
    with State() as st:
        j = Journal(st).start()
        w = Writer(st).begin(j)
        w.put(w.job("j1", RUNNING) + w.call("j1", 1)
              + w.approval("j1", "j1/b", "ask demo.*")
              + w.approval("j1", "j1/a", "ask demo.*")
              + w.approval("j1", "j1/a", "ask *")
              + w.job("j2", RUNNING) + w.approval("j2", "j2/a", "ask"))
        for i in range(100):
            w.put(w.approval("j2", "j2/k%03d" % i, "ask"))
        seqs(j)
        j.kill()
        j = Journal(st).start()
        assert approvals(j)[:3] == [
            ("j1", "j1/a", "ask *", R_CALL),
            ("j1", "j1/b", "ask demo.*", R_CALL),
            ("j2", "j2/a", "ask", R_JOB)], approvals(j)
        assert len(approvals(j)) == 103
        # the same run goes on: they stand
        w.begin(j)
        w.put(w.job("j1", LOST) + w.job("j1", RUNNING)
              + w.job("j2", RUNNING, run=1) + w.approval("j2", "k", "ask"))
        assert j.end() == 0
        j = Journal(st).start()
        assert [a[1] for a in approvals(j)] == ["j1/a", "j1/b", "k"]
        w.begin(j)
        w.put(w.job("j1", COMPLETED) + w.forget("j2"))
        w.put(w.job("j1", RUNNING, run=1) + w.job("j2", RUNNING, run=1))
        assert j.end() == 0
        j = Journal(st).start()
        assert approvals(j) == []
        assert j.end() == 0
        db = sqlite3.connect("file:%s/journal.db?mode=ro" % st, uri=True)
        assert db.execute("select count(*) from approvals a join jobs j on"
                          " j.id = a.job where j.name is not null"
                          ).fetchone() == (0,)
        db.close()


def made_old(path):
    """A database of version 1: a row for each step and each answer, and no
    table of approvals."""
    db = sqlite3.connect(path)
    steps, answers = [], []
    for job, body in db.execute("select job, body from steps").fetchall():
        for line in body.decode().splitlines():
            seq, n, text = line.split(" ", 2)
            assert len(text.encode()) == int(n)
            steps.append((int(seq), job, None, None, text))
    for row in db.execute(
            "select c.call, c.job, cast(substr(a.body, c.answer_at + 1,"
            " c.answer_len) as text) from calls c join answers a on"
            " a.id = c.answer").fetchall():
        answers.append(row)
    db.executescript("""
        drop table steps; drop table answers; drop table approvals;
        alter table calls drop column answer;
        alter table calls drop column answer_at;
        alter table calls drop column answer_len;
        create table answers(call integer primary key,
            job integer not null, answer text not null);
        create index answers_job on answers(job);
        create table steps(seq integer primary key, job integer,
            call integer, at integer, json text not null);
        create index steps_job on steps(job) where job is not null;
        create index steps_node on steps(at) where job is null;
        pragma user_version = 1""")
    db.executemany("insert into steps values(?, ?, ?, ?, ?)", steps)
    db.executemany("insert into answers values(?, ?, ?)", answers)
    db.commit()
    db.close()


def test_earlier_database():
    """One of version 1 is brought up, with all that it has."""
    words = '"result":"gr\u00fc\u00df"'
    with State() as st:
        j = Journal(st).start()
        w = Writer(st).begin(j)
        w.put(w.job("j1", RUNNING) + w.call("j1", 1)
              + w.call_end("j1", 1, words))
        assert j.end() == 0
        made_old(st + "/journal.db")
        j = Journal(st).start()
        j.until("words on it", lambda: j.said("of version 3"))
        assert not [n for n in os.listdir(st) if "damaged" in n]
        w.begin(j)
        w.put(w.approval("j1", "j1/a", "ask"))
        assert seqs(j) == [1, 2, 3, 4]
        assert json.loads(words[9:]) == j.ask(RESULT, "c1")[0][0]["result"]
        j.kill()
        j = Journal(st).start()
        recovered(j)
        assert words.encode() in j.recovered[2][1], j.recovered
        assert approvals(j) == [("j1", "j1/a", "ask", R_CALL)]
        assert not j.said("of version")
        assert j.end() == 0
        # one of an oz0 to come is left as it is
        db = sqlite3.connect(st + "/journal.db")
        db.execute("pragma user_version = 4")
        db.commit()
        db.close()
        j = Journal(st)
        assert j.proc.wait(DEADLINE) == 69
        j.close()
        assert not [n for n in os.listdir(st) if "damaged" in n]


def test_pages():
    with State() as st:
        j = Journal(st).start()
        w = Writer(st).begin(j)
        w.put(w.job("j1", RUNNING) + w.job("j2", RUNNING))
        for _ in range(50):
            w.put(w.step("j1") + w.step("j2"))
        got, since = [], 0
        while True:
            rows, error, more = j.ask(TRACE, "j2", since, 7)
            assert error == 0 and len(rows) <= 7
            got += [r["seq"] for r in rows]
            if not more:
                break
            since = got[-1] + 1
        assert got == [2] + list(range(4, 103, 2)), got
        rows, _, more = j.ask(EVENTS, "", 100, 0)
        assert [r["seq"] for r in rows] == [100, 101, 102] and not more
        rows, _, more = j.ask(TRACE, "j1", 0, 51)
        assert len(rows) == 51 and not more  # exactly all: no more
        assert j.end() == 0


def test_sees_all_that_was_written():
    """An answer holds what the log had when the question was asked."""
    with State() as st:
        j = Journal(st).start()
        w = Writer(st).begin(j)
        w.put(w.job("j1", RUNNING))
        for i in range(200):
            w.put(w.step("j1"))
            rows, _, _ = j.ask(TRACE, "j1", w.seq - 1)
            assert [r["seq"] for r in rows] == [w.seq - 1]
        assert j.end() == 0


def test_torn_tail_at_every_byte():
    """kill -9 of the writer at each byte of its last record."""
    with State() as st:
        j = Journal(st, size=65536).start()
        for cut in range(0, 10 ** 9):
            w = Writer(st, seq=j.ready[0] + 1).begin(j)
            w.put(w.job("j1", RUNNING) + w.step("j1"))
            last = w.seq
            record = w.step("j1", text="x")
            if cut == len(record):
                break
            w.put(record[:cut])
            w.close()
            if cut % 8 == 0:
                j.kill()
            else:
                assert j.end() == 0
            j = Journal(st, size=65536).start()
            assert j.ready[0] == last - 1, (cut, j.ready, last)
        assert cut > 60
        assert seqs(j) == list(range(1, w.seq - 1))
        assert len(os.listdir(st + "/log")) < 8, os.listdir(st + "/log")
        assert j.end() == 0


def test_half_record_of_a_living_writer():
    with State() as st:
        j = Journal(st).start()
        w = Writer(st).begin(j)
        w.put(w.job("j1", RUNNING))
        for i in range(20):
            record = w.step("j1", text="y" * 300)
            half = random.randrange(1, len(record))
            w.put(record[:half])
            before = seqs(j)
            assert before[-1] == w.seq - 2, before
            w.put(record[half:])
            assert seqs(j)[-1] == w.seq - 1
        # the journal is killed while half a record stands there
        record = w.step("j1")
        w.put(record[:20])
        seqs(j)
        j.kill()
        j = Journal(st).start()
        assert j.ready[0] == w.seq - 2
        w.put(record[20:])
        assert seqs(j) == list(range(1, w.seq))
        assert not j.logs, j.logs
        assert j.end() == 0


def test_wrong_checksum():
    """A segment ends where a record is not good and a later one exists."""
    with State() as st:
        j = Journal(st).start()
        w = Writer(st).begin(j)
        w.put(w.job("j1", RUNNING) + w.step("j1"))
        bad = bytearray(w.step("j1"))
        bad[30] ^= 1
        w.put(bytes(bad))
        w.put(w.step("j1"))  # good, but behind it
        assert seqs(j) == [1, 2]
        w.begin(j)  # goes on from what was lost
        w.put(w.step("j1"))
        assert seqs(j) == [1, 2, 5]
        j.until("words on it", lambda: j.said("not whole"))
        # a number that does not rise is no good record either
        again = w.seq - 1
        w.put(framed(content(again, REC_STEP, b"", b'{"seq":0}', "j1")))
        w.put(w.step("j1"))
        assert seqs(j) == [1, 2, 5]
        assert j.end() == 0


def test_kill_the_journal_in_a_loop():
    """No record is lost or doubled, whenever it dies."""
    with State() as st:
        j = Journal(st).start()
        w = Writer(st).begin(j)
        w.put(w.job("j1", RUNNING))
        attempts = 0
        for i in range(25):
            for k in range(300):
                n = 1000 * i + k + 1
                w.put(w.call("j1", n, activity="a%d" % n)
                      + w.call_state("j1", n, 3, 1)
                      + w.call_end("j1", n, '"result":"%s"' % ("r" * 200)))
                attempts += 1
            end = time.monotonic() + random.random() * 0.03
            while time.monotonic() < end:
                j.pump(0.001)
            j.kill()
            j = Journal(st)
            if w.at > 400000:  # a living supervisor that rotates
                j.start()
                w.begin(j)
        j.start() if not j.done else None
        assert seqs(j) == list(range(1, w.seq))
        assert j.end() == 0
        j = Journal(st).start()
        assert j.ready == (w.seq - 1, 24300, attempts), (j.ready, attempts)
        db = sqlite3.connect("file:%s/journal.db?mode=ro" % st, uri=True)
        assert db.execute("select count(*), sum(attempts) from calls"
                          ).fetchone() == (attempts, attempts)
        assert db.execute("select count(*) from calls c join answers a on"
                          " a.id = c.answer where substr(a.body,"
                          " c.answer_at + 1, c.answer_len) = ?",
                          (b'"result":"%s"' % (b"r" * 200),)
                          ).fetchone()[0] == attempts
        db.close()
        assert j.end() == 0


def test_rotation_and_removal():
    """Segments go once they are in the database; numbers never come back."""
    with State() as st:
        j = Journal(st, size=65536).start()
        w = Writer(st).begin(j)
        w.put(w.job("j1", RUNNING))
        numbers = [w.number]
        for i in range(40):
            while w.at < 60000:
                w.put(w.step("j1", text="z" * 500))
            w.begin(j)
            numbers.append(w.number)
        assert numbers == sorted(set(numbers))
        assert len(seqs(j)) == w.seq - 1
        j.until("removal", lambda: not j.pump(0.05)
                and len(os.listdir(st + "/log")) <= 7)  # 4 in reserve
        assert j.end() == 0
        # all gone but the marks: no number is given out twice
        for name in os.listdir(st):
            if name.startswith("journal.db"):
                os.unlink(os.path.join(st, name))
        for name in os.listdir(st + "/log"):
            if name != "marks":
                os.unlink(os.path.join(st, "log", name))
        j = Journal(st, size=65536).start()
        assert j.ready[0] > 0 and j.ready[0] <= w.seq, (j.ready, w.seq)
        j.until("segment", lambda: j.segments)
        assert min(j.segments) >= numbers[-1], (j.segments, numbers[-1])
        assert j.end() == 0


def test_sync():
    """Acknowledged in groups, and only what was asked for."""
    with State() as st:
        j = Journal(st, sync=1).start()
        w = Writer(st).begin(j)
        w.put(w.job("j1", RUNNING))
        for i in range(20):
            w.put(w.step("j1"))
            j.send(SYNC, struct.pack("<Q", w.seq - 1))
        j.until("sync", lambda: j.synced == w.seq - 1)
        assert j.end() == 0


def test_steps_back():
    """Calls go first, where they do not wait for it."""
    with State() as st:
        for sync in 0, 1:
            j = Journal(st, sync=sync).start()
            behind = (os.getpriority(os.PRIO_PROCESS, j.proc.pid)
                      > os.getpriority(os.PRIO_PROCESS, 0))
            batch = os.sched_getscheduler(j.proc.pid) == os.SCHED_BATCH
            assert behind == batch == (not sync), (sync, behind, batch)
            assert j.end() == 0


def test_forget_and_keep():
    old = "2001-01-01T00:00:00.000000Z"
    with State() as st:
        j = Journal(st).start()
        w = Writer(st).begin(j)
        w.put(w.job("j1", RUNNING) + w.call("j1", 1) + w.job("j2", RUNNING))
        for i in range(1500):
            w.put(w.step("j1"))
        assert len(seqs(j)) == 1502
        w.put(w.forget("j1"))
        # once forgotten, it is unknown, and its name is free
        assert j.ask(TRACE, "j1")[1] == 2
        assert j.ask(CALL, "c1")[1] == 2
        w.put(w.job("j1", RUNNING))
        assert seqs(j) == [w.seq - 1]

        def steps_left():
            db = sqlite3.connect("file:%s/journal.db?mode=ro" % st, uri=True)
            n, = db.execute("select count(*) from steps").fetchone()
            db.close()
            return n
        j.until("removal", lambda: not j.pump(0.05) and steps_left() == 2)
        # ended long ago
        w.put(w.job("j2", COMPLETED, time=old))
        w.put(w.record(REC_STEP, event="policy_changed", time=old))
        assert len(seqs(j, "j2")) == 2
        assert j.end() == 0
        j = Journal(st, keep=3600).start()
        j.until("expiry", lambda: j.ask(TRACE, "j2")[1] == 2
                and len(j.ask(EVENTS)[0]) == 1)
        assert j.end() == 0
        # lost for long: not even recovered
        j = Journal(st).start()
        w.begin(j)
        w.put(w.job("j1", LOST, time=old) + w.job("j3", LOST))
        assert j.end() == 0
        j = Journal(st, keep=3600).start()
        assert [r[2] for r in recovered(j)] == ["j3"], recovered(j)
        assert j.end() == 0


def test_forget_survives_kills():
    """A forget is a record: whenever it dies, the job is gone after it."""
    with State() as st:
        j = Journal(st).start()
        w = Writer(st).begin(j)
        for i in range(20):
            w.put(w.job("j1", RUNNING) + w.call("j1", i + 1)
                  + w.job("j1", COMPLETED))
            if i % 2 == 0:
                assert seqs(j), "it was there"
            w.put(w.forget("j1"))
            j.kill()
            j = Journal(st).start()
            w.begin(j)
            assert j.ask(TRACE, "j1")[1] == 2, i
            assert j.ask(CALL, "c%d" % (i + 1))[1] == 2, i
            assert R_JOB not in [r[0] for r in recovered(j)]
        # a job of that name that comes after it is another one
        w.put(w.job("j1", RUNNING) + w.forget("jx"))
        assert seqs(j) == [w.seq - 2]
        assert j.end() == 0

        def left():
            db = sqlite3.connect("file:%s/journal.db?mode=ro" % st, uri=True)
            n = db.execute("select count(*) from jobs").fetchone()[0]
            db.close()
            return n
        j = Journal(st).start()
        j.until("removal", lambda: not j.pump(0.05) and left() == 1)
        assert j.end() == 0


def test_backpressure():
    """Who does not read does not make it grow, and pings pass."""
    with State() as st:
        j = Journal(st, size=96 << 20).start()
        w = Writer(st).begin(j)
        w.put(w.job("j1", RUNNING))
        for i in range(1400):  # of 80 MB
            w.put(w.step("j1", text="t" * 60000))

        def rss():
            with open("/proc/%d/status" % j.proc.pid) as f:
                return int(f.read().split("VmRSS:")[1].split()[0])
        assert len(j.ask(TRACE, "j1", w.seq - 1)[0]) == 1  # all is in
        before = rss()
        n = j.next_id
        j.next_id += 1
        j.send(QUERY, struct.pack("<QB", n, TRACE) + s("j1")
               + struct.pack("<QI", 0, 0))
        j.send(PING, struct.pack("<Q", 77))
        select.select([j.sock], [], [])
        time.sleep(0.3)  # for all that it could do
        assert rss() - before < 24000, (before, rss())
        j.until("end", lambda: n in j.ends)
        assert len(j.rows[n]) == 1401 and 77 in j.pongs
        assert j.end() == 0


def test_throughput():
    with State() as st:
        j = Journal(st, size=64 << 20).start()
        w = Writer(st).begin(j)
        w.put(w.job("j1", RUNNING))
        batch = []
        for i in range(100000):
            batch.append(w.step("j1", text="attempt 1: started over"))
            if len(batch) == 500:
                w.put(b"".join(batch))
                batch = []
        began = time.monotonic()
        worst = 0.0
        n = j.next_id
        j.next_id += 1
        j.send(QUERY, struct.pack("<QB", n, TRACE) + s("j1")
               + struct.pack("<QI", w.seq - 1, 0))
        k = 0
        while n not in j.ends:
            k += 1
            t = time.monotonic()
            j.send(PING, struct.pack("<Q", k))
            j.until("pong", lambda: k in j.pongs)
            worst = max(worst, time.monotonic() - t)
        assert len(j.rows[n]) == 1
        print("  100000 records in %.2f s, worst ping %.0f ms" % (
            time.monotonic() - began, worst * 1000))
        assert worst < 5
        assert j.end() == 0


def test_bad_supervisor():
    """Out of place or malformed: it ends with a line, harming nothing."""
    for body in (b"", b"\0" * 7, b"\0" * 9):
        with State() as st:
            j = Journal(st).start()
            try:
                j.send(PING, body)
                j.until("end", lambda: False)
            except (AssertionError, OSError):
                pass
            assert j.proc.wait(DEADLINE) == 70
            j.close()


def test_as_ordinary_user():
    if os.geteuid() != 0:
        return "skipped: every test is one"
    with State() as st:
        os.chown(st, 65534, 65534)
        j = Journal(st, wrap=("setpriv", "--reuid=65534", "--regid=65534",
                              "--clear-groups")).start()
        w = Writer(st).begin(j)
        w.put(w.job("j1", RUNNING))
        assert seqs(j) == [1]
        assert os.stat(st + "/journal.db").st_uid == 65534
        assert os.stat(st + "/journal.db").st_mode & 0o777 == 0o600
        assert j.end() == 0
    return "ok"


if __name__ == "__main__":
    run_all(globals())
