/*
 * Where the programs of libexec are.  Run by main() at start.
 */
#include "supervisor/libexec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

static const char *const names[] = { "oz0-worker", "oz0-sandbox",
	"oz0-journal" };

static int
open_in(const char *dir, int fds[3], char *ret_why, size_t size)
{
	char path[PATH_MAX];

	for (int i = 0; i < 3; i++) {
		int n = snprintf(path, sizeof(path), "%s/%s", dir, names[i]);

		fds[i] = -1;
		if (n > 0 && (size_t)n < sizeof(path))
			fds[i] = open(path, O_PATH | O_CLOEXEC);
		if (fds[i] >= 0 && faccessat(AT_FDCWD, path, X_OK, 0) == 0)
			continue;
		n = errno;
		snprintf(ret_why, size, "%s: %s", path, strerror(n));
		for (; i >= 0; i--)
			fd_close(&fds[i]);
		return -n;
	}
	return 0;
}

static bool
own_folder(char dir[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", dir, PATH_MAX - 1);
	char *slash;

	if (n <= 0)
		return false;
	dir[n] = '\0';
	slash = strrchr(dir, '/');
	if (slash == NULL)
		return false;
	*slash = '\0';
	return true;
}

int
libexec_open(struct libexec *ret, char *ret_why, size_t size)
{
	const char *env = getenv("OZ0_LIBEXEC");
	char dir[PATH_MAX];
	int fds[3], r;

	if (env != NULL && env[0] != '\0')
		r = open_in(env, fds, ret_why, size);
	else if (own_folder(dir) && open_in(dir, fds, ret_why, size) == 0)
		r = 0;
	else
		r = open_in(OZ0_LIBEXECDIR, fds, ret_why, size);
	if (r < 0)
		return r;
	ret->worker = fds[0];
	ret->sandbox = fds[1];
	ret->journal = fds[2];
	return 0;
}
