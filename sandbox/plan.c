/*
 * Making a plan: memory, defaults, and the base that every sandbox has.
 *
 * Runs in the supervisor and in oz0-sandbox.  plan_add_base(), plan_add_root()
 * and plan_add_command() look at the machine; everything else is pure data.
 * plan_json.c encodes it and plan_explain.c puts it in words.
 */
#include "sandbox/plan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "sandbox/strv.h"

#define DEFAULT_PATH                                                           \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"                    \
	":/sbin:/bin"

struct plan *
plan_new(void)
{
	struct plan *p = mem_zalloc(sizeof(*p));

	p->name = mem_strdup("sandbox");
	p->argv = mem_array(1, sizeof(*p->argv));
	p->envp = mem_array(1, sizeof(*p->envp));
	p->uid = getuid();
	p->gid = getgid();
	p->network = PLAN_NET_NONE;
	p->tmp_size = PLAN_TMP_SIZE;
	p->landlock = true;
	p->seccomp = true;
	plan_add_env(p, "PATH", DEFAULT_PATH);
	plan_add_env(p, "LANG", "C.UTF-8");
	return p;
}

void
plan_free(struct plan *p)
{
	if (p == NULL)
		return;
	free(p->name);
	strv_free(p->argv);
	strv_free(p->envp);
	free(p->cwd);
	free(p->hostname);
	for (size_t i = 0; i < p->nmounts; i++) {
		free(p->mounts[i].source);
		free(p->mounts[i].target);
	}
	free(p->mounts);
	for (size_t i = 0; i < p->nfiles; i++) {
		free(p->files[i].target);
		free(p->files[i].text);
	}
	free(p->files);
	free(p);
}

void
plan_set_argv(struct plan *p, const char *const *argv)
{
	strv_free(p->argv);
	p->argv = strv_copy(argv);
}

void
plan_add_env(struct plan *p, const char *name, const char *value)
{
	strv_setenv(&p->envp, name, value);
}

const char *
plan_get_env(const struct plan *p, const char *name)
{
	return strv_getenv(p->envp, name);
}

void
plan_add_mount(struct plan *p, enum plan_mount_kind kind, const char *source,
    const char *target, uint64_t size, bool optional)
{
	struct plan_mount *m;

	p->mounts =
	    mem_realloc(p->mounts, (p->nmounts + 1) * sizeof(*p->mounts));
	m = &p->mounts[p->nmounts++];
	*m = (struct plan_mount){
	    .kind = kind,
	    .source = mem_strdup(kind == PLAN_TMPFS ? NULL : source),
	    .target = mem_strdup(target),
	    .size = size,
	    .optional = optional,
	};
}

void
plan_pin_mount(struct plan *p, uint64_t device, uint64_t inode)
{
	struct plan_mount *m = &p->mounts[p->nmounts - 1];

	m->device = device;
	m->inode = inode;
}

void
plan_add_file(struct plan *p, const char *target, const char *text)
{
	p->files = mem_realloc(p->files, (p->nfiles + 1) * sizeof(*p->files));
	p->files[p->nfiles++] = (struct plan_file){
	    .target = mem_strdup(target),
	    .text = mem_strdup(text),
	};
}

