/*
 * Bare starts and bare kills.  Part of oz0-bench: a process forked from it
 * before the node is there, which takes an order, measures and answers.
 */
#include "bench/launcher.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "bench/layers.h"
#include "bench/proc.h"
#include "bench/sample.h"
#include "bench/server.h"

enum what {
	START,
	KILL, /* of n processes */
	IDLE, /* n pairs */
};

struct order {
	enum what what;
	uint32_t n;
};

struct place {
	uid_t uid;
	gid_t gid;
	const char *folder;
	int first; /* the fifo, read end */
};

static void __attribute__((noreturn))
die(const char *what)
{
	warn("floor: %s", what);
	_exit(1);
}

static pid_t
clone_plain(unsigned long namespaces)
{
	struct clone_args a = { .flags = namespaces, .exit_signal = SIGCHLD };
	pid_t pid = (pid_t)syscall(SYS_clone3, &a, sizeof(a));

	if (pid < 0)
		die("clone");
	return pid;
}

static void
end(pid_t pid)
{
	if (kill(pid, SIGKILL) < 0 || waitpid(pid, NULL, 0) < 0)
		die("end a child");
}

static double
measure_start(const struct place *p)
{
	char program[] = LAYERS_FOLDER "/" SERVER_NAME;
	char fifo[] = LAYERS_FOLDER "/" SERVER_FIFO;
	char *argv[] = { program, fifo, NULL };
	char *envp[] = { NULL };
	double begin = now_us();
	pid_t pid = clone_plain(layers_namespaces());
	char byte;

	if (pid == 0) {
		layers_enter(p->uid, p->gid, p->folder);
		execve(program, argv, envp);
		die(program);
	}
	if (read(p->first, &byte, 1) != 1)
		die("wait for the first byte");
	begin = now_us() - begin;
	end(pid);
	return begin;
}

static void __attribute__((noreturn))
idle(int report)
{
	if (write(report, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static double
measure_kill(size_t n)
{
	double begin;
	int pv[2];
	pid_t pid;
	char byte;

	if (pipe2(pv, O_CLOEXEC) < 0)
		die("pipe");
	pid = clone_plain(CLONE_NEWPID | CLONE_NEWUSER);
	if (pid == 0) {
		for (size_t i = 0; i < n; i++)
			if (fork() == 0)
				idle(pv[1]);
		for (;;)
			pause();
	}
	for (size_t i = 0; i < n; i++)
		if (read(pv[0], &byte, 1) != 1)
			die("wait for the tree");
	begin = now_us();
	end(pid);
	begin = now_us() - begin;
	close(pv[0]);
	close(pv[1]);
	return begin;
}

/* The static server, with nothing to do; in the namespaces we are in. */
static pid_t
start_idle(const struct place *p, int in)
{
	char program[512], fifo[512];
	char *argv[] = { program, fifo, NULL };
	char *envp[] = { NULL };
	char byte;
	pid_t pid;

	snprintf(program, sizeof(program), "%s/" SERVER_NAME, p->folder);
	snprintf(fifo, sizeof(fifo), "%s/" SERVER_FIFO, p->folder);
	pid = clone_plain(0);
	if (pid == 0) {
		if (dup2(in, 0) < 0)
			die("give it a stdin");
		execve(program, argv, envp);
		die(program);
	}
	if (read(p->first, &byte, 1) != 1)
		die("wait for the first byte");
	return pid;
}

static double
measure_idle(const struct place *p, size_t pairs)
{
	CLEANUP_FREE pid_t *pids = mem_array(2 * pairs, sizeof(*pids));
	double kib = 0;
	int pv[2];

	if (pipe2(pv, O_CLOEXEC) < 0)
		die("pipe");
	for (size_t i = 0; i < 2 * pairs; i++)
		pids[i] = start_idle(p, pv[0]);
	for (size_t i = 0; i < 2 * pairs; i++)
		kib += proc_pss(pids[i]);
	for (size_t i = 0; i < 2 * pairs; i++)
		end(pids[i]);
	close(pv[0]);
	close(pv[1]);
	return kib / (double)pairs;
}

static double
carry_out(const struct place *p, const struct order *o)
{
	switch (o->what) {
	case START:
		return measure_start(p);
	case KILL:
		return measure_kill(o->n);
	case IDLE:
		return measure_idle(p, o->n);
	}
	return 0;
}

static void
become(uid_t uid, gid_t gid)
{
	if (geteuid() == 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
		setresuid(uid, uid, uid) < 0))
		die("switch to the servers' user");
	/* or the maps of its children could not be written */
	if (prctl(PR_SET_DUMPABLE, 1) < 0)
		die("become dumpable");
}

static void __attribute__((noreturn))
run(int fd, struct place *p)
{
	char path[512];
	struct order o;
	double took;

	become(p->uid, p->gid);
	/* after the change of user, which clears it */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "%s/" SERVER_FIFO, p->folder);
	p->first = open(path, O_RDWR | O_CLOEXEC);
	if (p->first < 0)
		die(path);
	while (recv(fd, &o, sizeof(o), 0) == sizeof(o)) {
		took = carry_out(p, &o);
		if (send(fd, &took, sizeof(took), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

void
launcher_open(struct launcher *l, uid_t uid, gid_t gid, const char *folder)
{
	struct place p = { .uid = uid, .gid = gid, .folder = folder };
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
		err(1, "socketpair");
	l->pid = fork();
	if (l->pid < 0)
		err(1, "fork");
	if (l->pid == 0) {
		close(sv[0]);
		run(sv[1], &p);
	}
	close(sv[1]);
	l->fd = sv[0];
}

void
launcher_close(struct launcher *l)
{
	if (l->fd < 0)
		return;
	fd_close(&l->fd);
	while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static double
ask(struct launcher *l, enum what what, size_t n)
{
	struct order o = { .what = what, .n = (uint32_t)n };
	double took;

	if (send(l->fd, &o, sizeof(o), MSG_NOSIGNAL) < 0 ||
	    recv(l->fd, &took, sizeof(took), 0) != sizeof(took))
		errx(1, "the floor could not be measured");
	return took;
}

double
launcher_start(struct launcher *l)
{
	return ask(l, START, 1);
}

double
launcher_kill(struct launcher *l, size_t n)
{
	return ask(l, KILL, n);
}

double
launcher_idle_kib(struct launcher *l, size_t n)
{
	return ask(l, IDLE, n);
}
