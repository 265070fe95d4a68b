/*
 * Folders: made with the right owner from birth, and who may bring one of
 * their own.  Run by the supervisor; nothing in a folder is ever looked at
 * here, since those who work in it may put anything there.
 */
#include "supervisor/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

static int
give_to(int dir, const char *name, uid_t uid, gid_t gid)
{
	CLEANUP_CLOSE int fd = openat(
	    dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fchown(fd, uid, gid) < 0)
		return -errno;
	return 0;
}

int
folder_make(int dir, const char *prefix, uid_t uid, gid_t gid, bool chown,
    char **ret_name)
{
	CLEANUP_FREE char *name = NULL;
	char random[17];
	int r;

	str_random_hex(random, 8);
	name = mem_printf("%s.%s", prefix, random);
	if (mkdirat(dir, name, 0700) < 0)
		return -errno;
	r = chown ? give_to(dir, name, uid, gid) : 0;
	if (r < 0) {
		unlinkat(dir, name, AT_REMOVEDIR);
		return r;
	}
	*ret_name = STEAL_PTR(name);
	return 0;
}

int
folder_owner(int dir, const char *name, uid_t *ret_uid)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	*ret_uid = st.st_uid;
	return 0;
}

int
folder_keep(int dir, const char *name, uid_t uid, gid_t gid, bool chown)
{
	uid_t owner;
	int r;

	if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	r = folder_owner(dir, name, &owner);
	if (r < 0 || !chown || owner == uid)
		return r;
	return give_to(dir, name, uid, gid);
}

static bool
check_owner(const struct stat *st, const char *path, uid_t peer, bool admin,
    bool root, struct fault *f)
{
	if (!S_ISDIR(st->st_mode))
		return fault_set(f, FAULT_PARAMS,
		    "workspace %s is no directory", path);
	if (!admin && st->st_uid != peer)
		return fault_set(f, FAULT_NOT_ALLOWED,
		    "workspace %s belongs to uid %u, not to the caller's %u",
		    path, st->st_uid, peer);
	if (root && st->st_uid == 0)
		return fault_set(f, FAULT_NOT_ALLOWED,
		    "workspace %s belongs to root, and no session runs as uid"
		    " 0: chown it to the user it is for",
		    path);
	return true;
}

bool
folder_check_workspace(const char *path, uid_t peer, bool admin, bool root,
    uid_t *ret_uid, gid_t *ret_gid, char **ret_path,
    struct folder_id *ret_id, struct fault *f)
{
	CLEANUP_FREE char *real = NULL;
	struct stat st;

	if (path[0] != '/')
		return fault_set(f, FAULT_PARAMS,
		    "workspace %s is no absolute path", path);
	real = realpath(path, NULL);
	if (real == NULL || stat(real, &st) < 0)
		return fault_set(f, FAULT_PARAMS, "workspace %s: %s", path,
		    strerror(errno));
	if (!check_owner(&st, real, peer, admin, root, f))
		return false;
	if (root) {
		*ret_uid = st.st_uid;
		*ret_gid = st.st_gid != 0 ? st.st_gid : (gid_t)st.st_uid;
	}
	*ret_path = STEAL_PTR(real);
	*ret_id = (struct folder_id) { st.st_dev, st.st_ino };
	return true;
}
