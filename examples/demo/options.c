/*
 * The command line.  One table names each option, says what it does and where
 * it is kept; the parser and --help are made from it, and the page oz0-demo(1)
 * lists the same.
 */
#include "examples/demo/options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fatal.h"
#include "config.h"

enum kind {
	KIND_SWITCH,
	KIND_NUMBER,
	KIND_TEXT,
	KIND_ERA,
	KIND_VERSION,
};

struct entry {
	const char *name;
	const char *argument; /* NULL: none */
	enum kind kind;
	size_t offset;
	const char *help;
};

#define AT(field) offsetof(struct options, field)

static const struct entry entries[] = {
    {"banner", NULL, KIND_SWITCH, AT(banner),
	"print a line that is no JSON on stdout first"},
    {"crlf", NULL, KIND_SWITCH, AT(crlf), "end lines with CR LF"},
    {"discover-error", "CODE", KIND_NUMBER, AT(discover_error),
	"answer server/discover with this error"},
    {"era", "old|new|both", KIND_ERA, 0,
	"serve up to 2025-11-25, 2026-07-28, or both"},
    {"exit-after", "METHOD", KIND_TEXT, AT(exit_after),
	"exit right after the first answer to METHOD"},
    {"exit-on-discover", NULL, KIND_SWITCH, AT(exit_on_discover),
	"exit when asked server/discover, with code 1"},
    {"finish-on-eof", NULL, KIND_SWITCH, AT(finish_on_eof),
	"at the end of stdin answer the open calls first"},
    {"ignore-eof", NULL, KIND_SWITCH, AT(ignore_eof), "go on when stdin ends"},
    {"ignore-sigterm", NULL, KIND_SWITCH, AT(ignore_sigterm),
	"go on after SIGTERM"},
    {"ledger", "FILE", KIND_TEXT, AT(ledger),
	"append a JSON line for each event"},
    {"max-version", "VERSION", KIND_VERSION, AT(max_version),
	"newest revision that initialize agrees to"},
    {"no-hints", NULL, KIND_SWITCH, AT(no_hints),
	"list the functions without annotations and _meta"},
    {"no-read-until-write", "BYTES", KIND_NUMBER, AT(write_first),
	"read nothing before so many bytes were written"},
    {"page-size", "N", KIND_NUMBER, AT(page_size), "list N functions a page"},
    {"ping-first", NULL, KIND_SWITCH, AT(ping_first),
	"send a ping before anything is read"},
    {"silent-discover", NULL, KIND_SWITCH, AT(silent_discover),
	"never answer server/discover"},
    {"slow-start", "MS", KIND_NUMBER, AT(slow_start_ms),
	"wait so many milliseconds before reading"},
    {"stderr-bytes", "N", KIND_NUMBER, AT(stderr_bytes),
	"write N bytes to stderr first"},
};

#define NENTRIES (sizeof(entries) / sizeof(entries[0]))

static const char *const legacy_versions[] = {
    "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};

bool
options_legacy_version(const char *version)
{
	for (size_t i = 0;
	     i < sizeof(legacy_versions) / sizeof(legacy_versions[0]); i++)
		if (strcmp(version, legacy_versions[i]) == 0)
			return true;
	return false;
}

static void
print_help(void)
{
	printf("usage: oz0-demo [OPTION]...\n"
	       "An MCP server on stdin and stdout, one function a "
	       "behaviour.\n\n");
	for (size_t i = 0; i < NENTRIES; i++) {
		const struct entry *e = &entries[i];
		char left[64];

		snprintf(left, sizeof(left), "--%s%s%s", e->name,
		    e->argument != NULL ? " " : "",
		    e->argument != NULL ? e->argument : "");
		printf("  %-30s  %s\n", left, e->help);
	}
	printf("  %-30s  %s\n", "-h, --help", "print this and exit");
	printf("  %-30s  %s\n", "-V, --version", "print the version and exit");
}

static int64_t
parse_number(const char *name, const char *text)
{
	char *end;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0')
		fatalx(EXIT_CODE_USAGE, "--%s: not a number: %s", name, text);
	return n;
}

static void
parse_era(const char *word, struct options *o)
{
	o->legacy = strcmp(word, "new") != 0;
	o->modern = strcmp(word, "old") != 0;
	if (o->legacy && o->modern && strcmp(word, "both") != 0)
		fatalx(
		    EXIT_CODE_USAGE, "--era: old, new or both, not %s", word);
}

static void
set(const struct entry *e, const char *arg, struct options *o)
{
	void *field = (char *)o + e->offset;

	switch (e->kind) {
	case KIND_SWITCH:
		*(bool *)field = true;
		break;
	case KIND_NUMBER:
		*(int64_t *)field = parse_number(e->name, arg);
		break;
	case KIND_TEXT:
		*(const char **)field = arg;
		break;
	case KIND_ERA:
		parse_era(arg, o);
		break;
	case KIND_VERSION:
		if (!options_legacy_version(arg))
			fatalx(EXIT_CODE_USAGE,
			    "--%s: no revision with initialize: %s", e->name,
			    arg);
		*(const char **)field = arg;
		break;
	}
}

void
options_parse(int argc, char **argv, struct options *ret)
{
	struct options o = {.legacy = true, .modern = true};
	struct option longs[NENTRIES + 3] = {0};
	int ch, at;

	o.max_version = "2025-11-25";
	for (size_t i = 0; i < NENTRIES; i++) {
		longs[i].name = entries[i].name;
		longs[i].has_arg = entries[i].argument != NULL;
	}
	longs[NENTRIES] = (struct option){"help", 0, NULL, 'h'};
	longs[NENTRIES + 1] = (struct option){"version", 0, NULL, 'V'};
	while ((ch = getopt_long(argc, argv, "hV", longs, &at)) != -1) {
		if (ch == 'h') {
			print_help();
			exit(0);
		} else if (ch == 'V') {
			printf("oz0-demo %s\n", PACKAGE_VERSION);
			exit(0);
		} else if (ch != 0) {
			exit(EXIT_CODE_USAGE); /* getopt said why */
		}
		set(&entries[at], optarg, &o);
	}
	if (optind < argc)
		fatalx(EXIT_CODE_USAGE, "takes no operand: %s", argv[optind]);
	if (o.page_size < 0 || o.slow_start_ms < 0 || o.stderr_bytes < 0 ||
	    o.write_first < 0)
		fatalx(EXIT_CODE_USAGE, "a negative size or time");
	*ret = o;
}
