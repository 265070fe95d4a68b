/*
 * The node's own processes give up their rights.
 *
 * Called by oz0-worker and oz0-journal on themselves, once, before they read a
 * byte that anybody wrote.  Each is one visible list of stages, closed by a
 * proof that the rights are gone.
 */
#include "sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "sandbox/caps.h"
#include "sandbox/filter.h"
#include "sandbox/landlock.h"
#include "sandbox/mount.h"

struct confined {
	const struct confine *want;
	int state_dir; /* journal; else -1 */
	uid_t uid;     /* that it goes on under */
	gid_t gid;
	bool in_network; /* it has left the host's already */
};

struct stage {
	const char *act;
	int (*fn)(struct confined *c);
	bool optional; /* may be left out under "best" */
};

/* While it is root still; where it cannot, it makes one with the others. */
static int
stage_network(struct confined *c)
{
	c->in_network =
	    c->want->network > 0 && setns(c->want->network, CLONE_NEWNET) == 0;
	return 0;
}

static int
stage_user(struct confined *c)
{
	int r = 0;

	if (geteuid() == 0 && c->want->uid != 0)
		r = caps_switch_user(c->want->uid, c->want->gid);
	c->uid = geteuid();
	c->gid = getegid();
	return r;
}

static int
unshare_with_maps(struct confined *c, int namespaces)
{
	const char *act;

	if (unshare(CLONE_NEWUSER | namespaces) < 0)
		return -errno;
	return caps_write_maps(c->uid, c->gid, &act);
}

static int
stage_worker_namespaces(struct confined *c)
{
	const int own =
	    CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

	return unshare_with_maps(c, c->in_network ? own : own | CLONE_NEWNET);
}

/* Root needs no user namespace, and may lack what mapping 0 takes. */
static int
stage_journal_namespaces(struct confined *c)
{
	const int namespaces = CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

	if (c->uid == 0 && unshare(namespaces) == 0)
		return 0;
	return unshare_with_maps(c, namespaces);
}

