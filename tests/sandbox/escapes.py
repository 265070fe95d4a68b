#!/usr/bin/env python3
"""Attacks on a sandbox, each of which must fail, and programs that must work.

Everything goes through `oz0-sandbox --plan`.  As root each part runs twice: by
root under a uid of its own, and by an ordinary user under that user's.  Prints
TAP, ends with "# N passed, N failed, N skipped".  Run by `make check`.
"""
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("OZ0_BUILDDIR", os.getcwd())
SANDBOX = os.path.join(os.environ.get("OZ0_LIBEXEC", BUILD), "oz0-sandbox")
ESCAPE = os.path.join(BUILD, "tests/sandbox/escape")
USER = 65534
DYNAMIC = 1879048192
LIMIT = 60


class Tap:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    @property
    def count(self):
        return self.passed + self.failed + self.skipped

    def ok(self, good, name, why=""):
        if good:
            self.passed += 1
        else:
            self.failed += 1
        print("%s %d - %s%s" % ("ok" if good else "not ok", self.count, name,
                                "" if good or not why else " # " + why),
              flush=True)

    def skip(self, name, why):
        self.skipped += 1
        print("ok %d - %s # SKIP %s" % (self.count, name, why), flush=True)

    def end(self):
        print("1..%d" % self.count)
        print("# %d passed, %d failed, %d skipped"
              % (self.passed, self.failed, self.skipped))
        return 1 if self.failed else 0


tap = Tap()


