/*
 * oz0: the command of operators, plugin authors and job scripts (oz0(1)).  It
 * speaks the control protocol with oz0d and holds no rights of its own.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/print.h"

static const struct command *const commands[] = {
	&command_status,
	&command_ps,
	&command_functions,
	&command_call,
	&command_cancel,
	&command_approve,
	&command_deny,
	&command_trace,
	&command_logs,
	&command_job_start,
	&command_job_end,
	&command_job_cancel,
	&command_job_forget,
	&command_job_list,
	&command_session_open,
	&command_session_close,
	&command_run,
	&command_kill,
	&command_unkill,
	&command_policy_show,
	&command_policy_check,
	&command_policy_set,
	&command_restart,
	&command_drain,
	&command_reload,
	&command_config_check,
};

#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static void
usage(FILE *f)
{
	fprintf(f, "usage: oz0 [--socket PATH] [--json] COMMAND ...\n");
}

static void
help(void)
{
	usage(stdout);
	printf("\noptions, before or after the command:\n"
	       "  --socket PATH   the node's control socket (or OZ0_SOCKET)\n"
	       "  --json          one JSON object a line, stable names\n"
	       "  --help          this text; COMMAND --help: the command's\n"
	       "  --version       the version\n"
	       "\ncommands:\n");
	for (size_t i = 0; i < NCOMMANDS; i++)
		printf("  %-14s  %s\n", commands[i]->name, commands[i]->what);
	printf("\nexit codes: 0 done, 1 the tool answered with an error, 2 "
	       "usage, 3 refused,\n4 canceled, 5 failed and nothing made, 6 "
	       "failed and the outcome unknown,\n7 no node or the connection "
	       "was lost; of run: the harness's own\n");
}

/* Words of argv that are the command's name: 1, 2, or 0. */
static int
names(const struct command *c, int argc, char **argv)
{
	size_t n = strlen(argv[0]);

	if (strcmp(c->name, argv[0]) == 0)
		return 1;
	if (argc > 1 && strncmp(c->name, argv[0], n) == 0 &&
	    c->name[n] == ' ' && strcmp(c->name + n + 1, argv[1]) == 0)
		return 2;
	return 0;
}

/* `job` alone, say, or with a second word that is none. */
static int
unknown(int argc, char **argv)
{
	bool wants_help = argc > 1 &&
	    (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
	size_t n = strlen(argv[0]);
	bool found = false;

	for (size_t i = 0; i < NCOMMANDS; i++) {
		if (strncmp(commands[i]->name, argv[0], n) != 0 ||
		    commands[i]->name[n] != ' ')
			continue;
		if (!found && !wants_help && argc > 1)
			complain("no command %s %s", argv[0], argv[1]);
		else if (!found && !wants_help)
			complain("%s needs one more word", argv[0]);
		found = true;
		command_usage(wants_help ? stdout : stderr, commands[i]);
	}
	if (found && wants_help)
		return CLI_DONE;
	if (!found)
		complain("no command %s; `oz0 --help` lists them", argv[0]);
	return CLI_USAGE;
}

static int
run(struct cli *cli, int argc, char **argv)
{
	for (size_t i = 0; i < NCOMMANDS; i++) {
		int n = names(commands[i], argc, argv), code;
		struct args a;

		if (n == 0)
			continue;
		cli->is_wrapper = commands[i] == &command_run;
		args_read(&a, cli, commands[i], argc - n, argv + n);
		code = commands[i]->fn(cli, &a);
		args_free(&a);
		return code;
	}
	return unknown(argc, argv);
}

static bool
shows_color(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && (no == NULL || *no == '\0') &&
	    term != NULL && strcmp(term, "dumb") != 0;
}

/* What stands before the command; its index in argv. */
static int
read_head(struct cli *cli, int argc, char **argv)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			cli->json = true;
		} else if (strncmp(argv[i], "--socket=", 9) == 0) {
			cli->socket = argv[i] + 9;
		} else if (strcmp(argv[i], "--socket") == 0 && i + 1 < argc) {
			cli->socket = argv[++i];
		} else if (strcmp(argv[i], "--help") == 0 ||
		    strcmp(argv[i], "-h") == 0) {
			help();
			exit(CLI_DONE);
		} else if (strcmp(argv[i], "--version") == 0 ||
		    strcmp(argv[i], "-V") == 0) {
			printf("oz0 %s\n", PACKAGE_VERSION);
			exit(CLI_DONE);
		} else {
			complain("%s %s",
			    strcmp(argv[i], "--socket") == 0
				? "a value is missing after"
				: "unknown option",
			    argv[i]);
			usage(stderr);
			exit(CLI_USAGE);
		}
	}
	return i;
}

int
main(int argc, char **argv)
{
	struct cli cli = { .socket = getenv("OZ0_SOCKET"),
		.color = shows_color() };
	int i;

	atexit(print_flush);
	if (cli.socket != NULL && *cli.socket == '\0')
		cli.socket = NULL;
	i = read_head(&cli, argc, argv);
	if (i >= argc) {
		usage(stderr);
		return CLI_USAGE;
	}
	return run(&cli, argc - i, argv + i);
}
