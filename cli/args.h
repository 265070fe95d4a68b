#ifndef OZ0_CLI_ARGS_H
#define OZ0_CLI_ARGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Options and operands of a command.  Options may stand before and after
 * operands, as `--name VALUE` or `--name=VALUE`; `--` ends them.  Those of
 * every command (--json, --socket, --help) are seen to here.
 */

#define OPTS_MAX 9 /* of a command, the end included */

struct opt {
	const char *name;  /* with its dashes; NULL: the end */
	const char *value; /* what its value is called; NULL: a switch */
	const char *what;
	bool many; /* it may stand there more than once */
	bool must; /* it has to */
};

struct command;
struct cli;

struct args {
	struct cli *cli;
	const struct command *command;
	int argc;
	char **argv;
	int noperands;
	char **operands;
	/* What was given: index of the option and its value, in order. */
	int ngiven;
	struct given {
		int option;
		const char *value;
	} *given;
};

/* Reads argv[0..argc), what stands after the command's name.  Ends the program
 * after --help, and with CLI_USAGE after a mistake, which it names. */
void args_read(struct args *a, struct cli *cli, const struct command *c,
    int argc, char **argv);
void args_free(struct args *a);

/* The value of an option, of a switch its name; NULL: not given. */
const char *args_value(const struct args *a, const char *name);
/* The value of each --name in turn; *at starts at 0; NULL: that was all. */
const char *args_next(const struct args *a, const char *name, int *at);
const char *args_operand(const struct args *a, int i); /* NULL: not given */
/* A whole number from min to max, or the program ends with CLI_USAGE. */
uint64_t args_number(const struct args *a, const char *text, const char *what,
    uint64_t min, uint64_t max);

/* Says so, with the usage of the command, and ends the program. */
void args_fail(const struct args *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), noreturn));

void command_usage(FILE *f, const struct command *c);
void command_help(const struct command *c);

#endif
