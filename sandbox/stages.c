/*
 * The stages of a sandbox: the one visible list of what an init does between
 * its start and the fork of the server.
 *
 * Runs in oz0-sandbox as pid 1.  What the server's own process still does
 * after the fork (session, stdio, cwd, no_new_privs, Landlock, seccomp, proof,
 * exec) is in server.c.
 */
#include "sandbox/stages.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/caps.h"
#include "sandbox/filter.h"
#include "sandbox/landlock.h"

static void
miss(struct stages *s, const char *layer)
{
	size_t n = strlen(s->missing);

	snprintf(s->missing + n, sizeof(s->missing) - n, "%s%s",
	    n > 0 ? ", " : "", layer);
}

static int
stage_sources(struct stages *s, struct sandbox_fault *f)
{
	return root_open_sources(&s->root, f);
}

static int
stage_proc(struct stages *s, struct sandbox_fault *f)
{
	int r = root_open_proc(&s->root, f);

	if (r == 0 && s->root.proc < 0)
		miss(s, "proc");
	return r;
}

/* No user namespace below this one, whatever seccomp says. */
static int
stage_user_namespaces(struct stages *s, struct sandbox_fault *f)
{
	CLEANUP_CLOSE int fd = -1;

	if (s->root.proc < 0) {
		miss(s, "user_namespaces");
		return 0;
	}
	fd = openat(
	    s->root.proc, "sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		return sandbox_fault_set(
		    f, errno, "write user/max_user_namespaces");
	return 0;
}

static int
stage_root(struct stages *s, struct sandbox_fault *f)
{
	return root_enter(&s->root, f);
}

static int
stage_files(struct stages *s, struct sandbox_fault *f)
{
	int r = root_make_places(&s->root, f);

	return r < 0 ? r : root_write_files(&s->root, f);
}

static int
stage_system(struct stages *s, struct sandbox_fault *f)
{
	int r = root_put_proc(&s->root, f);

	return r < 0 ? r : root_put_dev(&s->root, f);
}

static int
stage_mounts(struct stages *s, struct sandbox_fault *f)
{
	return root_put_mounts(&s->root, f);
}

static int
stage_seal(struct stages *s, struct sandbox_fault *f)
{
	return root_seal(&s->root, f);
}

static int
stage_hostname(struct stages *s, struct sandbox_fault *f)
{
	const char *name = s->plan->hostname;

	if (name == NULL)
		name = "oz0";
	if (sethostname(name, strlen(name)) < 0)
		return sandbox_fault_set(f, errno, "set hostname %s", name);
	return 0;
}

static int
stage_network(struct stages *s, struct sandbox_fault *f)
{
	struct ifreq req = {.ifr_name = "lo"};
	CLEANUP_CLOSE int fd = -1;

	if (s->plan->network == PLAN_NET_HOST)
		return 0;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &req) < 0)
		return sandbox_fault_set(f, errno, "look at the loopback");
	req.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &req) < 0)
		return sandbox_fault_set(f, errno, "bring up the loopback");
	return 0;
}

static int
stage_limits(struct stages *s, struct sandbox_fault *f)
{
	rlim_t want = s->plan->nofile > 0 ? s->plan->nofile : PLAN_NOFILE;
	struct rlimit none = {0, 0};
	struct rlimit files;

	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return sandbox_fault_set(f, errno, "switch core dumps off");
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return sandbox_fault_set(f, errno, "get the limit of files");
	if (want > files.rlim_max && !s->plan->best)
		return sandbox_fault_set(f, EPERM,
		    "nofile %llu is over the hard limit %llu",
		    (unsigned long long)want,
		    (unsigned long long)files.rlim_max);
	if (want > files.rlim_max) {
		miss(s, "nofile");
		want = files.rlim_max;
	}
	files.rlim_cur = want;
	/*
	 * Descriptors on their way through sockets are counted for the user:
	 * who started this must still be able to send some when it has all
	 * that it can have under way (unix(7), ETOOMANYREFS).
	 */
	files.rlim_max = want > files.rlim_max / 2 ? want : files.rlim_max / 2;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		return sandbox_fault_set(f, errno, "set the limit of files");
	return 0;
}

