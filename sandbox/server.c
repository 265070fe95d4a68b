/*
 * The child of the init that becomes the server: it gives up what is left to
 * it, stage by stage, tries to get it back, and execs.
 *
 * Runs in oz0-sandbox, between clone and exec, on the init's memory (CLONE_VM |
 * CLONE_VFORK): so it allocates nothing, and a failure is simply written down.
 */
#include "sandbox/server.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/caps.h"
#include "sandbox/filter.h"
#include "sandbox/landlock.h"
#include "sandbox/strv.h"

#define HIGH_FD 64
#define CHILD_STACK ((size_t)64 * 1024)

static int
stage_session(const struct server *s, struct sandbox_fault *f)
{
	sigset_t none;

	/* launch.c has reset them all, and the init ignores this one */
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (setsid() < 0)
		return sandbox_fault_set(f, errno, "setsid");
	return 0;
}

static int
stage_stdio(const struct server *s, struct sandbox_fault *f)
{
	int high[3];

	for (int i = 0; i < 3; i++) {
		high[i] = fcntl(s->std[i], F_DUPFD_CLOEXEC, HIGH_FD);
		if (high[i] < 0)
			return sandbox_fault_set(f, errno, "descriptor %d", i);
	}
	for (int i = 0; i < 3; i++)
		if (dup2(high[i], i) < 0)
			return sandbox_fault_set(f, errno, "descriptor %d", i);
	if (close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return sandbox_fault_set(f, errno, "close other descriptors");
	if (s->tty && ioctl(0, TIOCSCTTY, 0) < 0)
		return sandbox_fault_set(
		    f, errno, "make stdin the controlling terminal");
	return 0;
}

/* No link of /proc, and nothing that only a descriptor leads to. */
static int
stage_cwd(const struct server *s, struct sandbox_fault *f)
{
	struct open_how how = {
	    .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
	    .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	const char *cwd = s->cwd != NULL ? s->cwd : "/";
	CLEANUP_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_CLOSE int fd = -1;
	char path[4096];

	if (root < 0)
		return sandbox_fault_set(f, errno, "open /");
	fd = (int)syscall(SYS_openat2, root, cwd, &how, sizeof(how));
	if (fd < 0 || fchdir(fd) < 0)
		return sandbox_fault_set(f, errno, "cwd %s", cwd);
	if (syscall(SYS_getcwd, path, sizeof(path)) < 0 || path[0] != '/')
		return sandbox_fault_set(
		    f, EXDEV, "cwd %s lies outside of the sandbox", cwd);
	return 0;
}

static int
stage_no_new_privs(const struct server *s, struct sandbox_fault *f)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return sandbox_fault_set(f, errno, "set no_new_privs");
	return 0;
}

static int
stage_landlock(const struct server *s, struct sandbox_fault *f)
{
	int r = s->ruleset >= 0 ? landlock_apply(s->ruleset) : 0;

	return r < 0 ? sandbox_fault_set(f, -r, "apply Landlock") : 0;
}

static int
stage_seccomp(const struct server *s, struct sandbox_fault *f)
{
	int r = s->filter >= 0 ? filter_apply_memfd(s->filter) : 0;

	return r < 0 ? sandbox_fault_set(f, -r, "load the seccomp filter") : 0;
}

/* Each tries to get a right back and says whether that was denied. */
static bool
denied_mount(void)
{
	return mount("none", "/tmp", "tmpfs", 0, NULL) < 0;
}

static bool
denied_remount(void)
{
	return mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL) < 0;
}

