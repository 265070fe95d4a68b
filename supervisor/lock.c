/*
 * The state directory: made, proven to be local, and locked against a second
 * oz0d.  `lock` is this process's alone.  `alive` is an open description that
 * every init, worker and oz0-journal inherits: as long as one of them lives
 * nobody else has it.  Run by main() at start.
 *
 * As root the directory can be passed through by others (mode 0711, what is
 * in it is named by none and closed): sessions run as uids of their own, and
 * their folders are below it.
 */
#include "supervisor/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

/* statfs(2) types of file systems where locks and SQLite's WAL do not hold */
static const struct {
	unsigned long type;
	const char *name;
} networks[] = {
	{ 0x6969, "NFS" },
	{ 0x517b, "SMB" },
	{ 0xff534d42, "CIFS" },
	{ 0xfe534d42, "SMB2" },
	{ 0x00c36400, "Ceph" },
	{ 0x01021997, "9P" },
	{ 0x5346414f, "AFS" },
	{ 0x6b414653, "AFS" },
	{ 0x73757245, "Coda" },
	{ 0x0bd00bd0, "Lustre" },
	{ 0x47504653, "GPFS" },
	{ 0x19830326, "BeeGFS" },
	{ 0x20030528, "OrangeFS" },
	{ 0x7461636f, "OCFS2" },
	{ 0x01161970, "GFS2" },
	{ 0x65735546, "FUSE" },
};

static int
fail(struct lock_error *e, int r, const char *act, const char *path)
{
	snprintf(e->text, sizeof(e->text), "%s %s: %s", act, path,
	    strerror(-r));
	return r;
}

static int
make_path(const char *path, mode_t mode)
{
	CLEANUP_FREE char *copy = mem_strdup(path);

	for (char *p = copy + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	if (mkdir(copy, mode) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

static int
check_local(int dir, const char *path, struct lock_error *e)
{
	struct statfs fs;

	if (fstatfs(dir, &fs) < 0)
		return fail(e, -errno, "statfs", path);
	for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
		if ((unsigned long)fs.f_type != networks[i].type)
			continue;
		snprintf(e->text, sizeof(e->text),
		    "the state directory %s is on %s, and its locks and its"
		    " database need a local file system: set node.state_dir to"
		    " a directory on one (/var/lib/oz0, or below /tmp of this"
		    " machine)",
		    path, networks[i].name);
		return -EREMOTE;
	}
	return 0;
}

static int
check_owner(int dir, const char *path, mode_t mode, struct lock_error *e)
{
	struct stat st;

	if (fstat(dir, &st) < 0)
		return fail(e, -errno, "stat", path);
	if (st.st_uid != geteuid()) {
		snprintf(e->text, sizeof(e->text),
		    "the state directory %s belongs to uid %u, not to oz0d's"
		    " own %u: set node.state_dir to another, or chown it",
		    path, st.st_uid, geteuid());
		return -EPERM;
	}
	if ((st.st_mode & 07777) != mode && fchmod(dir, mode) < 0)
		return fail(e, -errno, "chmod", path);
	return 0;
}

/* As root: can a session's uid get to its folder? */
static int
check_passage(const char *path, struct lock_error *e)
{
	CLEANUP_FREE char *copy = realpath(path, NULL);
	struct stat st;
	char *slash;

	if (copy == NULL)
		return fail(e, -errno, "resolve", path);
	while ((slash = strrchr(copy, '/')) != NULL && slash != copy) {
		*slash = '\0';
		if (stat(copy, &st) < 0)
			return fail(e, -errno, "stat", copy);
		if ((st.st_mode & S_IXOTH) != 0)
			continue;
		snprintf(e->text, sizeof(e->text),
		    "%s is closed to other users, and as root sessions run as"
		    " uids of their own below %s: chmod o+x %s, or set"
		    " node.state_dir to another directory",
		    copy, path, copy);
		return -EACCES;
	}
	return 0;
}

int
lock_open_state_dir(
    const char *path, bool root, int *ret_dir, struct lock_error *e)
{
	CLEANUP_CLOSE int dir = -1;
	mode_t mode = root ? 0711 : 0700;
	int r;

	if (path[0] != '/') {
		snprintf(e->text, sizeof(e->text),
		    "the state directory %s is no absolute path", path);
		return -EINVAL;
	}
	r = make_path(path, mode);
	if (r < 0)
		return fail(e, r, "make the state directory", path);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return fail(e, -errno, "open the state directory", path);
	r = check_local(dir, path, e);
	if (r < 0)
		return r;
	r = check_owner(dir, path, mode, e);
	if (r < 0)
		return r;
	if (root) {
		r = check_passage(path, e);
		if (r < 0)
			return r;
	}
	*ret_dir = fd_steal(&dir);
	return 0;
}

static void
say_taken(int fd, const char *path, struct lock_error *e)
{
	char pid[32];
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	pid[n < 0 ? 0 : n] = '\0';
	pid[strspn(pid, "0123456789")] = '\0';
	snprintf(e->text, sizeof(e->text),
	    "the state directory %s is in use by pid %s", path,
	    pid[0] == '\0' ? "?" : pid);
}

int
lock_take(
    int state_dir, const char *path, int *ret_fd, struct lock_error *e)
{
	CLEANUP_CLOSE int fd = -1;
	char pid[32];
	int n;

	fd = openat(state_dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC
	    | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail(e, -errno, "open the lock of", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int r = -errno;

		if (r == -EWOULDBLOCK) {
			say_taken(fd, path, e);
			return r;
		}
		return fail(e, r, "lock", path);
	}
	n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)n, 0) != n)
		return fail(e, -errno, "write the lock of", path);
	*ret_fd = fd_steal(&fd);
	return 0;
}

int
lock_open_alive(int state_dir, int *ret_fd, struct lock_error *e)
{
	int fd = openat(state_dir, "alive", O_RDWR | O_CREAT | O_CLOEXEC
	    | O_NOFOLLOW, 0600);

	if (fd < 0)
		return fail(e, -errno, "open", "alive");
	*ret_fd = fd;
	return 0;
}

int
lock_try_alive(int alive)
{
	return flock(alive, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

int
lock_open_folder(int state_dir, const char *name, bool root, int *ret_fd,
    struct lock_error *e)
{
	mode_t mode = root ? 0711 : 0700;
	int fd;

	if (mkdirat(state_dir, name, mode) < 0 && errno != EEXIST)
		return fail(e, -errno, "make", name);
	fd = openat(state_dir, name,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return fail(e, -errno, "open", name);
	if (fchmod(fd, mode) < 0) {
		int r = -errno;

		fd_close(&fd);
		return fail(e, r, "chmod", name);
	}
	*ret_fd = fd;
	return 0;
}
