/*
 * oz0 restart, drain, reload, config: the operator's hand on the node.
 */
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/print.h"

static int
simple(struct cli *cli, const char *method, const char *name,
    const char *value, const char *words)
{
	struct client *c = client_open(cli->socket);
	struct jsonw *w = client_begin(c, method);
	struct reply r;

	if (name != NULL)
		jsonw_string(w, name, value);
	client_do(c, client_send(c, NULL, 0), &r);
	if (cli->json)
		print_json(r.result);
	else
		printf("%s\n", words);
	client_close(c);
	return CLI_DONE;
}

int
cmd_restart(struct cli *cli, int argc, char **argv)
{
	if (argc != 2 || argv[1][0] == '-')
		usage_of("restart");
	return simple(cli, "tool/restart", "tool", argv[1],
	    "the server is started afresh");
}

int
cmd_drain(struct cli *cli, int argc, char **argv)
{
	if (argc != 1)
		usage_of("drain");
	return simple(cli, "node/drain", NULL, NULL,
	    "the node takes nothing new; it ends once its calls have");
}

int
cmd_reload(struct cli *cli, int argc, char **argv)
{
	if (argc != 1)
		usage_of("reload");
	return simple(
	    cli, "node/reload", NULL, NULL, "the configuration was read again");
}

/* oz0d beside this program (build tree, ../sbin), or where PATH has it. */
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
	err(CLI_NO_NODE, "cannot start oz0d to check the configuration");
}

int
cmd_config(struct cli *cli, int argc, char **argv)
{
	static char name[] = "oz0d", check[] = "-n", file[] = "-c";
	char *args[] = { name, check, NULL, NULL, NULL };

	if (argc < 2 || argc > 3 || strcmp(argv[1], "check") != 0)
		usage_of("config");
	if (argc == 3) {
		args[2] = file;
		args[3] = argv[2];
	}
	exec_oz0d(args);
	return CLI_NO_NODE;
}
