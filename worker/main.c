/*
 * oz0-worker: the process that reads and writes MCP for the supervisor.  It is
 * started by oz0d alone, with its socket as descriptor 3, gives up every right
 * but its descriptors at once, and then serves frames until oz0d goes away.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fatal.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "sandbox/confine.h"
#include "sandbox/title.h"
#include "worker/report.h"
#include "worker/worker.h"

#define SOCKET_FD 3
#define LARGE (256 * 1024)
#define NAME_MAX_LEN 192

#ifdef OZ0_SANITIZERS
/* The search for leaks needs a thread that traces this one: not in here.  The
 * unit tests look for them. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

struct options {
	enum wire_worker_kind kind;
	const char *kind_name;
	const char *name;
	struct confine confine;
};

static void __attribute__((noreturn))
usage(void)
{
	fprintf(stderr,
	    "usage: oz0-worker session|plugins [--uid N --gid N] [--best] "
	    "[--filter FD] [--network FD] NAME\n"
	    "It is started by oz0d, not by hand.\n");
	exit(EXIT_CODE_USAGE);
}

static unsigned
parse_id(const char *s)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(s, &end, 10);
	if (*s < '0' || *s > '9' || *end != '\0' || errno != 0
	    || n >= UINT32_MAX)
		usage();
	return (unsigned)n;
}

static void
parse_kind(const char *word, struct options *o)
{
	static const struct {
		const char *word;
		enum wire_worker_kind kind;
	} kinds[] = { { "session", WIRE_WORKER_SESSION },
		{ "plugins", WIRE_WORKER_PLUGINS } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(word, kinds[i].word) == 0) {
			o->kind = kinds[i].kind;
			o->kind_name = kinds[i].word;
			return;
		}
	usage();
}

static void
parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "uid", required_argument, NULL, 'u' },
		{ "gid", required_argument, NULL, 'g' },
		{ "best", no_argument, NULL, 'b' },
		{ "filter", required_argument, NULL, 'f' },
		{ "network", required_argument, NULL, 'n' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	o->confine.uid = getuid();
	o->confine.gid = getgid();
	if (argc < 2)
		usage();
	parse_kind(argv[1], o);
	argc--;
	argv++;
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'u')
			o->confine.uid = parse_id(optarg);
		else if (c == 'g')
			o->confine.gid = parse_id(optarg);
		else if (c == 'b')
			o->confine.best = true;
		else if (c == 'f')
			o->confine.filter = (int)parse_id(optarg);
		else if (c == 'n')
			o->confine.network = (int)parse_id(optarg);
		else
			usage();
	}
	if (optind + 1 != argc)
		usage();
	o->name = argv[optind];
}

/* `ps` shows who it works for: "oz0-worker: session j1/1" (STYLE rule 20). */
static void
set_title(const struct options *o)
{
	char name[NAME_MAX_LEN]; /* the arguments are overwritten */

	str_copy(name, sizeof(name), o->name);
	if (o->kind == WIRE_WORKER_PLUGINS)
		title_set("oz0-worker: %s", o->kind_name);
	else
		title_set("oz0-worker: %s %s", o->kind_name, name);
	prctl(PR_SET_NAME, "oz0-worker");
}

static void
log_to_supervisor(enum log_level level, const char *line, void *arg)
{
	report_log(worker_chan(arg), level, line);
}

/* The supervisor hears why, as far as it still listens. */
static int
finish(struct worker *w, int code)
{
	chan_flush(worker_chan(w));
	log_set_sink(NULL, NULL);
	worker_free(w);
	return code;
}

int
main(int argc, char **argv)
{
	struct options o = { 0 };
	struct confine_fault fault = { 0 };
	struct worker *w;
	int r;

	title_init(argc, argv);
	log_init("oz0-worker", true);
	parse(argc, argv, &o);
	signal(SIGPIPE, SIG_IGN);
	/* what a large message took goes back to the system, every time */
	mallopt(M_MMAP_THRESHOLD, LARGE);
	if (fd_cloexec(SOCKET_FD, true) < 0 || fd_nonblock(SOCKET_FD) < 0)
		fatalx(EXIT_CODE_USAGE,
		    "descriptor %d is no socket: oz0d starts this",
		    SOCKET_FD);
	w = worker_new(SOCKET_FD, o.kind);
	if (w == NULL)
		fatalx(EXIT_CODE_UNAVAILABLE, "no event loop to be had");
	set_title(&o);
	log_set_sink(log_to_supervisor, w);
	r = confine_worker(&o.confine, &fault);
	if (r < 0) {
		log_error("cannot confine itself: %s: %s", fault.act,
		    strerror(fault.error));
		return finish(w, EXIT_CODE_UNAVAILABLE);
	}
	if (o.confine.filter > 0)
		fd_close(&o.confine.filter);
	if (o.confine.network > 0)
		fd_close(&o.confine.network);
	r = worker_run(w);
	if (r < 0)
		log_error("ends: %s", strerror(-r));
	return finish(w, r < 0 ? EXIT_CODE_INTERNAL : 0);
}
