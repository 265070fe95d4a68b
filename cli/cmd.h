#ifndef OZ0_CLI_CMD_H
#define OZ0_CLI_CMD_H

#include <stdbool.h>

#include "cli/args.h"
#include "cli/exit.h"

/* What holds for every command. */
struct cli {
	const char *socket; /* NULL: the default */
	bool json;
	bool color;	/* stdout is a terminal that shows it */
	bool is_wrapper; /* `run`: every failure of oz0's own is 125 */
};

/* The exit code for a failure of oz0's own. */
int cli_code(const struct cli *cli, enum cli_exit code);

/*
 * A command, as its --help shows it and as oz0(1) describes it.  The function
 * gets the operands and options that were checked against it.
 */
struct command {
	const char *name; /* "status", "job start" */
	const char *operands;
	const char *what; /* one line */
	const char *more; /* further lines for --help; NULL: none */
	struct opt options[OPTS_MAX];
	int min, max; /* operands; max -1: any number */
	bool rest;    /* the first operand ends the options */
	int (*fn)(struct cli *cli, struct args *a);
};

extern const struct command command_approve, command_deny;
extern const struct command command_call, command_cancel;
extern const struct command command_config_check;
extern const struct command command_drain, command_reload, command_restart;
extern const struct command command_functions;
extern const struct command command_job_cancel, command_job_end;
extern const struct command command_job_forget, command_job_list;
extern const struct command command_job_start;
extern const struct command command_kill, command_unkill;
extern const struct command command_logs;
extern const struct command command_policy_check, command_policy_set;
extern const struct command command_policy_show;
extern const struct command command_ps;
extern const struct command command_run;
extern const struct command command_session_close, command_session_open;
extern const struct command command_status;
extern const struct command command_trace;

#endif
