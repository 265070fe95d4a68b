/*
 * oz0-journal: follows oz0d's log into SQLite, answers for the past, keeps
 * the log's next segment ready.  Started by oz0d alone, with one end of a
 * socketpair as descriptor 3; the other end's closing is its end.  It ignores
 * the signals that a service manager or a terminal sends to the whole group:
 * it has to take in what oz0d writes last.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/fatal.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "journal/journal.h"

#define LINK_FD 3
#define MAX_PAYLOAD ((size_t)16 << 20)
#define MAX_LINE ((size_t)4000)
#define MAX_LINES_QUEUED ((size_t)1 << 20)
/* Freed memory up to this stays: each batch takes about as much again. */
#define KEEP_FREE (4 * 1024 * 1024)

static const char help[] =
    "usage: oz0-journal [--uid N --gid N] [--best]\n"
    "Records what oz0d does; started by oz0d alone.\n"
    "\n"
    "  --uid N     switch to this user, when started by root\n"
    "  --gid N     and to this group\n"
    "  --best      leave out what of the confinement is not to be had\n"
    "  --help      print this\n"
    "  --version   print the version\n";

static void
usage(void)
{
	fatalx(EXIT_CODE_USAGE,
	    "usage: oz0-journal [--uid N --gid N] [--best] (by oz0d)");
}

static unsigned
number(const char *s)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(s, &end, 10);
	if (errno != 0 || end == s || *end != '\0' || n >= UINT32_MAX)
		usage();
	return (unsigned)n;
}

static void
read_arguments(struct journal *j, int argc, char **argv)
{
	static const struct option options[] = {
		{ "uid", required_argument, NULL, 'u' },
		{ "gid", required_argument, NULL, 'g' },
		{ "best", no_argument, NULL, 'b' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'u':
			j->confine.uid = number(optarg);
			break;
		case 'g':
			j->confine.gid = number(optarg);
			break;
		case 'b':
			j->confine.best = true;
			break;
		case 'h':
			fputs(help, stdout);
			exit(0);
		case 'V':
			puts("oz0-journal " PACKAGE_VERSION);
			exit(0);
		default:
			usage();
		}
	}
	if (optind != argc)
		usage();
}

/* A line of the log goes to the supervisor, which puts the name on it. */
static void
log_to_supervisor(enum log_level level, const char *line, void *arg)
{
	struct journal *j = arg;
	size_t n = strlen(line);
	struct buf *b;

	if (chan_queued(j->chan) > MAX_LINES_QUEUED)
		return;
	b = chan_begin(j->chan, WIRE_JOURNAL_LOG);
	wire_put_u8(b, (uint8_t)level);
	wire_put_bytes(b, line, n < MAX_LINE ? n : MAX_LINE);
	chan_end(j->chan, NULL, 0, NULL, 0);
	if (level <= LOG_LEVEL_ERROR)
		chan_flush(j->chan); /* it may be the last one */
}

static int
timeout_ms(struct mono due)
{
	int64_t us;

	if (due.us == MONO_NEVER.us)
		return -1;
	us = mono_since(due, time_mono()).us;
	if (us <= 0)
		return 0;
	return us > 3600 * INT64_C(1000000) ? 3600000
					    : (int)((us + 999) / 1000);
}

/* Everything that came: false at the end of the supervisor. */
static bool
receive(struct journal *j)
{
	struct chan_frame *f;
	const char *why;
	int r = chan_read(j->chan);

	if (r == -EAGAIN)
		return true;
	if (r <= 0)
		return false;
	while ((r = chan_next(j->chan, &f, &why)) == 1)
		if (!journal_serve(j, f))
			fatalx(EXIT_CODE_INTERNAL,
			    "message %d of oz0d out of place or malformed",
			    (int)f->type);
	if (r < 0)
		fatalx(EXIT_CODE_INTERNAL, "a message of oz0d: %s", why);
	return true;
}

static void
run(struct journal *j)
{
	bool more = false, alive = true;

	while (alive) {
		struct pollfd p = { .fd = chan_fd(j->chan),
			.events = POLLIN };

		if (chan_pending(j->chan))
			p.events |= POLLOUT;
		if (poll(&p, 1, more ? 0 : timeout_ms(journal_due(j))) < 0
		    && errno != EINTR)
			fatal(EXIT_CODE_INTERNAL, "poll");
		if ((p.revents & (POLLIN | POLLHUP | POLLERR)) != 0)
			alive = receive(j);
		more = journal_turn(j);
		if (chan_flush(j->chan) < 0)
			alive = false;
	}
}

int
main(int argc, char **argv)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE,
		SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP };
	struct journal j = { .state_dir = -1 };
	sigset_t none;

	log_init("oz0-journal", true);
	prctl(PR_SET_NAME, "oz0-journal");
	read_arguments(&j, argc, argv);
	sigemptyset(&none);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	sigprocmask(SIG_SETMASK, &none, NULL);
	tzset();
	mallopt(M_TRIM_THRESHOLD, KEEP_FREE);
	mallopt(M_MMAP_THRESHOLD, KEEP_FREE);
	if (fd_nonblock(LINK_FD) < 0 || fd_cloexec(LINK_FD, true) < 0)
		fatalx(EXIT_CODE_USAGE,
		    "descriptor 3 is not the channel of oz0d");
	j.chan = chan_new(LINK_FD, WIRE_ROLE_JOURNAL, WIRE_ROLE_SUPERVISOR,
	    MAX_PAYLOAD);
	j.queries = queries_new();
	j.batch = batch_new();
	log_set_sink(log_to_supervisor, &j);
	run(&j);
	log_set_sink(NULL, NULL);
	journal_finish(&j);
	fd_close(&j.state_dir);
	chan_free(j.chan);
	return 0;
}
