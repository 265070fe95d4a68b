/*
 * Starting the programs of libexec, each by its descriptor.
 *
 * Runs in the supervisor (and in `oz0-sandbox --plan`).  The child shares the
 * caller's memory until it execs (CLONE_VM | CLONE_VFORK), so it only makes
 * system calls, changes no uid (that would make the caller undumpable), and
 * tells of a failure through that memory.
 */
#include "sandbox/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "sandbox/caps.h"

#define CHILD_STACK ((size_t)64 * 1024)
#define HIGH_FD 64 /* out of the way of those that are put in place */

/* What the child needs, and where it says what failed. */
struct child {
	unsigned long namespaces; /* 0: stay in the caller's */
	uid_t uid;
	gid_t gid;
	int exe;
	char *const *argv;
	char *const *envp;
	int std[3];
	int socket;		  /* becomes 3 */
	int keep[LAUNCH_KEEP];	  /* -1: none */
	int keep_as[LAUNCH_KEEP]; /* their numbers after the exec */
	const char *act;
	int error;
};

unsigned long
launch_namespaces(enum plan_network network)
{
	unsigned long all = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
			    CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

	return network == PLAN_NET_NONE ? all | CLONE_NEWNET : all;
}

/*
 * All of them, those that libc keeps for itself too (32 and 33, which it does
 * not let signal(2) touch): some launchers leave them ignored.
 */
