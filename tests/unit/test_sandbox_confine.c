/*
 * The confinement of workers and of the journal: each right that they must not
 * have is tried by a child that confined itself, and what they need works.
 *
 * Run by make check, as root and as an ordinary user alike; links libsandbox
 * and libevent.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/confine.h"
#include "sandbox/filter.h"

#define OTHER_UID 65533

static struct confine own_uid = {.uid = OTHER_UID, .gid = OTHER_UID};

/* How a child ended: 0 fine, errno of the call, or 1000 + signal. */
#define BY_SIGNAL 1000
#ifdef OZ0_SANITIZERS
#define OPEN_ANSWER EACCES
#else
#define OPEN_ANSWER (BY_SIGNAL + SIGSYS)
#endif

static int
end_of(pid_t pid)
{
	int status;

	ck_assert_int_ge(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? BY_SIGNAL + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

static void
confine_or_end(void)
{
	struct confine_fault fault;

	if (confine_worker(&own_uid, &fault) < 0) {
		dprintf(
		    2, "confine: %s: %s\n", fault.act, strerror(fault.error));
		_exit(250);
	}
}

static int
result(long r)
{
	return r < 0 ? errno : 0;
}

static int
do_open(void)
{
	return result(open("/etc/passwd", O_RDONLY));
}

static int
do_socket(void)
{
	return result(socket(AF_INET, SOCK_STREAM, 0));
}

static int
do_unix_socket(void)
{
	return result(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int
do_exec(void)
{
	char *argv[] = {NULL};

	return result(execve("/bin/true", argv, argv));
}

static int
do_fork(void)
{
	return result(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static int
do_clone3(void)
{
	return result(syscall(SYS_clone3, NULL, 0));
}

static int
do_ptrace(void)
{
	return result(ptrace(PTRACE_TRACEME, 0, 0, 0));
}

static int
do_bpf(void)
{
	return result(syscall(SYS_bpf, 0, 0, 0));
}

static int
do_unshare(void)
{
	return result(unshare(CLONE_NEWUSER));
}

static int
do_kill_parent(void)
{
	return result(kill(getppid(), 0));
}

static int
do_kill_by_number(void)
{
	return result(syscall(SYS_kill, 1, 0));
}

static int
do_tgkill_other(void)
{
	return result(syscall(SYS_tgkill, 1, 1, 0));
}

/* The kernel would send SIGIO, or any other signal, to that process. */
static int
do_signal_by_fcntl(void)
{
	return result(fcntl(0, F_SETOWN, 1));
}

static int
do_signal_number(void)
{
	return result(fcntl(0, F_SETSIG, SIGTERM));
}

static int
do_executable_memory(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? errno : 0;
}

static int
do_io_uring(void)
{
	return result(syscall(425, 1, NULL));
}

static int
do_unknown(void)
{
	return result(syscall(9999));
}

static int
do_abort(void)
{
	abort();
}

static int
do_name(void)
{
	return result(prctl(PR_SET_NAME, "oz0-worker"));
}

static int
do_memfd(void)
{
	int fd = fd_sealed("payload", "0123456789", 10);
	size_t size;
	char *p;

	if (fd < 0 || !fd_is_sealed(fd, &size) || size != 10)
		return 200;
	p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	return p == MAP_FAILED ? 201 : p[9] == '9' ? 0 : 202;
}

static int
do_clock_and_random(void)
{
	struct timespec t;
	char bytes[16];
	int fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	struct itimerspec in_1ns = {.it_value = {0, 1}};
	uint64_t n;

	if (clock_gettime(CLOCK_BOOTTIME, &t) < 0 || fd < 0 ||
	    syscall(SYS_getrandom, bytes, sizeof(bytes), 0) != sizeof(bytes) ||
	    timerfd_settime(fd, 0, &in_1ns, NULL) < 0)
		return 200;
	while (read(fd, &n, sizeof(n)) < 0 && errno == EAGAIN)
		;
	return 0;
}

static int
do_much_memory(void)
{
	for (size_t n = 1; n < (size_t)64 << 20; n *= 4) {
		char *p = malloc(n);

		if (p == NULL)
			return 200;
		memset(p, 1, n);
		p = realloc(p, 2 * n);
		if (p == NULL)
			return 201;
		free(p);
	}
	return 0;
}

struct attempt {
	const char *what;
	int (*fn)(void);
	int end;
};

/* Under the filter that it makes itself, and under one that was made before. */
static const struct attempt attempts[] = {
    {"open", do_open, OPEN_ANSWER},
    {"socket", do_socket, BY_SIGNAL + SIGSYS},
    {"unix socket", do_unix_socket, BY_SIGNAL + SIGSYS},
    {"exec", do_exec, BY_SIGNAL + SIGSYS},
    {"fork", do_fork, BY_SIGNAL + SIGSYS},
    {"clone3", do_clone3, BY_SIGNAL + SIGSYS},
    {"ptrace", do_ptrace, BY_SIGNAL + SIGSYS},
    {"bpf", do_bpf, BY_SIGNAL + SIGSYS},
    {"unshare", do_unshare, BY_SIGNAL + SIGSYS},
    {"kill", do_kill_by_number, BY_SIGNAL + SIGSYS},
    {"tgkill of another", do_tgkill_other, ENOSYS},
    {"a signal by fcntl", do_signal_by_fcntl, ENOSYS},
    {"which signal", do_signal_number, ENOSYS},
    {"executable memory", do_executable_memory, ENOSYS},
    {"io_uring", do_io_uring, BY_SIGNAL + SIGSYS},
    {"unknown call", do_unknown, ENOSYS},
    {"getppid and kill", do_kill_parent, BY_SIGNAL + SIGSYS},
    {"abort", do_abort, BY_SIGNAL + SIGABRT},
    {"its name", do_name, 0},
    {"a sealed memfd", do_memfd, 0},
    {"clock, timer, random", do_clock_and_random, 0},
    {"memory", do_much_memory, 0},
};

START_TEST(test_worker)
{
	const struct attempt *a = &attempts[_i];

	for (int given = 0; given < 2; given++) {
		pid_t pid;
		int end;

		own_uid.filter = given ? filter_strict_memfd(FILTER_WORKER) : 0;
		ck_assert_int_ge(own_uid.filter, 0);
		pid = fork();
		if (pid == 0) {
			confine_or_end();
			_exit(a->fn());
		}
		end = end_of(pid);
		ck_assert_msg(end == a->end, "%s: ended %d, not %d", a->what,
		    end, a->end);
	}
}
END_TEST

static void
got_byte(evutil_socket_t fd, short what, void *arg)
{
	char c;

	if (read(fd, &c, 1) == 1)
		event_base_loopbreak(arg);
}

static int
receive_fd(int fd)
{
	union {
		char b[CMSG_SPACE(sizeof(int))];
		struct cmsghdr h;
	} u;
	char c;
	struct iovec v = {&c, 1};
	struct msghdr m = {.msg_iov = &v,
	    .msg_iovlen = 1,
	    .msg_control = u.b,
	    .msg_controllen = sizeof(u.b)};
	int got = -1;

	if (recvmsg(fd, &m, MSG_CMSG_CLOEXEC) != 1 || CMSG_FIRSTHDR(&m) == NULL)
		return -1;
	memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(got));
	return got;
}

static void
send_fd(int fd, int sent)
{
	union {
		char b[CMSG_SPACE(sizeof(int))];
		struct cmsghdr h;
	} u = {0};
	char c = 'x';
	struct iovec v = {&c, 1};
	struct msghdr m = {.msg_iov = &v,
	    .msg_iovlen = 1,
	    .msg_control = u.b,
	    .msg_controllen = sizeof(u.b)};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &sent, sizeof(sent));
	ck_assert_int_eq(sendmsg(fd, &m, 0), 1);
}

/* A libevent loop of a confined process, on a descriptor that came late. */
START_TEST(test_worker_loop)
{
	int sv[2], pv[2];
	pid_t pid;
	char c;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	ck_assert_int_eq(pipe(pv), 0);
	pid = fork();
	if (pid == 0) {
		struct event_base *base;
		struct event *e;
		int fd;

		confine_or_end();
		base = event_base_new();
		fd = receive_fd(sv[1]);
		if (base == NULL || fd < 0)
			_exit(200);
		e = event_new(base, fd, EV_READ | EV_PERSIST, got_byte, base);
		if (e == NULL || event_add(e, NULL) < 0 ||
		    write(sv[1], "r", 1) != 1)
			_exit(201);
		_exit(event_base_dispatch(base) == 0 ? 0 : 202);
	}
	close(sv[1]);
	send_fd(sv[0], pv[0]);
	ck_assert_int_eq(read(sv[0], &c, 1), 1);
	ck_assert_int_eq(write(pv[1], "b", 1), 1);
	ck_assert_int_eq(end_of(pid), 0);
}
END_TEST

static bool
status_has(const char *text, const char *line)
{
	return strstr(text, line) != NULL;
}

/* What /proc says of a confined worker; of root's also in a given network. */
START_TEST(test_worker_facts)
{
	char path[64], text[4096], uid[64], shared[64] = {0};
	ssize_t n;
	char c;
	int to[2], from[2];
	pid_t pid;
	int fd;

	if (_i == 1 && geteuid() == 0) {
		own_uid.network = confine_network();
		ck_assert_int_gt(own_uid.network, 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d",
		    own_uid.network);
		ck_assert_int_gt(
		    readlink(path, shared, sizeof(shared) - 1), 0);
	}
	ck_assert_int_eq(pipe(to), 0);
	ck_assert_int_eq(pipe(from), 0);
	pid = fork();
	if (pid == 0) {
		confine_or_end();
		if (write(from[1], "r", 1) != 1 || read(to[0], &c, 1) != 1)
			_exit(200);
		_exit(0);
	}
	ck_assert_int_eq(read(from[0], &c, 1), 1);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY);
	ck_assert_int_ge(fd, 0);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	ck_assert_int_gt(n, 0);
	text[n] = '\0';
	ck_assert(status_has(text, "NoNewPrivs:\t1"));
	ck_assert(status_has(text, "Seccomp:\t2"));
	ck_assert(status_has(text, "CapPrm:\t0000000000000000"));
	ck_assert(status_has(text, "CapBnd:\t0000000000000000"));
	snprintf(uid, sizeof(uid), "Uid:\t%u\t%u\t%u\t%u",
	    geteuid() == 0 ? OTHER_UID : geteuid(),
	    geteuid() == 0 ? OTHER_UID : geteuid(),
	    geteuid() == 0 ? OTHER_UID : geteuid(),
	    geteuid() == 0 ? OTHER_UID : geteuid());
	ck_assert(status_has(text, uid));
	/* undumpable: its own user may not look into it, root may */
	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	n = readlink(path, text, sizeof(text));
	if (geteuid() != 0)
		ck_assert_int_eq(n, -1);
	else {
		char own[64] = {0};

		ck_assert_int_gt(
		    readlink("/proc/self/ns/net", own, sizeof(own) - 1), 0);
		ck_assert_int_gt(n, 0);
		text[n] = '\0';
		ck_assert_str_ne(text, own);
		ck_assert(shared[0] == '\0' || strcmp(text, shared) == 0);
		snprintf(path, sizeof(path), "/proc/%d/root/usr", (int)pid);
		ck_assert_int_eq(access(path, F_OK), -1);
	}
	ck_assert_int_eq(write(to[1], "g", 1), 1);
	ck_assert_int_eq(end_of(pid), 0);
}
END_TEST

/* The supervisor's end is the worker's: told by the end of its pipe. */
START_TEST(test_worker_parent_death)
{
	int pv[2];
	char c;
	pid_t pid;

	ck_assert_int_eq(pipe(pv), 0);
	pid = fork();
	if (pid == 0) {
		int ready[2];
		pid_t worker;

		if (pipe(ready) < 0)
			_exit(200);
		worker = fork();
		if (worker == 0) {
			confine_or_end();
			if (write(ready[1], "r", 1) != 1)
				_exit(201);
			for (;;)
				poll(NULL, 0, -1);
		}
		if (read(ready[0], &c, 1) == 1)
			raise(SIGKILL);
		_exit(202);
	}
	close(pv[1]);
	ck_assert_int_eq(end_of(pid), BY_SIGNAL + SIGKILL);
	ck_assert_int_eq(read(pv[0], &c, 1), 0);
}
END_TEST

static int
in_dir(int dir)
{
	int fd = openat(dir, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

	if (fd < 0)
		return errno;
	if (fcntl(fd, F_SETLK, &lock) < 0 || fcntl(fd, F_OFD_SETLK, &lock) < 0)
		return errno;
	if (write(fd, "x", 1) != 1 || fdatasync(fd) < 0 ||
	    renameat(dir, "f", dir, "g") < 0 || unlinkat(dir, "g", 0) < 0)
		return errno;
	close(fd);
	return 0;
}

static int
open_outside(int dir)
{
	return result(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}

static int
journal_socket(int dir)
{
	return do_socket();
}

static int
journal_exec(int dir)
{
	return do_exec();
}

static int
journal_fork(int dir)
{
	return do_fork();
}

static const struct {
	const char *what;
	int (*fn)(int dir);
	int end;
} journal_attempts[] = {
    {"files of the state directory", in_dir, 0},
    {"files elsewhere", open_outside, EACCES},
    {"socket", journal_socket, BY_SIGNAL + SIGSYS},
    {"exec", journal_exec, BY_SIGNAL + SIGSYS},
    {"fork", journal_fork, BY_SIGNAL + SIGSYS},
};

START_TEST(test_journal)
{
	char path[] = "/tmp/oz0-confine.XXXXXX";
	pid_t pid;
	int dir, end;

	ck_assert_ptr_nonnull(mkdtemp(path));
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir, 0);
	pid = fork();
	if (pid == 0) {
		struct confine stay = {0};
		struct confine_fault fault;

		if (confine_journal(dir, &stay, &fault) < 0) {
			dprintf(2, "confine: %s: %s\n", fault.act,
			    strerror(fault.error));
			_exit(250);
		}
		_exit(journal_attempts[_i].fn(dir));
	}
	end = end_of(pid);
	close(dir);
	rmdir(path);
	ck_assert_msg(end == journal_attempts[_i].end, "%s: ended %d, not %d",
	    journal_attempts[_i].what, end, journal_attempts[_i].end);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("sandbox_confine");
	TCase *t = tcase_create("confine");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_add_loop_test(
	    t, test_worker, 0, (int)(sizeof(attempts) / sizeof(attempts[0])));
	tcase_add_test(t, test_worker_loop);
	tcase_add_loop_test(t, test_worker_facts, 0, 2);
	tcase_add_test(t, test_worker_parent_death);
	tcase_add_loop_test(t, test_journal, 0,
	    (int)(sizeof(journal_attempts) / sizeof(journal_attempts[0])));
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
