/*
 * The root of a sandbox: an empty tmpfs, and what the plan binds into it.
 *
 * Runs in oz0-sandbox alone, as pid 1 with all capabilities of its fresh user
 * namespace.  root_system.c has /proc and /dev.
 */
#include "sandbox/root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "sandbox/mount.h"

#define ATTR_BIND (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

void
root_init(struct root *r, const struct plan *p)
{
	*r = (struct root){.plan = p, .tty = -1, .proc = -1, .dir = -1};
	r->sources = mem_array(p->nmounts + 1, sizeof(*r->sources));
	for (size_t i = 0; i < p->nmounts; i++)
		r->sources[i] = -1;
	for (size_t i = 0; i < ROOT_DEVICES; i++)
		r->devices[i] = -1;
}

void
root_close(struct root *r)
{
	for (size_t i = 0; r->sources != NULL && i < r->plan->nmounts; i++)
		fd_close(&r->sources[i]);
	free(r->sources);
	r->sources = NULL;
	for (size_t i = 0; i < ROOT_DEVICES; i++)
		fd_close(&r->devices[i]);
	fd_close(&r->tty);
	fd_close(&r->proc);
	fd_close(&r->dir);
}

/* Who may write above a source may also put another in its place. */
static int
check_pin(const struct plan_mount *m, int fd, struct sandbox_fault *f)
{
	struct stat st;

	if (m->inode == 0)
		return 0;
	if (fstat(fd, &st) < 0)
		return sandbox_fault_set(f, errno, "stat %s", m->source);
	if (st.st_dev == m->device && st.st_ino == m->inode)
		return 0;
	return sandbox_fault_set(f, ESTALE,
	    "bind %s (it is not the folder any more that it was when its "
	    "session was opened)",
	    m->source);
}

static int
open_source(struct root *r, const struct plan_mount *m, int *ret,
    struct sandbox_fault *f)
{
	uint64_t attributes = ATTR_BIND;
	int fd;

	if (m->kind == PLAN_BIND_RO)
		attributes |= MOUNT_ATTR_RDONLY;
	fd = mount_clone(AT_FDCWD, m->source, true, attributes);
	if (fd >= 0) {
		*ret = fd;
		return check_pin(m, fd, f);
	}
	if (m->optional && (fd == -ENOENT || fd == -ENOTDIR))
		return 0;
	if (fd == -EACCES)
		return sandbox_fault_set(f, EACCES,
		    "bind %s (uid %u must be able to search every folder on "
		    "the way)",
		    m->source, (unsigned)r->plan->uid);
	if (fd == -ELOOP)
		return sandbox_fault_set(f, ELOOP,
		    "bind %s (links of /proc are not followed)", m->source);
	return sandbox_fault_set(f, -fd, "bind %s", m->source);
}

int
root_open_sources(struct root *r, struct sandbox_fault *f)
{
	for (size_t i = 0; i < r->plan->nmounts; i++) {
		const struct plan_mount *m = &r->plan->mounts[i];
		int e = 0;

		if (m->kind == PLAN_BIND_RO || m->kind == PLAN_BIND_RW)
			e = open_source(r, m, &r->sources[i], f);
		if (e < 0)
			return e;
	}
	return 0;
}

static int
own(struct root *r, int fd, struct sandbox_fault *f)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return sandbox_fault_set(f, errno, "stat a new mount");
	if (r->nown == ROOT_OWN_MAX)
		return sandbox_fault_set(f, E2BIG,
		    "more than %d file systems of its own", ROOT_OWN_MAX);
	r->own[r->nown++] = st.st_dev;
	return 0;
}

static bool
is_own(const struct root *r, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	for (size_t i = 0; i < r->nown; i++)
		if (r->own[i] == st.st_dev)
			return true;
	return false;
}

