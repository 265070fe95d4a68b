/*
 * Trying each layer of the sandbox for real.
 *
 * Runs in the supervisor at start, and in `oz0 doctor`.  Each try is made in a
 * child that is thrown away, as the user that sandboxes will run as: what
 * /proc/sys says about the machine only helps to name the remedy.
 */
#include "sandbox/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "sandbox/caps.h"
#include "sandbox/filter.h"
#include "sandbox/landlock.h"
#include "sandbox/launch.h"
#include "sandbox/mount.h"

#define NOBODY 65534

/* The child's word: acts have numbers, so that no pointer crosses. */
enum act {
	ACT_NONE,
	ACT_SWITCH,
	ACT_UNSHARE,
	ACT_MAPS,
	ACT_FORK,
	ACT_MOUNT,
	ACT_PROC,
	ACT_LANDLOCK,
	ACT_NNP,
	ACT_SECCOMP,
	ACT_PIDFD,
};

static const char *const acts[] = {
    [ACT_NONE] = "",
    [ACT_SWITCH] = "switch to the sandbox's uid",
    [ACT_UNSHARE] = "unshare",
    [ACT_MAPS] = "write uid_map",
    [ACT_FORK] = "fork in a pid namespace",
    [ACT_MOUNT] = "make an empty root",
    [ACT_PROC] = "mount /proc",
    [ACT_LANDLOCK] = "apply Landlock",
    [ACT_NNP] = "set no_new_privs",
    [ACT_SECCOMP] = "load a seccomp filter",
    [ACT_PIDFD] = "pidfd_open",
};

struct word {
	int act;
	int error;
};

struct
try {
	uid_t uid;
	gid_t gid;
};

static struct word
fine(void)
{
	return (struct word){ACT_NONE, 0};
}

static struct word
failed(enum act act, int error)
{
	return (struct word){(int)act, error};
}

static struct word
enter(const struct try *t, unsigned long namespaces)
{
	const char *act;
	int r;

	if (geteuid() == 0 && t->uid != 0) {
		r = caps_switch_user(t->uid, t->gid);
		if (r < 0)
			return failed(ACT_SWITCH, -r);
	}
	if (unshare((int)namespaces) < 0)
		return failed(ACT_UNSHARE, errno);
	r = caps_write_maps(geteuid(), getegid(), &act);
	return r < 0 ? failed(ACT_MAPS, -r) : fine();
}

static struct word
try_user_namespace(const struct try *t)
{
	return enter(t, launch_namespaces(PLAN_NET_HOST));
}

static struct word
try_network_namespace(const struct try *t)
{
	return enter(t, launch_namespaces(PLAN_NET_NONE));
}