/* A host place as it is: a link (merged /usr) stays a link. */
static void
add_place(struct plan *p, const char *path)
{
	char link[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (lstat(path, &st) < 0)
		return;
	if (!S_ISLNK(st.st_mode)) {
		plan_add_mount(p, PLAN_BIND_RO, path, path, 0, true);
		return;
	}
	n = readlink(path, link, sizeof(link) - 1);
	if (n <= 0)
		return;
	link[n] = '\0';
	/* only what stays below /usr, which is bound whole */
	if (strncmp(link, "usr/", 4) == 0 || strncmp(link, "/usr/", 5) == 0)
		plan_add_mount(p, PLAN_SYMLINK, link, path, 0, false);
	else
		plan_add_mount(p, PLAN_BIND_RO, path, path, 0, true);
}

static void
add_etc_files(struct plan *p)
{
	const char *home = plan_get_env(p, "HOME");
	const char *host = p->hostname != NULL ? p->hostname : "oz0";
	CLEANUP_FREE char *passwd = mem_printf(
	    "oz0:x:%u:%u:oz0:%s:/bin/sh\n"
	    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
	    (unsigned)p->uid, (unsigned)p->gid, home != NULL ? home : "/");
	CLEANUP_FREE char *group = mem_printf("oz0:x:%u:\n"
					      "nogroup:x:65534:\n",
	    (unsigned)p->gid);
	CLEANUP_FREE char *hosts = mem_printf("127.0.0.1 localhost %s\n"
					      "::1 localhost %s\n",
	    host, host);
	CLEANUP_FREE char *hostname = mem_printf("%s\n", host);

	plan_add_file(p, "/etc/passwd", passwd);
	plan_add_file(p, "/etc/group", group);
	plan_add_file(p, "/etc/hosts", hosts);
	plan_add_file(p, "/etc/hostname", hostname);
	plan_add_file(p, "/etc/nsswitch.conf",
	    "passwd: files\n"
	    "group: files\n"
	    "hosts: files dns\n");
}

void
plan_add_base(struct plan *p)
{
	static const char *const places[] = {
	    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
	/* read by the loader, by TLS libraries, by what Debian calls java */
	static const char *const etc[] = {"/etc/ld.so.cache", "/etc/ssl",
	    "/etc/pki", "/etc/ca-certificates", "/etc/alternatives",
	    "/etc/localtime", "/etc/protocols", "/etc/services"};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		add_place(p, places[i]);
	add_etc_files(p);
	for (size_t i = 0; i < sizeof(etc) / sizeof(etc[0]); i++)
		if (access(etc[i], F_OK) == 0)
			plan_add_mount(
			    p, PLAN_BIND_RO, etc[i], etc[i], 0, true);
	if (p->network == PLAN_NET_HOST)
		plan_add_mount(p, PLAN_BIND_RO, "/etc/resolv.conf",
		    "/etc/resolv.conf", 0, true);
}

/* What every sandbox makes itself. */
static bool
is_made(const char *name)
{
	static const char *const made[] = {".", "..", "dev", "proc", "tmp"};

	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		if (strcmp(name, made[i]) == 0)
			return true;
	return false;
}

static int
add_root_entry(struct plan *p, const char *dir, int fd, const char *name)
{
	CLEANUP_FREE char *source = mem_printf("%s/%s", dir, name);
	CLEANUP_FREE char *target = mem_printf("/%s", name);
	char link[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) {
		plan_add_mount(p, PLAN_BIND_RO, source, target, 0, false);
	} else if (S_ISLNK(st.st_mode)) {
		n = readlinkat(fd, name, link, sizeof(link) - 1);
		if (n < 0)
			return -errno;
		link[n] = '\0';
		plan_add_mount(p, PLAN_SYMLINK, link, target, 0, false);
	}
	return 0;
}

int
plan_add_root(struct plan *p, const char *dir)
{
	struct dirent *e;
	DIR *d = opendir(dir);
	int r = 0;

	if (d == NULL)
		return -errno;
	while (r == 0) {
		errno = 0; /* readdir() sets it, or leaves it at the end */
		e = readdir(d);
		if (e == NULL) {
			r = -errno;
			break;
		}
		if (!is_made(e->d_name))
			r = add_root_entry(p, dir, dirfd(d), e->d_name);
	}
	closedir(d);
	return r;
}

static bool
is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 &&
	       (path[n] == '\0' || path[n] == '/');
}

static bool
is_covered(const struct plan *p, const char *path)
{
	for (size_t i = 0; i < p->nmounts; i++)
		if (p->mounts[i].kind != PLAN_TMPFS &&
		    is_below(path, p->mounts[i].target))
			return true;
	return false;
}

void
plan_add_command(struct plan *p)
{
	const char *command = p->argv[0];
	char real[PATH_MAX];

	if (command == NULL || command[0] != '/')
		return;
	if (!is_covered(p, command))
		plan_add_mount(p, PLAN_BIND_RO, command, command, 0, false);
	if (realpath(command, real) != NULL && !is_covered(p, real))
		plan_add_mount(p, PLAN_BIND_RO, real, real, 0, true);
}

/* The path that an argument is, or that follows its `='; or NULL. */
static const char *
path_in(const char *arg)
{
	const char *eq = strchr(arg, '=');

	if (arg[0] == '/')
		return arg;
	return eq != NULL && eq[1] == '/' ? eq + 1 : NULL;
}

const char *
plan_hidden_argument(const struct plan *p)
{
	for (size_t i = 1; p->argv[0] != NULL && p->argv[i] != NULL; i++) {
		const char *path = path_in(p->argv[i]);

		if (path != NULL && path[1] != '\0' && !is_covered(p, path)
		    && !is_below(path, "/dev") && !is_below(path, "/proc")
		    && !is_below(path, "/etc"))
			return path;
	}
	return NULL;
}

/* Absolute, and no part of it empty, "." or "..". */
static bool
is_plain_path(const char *s)
{
	if (s[0] != '/' || s[1] == '\0')
		return false;
	while (*s == '/') {
		size_t n = strcspn(++s, "/");

		if (n == 0 || (n == 1 && s[0] == '.') ||
		    (n == 2 && s[0] == '.' && s[1] == '.'))
			return false;
		s += n;
	}
	return true;
}

static const char *
check_mount(const struct plan_mount *m)
{
	bool bind = m->kind == PLAN_BIND_RO || m->kind == PLAN_BIND_RW;

	if (!is_plain_path(m->target))
		return "mounts: a target is not absolute and plain";
	if (bind && m->source[0] != '/')
		return "mounts: a source is not absolute";
	if (m->kind == PLAN_TMPFS && m->size == 0)
		return "mounts: a tmpfs has no size";
	return NULL;
}

int
plan_check(const struct plan *p, const char **ret_why)
{
	const char *why = NULL;

	if (p->name[0] == '\0')
		why = "name is empty";
	else if (p->argv[0] == NULL || p->argv[0][0] == '\0')
		why = "argv names no command";
	else if (p->cwd != NULL && p->cwd[0] != '/')
		why = "cwd is not absolute";
	else if (p->uid == 0)
		why = "uid 0 is refused: name another uid";
	else if (p->gid == 0)
		why = "gid 0 is refused: name another gid";
	for (size_t i = 0; why == NULL && i < p->nmounts; i++)
		why = check_mount(&p->mounts[i]);
	for (size_t i = 0; why == NULL && i < p->nfiles; i++)
		if (!is_plain_path(p->files[i].target))
			why = "files: a target is not absolute and plain";
	if (why == NULL)
		return 0;
	*ret_why = why;
	return -EINVAL;
}