/* /, /tmp and the like by what they are; the plan's mounts by their kind. */
static int
allow_all(struct stages *s, int abi, struct sandbox_fault *f)
{
	static const struct {
		const char *path;
		enum landlock_right right;
	} base[] = {
	    {"/", LANDLOCK_READ},
	    {"/tmp", LANDLOCK_WRITE},
	    {"/dev", LANDLOCK_DEVICE},
	    {"/dev/shm", LANDLOCK_WRITE},
	    {"/proc", LANDLOCK_DEVICE},
	};
	const struct plan *p = s->plan;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(base) / sizeof(base[0]); i++) {
		r = landlock_allow(
		    s->ruleset, abi, AT_FDCWD, base[i].path, base[i].right);
		if (r < 0)
			return sandbox_fault_set(
			    f, -r, "allow %s", base[i].path);
	}
	for (size_t i = 0; i < p->nmounts; i++) {
		const struct plan_mount *m = &p->mounts[i];

		if (m->kind != PLAN_BIND_RW && m->kind != PLAN_TMPFS)
			continue;
		r = landlock_allow(
		    s->ruleset, abi, AT_FDCWD, m->target, LANDLOCK_WRITE);
		if (r < 0 && !(m->optional && r == -ENOENT))
			return sandbox_fault_set(
			    f, -r, "allow writing %s", m->target);
	}
	return 0;
}

static int
stage_landlock(struct stages *s, struct sandbox_fault *f)
{
	int abi;

	if (!s->plan->landlock)
		return 0;
	abi = landlock_abi();
	if (abi < 0 && s->plan->best) {
		miss(s, "landlock");
		return 0;
	}
	if (abi < 0)
		return sandbox_fault_set(f, -abi,
		    "this kernel has no Landlock (5.13 and later have; it may "
		    "be missing in the boot parameter lsm=)");
	s->ruleset = landlock_ruleset(abi, true);
	if (s->ruleset < 0)
		return sandbox_fault_set(
		    f, -s->ruleset, "make a Landlock ruleset");
	return allow_all(s, abi, f);
}

static int
stage_seccomp(struct stages *s, struct sandbox_fault *f)
{
	int fd;

	if (!s->plan->seccomp) {
		s->filter = -1;
		return 0;
	}
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0) {
		if (!s->plan->best)
			return sandbox_fault_set(
			    f, errno, "this kernel has no seccomp");
		miss(s, "seccomp");
		s->filter = -1;
		return 0;
	}
	if (s->filter >= 0)
		return 0;
	fd = filter_server_memfd();
	if (fd < 0)
		return sandbox_fault_set(f, -fd, "make the seccomp filter");
	s->filter = fd;
	return 0;
}

static int
stage_capabilities(struct stages *s, struct sandbox_fault *f)
{
	int r;

	(void)s;
	r = caps_drop();
	if (r < 0)
		return sandbox_fault_set(f, -r, "drop all capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return sandbox_fault_set(f, errno, "set no_new_privs");
	/* out of sight of the server: hidepid, /proc/1/mem */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return sandbox_fault_set(f, errno, "become undumpable");
	return 0;
}

static int
stage_proof(struct stages *s, struct sandbox_fault *f)
{
	(void)s;
	if (!caps_none())
		return sandbox_fault_set(f, EPROTO, "capabilities are left");
	if (mount("none", "/tmp", "tmpfs", 0, NULL) == 0)
		return sandbox_fault_set(f, EPROTO, "it can still mount");
	return 0;
}

static const struct {
	const char *name;
	int (*fn)(struct stages *s, struct sandbox_fault *f);
	const char *what;
} stages[] = {
    {"sources", stage_sources, "open every bind of the plan"},
    {"proc", stage_proc, "make a /proc of its own, open devices"},
    {"user_namespaces", stage_user_namespaces,
	"allow no user namespace inside"},
    {"root", stage_root, "enter an empty root, drop the host's"},
    {"files", stage_files, "make /tmp and the made-up files"},
    {"system", stage_system, "fill /proc and /dev"},
    {"mounts", stage_mounts, "put the plan's mounts in place"},
    {"seal", stage_seal, "make the root read-only"},
    {"hostname", stage_hostname, "set the host name"},
    {"network", stage_network, "bring up the loopback"},
    {"limits", stage_limits, "set limits of processes"},
    {"landlock", stage_landlock, "make the Landlock rules"},
    {"seccomp", stage_seccomp, "have the seccomp filter"},
    {"capabilities", stage_capabilities, "drop every capability"},
    {"proof", stage_proof, "try to get rights back"},
};
#define NSTAGES (sizeof(stages) / sizeof(stages[0]))

int
stages_run(struct stages *s, struct sandbox_fault *f)
{
	int r = 0;

	s->ruleset = -1;
	root_init(&s->root, s->plan);
	for (size_t i = 0; r == 0 && i < NSTAGES; i++) {
		r = stages[i].fn(s, f);
		if (r < 0)
			snprintf(
			    f->stage, sizeof(f->stage), "%s", stages[i].name);
	}
	root_close(&s->root);
	return r;
}

const char *
stages_name(size_t i, const char **ret_what)
{
	if (i >= NSTAGES)
		return NULL;
	*ret_what = stages[i].what;
	return stages[i].name;
}
