/*
 * oz0: the command of operators, plugin authors and job scripts (oz0(1)).  It
 * speaks the control protocol with oz0d and holds no rights of its own.
 */
#include "config.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"

struct command {
	const char *name;
	cmd_fn *fn;
	const char *usage; /* after the name */
	const char *what;
};

static const struct command commands[] = {
	{ "status", cmd_status, "[JOB | CALL]",
	    "the node, a job or a call as it is now" },
	{ "ps", cmd_ps, "[JOB]", "every process with its role and age" },
	{ "functions", cmd_functions, "[TOOL]",
	    "every function and whether it may be called again" },
	{ "call", cmd_call,
	    "[--job J] [--session N] [--activity A] [--timeout D] "
	    "[--progress] TOOL.FUNCTION [ARGUMENTS | - | @FILE]",
	    "make one call and print its result" },
	{ "job", cmd_job,
	    "start J [--tenant T] [--run M] | cancel J [--no-wait] | "
	    "end J [--failed] | forget J | list",
	    "start, cancel and end jobs" },
	{ "session", cmd_session,
	    "open J N [--tool T]... [--workspace DIR] [--force] | close J N",
	    "open and close a job's sessions" },
	{ "run", cmd_run,
	    "--job J --session N [--tenant T] [--tool T]... [--env NAME=VALUE]"
	    "... [--cwd DIR] [--workspace DIR] [--force] -- HARNESS [ARG]...",
	    "run a harness in a session's sandbox" },
	{ "cancel", cmd_cancel, "[--no-wait] JOB | CALL",
	    "stop it, and wait until it has stopped" },
	{ "trace", cmd_trace, "JOB [--follow]", "what happened, and why" },
	{ "logs", cmd_logs, "TOOL [--follow]",
	    "what a tool's servers wrote to stderr" },
	{ "restart", cmd_restart, "TOOL", "a plugin's server afresh" },
	{ "drain", cmd_drain, "", "let running calls end, then stop the node" },
	{ "reload", cmd_reload, "", "read the configuration again" },
	{ "config", cmd_config, "check [FILE]",
	    "check a configuration and print it with its defaults" },
};

#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static void
usage_line(FILE *f)
{
	fprintf(f, "usage: oz0 [--socket PATH] [--json] COMMAND ...\n");
}

static void
help(void)
{
	usage_line(stdout);
	printf("\noptions:\n"
	       "  --socket PATH  the node's control socket (or OZ0_SOCKET)\n"
	       "  --json         one JSON object a line, stable names\n"
	       "  --help         this text; COMMAND --help: a command's own\n"
	       "  --version      the version\n"
	       "\ncommands:\n");
	for (size_t i = 0; i < NCOMMANDS; i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].what);
}

void
usage_of(const char *command)
{
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (strcmp(commands[i].name, command) == 0)
			fprintf(stderr, "usage: oz0 %s %s\n", command,
			    commands[i].usage);
	exit(CLI_USAGE);
}

bool
option_is(int argc, char **argv, int *i, const char *name, const char **value)
{
	const char *arg = argv[*i];
	size_t n = strlen(name);

	if (strncmp(arg, name, n) != 0)
		return false;
	if (value == NULL)
		return arg[n] == '\0';
	if (arg[n] == '=') {
		*value = arg + n + 1;
		return true;
	}
	if (arg[n] != '\0')
		return false;
	if (*i + 1 >= argc) {
		warnx("option %s needs a value", name);
		usage_of(argv[0]);
	}
	*value = argv[++*i];
	return true;
}

static int
run_command(struct cli *cli, int argc, char **argv)
{
	for (size_t i = 0; i < NCOMMANDS; i++) {
		const struct command *c = &commands[i];

		if (strcmp(c->name, argv[0]) != 0)
			continue;
		if (argc > 1 && strcmp(argv[1], "--help") == 0) {
			printf("usage: oz0 %s %s\n\n%s\n", c->name, c->usage,
			    c->what);
			return CLI_DONE;
		}
		return c->fn(cli, argc, argv);
	}
	warnx("no command %s; `oz0 --help` lists them", argv[0]);
	return CLI_USAGE;
}

int
main(int argc, char **argv)
{
	struct cli cli = { .socket = getenv("OZ0_SOCKET") };
	const char *no_color = getenv("NO_COLOR");
	int i = 1, code;

	cli.color = isatty(STDOUT_FILENO) &&
	    (no_color == NULL || *no_color == '\0');
	if (cli.socket != NULL && *cli.socket == '\0')
		cli.socket = NULL;
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (option_is(argc, argv, &i, "--socket", &cli.socket))
			continue;
		if (strcmp(argv[i], "--json") == 0) {
			cli.json = true;
		} else if (strcmp(argv[i], "--help") == 0) {
			help();
			return CLI_DONE;
		} else if (strcmp(argv[i], "--version") == 0) {
			printf("oz0 %s\n", PACKAGE_VERSION);
			return CLI_DONE;
		} else {
			warnx("unknown option %s", argv[i]);
			usage_line(stderr);
			return CLI_USAGE;
		}
	}
	if (i >= argc) {
		usage_line(stderr);
		return CLI_USAGE;
	}
	code = run_command(&cli, argc - i, argv + i);
	if (fflush(stdout) != 0 && code == CLI_DONE)
		err(CLI_UNKNOWN, "stdout");
	return code;
}
