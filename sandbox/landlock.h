#ifndef OZ0_SANDBOX_LANDLOCK_H
#define OZ0_SANDBOX_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Landlock, by the newest ABI that the kernel has. */

enum landlock_right {
	LANDLOCK_READ,	 /* read and execute */
	LANDLOCK_WRITE,	 /* everything but devices */
	LANDLOCK_DEVICE, /* read, write, ioctl: /dev */
};

/* The kernel's ABI, or -errno: -ENOSYS or -EOPNOTSUPP when there is none. */
int landlock_abi(void);
/*
 * A ruleset under which nothing of the file system is allowed yet, nothing
 * outside can be signalled, and no abstract socket of outside be reached (as
 * far as the ABI knows of it).  A descriptor, or -errno.
 */
int landlock_ruleset(int abi, bool scoped);
/* Allows it below path (relative to dirfd; "" is dirfd). 0 or -errno. */
int landlock_allow(int ruleset, int abi, int dirfd, const char *path,
    enum landlock_right right);
/* Applies it to the caller, who has no_new_privs. 0 or -errno. */
int landlock_apply(int ruleset);

#endif