static bool
denied_root_write(void)
{
	int fd = open("/.oz0", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static bool
denied_uid(void)
{
	return setresuid(0, 0, 0) < 0 && setresgid(0, 0, 0) < 0;
}

static bool
denied_user_namespace(void)
{
	return unshare(CLONE_NEWUSER) < 0;
}

static bool
denied_privileges(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

static const struct {
	const char *right;
	bool (*denied)(void);
} proofs[] = {
    {"capabilities are left", caps_none},
    {"a program could gain privileges", denied_privileges},
    {"it could mount", denied_mount},
    {"it could remount its root", denied_remount},
    {"its root is writable", denied_root_write},
    {"it could become root", denied_uid},
    {"it could make a user namespace", denied_user_namespace},
};

static int
stage_proof(const struct server *s, struct sandbox_fault *f)
{
	for (size_t i = 0; i < sizeof(proofs) / sizeof(proofs[0]); i++)
		if (!proofs[i].denied())
			return sandbox_fault_set(
			    f, EPROTO, "not confined: %s", proofs[i].right);
	if (s->filter >= 0 &&
	    prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER)
		return sandbox_fault_set(f, EPROTO, "no seccomp filter");
	return 0;
}

static int
exec_fault(const char *path, int error, struct sandbox_fault *f)
{
	if (error == ENOENT && access(path, F_OK) == 0)
		return sandbox_fault_set(f, error,
		    "exec %s: its interpreter is not in the sandbox", path);
	if (error == ENOEXEC)
		return sandbox_fault_set(
		    f, error, "exec %s: no program and no #! line", path);
	return sandbox_fault_set(f, error, "exec %s", path);
}

static int
stage_exec(const struct server *s, struct sandbox_fault *f)
{
	const char *command = s->argv[0];
	const char *path = strv_getenv(s->envp, "PATH");
	const char *p = path;
	int error = ENOENT;

	if (strchr(command, '/') != NULL) {
		execve(command, s->argv, s->envp);
		return exec_fault(command, errno, f);
	}
	while (p != NULL && *p != '\0') {
		size_t n = strcspn(p, ":");
		char full[4096];

		if (n > 0 && (size_t)snprintf(full, sizeof(full), "%.*s/%s",
				 (int)n, p, command) < sizeof(full)) {
			execve(full, s->argv, s->envp);
			if (errno != ENOENT && errno != ENOTDIR &&
			    errno != EACCES)
				return exec_fault(full, errno, f);
			if (errno == ENOENT && access(full, F_OK) == 0)
				return exec_fault(full, ENOENT, f);
			if (errno == EACCES)
				error = EACCES;
		}
		p += n + (p[n] == ':');
	}
	return sandbox_fault_set(f, error,
	    "command %s not found in PATH=%s of the sandbox", command,
	    path != NULL ? path : "");
}

static const struct {
	const char *name;
	int (*fn)(const struct server *s, struct sandbox_fault *f);
	const char *what;
} stages[] = {
    {"session", stage_session, "leave the init's session and signals"},
    {"stdio", stage_stdio, "keep descriptors 0, 1 and 2 alone"},
    {"cwd", stage_cwd, "go to the working directory"},
    {"no_new_privs", stage_no_new_privs, "gain no right by an exec"},
    {"landlock", stage_landlock, "apply the Landlock rules"},
    {"seccomp", stage_seccomp, "load the seccomp filter"},
    {"proof", stage_proof, "try to get rights back"},
    {"exec", stage_exec, "become the command"},
};
#define NSTAGES (sizeof(stages) / sizeof(stages[0]))

const char *
server_stage_name(size_t i, const char **ret_what)
{
	if (i >= NSTAGES)
		return NULL;
	*ret_what = stages[i].what;
	return stages[i].name;
}

struct child {
	const struct server *server;
	struct sandbox_fault fault; /* error 0: it exec'ed */
};

static int
child_main(void *arg)
{
	struct child *c = arg;

	for (size_t i = 0; i < NSTAGES; i++) {
		struct sandbox_fault *f = &c->fault;

		snprintf(f->stage, sizeof(f->stage), "%s", stages[i].name);
		if (stages[i].fn(c->server, f) < 0)
			break;
	}
	_exit(127);
}

int
server_start(const struct server *s, pid_t *ret_pid, struct sandbox_fault *f)
{
	static char stack[CHILD_STACK] __attribute__((aligned(16)));
	struct child c = {.server = s};
	pid_t pid;

	pid = clone(child_main, stack + sizeof(stack),
	    CLONE_VM | CLONE_VFORK | SIGCHLD, &c);
	if (pid < 0)
		return sandbox_fault_set(f, errno, "clone");
	if (c.fault.error == 0) {
		*ret_pid = pid;
		return 0;
	}
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	*f = c.fault;
	return -f->error;
}
