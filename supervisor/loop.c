/*
 * The loop: one turn after another until the node has ended.  A turn is
 * events, deadlines, new attempts, the log, and only then what leaves
 * (supervisor.h).  Nothing in it blocks.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fatal.h"
#include "base/mem.h"
#include "supervisor/call.h"
#include "supervisor/control.h"
#include "supervisor/hold.h"
#include "supervisor/journal.h"
#include "supervisor/processes.h"
#include "supervisor/record.h"
#include "supervisor/tool.h"

#define TITLE_EVERY SPAN_MS(100)

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct supervisor *s = arg;
	uint64_t n;

	/* deadlines run in every turn; this only wakes it */
	if (read(fd, &n, sizeof(n)) > 0)
		s->processes->timer_at = MONO_NEVER;
}

static void
open_timer(struct supervisor *s)
{
	struct processes *ps = s->processes;

	ps->timer_fd = timerfd_create(
	    CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (ps->timer_fd < 0)
		fatal(EXIT_CODE_INTERNAL, "timerfd");
	ps->timer = event_new(
	    s->base, ps->timer_fd, EV_READ | EV_PERSIST, on_timer, s);
	if (ps->timer == NULL || event_add(ps->timer, NULL) < 0)
		fatalx(EXIT_CODE_INTERNAL, "the event loop takes no timer");
	ps->timer_at = MONO_NEVER;
}

/* An earlier wake-up than needed costs a turn; a later one is a fault. */
static void
set_timer(struct supervisor *s)
{
	struct processes *ps = s->processes;
	struct mono at = deadline_first(s);
	struct itimerspec t = { 0 };

	if (at.us == ps->timer_at.us)
		return;
	ps->timer_at = at;
	if (at.us != MONO_NEVER.us) {
		int64_t us = at.us < 1 ? 1 : at.us;

		t.it_value.tv_sec = us / 1000000;
		t.it_value.tv_nsec = us % 1000000 * 1000;
	}
	if (timerfd_settime(ps->timer_fd, TFD_TIMER_ABSTIME, &t, NULL) < 0)
		fatal(EXIT_CODE_INTERNAL, "timerfd_settime");
}

/* deadlines run in every turn; this only wakes it, for set_title() */
static void
on_title(struct supervisor *s, void *arg)
{
}

/*
 * `ps` is a user interface (STYLE rule 20), for eyes: it need not follow each
 * of thousands of calls a second.
 */
static void
set_title(struct supervisor *s, struct mono now)
{
	struct processes *ps = s->processes;
	struct title *t = &ps->title;

	if (t->set && t->sessions == ps->nsessions && t->calls == s->running)
		return;
	if (t->set && mono_since(now, t->at).us < TITLE_EVERY.us) {
		if (!t->due.set)
			deadline_set(s, &t->due, mono_add(t->at, TITLE_EVERY));
		return;
	}
	t->set = true;
	t->at = now;
	t->sessions = ps->nsessions;
	t->calls = s->running;
	setproctitle("%u session%s, %u call%s", t->sessions,
	    t->sessions == 1 ? "" : "s", t->calls, t->calls == 1 ? "" : "s");
}

static void
turn(struct supervisor *s)
{
	struct mono now = time_mono();

	hold_credit(s, now);
	deadline_run(s, now);
	dispatch_turn(s);
	tools_restart_stale(s);
	processes_advance(s);
	workers_launch(s);
	record_flush(s);
	journal_commit(s);
	control_flush(s); /* before the request it tells of (L2.5) */
	attempts_send(s);
	record_flush(s);
	process_flush(s); /* stops and pings wait for no log (L9.5) */
	journal_commit(s);
	control_flush(s);
	workers_budget(s);
	set_title(s, now);
	set_timer(s);
}

int
supervisor_run(struct supervisor *s)
{
	open_timer(s);
	deadline_init(&s->processes->title.due, on_title, NULL);
	while (!s->processes->done) {
		turn(s);
		if (s->processes->done)
			break;
		if (event_base_loop(s->base, EVLOOP_ONCE) < 0)
			fatalx(EXIT_CODE_INTERNAL, "the event loop failed");
	}
	return s->processes->exit_code;
}
