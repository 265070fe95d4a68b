#ifndef OZ0_SANDBOX_MOUNT_H
#define OZ0_SANDBOX_MOUNT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Mounts by descriptor: made detached, given their flags, then put in place,
 * so that no path is looked up twice and nothing is ever there without its
 * flags.  Flags are MOUNT_ATTR_*.  Each gives a descriptor or 0, or -errno.
 */

struct mount_option {
	const char *key;
	const char *value;
};

/* options end with a NULL key. */
int mount_new(
    const char *type, const struct mount_option *options, uint64_t attributes);
/*
 * A clone of what dirfd and path name; "" is dirfd.  No magic link (of /proc)
 * is followed.
 */
int mount_clone(
    int dirfd, const char *path, bool recursive, uint64_t attributes);
int mount_change(int mount, bool recursive, uint64_t attributes);
int mount_put(int mount, int target);

#endif