static struct word
try_mounts(const struct try *t)
{
	struct word w = enter(t, launch_namespaces(PLAN_NET_HOST));
	CLEANUP_CLOSE int top = -1;
	CLEANUP_CLOSE int fd = -1;
	int r;

	if (w.error != 0)
		return w;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return failed(ACT_MOUNT, errno);
	r = mount_clone(AT_FDCWD, "/dev/null", false, MOUNT_ATTR_NOSUID);
	if (r < 0)
		return failed(ACT_MOUNT, -r);
	close(r);
	r = mount_new("tmpfs", NULL, MOUNT_ATTR_NOSUID);
	if (r < 0)
		return failed(ACT_MOUNT, -r);
	fd = r;
	top = open("/", O_PATH | O_CLOEXEC);
	r = mount_put(fd, top);
	if (r < 0)
		return failed(ACT_MOUNT, -r);
	if (fchdir(fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0)
		return failed(ACT_MOUNT, errno);
	return fine();
}

/* pid 1 of the namespace mounts it, as the init does */
static struct word
try_proc(const struct try *t)
{
	struct word w = enter(t, launch_namespaces(PLAN_NET_HOST));
	int status;
	pid_t pid;

	if (w.error != 0)
		return w;
	pid = fork();
	if (pid < 0)
		return failed(ACT_FORK, errno);
	if (pid == 0) {
		int fd = mount_new("proc", NULL, MOUNT_ATTR_NOSUID);

		_exit(fd < 0 ? -fd : 0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return failed(ACT_FORK, ECHILD);
	return WEXITSTATUS(status) != 0 ? failed(ACT_PROC, WEXITSTATUS(status))
					: fine();
}

static struct word
try_landlock(const struct try *t)
{
	int abi = landlock_abi();
	int fd, r;

	if (abi < 0)
		return failed(ACT_LANDLOCK, -abi);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return failed(ACT_NNP, errno);
	fd = landlock_ruleset(abi, true);
	if (fd < 0)
		return failed(ACT_LANDLOCK, -fd);
	r = landlock_apply(fd);
	close(fd);
	return r < 0 ? failed(ACT_LANDLOCK, -r) : fine();
}

static struct word
try_seccomp(const struct try *t)
{
	int fd, r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return failed(ACT_NNP, errno);
	fd = filter_server_memfd();
	if (fd < 0)
		return failed(ACT_SECCOMP, -fd);
	r = filter_apply_memfd(fd);
	return r < 0 ? failed(ACT_SECCOMP, -r) : fine();
}

static struct word
try_pidfd(const struct try *t)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (fd < 0)
		return failed(ACT_PIDFD, errno);
	close(fd);
	return fine();
}

static int
read_number(const char *path, long *ret)
{
	CLEANUP_FREE char *text = NULL;
	size_t len;
	int r = fd_read_file(AT_FDCWD, path, 64, &text, &len);

	if (r == 0)
		*ret = strtol(text, NULL, 10);
	return r;
}

static bool
number_is(const char *path, long want)
{
	long n;

	return read_number(path, &n) == 0 && n == want;
}

static const char *
namespace_remedy(const struct probe_layer_result *l)
{
	if (number_is("/proc/sys/kernel/unprivileged_userns_clone", 0))
		return "sysctl kernel.unprivileged_userns_clone=1";
	if (number_is("/proc/sys/user/max_user_namespaces", 0))
		return "sysctl user.max_user_namespaces=65536";
	if (number_is(
		"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1))
		return "AppArmor restricts user namespaces: give oz0d and "
		       "oz0-sandbox a profile with `userns,`, or sysctl "
		       "kernel.apparmor_restrict_unprivileged_userns=0";
	if (l->error == EPERM)
		return "in a container: let its seccomp profile and security "
		       "module allow user namespaces (docker --security-opt "
		       "seccomp=unconfined, or a profile with clone and "
		       "unshare)";
	if (l->error == ENOSPC)
		return "too many namespaces: raise the user.max_*_namespaces "
		       "sysctls";
	return "a kernel with user namespaces (CONFIG_USER_NS)";
}

static const char *
network_remedy(const struct probe_layer_result *l)
{
	if (number_is("/proc/sys/user/max_net_namespaces", 0))
		return "sysctl user.max_net_namespaces=65536";
	return namespace_remedy(l);
}

static const char *
mounts_remedy(const struct probe_layer_result *l)
{
	if (l->act != acts[ACT_MOUNT])
		return namespace_remedy(l);
	if (l->error == ENOSYS)
		return "Linux 5.12 or later, and no outer filter on its mount "
		       "calls";
	if (l->error == EINVAL)
		return "a root that can be left: not an initramfs";
	return "in a container: let its seccomp profile and security module "
	       "allow mounts inside user namespaces";
}

static const char *
proc_remedy(const struct probe_layer_result *l)
{
	if (l->act != acts[ACT_PROC])
		return namespace_remedy(l);
	return "in a container: its own /proc must be whole (docker "
	       "--security-opt systempaths=unconfined)";
}

static const char *
landlock_remedy(const struct probe_layer_result *l)
{
	return l->error == EOPNOTSUPP ? "Landlock is switched off: add "
					"landlock to the boot parameter "
					"lsm="
				      : "Linux 5.13 or later with "
					"CONFIG_SECURITY_LANDLOCK, and no "
					"outer filter on its calls";
}

static const char *
seccomp_remedy(const struct probe_layer_result *l)
{
	return "a kernel with CONFIG_SECCOMP_FILTER";
}

static const char *
pidfd_remedy(const struct probe_layer_result *l)
{
	return "Linux 5.3 or later, and no outer filter on pidfd_open";
}

static const struct {
	const char *name;
	bool required;
	struct word (*fn)(const struct try *t);
	const char *(*remedy)(const struct probe_layer_result *l);
} tries[PROBE_LAYERS] = {
    [PROBE_USER_NAMESPACE] = {"user_namespaces", true, try_user_namespace,
	namespace_remedy},
    [PROBE_NETWORK_NAMESPACE] = {"network_namespaces", true,
	try_network_namespace, network_remedy},
    [PROBE_MOUNTS] = {"mounts", true, try_mounts, mounts_remedy},
    [PROBE_PROC] = {"proc", false, try_proc, proc_remedy},
    [PROBE_LANDLOCK] = {"landlock", false, try_landlock, landlock_remedy},
    [PROBE_SECCOMP] = {"seccomp", false, try_seccomp, seccomp_remedy},
    [PROBE_PIDFD] = {"pidfd", true, try_pidfd, pidfd_remedy},
};

/* 0 with the child's word, or -errno. */
static int
try_in_child(struct word (*fn)(const struct try *t), const struct try *t,
    struct word *ret)
{
	CLEANUP_CLOSE int in = -1;
	CLEANUP_CLOSE int out = -1;
	int report[2];
	ssize_t n;
	pid_t pid;
	int r;

	r = fd_pipe(report);
	if (r < 0)
		return r;
	in = report[0];
	out = report[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		struct word w = fn(t);

		_exit(fd_write_all(out, &w, sizeof(w)) < 0);
	}
	fd_close(&out);
	do
		n = read(in, ret, sizeof(*ret));
	while (n < 0 && errno == EINTR);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	/* killed on the way: an outer filter does such things */
	if (n != (ssize_t)sizeof(*ret))
		*ret = failed(ACT_UNSHARE, EPERM);
	return 0;
}

int
probe_run(uid_t uid, gid_t gid, struct probe_result *ret)
{
	struct probe_result p = {0};
	struct try t = {uid != 0 ? uid : NOBODY, gid != 0 ? gid : NOBODY};
	int abi = landlock_abi();

	p.landlock_abi = abi > 0 ? abi : 0;
	for (size_t i = 0; i < PROBE_LAYERS; i++) {
		struct probe_layer_result *l = &p.layers[i];
		struct word w;
		int r = try_in_child(tries[i].fn, &t, &w);

		if (r < 0)
			return r;
		l->name = tries[i].name;
		l->required = tries[i].required;
		l->ok = w.error == 0;
		l->error = w.error;
		l->act = acts[w.act];
		l->remedy = l->ok ? "" : tries[i].remedy(l);
	}
	*ret = p;
	return 0;
}

const struct probe_layer_result *
probe_first_missing(const struct probe_result *p)
{
	for (size_t i = 0; i < PROBE_LAYERS; i++)
		if (!p->layers[i].ok)
			return &p->layers[i];
	return NULL;
}
