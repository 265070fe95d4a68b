/*
 * The mount calls of Linux 5.12 and later.
 *
 * Used by oz0-sandbox for a server's root, and by workers for their empty one.
 */
#include "sandbox/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

int
mount_new(
    const char *type, const struct mount_option *options, uint64_t attributes)
{
	CLEANUP_CLOSE int fs = fsopen(type, FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0)
		return -errno;
	for (; options != NULL && options->key != NULL; options++)
		if (fsconfig(fs, FSCONFIG_SET_STRING, options->key,
			options->value, 0) < 0)
			return -errno;
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = fsmount(fs, FSMOUNT_CLOEXEC, (unsigned)attributes);
	return fd < 0 ? -errno : fd;
}

int
mount_clone(int dirfd, const char *path, bool recursive, uint64_t attributes)
{
	struct open_how how = {
	    .flags = O_PATH | O_CLOEXEC,
	    .resolve = RESOLVE_NO_MAGICLINKS,
	};
	CLEANUP_CLOSE int place = -1;
	CLEANUP_CLOSE int tree = -1;
	unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH;
	int r;

	if (path[0] != '\0') {
		place =
		    (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
		if (place < 0)
			return -errno;
		dirfd = place;
	}
	tree = open_tree(dirfd, "", recursive ? flags | AT_RECURSIVE : flags);
	if (tree < 0)
		return -errno;
	r = mount_change(tree, recursive, attributes);
	return r < 0 ? r : fd_steal(&tree);
}

int
mount_change(int mount, bool recursive, uint64_t attributes)
{
	struct mount_attr attr = {.attr_set = attributes};
	unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0u);

	return mount_setattr(mount, "", flags, &attr, sizeof(attr)) < 0 ? -errno
									: 0;
}

int
mount_put(int mount, int target)
{
	return move_mount(mount, "", target, "",
		   MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0
		   ? -errno
		   : 0;
}