static void
reset_signals(void)
{
	static const unsigned long dfl[8]; /* the kernel's struct sigaction */
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		syscall(SYS_rt_sigaction, sig, dfl, NULL, NSIG / 8);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * First everything out of the way of the numbers it goes to, then into place:
 * no order of the caller's numbers can make one overwrite another.
 */
static int
place_descriptors(struct child *c)
{
	int std[3] = {-1, -1, -1};
	int keep[LAUNCH_KEEP] = {-1, -1, -1};
	int socket;

	c->exe = fcntl(c->exe, F_DUPFD_CLOEXEC, HIGH_FD);
	socket = fcntl(c->socket, F_DUPFD_CLOEXEC, HIGH_FD);
	/* EINVAL: the limit of descriptors is below those numbers */
	if (c->exe < 0 || socket < 0)
		return errno == EINVAL ? -EMFILE : -errno;
	for (int i = 0; i < LAUNCH_KEEP; i++) {
		if (c->keep[i] < 0)
			continue;
		keep[i] = fcntl(c->keep[i], F_DUPFD_CLOEXEC, HIGH_FD);
		if (keep[i] < 0)
			return errno == EINVAL ? -EMFILE : -errno;
	}
	for (int i = 0; i < 3; i++)
		if (c->std[i] >= 0)
			std[i] = fcntl(c->std[i], F_DUPFD_CLOEXEC, HIGH_FD);
	/* what the caller forgot to mark stays behind too */
	if (close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return -errno;
	for (int i = 0; i < 3; i++)
		if (c->std[i] >= 0 && dup2(std[i], i) < 0)
			return -errno;
	if (dup2(socket, LAUNCH_CONTROL_FD) < 0)
		return -errno;
	for (int i = 0; i < LAUNCH_KEEP; i++)
		if (keep[i] >= 0 && dup2(keep[i], c->keep_as[i]) < 0)
			return -errno;
	return 0;
}

static int
enter_namespaces(struct child *c)
{
	int r = caps_write_maps(c->uid, c->gid, &c->act);

	if (r < 0)
		return r;
	c->act = "keep capabilities over the exec";
	return caps_raise_ambient();
}

/* On a stack of its own, which ASan does not know of when _exit() ends it. */
static int __attribute__((no_sanitize_address)) child_main(void *arg)
{
	struct child *c = arg;
	int r;

	c->act = "reset signals";
	reset_signals();
	r = c->namespaces != 0 ? enter_namespaces(c) : 0;
	if (r == 0) {
		c->act = "put descriptors in place";
		r = place_descriptors(c);
	}
	if (r == 0) {
		c->act = "exec";
		syscall(
		    SYS_execveat, c->exe, "", c->argv, c->envp, AT_EMPTY_PATH);
		r = -errno;
	}
	c->error = -r;
	_exit(127);
}

/* 0 with the child exec'ed, or -errno with it reaped. */
static int
start(struct child *c, pid_t *ret_pid, int *ret_pidfd,
    struct launch_fault *ret_fault)
{
	sigset_t all, before;
	char *stack;
	int pidfd = -1;
	pid_t pid;
	int e;

	stack = mmap(NULL, CHILD_STACK, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED) {
		*ret_fault = (struct launch_fault){"get a stack", errno};
		return -ret_fault->error;
	}
	/* no handler of the caller may run in the child, on its memory */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = clone(child_main, stack + CHILD_STACK,
	    (int)(CLONE_VM | CLONE_VFORK | CLONE_PIDFD | c->namespaces |
		  SIGCHLD),
	    c, &pidfd);
	e = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	munmap(stack, CHILD_STACK);
	if (pid < 0) {
		*ret_fault = (struct launch_fault){"clone", e};
		return -e;
	}
	if (c->error != 0) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		close(pidfd);
		*ret_fault = (struct launch_fault){c->act, c->error};
		return -c->error;
	}
	*ret_pid = pid;
	*ret_pidfd = pidfd;
	return 0;
}

static int
check_user(const struct plan *p, struct launch_fault *ret_fault)
{
	bool own = p->uid == geteuid() && p->gid == getegid();

	if (p->uid != 0 && p->gid != 0 && (own || geteuid() == 0))
		return 0;
	*ret_fault = (struct launch_fault){
	    p->uid == 0 || p->gid == 0
		? "run as host uid or gid 0, which is refused"
		: "run as another user",
	    EPERM,
	};
	return -EPERM;
}

int
launch_sandbox(const struct launch *l, struct launched *ret,
    struct launch_fault *ret_fault)
{
	const struct plan *p = l->plan;
	CLEANUP_FREE char *title = mem_printf("oz0-sandbox: %s", p->name);
	char uid[16], gid[16];
	char none[] = "none", host[] = "host";
	char helper[] = "--helper", init[] = "--init", alive[] = "--alive";
	char *argv[8] = {title};
	char *envp[] = {NULL};
	struct launched new = {.helper_pidfd = -1, .init_pidfd = -1};
	struct child c = {
	    .exe = l->exe,
	    .argv = argv,
	    .envp = envp,
	    .std = {l->std[0], l->std[1], l->std[2]},
	    .socket = l->control,
	    .keep = {l->alive, -1, -1},
	    .keep_as = {LAUNCH_ALIVE_FD},
	};
	size_t n = 1;
	int r;

	r = check_user(p, ret_fault);
	if (r < 0)
		return r;
	if (l->alive >= 0)
		argv[n++] = alive;
	if (p->uid == geteuid() && p->gid == getegid()) {
		argv[n] = init;
		c.namespaces = launch_namespaces(p->network);
		c.uid = p->uid;
		c.gid = p->gid;
		r = start(&c, &new.init, &new.init_pidfd, ret_fault);
	} else {
		snprintf(uid, sizeof(uid), "%u", (unsigned)p->uid);
		snprintf(gid, sizeof(gid), "%u", (unsigned)p->gid);
		argv[n++] = helper;
		argv[n++] = uid;
		argv[n++] = gid;
		argv[n] = p->network == PLAN_NET_NONE ? none : host;
		r = start(&c, &new.helper, &new.helper_pidfd, ret_fault);
	}
	if (r == 0)
		*ret = new;
	return r;
}

int
launch_program(int exe, char *const argv[], char *const envp[], int socket_end,
    const int keep[LAUNCH_KEEP], pid_t *ret_pid, int *ret_pidfd,
    struct launch_fault *ret_fault)
{
	struct child c = {
	    .exe = exe,
	    .argv = argv,
	    .envp = envp,
	    .std = {-1, -1, -1},
	    .socket = socket_end,
	};

	for (int i = 0; i < LAUNCH_KEEP; i++) {
		if (keep[i] >= 0 && keep[i] <= LAUNCH_CONTROL_FD) {
			*ret_fault = (struct launch_fault){
			    "keep a descriptor under a number below 4", EINVAL};
			return -EINVAL;
		}
		c.keep[i] = c.keep_as[i] = keep[i];
	}
	return start(&c, ret_pid, ret_pidfd, ret_fault);
}
