"""oz0-journal on a full disk (L9.5): a small tmpfs, so for root."""

import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from journal_driver import *  # noqa: E402,F403


def test_full_disk():
    with State() as mnt:
        if subprocess.call(["mount", "-t", "tmpfs", "-o", "size=3m", "none",
                            mnt]) != 0:
            print("no tmpfs to be mounted")
            sys.exit(77)
        try:
            st = os.path.join(mnt, "state")
            os.mkdir(st)
            j = Journal(st, size=256 * 1024).start()
            w = Writer(st).begin(j)
            w.put(w.job("j1", RUNNING))
            seqs(j)
            j.until("second", lambda: len(j.segments) == 2)
            with open(mnt + "/ballast", "wb", buffering=0) as f:
                try:
                    while f.write(b"b" * 4096):
                        pass
                except OSError:
                    pass
            w.begin(j)
            j.until("no space", lambda: j.no_space)
            assert j.no_space[0][0] == 28, j.no_space
            # what runs can still be recorded, and is served
            while w.at < 200000:
                w.put(w.step("j1", text="q" * 1000))
            assert seqs(j) == list(range(1, w.seq))
            assert len(j.no_space) == 1  # told once
            # killed and started on the full disk: nothing is lost
            j.kill()
            j = Journal(st, size=256 * 1024)
            j.send(PING, struct.pack("<Q", 5))
            j.until("pong", lambda: 5 in j.pongs)
            os.unlink(mnt + "/ballast")
            j.start()
            assert j.ready[0] == w.seq - 1, (j.ready, w.seq)
            j.until("segment", lambda: j.segments)
            assert seqs(j) == list(range(1, w.seq))
            w.begin(j)
            w.put(w.step("j1"))
            assert seqs(j)[-1] == w.seq - 1
            assert j.end() == 0
        finally:
            subprocess.call(["umount", "-l", mnt])


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("needs root")
        sys.exit(77)
    run([test_full_disk])
