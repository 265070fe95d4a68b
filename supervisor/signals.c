/*
 * Signals, by descriptor: no handler ever runs, so none can run in a child
 * that still shares this memory (sandbox/launch.c).  What each means is the
 * table of INTERFACES, and the one below.
 */
#include "supervisor/signals.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fatal.h"
#include "base/fd.h"
#include "base/log.h"
#include "supervisor/control.h"
#include "supervisor/hold.h"
#include "supervisor/processes.h"

static void
reload(struct supervisor *s)
{
	CLEANUP(buf_free) struct buf words = { 0 };

	if (s->state != NODE_STARTING)
		node_reload(s, &words);
}

static void
write_state(struct supervisor *s)
{
	CLEANUP(buf_free) struct buf text = { 0 };

	status_write(s, &text);
	log_notice("state: %.*s", (int)buf_len(&text), buf_at(&text));
}

static const struct {
	int signo;
	void (*fn)(struct supervisor *s);
} table[] = {
	{ SIGTERM, node_drain },
	{ SIGINT, node_drain },
	{ SIGHUP, reload },
	{ SIGUSR1, write_state },
	{ SIGTSTP, hold_begin },
	{ SIGCONT, hold_end },
	{ SIGCHLD, children_reap },
};

#define NSIGNALS (sizeof(table) / sizeof(table[0]))

void
signals_reset(void)
{
	sigset_t none;

	for (int signo = 1; signo < NSIG; signo++)
		signal(signo, SIG_DFL); /* KILL, STOP and libc's own refuse */
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct signalfd_siginfo info[16];
	struct supervisor *s = arg;
	ssize_t n = read(fd, info, sizeof(info));

	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(info[0]); i++) {
		log_debug("signal %u from pid %u", info[i].ssi_signo,
		    info[i].ssi_pid);
		for (size_t k = 0; k < NSIGNALS; k++)
			if (table[k].signo == (int)info[i].ssi_signo)
				table[k].fn(s);
	}
}

void
signals_open(struct supervisor *s)
{
	struct processes *ps = s->processes;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < NSIGNALS; i++)
		sigaddset(&set, table[i].signo);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		fatal(EXIT_CODE_INTERNAL, "sigprocmask");
	ps->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (ps->signal_fd < 0)
		fatal(EXIT_CODE_INTERNAL, "signalfd");
	ps->signals = event_new(s->base, ps->signal_fd, EV_READ | EV_PERSIST,
	    on_readable, s);
	if (ps->signals == NULL || event_add(ps->signals, NULL) < 0)
		fatalx(EXIT_CODE_INTERNAL, "the event loop takes no signals");
}

void
signals_close(struct supervisor *s)
{
	if (s->processes->signals != NULL)
		event_free(s->processes->signals);
	s->processes->signals = NULL;
	fd_close(&s->processes->signal_fd);
}
