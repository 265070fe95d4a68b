/*
 * Reading a command line, and the help that goes with it: both follow the
 * command's own table, so that they cannot differ.  Runs in oz0.
 */
#include "cli/args.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cmd.h"
#include "cli/print.h"

#define COLUMNS 78

/* ---- help ---- */

/* Words that stay together, from *column on; a new line when one is full. */
static void
put_word(FILE *f, const char *word, int *column, int indent)
{
	int n = (int)strlen(word);

	if (*column + 1 + n > COLUMNS) {
		fprintf(f, "\n%*s", indent, "");
		*column = indent;
	} else {
		fputc(' ', f);
		++*column;
	}
	fputs(word, f);
	*column += n;
}

/* The operands' words: what stands in brackets stays together. */
static void
put_operands(FILE *f, const char *s, int *column, int indent)
{
	while (*s != '\0') {
		int depth = 0;
		size_t n = 0;
		char *word;

		for (; s[n] != '\0' && (s[n] != ' ' || depth > 0); n++)
			depth += (s[n] == '[') - (s[n] == ']');
		word = mem_strndup(s, n);
		put_word(f, word, column, indent);
		free(word);
		s += n;
		s += strspn(s, " ");
	}
}

void
command_usage(FILE *f, const struct command *c)
{
	int column = fprintf(f, "usage: oz0 %s", c->name);
	int indent = column + 1;

	for (const struct opt *o = c->options; o->name != NULL; o++) {
		char *word = mem_printf("%s%s%s%s%s%s", o->must ? "" : "[",
		    o->name, o->value != NULL ? " " : "",
		    o->value != NULL ? o->value : "", o->must ? "" : "]",
		    o->many ? "..." : "");

		put_word(f, word, &column, indent);
		free(word);
	}
	put_operands(f, c->operands, &column, indent);
	fputc('\n', f);
}

void
command_help(const struct command *c)
{
	command_usage(stdout, c);
	printf("\n%s\n", c->what);
	if (c->more != NULL)
		printf("\n%s", c->more);
	if (c->options[0].name != NULL)
		printf("\noptions:\n");
	for (const struct opt *o = c->options; o->name != NULL; o++) {
		int n = printf("  %s%s%s", o->name,
		    o->value != NULL ? " " : "",
		    o->value != NULL ? o->value : "");

		printf("%*s%s\n", n < 20 ? 20 - n : 1, "", o->what);
	}
}

void
args_fail(const struct args *a, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = mem_vprintf(fmt, ap);
	va_end(ap);
	complain("%s", s);
	free(s);
	command_usage(stderr, a->command);
	exit(cli_code(a->cli, CLI_USAGE));
}

/* ---- reading ---- */

/* Is argv[*i] this option?  Its value then, and *i stands on its last word. */
static bool
option_at(struct args *a, int *i, const char *name, bool has_value,
    const char **ret_value)
{
	const char *arg = a->argv[*i];
	size_t n = strlen(name);

	if (strncmp(arg, name, n) != 0 || (arg[n] != '\0' && arg[n] != '='))
		return false;
	if (!has_value && arg[n] == '=')
		args_fail(a, "option %s takes no value", name);
	*ret_value = name;
	if (!has_value)
		return true;
	if (arg[n] == '\0' && *i + 1 >= a->argc)
		args_fail(a, "option %s needs a value", name);
	*ret_value = arg[n] == '=' ? arg + n + 1 : a->argv[++*i];
	return true;
}

/* Options of every command. */
static bool
common_at(struct args *a, int *i)
{
	const char *value;

	if (option_at(a, i, "--json", false, &value)) {
		a->cli->json = true;
	} else if (option_at(a, i, "--socket", true, &value)) {
		a->cli->socket = value;
	} else if (option_at(a, i, "--help", false, &value) ||
	    strcmp(a->argv[*i], "-h") == 0) {
		command_help(a->command);
		exit(CLI_DONE);
	} else {
		return false;
	}
	return true;
}

static bool
given_already(const struct args *a, int option)
{
	for (int i = 0; i < a->ngiven; i++)
		if (a->given[i].option == option)
			return true;
	return false;
}

static void
read_option(struct args *a, int *i)
{
	const struct opt *o = a->command->options;
	const char *value;

	if (common_at(a, i))
		return;
	for (int k = 0; o[k].name != NULL; k++) {
		if (!option_at(a, i, o[k].name, o[k].value != NULL, &value))
			continue;
		if (!o[k].many && given_already(a, k))
			args_fail(a, "option %s stands there twice", o[k].name);
		a->given[a->ngiven++] = (struct given) { k, value };
		return;
	}
	args_fail(a, "unknown option %s", a->argv[*i]);
}

void
args_read(struct args *a, struct cli *cli, const struct command *c, int argc,
    char **argv)
{
	bool only_operands = false;

	*a = (struct args) { .cli = cli, .command = c, .argc = argc,
		.argv = argv };
	a->operands = mem_array((size_t)argc + 1, sizeof(*a->operands));
	a->given = mem_array((size_t)argc + 1, sizeof(*a->given));
	for (int i = 0; i < argc; i++) {
		if (only_operands || argv[i][0] != '-' || argv[i][1] == '\0') {
			a->operands[a->noperands++] = argv[i];
			only_operands |= c->rest;
		} else if (strcmp(argv[i], "--") == 0) {
			only_operands = true;
		} else {
			read_option(a, &i);
		}
	}
	for (int k = 0; c->options[k].name != NULL; k++)
		if (c->options[k].must && !given_already(a, k))
			args_fail(a, "%s is missing", c->options[k].name);
	if (a->noperands < c->min)
		args_fail(a, "too few operands");
	if (c->max >= 0 && a->noperands > c->max)
		args_fail(a, "too many operands: %s", a->operands[c->max]);
}

void
args_free(struct args *a)
{
	free(a->operands);
	free(a->given);
}

const char *
args_next(const struct args *a, const char *name, int *at)
{
	while (*at < a->ngiven) {
		const struct given *g = &a->given[(*at)++];

		if (strcmp(a->command->options[g->option].name, name) == 0)
			return g->value;
	}
	return NULL;
}

const char *
args_value(const struct args *a, const char *name)
{
	int at = 0;

	return args_next(a, name, &at);
}

const char *
args_operand(const struct args *a, int i)
{
	return i < a->noperands ? a->operands[i] : NULL;
}

uint64_t
args_number(const struct args *a, const char *text, const char *what,
    uint64_t min, uint64_t max)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t n = strtoull(text, NULL, 10);

	if (digits == 0 || text[digits] != '\0' || digits > 10 || n < min ||
	    n > max)
		args_fail(a, "%s must be a whole number from %llu to %llu: %s",
		    what, (unsigned long long)min, (unsigned long long)max,
		    text);
	return n;
}
