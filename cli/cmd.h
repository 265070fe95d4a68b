#ifndef OZ0_CLI_CMD_H
#define OZ0_CLI_CMD_H

#include <stdbool.h>

#include "cli/client.h"

/* What stands before the command. */
struct cli {
	const char *socket; /* NULL: the default */
	bool json;
	bool color; /* stdout is a terminal and NO_COLOR is not set */
};

/* A command's own arguments; argv[0] is the command.  Its exit code. */
typedef int cmd_fn(struct cli *cli, int argc, char **argv);

cmd_fn cmd_call, cmd_cancel, cmd_config, cmd_drain, cmd_functions, cmd_job;
cmd_fn cmd_logs, cmd_ps, cmd_reload, cmd_restart, cmd_run, cmd_session;
cmd_fn cmd_status, cmd_trace;

/* Ends with CLI_USAGE and the usage line of the command. */
void usage_of(const char *command) __attribute__((noreturn));
/*
 * Takes `--name VALUE`, `--name=VALUE` or, where value is NULL, `--name` from
 * the front of the arguments at *i.  true: it was that option.
 */
bool option_is(
    int argc, char **argv, int *i, const char *name, const char **value);

#endif