int
root_enter(struct root *r, struct sandbox_fault *f)
{
	static const struct mount_option options[] = {
	    {"size", "2m"},
	    {"mode", "0755"},
	    {NULL, NULL},
	};
	CLEANUP_CLOSE int top = -1;
	int e;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return sandbox_fault_set(f, errno, "make mounts private");
	r->dir = mount_new("tmpfs", options, ATTR_BIND | MOUNT_ATTR_NOEXEC);
	if (r->dir < 0) {
		e = r->dir;
		r->dir = -1;
		return sandbox_fault_set(f, -e, "make a tmpfs");
	}
	top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return sandbox_fault_set(f, errno, "open /");
	e = mount_put(r->dir, top);
	if (e < 0)
		return sandbox_fault_set(f, -e, "mount the new root");
	/* the old root goes on top of the new one, and away */
	if (fchdir(r->dir) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return sandbox_fault_set(f, errno, "pivot_root");
	if (umount2(".", MNT_DETACH) < 0)
		return sandbox_fault_set(f, errno, "unmount the old root");
	if (chdir("/") < 0)
		return sandbox_fault_set(f, errno, "chdir /");
	return own(r, r->dir, f);
}

/* One part of a path below at; made when it is not there and may be. */
static int
step_down(struct root *r, int at, const char *name, bool dir)
{
	struct open_how how = {
	    .flags = O_PATH | O_CLOEXEC,
	    .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH,
	};
	int fd = (int)syscall(SYS_openat2, at, name, &how, sizeof(how));

	if (fd >= 0 || errno != ENOENT)
		return fd >= 0 ? fd : -errno;
	/* a folder of the host gets no mount point made */
	if (!is_own(r, at))
		return -ENOENT;
	if (dir) {
		if (mkdirat(at, name, 0755) < 0)
			return -errno;
	} else {
		fd = openat(at, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
		if (fd < 0)
			return -errno;
		close(fd);
	}
	fd = (int)syscall(SYS_openat2, at, name, &how, sizeof(how));
	return fd >= 0 ? fd : -errno;
}

int
root_place(struct root *r, const char *path, bool dir, struct sandbox_fault *f)
{
	CLEANUP_CLOSE int at = fcntl(r->dir, F_DUPFD_CLOEXEC, 0);
	const char *p = path;

	if (at < 0)
		return sandbox_fault_set(f, errno, "place %s", path);
	while (*p == '/') {
		char name[NAME_MAX + 1];
		size_t n = strcspn(++p, "/");
		int next;

		if (n > NAME_MAX)
			return sandbox_fault_set(
			    f, ENAMETOOLONG, "place %s", path);
		memcpy(name, p, n);
		name[n] = '\0';
		p += n;
		next = step_down(r, at, name, *p == '/' || dir);
		if (next == -ENOENT)
			return sandbox_fault_set(f, ENOENT,
			    "%s is to be mounted below a bind that has no "
			    "such place",
			    path);
		if (next == -ELOOP)
			return sandbox_fault_set(
			    f, ELOOP, "%s goes through a symbolic link", path);
		if (next < 0)
			return sandbox_fault_set(f, -next, "place %s", path);
		fd_close(&at);
		at = next;
	}
	return fd_steal(&at);
}

static int
put_tmpfs(struct root *r, const char *target, uint64_t size, const char *mode,
    uint64_t attributes, struct sandbox_fault *f)
{
	CLEANUP_CLOSE int place = root_place(r, target, true, f);
	CLEANUP_CLOSE int fd = -1;
	char text[32];
	const struct mount_option options[] = {
	    {"size", text},
	    {"mode", mode},
	    {NULL, NULL},
	};
	int e;

	if (place < 0)
		return place;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)size);
	fd = mount_new("tmpfs", options, attributes);
	if (fd < 0) {
		e = fd;
		fd = -1;
		return sandbox_fault_set(f, -e, "make a tmpfs for %s", target);
	}
	e = mount_put(fd, place);
	if (e < 0)
		return sandbox_fault_set(f, -e, "mount %s", target);
	return own(r, fd, f);
}