static int
stage_empty_root(struct confined *c)
{
	static const struct mount_option options[] = {
	    {"size", "4k"},
	    {"nr_inodes", "1"},
	    {"mode", "0555"},
	    {NULL, NULL},
	};
	CLEANUP_CLOSE int top = -1;
	CLEANUP_CLOSE int root = -1;
	int r;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	r = mount_new("tmpfs", options,
	    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
		MOUNT_ATTR_NOEXEC);
	if (r < 0)
		return r;
	root = r;
	top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return -errno;
	r = mount_put(root, top);
	if (r < 0)
		return r;
	if (fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return -errno;
	return 0;
}

static int
stage_no_core(struct confined *c)
{
	struct rlimit none = {0, 0};

	return setrlimit(RLIMIT_CORE, &none) < 0 ? -errno : 0;
}

static int
stage_capabilities(struct confined *c)
{
	int r = caps_drop();

	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = -errno;
	return r;
}

/* After the last change of credentials, which would undo both. */
static int
stage_parent_death(struct confined *c)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

/* Nothing of the file system but the journal's folder; no signals out. */
static int
stage_landlock(struct confined *c)
{
	CLEANUP_CLOSE int ruleset = -1;
	int abi = landlock_abi();
	int r;

	if (abi < 0)
		return abi;
	r = landlock_ruleset(abi, true);
	if (r < 0)
		return r;
	ruleset = r;
	r = 0;
	if (c->state_dir >= 0)
		r = landlock_allow(
		    ruleset, abi, c->state_dir, "", LANDLOCK_WRITE);
	return r < 0 ? r : landlock_apply(ruleset);
}

static int
stage_worker_filter(struct confined *c)
{
	return c->want->filter > 0 ? filter_apply_memfd(c->want->filter)
				   : filter_apply_strict(FILTER_WORKER);
}

static int
stage_journal_filter(struct confined *c)
{
	return filter_apply_strict(FILTER_JOURNAL);
}

/*
 * What can be tried without being killed for it: the rest is the filter's, and
 * that there is one is asked from the kernel.
 */
static int
stage_proof_before_filter(struct confined *c)
{
	bool worker = c->state_dir < 0;
	int fd;

	if (!caps_none() || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return -EPROTO;
	if (c->uid != 0 && (setresuid(0, 0, 0) == 0))
		return -EPROTO;
	if (mount("none", "/", "tmpfs", 0, NULL) == 0)
		return -EPROTO;
	if (!worker)
		return 0;
	fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fd = open("/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return 0;
	close(fd);
	return -EPROTO;
}

/* A call that no list knows answers ENOSYS: the filter is there and decides. */
static int
stage_proof_of_filter(struct confined *c)
{
	char name[2];

	return syscall(SYS_getxattr, "/", "user.x", name, sizeof(name)) < 0 &&
		       errno == ENOSYS
		   ? 0
		   : -EPROTO;
}

static const struct stage worker_stages[] = {
    {"join the workers' network", stage_network, false},
    {"switch to its own uid", stage_user, false},
    {"unshare its namespaces", stage_worker_namespaces, true},
    {"enter an empty root", stage_empty_root, true},
    {"switch core dumps off", stage_no_core, false},
    {"drop all capabilities", stage_capabilities, false},
    {"apply Landlock", stage_landlock, true},
    {"prove that rights are gone", stage_proof_before_filter, true},
    {"die with the supervisor", stage_parent_death, false},
    {"load its seccomp filter", stage_worker_filter, true},
    {"prove its seccomp filter", stage_proof_of_filter, true},
};

static const struct stage journal_stages[] = {
    {"switch to its own uid", stage_user, false},
    {"unshare its namespaces", stage_journal_namespaces, true},
    {"switch core dumps off", stage_no_core, false},
    {"drop all capabilities", stage_capabilities, false},
    {"apply Landlock", stage_landlock, true},
    {"prove that rights are gone", stage_proof_before_filter, true},
    {"die with the supervisor", stage_parent_death, false},
    {"load its seccomp filter", stage_journal_filter, true},
    {"prove its seccomp filter", stage_proof_of_filter, true},
};

static int
run(const struct stage *stages, size_t n, struct confined *c,
    struct confine_fault *ret_fault)
{
	for (size_t i = 0; i < n; i++) {
		int r = stages[i].fn(c);

		if (r < 0 && !(c->want->best && stages[i].optional)) {
			*ret_fault = (struct confine_fault){stages[i].act, -r};
			return r;
		}
	}
	return 0;
}

/* A child holds it until there is a descriptor of it. */
int
confine_network(void)
{
	CLEANUP_CLOSE int held = -1;
	CLEANUP_CLOSE int hold = -1;
	char path[64], byte;
	int go[2];
	pid_t pid;
	int fd;

	fd = fd_pipe(go);
	if (fd < 0)
		return fd;
	held = go[0];
	hold = go[1];
	pid = (pid_t)syscall(
	    SYS_clone, CLONE_NEWNET | SIGCHLD, NULL, NULL, NULL, 0);
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		fd_close(&hold);
		(void)!read(held, &byte, 1);
		_exit(0);
	}
	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	fd_close(&hold);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return fd;
}

#define NSTAGES(s) (sizeof(s) / sizeof((s)[0]))

int
confine_worker(const struct confine *c, struct confine_fault *ret_fault)
{
	struct confined confined = {.want = c, .state_dir = -1};

	return run(worker_stages, NSTAGES(worker_stages), &confined, ret_fault);
}

int
confine_journal(
    int state_dir, const struct confine *c, struct confine_fault *ret_fault)
{
	struct confined confined = {.want = c, .state_dir = state_dir};

	return run(
	    journal_stages, NSTAGES(journal_stages), &confined, ret_fault);
}
