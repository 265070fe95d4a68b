/*
 * Removing what a session left in its folder.  Those who made it may have
 * nested it without end and taken every right off it, so nothing here recurses
 * or keeps more than two directories open: what is not empty one level down is
 * moved to the top and removed from there in the next pass.
 */
#include "sandbox/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fatal.h"
#include "base/fd.h"
#include "base/log.h"
#include "sandbox/launch.h"

static DIR *
open_dir(int at, const char *name)
{
	int fd =
	    openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d;

	if (fd < 0)
		return NULL;
	d = fdopendir(fd);
	if (d == NULL)
		fd_close(&fd);
	return d;
}

static bool
is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* true: it is gone.  A directory that is not empty stays, with all rights. */
static bool
remove_one(int at, const char *name)
{
	struct stat st;

	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return true;
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode))
		return false;
	if (unlinkat(at, name, AT_REMOVEDIR) == 0)
		return true;
	if (fchmodat(at, name, 0700, 0) < 0)
		log_debug("--remove: chmod: %s", strerror(errno));
	return false;
}

/* To the top under a name that is free there. */
static bool
move_up(int from, const char *name, int top, uint64_t *counter)
{
	char to[32];

	for (int i = 0; i < 1000; i++) {
		snprintf(to, sizeof(to), "oz0-removed.%llu",
		    (unsigned long long)(*counter)++);
		if (faccessat(top, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		return renameat(from, name, top, to) == 0;
	}
	return false;
}

/* A directory at the top: its content goes, or moves up.  true: progress. */
static bool
empty_one(int top, const char *name, uint64_t *counter)
{
	DIR *d = open_dir(top, name);
	struct dirent *e;
	bool progress = false;

	if (d == NULL)
		return false;
	while ((e = readdir(d)) != NULL)
		if (!is_dots(e->d_name) &&
		    (remove_one(dirfd(d), e->d_name) ||
			move_up(dirfd(d), e->d_name, top, counter)))
			progress = true;
	closedir(d);
	return unlinkat(top, name, AT_REMOVEDIR) == 0 || progress;
}

int
remove_below(int dir)
{
	DIR *d = open_dir(dir, ".");
	uint64_t counter = 0;
	struct dirent *e;
	bool left = true, progress = true;

	if (d == NULL)
		return -errno;
	while (left && progress) {
		left = progress = false;
		rewinddir(d);
		while ((e = readdir(d)) != NULL) {
			if (is_dots(e->d_name))
				continue;
			left = true;
			if (remove_one(dir, e->d_name) ||
			    empty_one(dir, e->d_name, &counter))
				progress = true;
		}
	}
	closedir(d);
	return left ? -ENOTEMPTY : 0;
}

static unsigned
parse_id(const char *s)
{
	char *end;
	unsigned long n = strtoul(s, &end, 10);

	if (*s < '0' || *s > '9' || *end != '\0' || n >= UINT32_MAX)
		fatalx(EXIT_CODE_USAGE, "--remove: %s is no id", s);
	return (unsigned)n;
}

static void
become(uid_t uid, gid_t gid)
{
	if (geteuid() == 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
		setresuid(uid, uid, uid) < 0))
		fatal(EXIT_CODE_UNAVAILABLE, "--remove: change of user");
	if (geteuid() != uid)
		fatalx(EXIT_CODE_UNAVAILABLE, "--remove: not that user");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int
remove_main(int argc, char **argv)
{
	int r;

	if (argc != 2)
		fatalx(EXIT_CODE_USAGE, "--remove takes UID and GID");
	become((uid_t)parse_id(argv[0]), (gid_t)parse_id(argv[1]));
	r = fchmod(LAUNCH_CONTROL_FD, 0700) < 0
		? -errno
		: remove_below(LAUNCH_CONTROL_FD);
	if (r < 0)
		log_error("--remove: %s", strerror(-r));
	return r < 0 ? 1 : 0;
}
