/*
 * oz0 config check: what `oz0d -n` says of a configuration, so that one
 * program alone knows what is right.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/print.h"

/* Beside this program (build tree), in ../sbin (installed), or in PATH. */
static void
exec_oz0d(char **argv)
{
	static const char *const places[] = { "/oz0d", "/../sbin/oz0d" };
	char dir[PATH_MAX], path[PATH_MAX + 16], *slash;
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);

	if (n > 0) {
		dir[n] = '\0';
		slash = strrchr(dir, '/');
		if (slash != NULL)
			*slash = '\0';
		for (size_t i = 0; i < 2; i++) {
			snprintf(path, sizeof(path), "%s%s", dir, places[i]);
			execv(path, argv);
		}
	}
	execvp("oz0d", argv);
}

static int
run(struct cli *cli, struct args *a)
{
	static char name[] = "oz0d", check[] = "-n", file[] = "-c";
	char *argv[] = { name, check, NULL, NULL, NULL };

	if (a->noperands > 0) {
		argv[2] = file;
		argv[3] = a->operands[0];
	}
	exec_oz0d(argv);
	complain("cannot run oz0d, which checks: %s", strerror(errno));
	return CLI_NOT_MADE;
}

const struct command command_config_check = {
	.name = "config check",
	.operands = "[FILE]",
	.what = "check a configuration and print it with its defaults",
	.more = "Without FILE it is the one that oz0d reads.  No node need "
		"run; ends with 2 when\nthere is a mistake.\n",
	.max = 1,
	.fn = run,
};
