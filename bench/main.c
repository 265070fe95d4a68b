/*
 * oz0-bench: what oz0 costs, beside what the same work costs at the least.
 *
 * Starts a node of its own and, in the same run and round by round, bare
 * relays, bare clones and bare kills, and prints both with their ratio and the
 * aim.  `make bench` runs it; README.md beside it says how to read it.
 */
#include <err.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/measure.h"

/* Of the node's range; servers' uid where the node is root's. */
#define SERVER_UID 1879048192

struct options {
	unsigned rounds;
	bool quick, json, strict;
	const char *only; /* NULL: all */
	const char *bin;
	uid_t uid;
	gid_t gid;
};

static const char usage[] =
    "usage: oz0-bench [-hjqs] [-b DIR] [-o calls|big|start|cancel|memory]\n"
    "                 [-r ROUNDS] [-u USER]\n";

static void
set_user(struct options *o, const char *name)
{
	const struct passwd *pw = getpwnam(name);

	if (pw == NULL)
		errx(2, "no user %s", name);
	if (geteuid() != 0 && pw->pw_uid != geteuid())
		errx(2, "only root can run the node as %s", name);
	o->uid = pw->pw_uid;
	o->gid = pw->pw_gid;
}

static const char *
build_tree(void)
{
	static char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n < 0)
		err(1, "/proc/self/exe");
	path[n] = '\0';
	return dirname(dirname(path));
}

static void
parse(int argc, char **argv, struct options *ret)
{
	struct options o = { .rounds = 5, .uid = geteuid(), .gid = getegid() };
	char *end;
	int c;

	while ((c = getopt(argc, argv, "b:hjo:qr:su:")) != -1)
		switch (c) {
		case 'b':
			o.bin = optarg;
			break;
		case 'j':
			o.json = true;
			break;
		case 'o':
			o.only = optarg;
			break;
		case 'q':
			o.quick = true;
			break;
		case 'r':
			o.rounds = (unsigned)strtoul(optarg, &end, 10);
			if (*end != '\0' || o.rounds == 0 || o.rounds > 999)
				errx(2, "-r: 1 to 999 rounds");
			break;
		case 's':
			o.strict = true;
			break;
		case 'u':
			set_user(&o, optarg);
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs(usage, stderr);
			exit(2);
		}
	if (optind != argc) {
		fputs(usage, stderr);
		exit(2);
	}
	if (o.bin == NULL)
		o.bin = build_tree();
	*ret = o;
}

static bool
wanted(const struct options *o, const char *what)
{
	return o->only == NULL || strcmp(o->only, what) == 0;
}

static void
run_rounds(const struct options *o, struct measure *m)
{
	for (m->round = 0; m->round < o->rounds; m->round++) {
		/* memory once: what is freed is not all given back */
		if (m->round == 0 && wanted(o, "memory"))
			measure_memory(m);
		if (wanted(o, "calls"))
			measure_calls(m);
		if (wanted(o, "big"))
			measure_big(m);
		if (wanted(o, "start"))
			measure_start(m);
		if (wanted(o, "cancel"))
			measure_cancel(m);
	}
}

int
main(int argc, char **argv)
{
	struct options o;
	struct node node;
	struct launcher launcher;
	struct rows rows = { 0 };
	struct measure m = { .node = &node, .launcher = &launcher,
		.rows = &rows };
	bool as_root, met = true;
	char title[64];

	parse(argc, argv, &o);
	m.calls = o.quick ? 500 : 3000;
	m.pipelined = o.quick ? 5000 : 30000;
	m.big = o.quick ? 10 : 50;
	m.starts = o.quick ? 10 : 30;
	m.cancels = o.quick ? 5 : 15;
	m.sessions = o.quick ? 5 : 20;
	signal(SIGPIPE, SIG_IGN);
	as_root = o.uid == 0;
	node_prepare(&node, o.bin, o.uid, o.gid);
	launcher_open(&launcher, as_root ? SERVER_UID : o.uid,
	    as_root ? SERVER_UID : o.gid, node.first);
	node_start(&node, o.bin);
	run_rounds(&o, &m);
	snprintf(title, sizeof(title), "oz0d as %s, %u rounds",
	    as_root ? "root" : "an ordinary user", o.rounds);
	if (o.json)
		rows_print_json(&rows, title);
	else
		met = rows_print(&rows, title);
	rows_free(&rows);
	launcher_close(&launcher);
	node_close(&node);
	return o.strict && !met ? 3 : 0;
}