class Way:
    """Who starts oz0-sandbox, and under which uid the sandbox runs."""

    def __init__(self, name, caller, uid):
        self.name = name
        self.caller = caller  # None: as we are
        self.uid = uid
        self.dir = tempfile.mkdtemp(prefix="oz0-escapes.")
        os.chmod(self.dir, 0o755)
        self.share = os.path.join(self.dir, "share")
        os.mkdir(self.share)
        if os.geteuid() == 0:
            os.chown(self.share, uid, uid)
        # the tests' own program, where every user can get at it
        self.bin = os.path.join(self.dir, "bin")
        os.mkdir(self.bin)
        shutil.copy(ESCAPE, self.bin)

    def plan(self, argv, **more):
        places = []
        for place in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"):
            if os.path.islink(place):
                places.append({"kind": "symlink", "target": place,
                               "source": os.readlink(place)})
            elif os.path.isdir(place):
                places.append({"kind": "ro", "source": place,
                               "target": place})
        for place in ("/etc/ld.so.cache", "/etc/alternatives"):
            places.append({"kind": "ro", "source": place, "target": place,
                           "optional": True})
        places.append({"kind": "rw", "source": self.share,
                       "target": "/session"})
        places.append({"kind": "ro", "source": self.bin, "target": "/t"})
        plan = {
            "name": "escapes", "argv": argv, "uid": self.uid,
            "gid": self.uid, "cwd": "/session",
            "env": {"PATH": "/usr/bin:/bin", "HOME": "/session",
                    "LANG": "C.UTF-8", "ASAN_OPTIONS": "detect_leaks=0"},
            "tmp": 16 << 20,
            "files": [{"target": "/etc/passwd", "text":
                       "oz0:x:%d:%d::/session:/bin/sh\n"
                       % (self.uid, self.uid)}],
        }
        plan["mounts"] = places + more.pop("mounts", [])
        plan["env"].update(more.pop("env", {}))
        plan.update(more)
        return plan

    def command(self, plan, *options):
        handle, path = tempfile.mkstemp(dir=self.dir, suffix=".json")
        with os.fdopen(handle, "w") as f:
            json.dump(plan, f)
        os.chmod(path, 0o644)
        return self.as_caller([SANDBOX, *options, "--plan", path])

    def as_caller(self, argv):
        if self.caller is None:
            return argv
        return ["setpriv", "--reuid", str(self.caller), "--regid",
                str(self.caller), "--clear-groups", "--", *argv]

    def run(self, argv, stdin=b"", pass_fds=(), **more):
        return subprocess.run(self.command(self.plan(argv, **more)),
                              input=stdin, capture_output=True,
                              timeout=LIMIT, pass_fds=pass_fds, check=False)

    def start(self, argv, **more):
        return subprocess.Popen(self.command(self.plan(argv, **more)),
                                stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def ok(self, good, name, result=None):
        why = ""
        if result is not None:
            why = "code %s, said %r, %r" % (result.returncode,
                                            result.stdout[-300:],
                                            result.stderr[-300:])
        tap.ok(good, "%s: %s" % (self.name, name), why)

    def skip(self, name, why):
        tap.skip("%s: %s" % (self.name, name), why)

    def close(self):
        shutil.rmtree(self.dir)


def listen_on_host():
    tcp = socket.socket()
    tcp.bind(("127.0.0.1", 0))
    tcp.listen()
    name = "oz0-escapes-%d" % os.getpid()
    unix = socket.socket(socket.AF_UNIX)
    unix.bind("\0" + name)
    unix.listen()
    return tcp, unix, {
        "OZ0_TEST_PORT": str(tcp.getsockname()[1]),
        "OZ0_TEST_ABSTRACT": name,
        "OZ0_TEST_PID": str(os.getpid()),
    }


def attempts(way):
    """The table of escape.c, all in one sandbox."""
    tcp, unix, env = listen_on_host()
    result = way.run(["/t/escape"], env=env)
    lines = result.stdout.decode().splitlines()
    for line in lines:
        good, _, name = line.partition(" - ")
        way.ok(good == "ok", name)
    way.ok(len(lines) > 80 and result.returncode in (0, 1),
           "every attempt was made", result)
    tcp.close()
    unix.close()


def bites(way):
    """Without the layer that stops it, the same attempt gets through."""
    for name, off in (("io_uring_setup", {"seccomp": False}),
                      ("userfaultfd", {"seccomp": False}),
                      ("be traced", {"seccomp": False})):
        result = way.run(["/t/escape", name], **off)
        got = os.strerror(result.returncode) if result.returncode else "0"
        # io_uring_setup(1, NULL) is a fault, once it is let through
        way.ok(result.returncode != 1, "without seccomp, %s: %s"
               % (name, got), result)
    tcp, unix, env = listen_on_host()
    for layer, want in ((True, 1), (False, 0)):
        result = way.run(["/t/escape", "the host's abstract socket"],
                         network="host", landlock=layer, env=env)
        way.ok(result.returncode == want,
               "host network, Landlock %s: abstract socket"
               % ("on" if layer else "off"), result)
    result = way.run(["/t/escape", "the host's loopback"], network="host",
                     env=env)
    way.ok(result.returncode == 0, "host network: loopback is the host's",
           result)
    tcp.close()
    unix.close()


def descriptors(way):
    script = "for f in /proc/self/fd/*; do [ -e $f ] && echo ${f##*/}; done"
    leaked = os.open("/etc/passwd", os.O_RDONLY)
    result = way.run(["sh", "-c", script], pass_fds=(leaked,))
    os.close(leaked)
    way.ok(result.stdout.split() == [b"0", b"1", b"2"],
           "the server has descriptors 0, 1, 2 alone", result)
    result = way.run(["cat", "/proc/self/status"])
    status = dict(line.split(":\t", 1) for line in
                  result.stdout.decode().splitlines() if ":\t" in line)
    for name, want in (("SigBlk", 0), ("SigIgn", 0)):
        way.ok(int(status.get(name, "1"), 16) == want,
               "signals: %s is empty" % name, result)
    way.ok(status.get("Seccomp_filters") == "2" and
           status.get("NoNewPrivs") == "1", "two filters, no_new_privs",
           result)


def environment(way):
    os.environ["OZ0_TEST_SECRET"] = "hush"
    result = way.run(["env"])
    del os.environ["OZ0_TEST_SECRET"]
    names = {line.split("=", 1)[0] for line in
             result.stdout.decode().splitlines()}
    way.ok(names == {"PATH", "HOME", "LANG", "ASAN_OPTIONS"},
           "the environment is the plan's alone", result)


def working_directories(way):
    link = os.path.join(way.share, "out")
    for target in ("/proc/self/fd/7", "/proc/1/root", "/proc/self/root/.."):
        if os.path.lexists(link):
            os.unlink(link)
        os.symlink(target, link)
        for cwd in (target, "/session/out"):
            here = os.open("/", os.O_RDONLY)
            result = way.run(["true"], cwd=cwd, pass_fds=(here,))
            os.close(here)
            way.ok(result.returncode == 125 and b"cwd" in result.stderr,
                   "cwd %s (%s)" % (cwd, target), result)
    os.unlink(link)
    os.symlink("../../../../usr", link)
    result = way.run(["pwd", "-P"], cwd="/session/out")
    os.unlink(link)
    way.ok(result.stdout == b"/usr\n", "a link stays inside the root", result)


def setuid_program(way):
    if os.geteuid() != 0:
        way.skip("a setuid program", "only root can make one")
        return
    program = os.path.join(way.bin, "setuid-id")
    shutil.copy("/usr/bin/id", program)
    os.chmod(program, 0o4755)
    result = way.run(["/t/setuid-id", "-u"])
    os.unlink(program)
    way.ok(result.stdout == b"%d\n" % way.uid,
           "a setuid program changes no uid", result)


def mounts(way):
    real = os.path.join(way.share, "real")
    link = os.path.join(way.share, "link")
    os.mkdir(real)
    os.symlink("/usr", link)
    if os.geteuid() == 0:
        os.chown(real, way.uid, way.uid)
        os.lchown(link, way.uid, way.uid)
    bind = {"kind": "ro", "source": "/usr/share"}
    result = way.run(["true"], mounts=[dict(bind, target="/session/link/x")])
    way.ok(result.returncode == 125 and b"symbolic link" in result.stderr,
           "a mount point through a link of the session's", result)
    result = way.run(["true"], mounts=[dict(bind, target="/session/none")])
    way.ok(result.returncode == 125 and
           b"/session/none" in result.stderr and
           not os.path.exists(os.path.join(way.share, "none")),
           "no mount point is made in a folder of the host", result)
    result = way.run(["test", "-d", "/session/real/doc"],
                     mounts=[dict(bind, target="/session/real")])
    way.ok(result.returncode == 0, "a bind below a bind", result)
    result = way.run(["true"], mounts=[
        {"kind": "ro", "source": "/no/such", "target": "/x"}])
    way.ok(result.returncode == 125 and b"sources" in result.stderr and
           b"/no/such" in result.stderr, "a missing source is named", result)
    result = way.run(["true"], mounts=[
        {"kind": "ro", "source": "/no/such", "target": "/x",
         "optional": True}])
    way.ok(result.returncode == 0, "an optional source may be missing",
           result)
    result = way.run(["true"], mounts=[
        {"kind": "ro", "source": "/proc/self/root", "target": "/x"}])
    way.ok(result.returncode == 125, "a source through /proc", result)
    result = way.run(["sh", "-c", "echo x >/session/f && mv /session/f "
                      "/session/real/g && cat /session/real/g"])
    way.ok(result.stdout == b"x\n" and
           os.path.exists(os.path.join(real, "g")),
           "/session is written, and renamed in", result)
    result = way.run(["sh", "-c", "echo x >/scratch/f && cat /scratch/f"],
                     mounts=[{"kind": "tmpfs", "target": "/scratch",
                              "size": 65536}])
    way.ok(result.stdout == b"x\n", "a tmpfs of the plan's", result)


def codes(way):
    for argv, want, name in (
            (["sh", "-c", "exit 7"], 7, "an exit code"),
            (["sh", "-c", "kill -TERM $$"], 143, "a death by signal"),
            (["no-such-program"], 127, "no such command"),
            (["/usr/share"], 126, "what cannot be executed")):
        result = way.run(argv)
        way.ok(result.returncode == want, name, result)
    result = way.run(["no-such-program"])
    way.ok(b"exec: command no-such-program not found in PATH=/usr/bin:/bin"
           in result.stderr, "the command and PATH are named", result)
    script = os.path.join(way.bin, "script")
    with open(script, "w", encoding="ascii") as f:
        f.write("#!/no/interpreter\n")
    os.chmod(script, 0o755)
    result = way.run(["/t/script"])
    os.unlink(script)
    way.ok(result.returncode == 127 and b"interpreter" in result.stderr,
           "a missing interpreter is named", result)
    plan = way.plan(["true"], uid=0)
    result = subprocess.run(way.command(plan), capture_output=True,
                            timeout=LIMIT, check=False)
    way.ok(result.returncode == 2 and b"uid 0" in result.stderr,
           "uid 0 is refused", result)
    plan = way.plan(["true"], wish=1)
    result = subprocess.run(way.command(plan), capture_output=True,
                            timeout=LIMIT, check=False)
    way.ok(result.returncode == 2 and b"unknown key" in result.stderr,
           "an unknown key is refused", result)


def read_line(process):
    ready, _, _ = select.select([process.stdout], [], [], LIMIT)
    return process.stdout.readline() if ready else b""


def below(pid):
    """The living processes below pid, as a map from pid to command line."""
    parents, lines = {}, {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name, encoding="ascii",
                      errors="replace") as f:
                fields = f.read().rpartition(")")[2].split()
            with open("/proc/%s/cmdline" % name, "rb") as f:
                lines[int(name)] = f.read()
        except OSError:
            continue
        if fields[0] != "Z":
            parents[int(name)] = int(fields[1])
    found = {pid}
    while True:
        more = {p for p, parent in parents.items() if parent in found}
        if more <= found:
            break
        found |= more
    return {p: lines[p] for p in found if p != pid and p in lines}


def gone(pids, limit):
    """Are all of these dead within limit seconds?  Waits on pidfds."""
    poll = select.poll()
    fds = []
    for pid in pids:
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        fds.append(fd)
        poll.register(fd, select.POLLIN)
    end = time.monotonic() + limit
    left = set(fds)
    while left and time.monotonic() < end:
        for fd, _ in poll.poll(max(1, int((end - time.monotonic()) * 1000))):
            left.discard(fd)
            poll.unregister(fd)
    for fd in fds:
        os.close(fd)
    return not left


# Double fork, a session of its own, every signal ignored.
STUBBORN = r"""
import os, signal, sys
for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(n, signal.SIG_IGN)
r, w = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(w, b"x")
        while True:
            signal.pause()
    os._exit(0)
os.wait()
os.read(r, 1)
print("ready", flush=True)
if len(sys.argv) > 1:
    sys.exit(0)
while True:
    signal.pause()
"""


def deaths(way):
    python = "/usr/bin/python3"
    if not os.path.exists(python):
        way.skip("deaths", "no " + python)
        return
    # the supervisor is killed: all is dead within a second
    process = way.start([python, "-c", STUBBORN])
    ready = read_line(process)
    tree = below(process.pid)
    titles = [line.split(b"\0")[0] for line in tree.values()]
    way.ok(b"oz0-sandbox: escapes" in titles, "ps shows the sandbox's name: "
           "%r" % titles)
    way.ok(ready == b"ready\n" and len(tree) == 3,
           "init, server and its daemon run: %d" % len(tree))
    fds = [os.pidfd_open(pid) for pid in tree]
    process.kill()
    process.wait()
    way.ok(gone(tree, 1), "kill -9 of the supervisor leaves nothing")
    for fd in fds:
        os.close(fd)
    # the server ends: its daemon does not outlive it
    process = way.start([python, "-c", STUBBORN, "end"])
    read_line(process)
    code = process.wait(LIMIT)
    way.ok(code == 0, "a server that ends, ends its sandbox: %s" % code)
    # the init is killed: the same
    process = way.start([python, "-c", STUBBORN])
    read_line(process)
    tree = below(process.pid)
    init = [pid for pid, line in tree.items()
            if line.startswith(b"oz0-sandbox: ")]
    if len(init) == 1:
        os.kill(init[0], signal.SIGKILL)
    way.ok(len(init) == 1 and gone(tree, 5), "kill -9 of the init, too")
    way.ok(process.wait(LIMIT) == 125, "and is reported")
    # a signal reaches the server
    process = way.start(["sh", "-c", "trap 'exit 9' TERM; echo ready; "
                         "while :; do read x; done"])
    read_line(process)
    process.send_signal(signal.SIGTERM)
    way.ok(process.wait(LIMIT) == 9, "a signal is passed on")
    for p in (process,):
        p.stdin.close()


PROGRAMS = {
    "node": (["/usr/bin/node", "-e",
              "const {Worker}=require('worker_threads');"
              "new Worker('require(\"fs\").readFileSync(\"/proc/self/stat\")',"
              "{eval:true}).on('exit',c=>{"
              "require('child_process').execSync('true');"
              "require('os').networkInterfaces();"
              "console.log('fine')})"], "/usr/bin/node"),
    "python3": (["/usr/bin/python3", "-c",
                 "import threading,subprocess,tempfile,multiprocessing as m,"
                 "asyncio;t=threading.Thread(target=print,args=('fine',));"
                 "m.Semaphore(1);subprocess.run(['true'],check=True);"
                 "tempfile.TemporaryFile();asyncio.run(asyncio.sleep(0));"
                 "t.start();t.join()"], "/usr/bin/python3"),
    "bash, coreutils, tar": (
        ["/bin/bash", "-c", "cd /tmp && mkdir d && touch d/f && chmod 640 d/f"
         " && tar cf t.tar d && rm -r d && tar xpf t.tar && test -w d/f &&"
         " test -x /bin/sh && ls -l d >/dev/null && (exit 0) && echo fine"],
        "/bin/bash"),
    "java": (["java", "-XX:+UseSerialGC", "-version"], "/usr/bin/java"),
}

GO = """package main
import ("fmt"; "os/exec"; "sync")
func main() {
	var w sync.WaitGroup
	for i := 0; i < 50; i++ { w.Add(1); go func() { defer w.Done()
		if err := exec.Command("/bin/true").Run(); err != nil { panic(err) } }() }
	w.Wait()
	fmt.Println("fine")
}
"""
RUST = """use std::process::Command;
use std::thread;
fn main() {
    let t: Vec<_> = (0..8).map(|_| thread::spawn(|| {
        Command::new("/bin/true").status().unwrap();
        std::fs::metadata("/usr").unwrap();
    })).collect();
    for x in t { x.join().unwrap(); }
    println!("fine");
}
"""


def compiler(name, *places):
    for place in (shutil.which(name), *places):
        if place and os.path.exists(place):
            return place
    return None


def build_programs(folder):
    """Go and Rust programs, made once with what compilers there are."""
    built = {}
    env = dict(os.environ, GOCACHE=os.path.join(folder, "cache"),
               GO111MODULE="off", CGO_ENABLED="0")
    for name, text, suffix, tool, argv in (
            ("go", GO, "go", compiler("go", "/usr/local/go/bin/go"),
             ["build", "-o"]),
            ("rust", RUST, "rs", compiler(
                "rustc", os.path.expanduser("~/.cargo/bin/rustc")), ["-o"])):
        if tool is None:
            continue
        source = os.path.join(folder, "%s.%s" % (name, suffix))
        with open(source, "w", encoding="ascii") as f:
            f.write(text)
        out = os.path.join(folder, name)
        if subprocess.run([tool, *argv, out, source], env=env, timeout=300,
                          capture_output=True, check=False).returncode == 0:
            built[name] = out
    return built


def programs(way, built):
    for name, (argv, needs) in PROGRAMS.items():
        if not os.path.exists(needs):
            way.skip("%s works" % name, "not installed")
            continue
        if name == "java" and not os.path.realpath(needs).startswith("/usr/"):
            way.skip("%s works" % name, "not below /usr")
            continue
        more = [{"kind": "ro", "source": p, "target": p, "optional": True}
                for p in ("/etc/java-17-openjdk",)] if name == "java" else []
        result = way.run(argv, mounts=more)
        good = result.returncode == 0 and (
            name == "java" or result.stdout.endswith(b"fine\n"))
        way.ok(good, "%s works" % name, result)
    for name in ("go", "rust"):
        if name not in built:
            way.skip("a %s program works" % name, "no compiler")
            continue
        shutil.copy(built[name], way.bin)
        result = way.run(["/t/" + name])
        way.ok(result.stdout == b"fine\n", "a %s program works" % name,
               result)


def stdio(way):
    data = os.urandom(1 << 20)
    result = way.run(["cat"], stdin=data)
    way.ok(result.stdout == data, "1 MiB through its stdio")


def large(way):
    text = "x" * 200000
    result = way.run(["wc", "-c", "/etc/large"], files=[
        {"target": "/etc/large", "text": text}])
    way.ok(result.stdout.startswith(b"200000 "), "a plan of 200 kB", result)


def terminal(way):
    script = "test -t 0 && : </dev/tty && echo fine"
    master, slave = os.openpty()
    result = subprocess.run(
        way.command(way.plan(["sh", "-c", script], tty=True)), stdin=slave,
        capture_output=True, timeout=LIMIT, check=False)
    way.ok(result.stdout == b"fine\n",
           "a terminal as stdin is the controlling one", result)
    os.close(slave)
    os.close(master)
    result = way.run(["true"], tty=True)
    way.ok(result.returncode == 125 and b"stdio" in result.stderr,
           "no terminal where one was wanted", result)


# A tree deeper than any path may be long, links out of it, no rights.
MESS = """
import os
os.mkdir("/session/keep")
open("/session/keep/f", "w").close()
os.mkdir("/session/left")
os.chdir("/session/left")
os.symlink("../keep", "out")
os.symlink("/session/keep/f", "file")
for i in range(300):
    os.mkdir("d" * 100)
    os.chdir("d" * 100)
open("f", "w").close()
os.chmod(".", 0)
os.chdir("/session/left")
os.chmod("d" * 100, 0)
os.chmod(".", 0)
"""


def removal(way):
    """What a session left is removed, and nothing that its links name."""
    if not os.path.exists("/usr/bin/python3"):
        way.skip("--remove", "no python3")
        return
    keep = os.path.join(way.share, "keep")
    left = os.path.join(way.share, "left")
    result = way.run(["/usr/bin/python3", "-c", MESS])
    way.ok(result.returncode == 0, "a folder that is hard to remove", result)
    argv = ["sh", "-c", 'exec 3<"$1"; shift; exec "$@"', "sh", left,
            *way.as_caller([SANDBOX, "--remove", str(way.uid),
                            str(way.uid)])]
    if os.geteuid() != 0:
        os.chmod(left, 0o700)
    result = subprocess.run(argv, capture_output=True, timeout=LIMIT,
                            check=False)
    way.ok(result.returncode == 0 and os.listdir(left) == [] and
           os.listdir(keep) == ["f"],
           "--remove empties it, and follows no link", result)


def explain(way):
    plan = way.plan(["true"], env={"TOKEN": "hush-hush"})
    result = subprocess.run(way.command(plan, "--explain"),
                            capture_output=True, timeout=LIMIT, check=False)
    way.ok(result.returncode == 0 and b"io_uring_setup" in result.stdout and
           b"/session  writable" in result.stdout and
           b"hush-hush" not in result.stdout, "--explain", result)


def ways():
    if os.geteuid() != 0:
        return [Way("user", None, os.getuid())]
    return [Way("root", None, DYNAMIC), Way("user", USER, USER)]


def run_all(built):
    for way in ways():
        for part in (attempts, bites, descriptors, environment,
                     working_directories, setuid_program, mounts, codes,
                     stdio, large, terminal, removal, explain, deaths):
            part(way)
        programs(way, built)
        way.close()


def main():
    if not os.access(SANDBOX, os.X_OK) or not os.access(ESCAPE, os.X_OK):
        print("Bail out! %s or %s is not built" % (SANDBOX, ESCAPE))
        return 99
    with tempfile.TemporaryDirectory(prefix="oz0-escapes-build.") as folder:
        run_all(build_programs(folder))
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