int
root_make_places(struct root *r, struct sandbox_fault *f)
{
	return put_tmpfs(r, "/tmp", r->plan->tmp_size, "1777", ATTR_BIND, f);
}

static int
put_bind(struct root *r, size_t i, struct sandbox_fault *f)
{
	const struct plan_mount *m = &r->plan->mounts[i];
	CLEANUP_CLOSE int place = -1;
	struct stat st;
	int e;

	if (r->sources[i] < 0)
		return 0; /* optional, and not there */
	if (fstat(r->sources[i], &st) < 0)
		return sandbox_fault_set(f, errno, "stat %s", m->source);
	place = root_place(r, m->target, S_ISDIR(st.st_mode), f);
	if (place < 0)
		return place;
	e = mount_put(r->sources[i], place);
	if (e < 0)
		return sandbox_fault_set(
		    f, -e, "bind %s to %s", m->source, m->target);
	fd_close(&r->sources[i]);
	return 0;
}

/* The folder of path; its last part in *ret_name. */
static int
place_parent(struct root *r, const char *path, const char **ret_name,
    struct sandbox_fault *f)
{
	const char *slash = strrchr(path, '/');
	CLEANUP_FREE char *parent = mem_strndup(path, (size_t)(slash - path));
	int fd = root_place(r, parent, true, f);

	*ret_name = slash + 1;
	if (fd >= 0 && !is_own(r, fd)) {
		close(fd);
		return sandbox_fault_set(
		    f, EROFS, "%s is to be made below a bind", path);
	}
	return fd;
}

static int
put_symlink(struct root *r, const struct plan_mount *m, struct sandbox_fault *f)
{
	const char *name;
	CLEANUP_CLOSE int parent = place_parent(r, m->target, &name, f);

	if (parent < 0)
		return parent;
	if (symlinkat(m->source, parent, name) < 0)
		return sandbox_fault_set(f, errno, "link %s", m->target);
	return 0;
}

int
root_put_mounts(struct root *r, struct sandbox_fault *f)
{
	for (size_t i = 0; i < r->plan->nmounts; i++) {
		const struct plan_mount *m = &r->plan->mounts[i];
		int e = 0;

		switch (m->kind) {
		case PLAN_BIND_RO:
		case PLAN_BIND_RW:
			e = put_bind(r, i, f);
			break;
		case PLAN_TMPFS:
			e = put_tmpfs(
			    r, m->target, m->size, "0755", ATTR_BIND, f);
			break;
		case PLAN_SYMLINK:
			e = put_symlink(r, m, f);
			break;
		}
		if (e < 0)
			return e;
	}
	return 0;
}

static int
write_one(struct root *r, const struct plan_file *file, struct sandbox_fault *f)
{
	const char *name;
	CLEANUP_CLOSE int parent = place_parent(r, file->target, &name, f);
	CLEANUP_CLOSE int fd = -1;
	int e;

	if (parent < 0)
		return parent;
	fd = openat(parent, name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
	if (fd < 0)
		return sandbox_fault_set(f, errno, "make %s", file->target);
	e = fd_write_all(fd, file->text, strlen(file->text));
	if (e < 0)
		return sandbox_fault_set(f, -e, "write %s", file->target);
	return 0;
}

int
root_write_files(struct root *r, struct sandbox_fault *f)
{
	for (size_t i = 0; i < r->plan->nfiles; i++) {
		int e = write_one(r, &r->plan->files[i], f);

		if (e < 0)
			return e;
	}
	return 0;
}

int
root_seal(struct root *r, struct sandbox_fault *f)
{
	int e = mount_change(r->dir, false, MOUNT_ATTR_RDONLY);

	if (e < 0)
		return sandbox_fault_set(f, -e, "make the root read-only");
	return 0;
}
