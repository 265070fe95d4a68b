/*
 * oz0-sandbox(8): carries out a plan.
 *
 * Run by oz0d (--init, --helper) or by hand (--plan).  Static, so that nothing
 * of it depends on what the sandbox or the host has in its library folders.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fatal.h"
#include "base/log.h"
#include "sandbox/by_hand.h"
#include "sandbox/filter.h"
#include "sandbox/init.h"
#include "sandbox/plan.h"
#include "sandbox/server.h"
#include "sandbox/remove.h"
#include "sandbox/stages.h"
#include "sandbox/title.h"

static const char usage_text[] =
    "usage: oz0-sandbox --plan FILE [-- COMMAND [ARGUMENT ...]]\n"
    "       oz0-sandbox --explain --plan FILE [-- COMMAND [ARGUMENT ...]]\n"
    "       oz0-sandbox --help | --version\n"
    "\n"
    "  --plan FILE  run the plan in FILE on this stdin, stdout and stderr;\n"
    "               - is stdin.  COMMAND replaces the plan's own\n"
    "  --explain    print the plan, its stages and the filter in words\n"
    "  --help       print this\n"
    "  --version    print the version\n"
    "\n"
    "For oz0d alone:\n"
    "  --init       be the init of a sandbox; descriptor 3 is the control\n"
    "               socket\n"
    "  --helper UID GID none|host\n"
    "               make the init of a sandbox under another uid\n"
    "  --alive      descriptor 4 is a lock that the init keeps open\n"
    "  --remove UID GID\n"
    "               remove what is in the directory that descriptor 3 is\n";

enum mode {
	MODE_NONE,
	MODE_RUN,
	MODE_EXPLAIN,
	MODE_INIT,
	MODE_HELPER,
	MODE_REMOVE
};

struct options {
	enum mode mode;
	const char *plan;
	bool explain;
	bool alive;
};

static void __attribute__((noreturn)) usage(void)
{
	fputs(usage_text, stderr);
	exit(EXIT_CODE_USAGE);
}

static void
parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
	    {"plan", required_argument, NULL, 'p'},
	    {"explain", no_argument, NULL, 'e'},
	    {"help", no_argument, NULL, 'h'},
	    {"version", no_argument, NULL, 'V'},
	    {"init", no_argument, NULL, 'i'},
	    {"helper", no_argument, NULL, 'H'},
	    {"alive", no_argument, NULL, 'a'},
	    {"remove", no_argument, NULL, 'r'},
	    {NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "+", longs, NULL)) != -1)
		switch (c) {
		case 'p':
			o->plan = optarg;
			break;
		case 'e':
			o->explain = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			exit(0);
		case 'V':
			puts(PACKAGE_STRING);
			exit(0);
		case 'i':
			o->mode = MODE_INIT;
			break;
		case 'H':
			o->mode = MODE_HELPER;
			break;
		case 'r':
			o->mode = MODE_REMOVE;
			break;
		case 'a':
			o->alive = true;
			break;
		default:
			usage();
		}
	if (o->plan != NULL && o->mode == MODE_NONE)
		o->mode = o->explain ? MODE_EXPLAIN : MODE_RUN;
}

static struct plan *
read_plan(const char *path, char **command)
{
	CLEANUP_FREE char *text = NULL;
	struct plan *p;
	const char *why;
	size_t len;
	int r;

	if (strcmp(path, "-") == 0)
		path = "/proc/self/fd/0";
	r = fd_read_file(AT_FDCWD, path, PLAN_JSON_MAX, &text, &len);
	if (r < 0)
		fatalx(EXIT_CODE_USAGE, "%s: %s", path, strerror(-r));
	r = plan_decode(text, len, &p, &why);
	if (r < 0)
		fatalx(EXIT_CODE_USAGE, "%s: %s", path, why);
	if (command[0] != NULL)
		plan_set_argv(p, (const char *const *)command);
	return p;
}

static void
explain(const struct plan *p)
{
	CLEANUP(buf_free) struct buf out = {0};
	const char *name, *what;

	plan_explain(p, &out);
	buf_puts(&out, "\nstages of the init\n");
	for (size_t i = 0; (name = stages_name(i, &what)) != NULL; i++)
		buf_printf(&out, "  %-16s %s\n", name, what);
	buf_puts(&out, "\nstages of the command's process\n");
	for (size_t i = 0; (name = server_stage_name(i, &what)) != NULL; i++)
		buf_printf(&out, "  %-16s %s\n", name, what);
	buf_puts(&out, "\nseccomp\n");
	if (p->seccomp)
		filter_explain(&out);
	else
		buf_puts(&out, "  switched off by the plan\n");
	if (fwrite(buf_at(&out), 1, buf_len(&out), stdout) != buf_len(&out) ||
	    fflush(stdout) != 0)
		fatal(EXIT_CODE_INTERNAL, "write");
}

int
main(int argc, char **argv)
{
	struct options o = {0};
	struct plan *p;
	int code = 0;

	title_init(argc, argv);
	parse(argc, argv, &o);
	if (o.mode == MODE_INIT)
		init_main(o.alive);
	log_init("oz0-sandbox", false);
	if (o.mode == MODE_NONE)
		usage();
	if (o.mode == MODE_HELPER)
		return helper_main(argc - optind, argv + optind, o.alive);
	if (o.mode == MODE_REMOVE)
		return remove_main(argc - optind, argv + optind);
	p = read_plan(o.plan, argv + optind);
	if (o.mode == MODE_EXPLAIN)
		explain(p);
	else
		code = by_hand_run(p);
	plan_free(p);
	return code;
}
