/*
 * Landlock by system call: no library has it.
 *
 * Used by the child that becomes a server, and by oz0-journal on itself.  The
 * rights handled are those of the kernel's ABI: an older kernel denies less.
 */
#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Younger than the headers of Debian 12. */
#define FS_REFER (1ULL << 13)	   /* ABI 2 */
#define FS_TRUNCATE (1ULL << 14)   /* ABI 3 */
#define FS_IOCTL_DEV (1ULL << 15)  /* ABI 5 */
#define SCOPE_ABSTRACT (1ULL << 0) /* ABI 6 */
#define SCOPE_SIGNAL (1ULL << 1)
#define FS_ABI1 ((1ULL << 13) - 1)

#define FILE_RIGHTS                                                            \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |          \
	    LANDLOCK_ACCESS_FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define READ_RIGHTS                                                            \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |           \
	    LANDLOCK_ACCESS_FS_READ_DIR)

/* struct landlock_ruleset_attr as of ABI 6 */
struct ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

static uint64_t
handled(int abi)
{
	uint64_t all = FS_ABI1;

	if (abi >= 2)
		all |= FS_REFER;
	if (abi >= 3)
		all |= FS_TRUNCATE;
	if (abi >= 5)
		all |= FS_IOCTL_DEV;
	return all;
}

int
landlock_abi(void)
{
	long r = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);

	return r < 0 ? -errno : (int)r;
}

int
landlock_ruleset(int abi, bool scoped)
{
	struct ruleset_attr attr = {.handled_access_fs = handled(abi)};
	size_t size = sizeof(attr.handled_access_fs);
	long fd;

	if (scoped && abi >= 6) {
		attr.scoped = SCOPE_ABSTRACT | SCOPE_SIGNAL;
		size = sizeof(attr);
	}
	fd = syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	return fd < 0 ? -errno : (int)fd;
}

static uint64_t
rights(int abi, enum landlock_right right)
{
	switch (right) {
	case LANDLOCK_READ:
		return READ_RIGHTS;
	case LANDLOCK_WRITE:
		return handled(abi) & ~FS_IOCTL_DEV;
	case LANDLOCK_DEVICE:
		return (READ_RIGHTS & ~LANDLOCK_ACCESS_FS_EXECUTE) |
		       LANDLOCK_ACCESS_FS_WRITE_FILE |
		       (handled(abi) & (FS_TRUNCATE | FS_IOCTL_DEV));
	}
	return 0;
}

int
landlock_allow(int ruleset, int abi, int dirfd, const char *path,
    enum landlock_right right)
{
	CLEANUP_CLOSE int fd = -1;
	struct landlock_path_beneath_attr rule = {
	    .allowed_access = rights(abi, right),
	};
	struct stat st;

	fd = path[0] == '\0' ? fcntl(dirfd, F_DUPFD_CLOEXEC, 0)
			     : openat(dirfd, path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= FILE_RIGHTS;
	rule.parent_fd = fd;
	return syscall(SYS_landlock_add_rule, ruleset,
		   LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0
		   ? -errno
		   : 0;
}

int
landlock_apply(int ruleset)
{
	return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}
