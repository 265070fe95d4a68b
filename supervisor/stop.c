/*
 * How a node ends: drain, then fast, each step when the one before is done
 * (INTERFACES, signals).  Run by the supervisor once a turn.
 *
 *	draining	running calls may end, until drain_timeout
 *	stopping	calls, sessions, then plugins' servers, workers,
 *			folders, oz0-journal; exit 0
 */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fatal.h"
#include "base/log.h"
#include "base/mem.h"
#include "supervisor/call.h"
#include "supervisor/control.h"
#include "supervisor/folder.h"
#include "supervisor/journal.h"
#include "supervisor/processes.h"
#include "supervisor/record.h"

#define STOP_BOUND SPAN_S(120) /* for what SIGKILL does not end */
#define REMOVE_BOUND SPAN_S(5)

static void
end(struct supervisor *s)
{
	struct processes *ps = s->processes;

	if (!ps->stopped) {
		control_stop(s);
		record_flush(s); /* the last that oz0-journal takes in */
		if (!journal_synced(s))
			return;
		ps->stopped = true;
		control_flush(s);
		journal_stop(s);
	}
	if (journal_is_dead(s)) {
		log_notice("stopped");
		ps->done = true;
	}
}

static void
begin_fast(struct supervisor *s, const char *why)
{
	struct processes *ps = s->processes;

	if (ps->fast)
		return;
	ps->fast = true;
	s->state = NODE_STOPPING;
	deadline_clear(s, &ps->drain);
	deadline_after(s, &ps->stop, STOP_BOUND);
	log_notice("stopping: %s", why);
	jobs_stop(s);
}

static void
drain_over(struct supervisor *s, void *arg)
{
	begin_fast(s, "drain_timeout is over");
}

static void
stop_over(struct supervisor *s, void *arg)
{
	struct processes *ps = s->processes;

	if (ps->removing) { /* what is left of folders the next start removes */
		deadline_clear(s, &ps->stop);
		end(s);
		return;
	}
	log_error("%u process%s do not end: %s; the next start waits for them",
	    children_count(s), children_count(s) == 1 ? "" : "es",
	    s->degraded == NULL ? "no reason known" : s->degraded);
	ps->exit_code = EXIT_CODE_INTERNAL;
	ps->done = true;
}

void
stop_init(struct supervisor *s)
{
	deadline_init(&s->processes->drain, drain_over, NULL);
	deadline_init(&s->processes->stop, stop_over, NULL);
}

/* oz0-journal is its only child by then: it goes first, as ever. */
void
node_stop_start(struct supervisor *s)
{
	struct processes *ps = s->processes;

	if (ps->no_start)
		return;
	ps->no_start = true;
	deadline_after(s, &ps->stop, STOP_BOUND);
	journal_stop(s);
}

void
node_drain(struct supervisor *s)
{
	struct processes *ps = s->processes;

	switch (s->state) {
	case NODE_STARTING:
		log_notice("told to end before the node was ready");
		node_stop_start(s);
		break;
	case NODE_READY:
	case NODE_HOLDING:
		s->state = NODE_DRAINING;
		log_notice("draining");
		notify_stopping(s);
		deadline_after(s, &ps->drain, s->conf->drain_timeout);
		jobs_drain(s);
		break;
	case NODE_DRAINING:
		begin_fast(s, "told so a second time");
		break;
	case NODE_STOPPING:
		break;
	}
}

void
node_stop_fast(struct supervisor *s, const char *why)
{
	if (s->state == NODE_STARTING)
		node_stop_start(s);
	else
		begin_fast(s, why);
}

/* Plugins' servers end beside the sessions: nobody new can want them. */
static bool
plugins_dead(struct supervisor *s)
{
	struct server *sv;
	bool dead = true;

	TAILQ_FOREACH(sv, &s->processes->servers, entry) {
		if (!sv->process->for_good)
			server_stop_for_good(s, sv,
			    sv->tool->conf->stop_timeout, "the node stops");
		if (!server_is_dead(sv))
			dead = false;
	}
	return dead;
}

static bool
workers_dead(struct supervisor *s)
{
	struct worker *w, *next;

	TAILQ_FOREACH_SAFE(w, &s->processes->workers, entry, next)
		worker_stop(s, w);
	return TAILQ_EMPTY(&s->processes->workers);
}

void
processes_advance(struct supervisor *s)
{
	struct processes *ps = s->processes;

	if (ps->no_start && journal_is_dead(s))
		ps->done = true;
	if (ps->no_start)
		return;
	if (s->state == NODE_DRAINING && RB_EMPTY(&s->attempts)
	    && s->queued == 0)
		begin_fast(s, "drained");
	if (s->state != NODE_STOPPING || ps->done)
		return;
	if (!plugins_dead(s) || ps->nsessions > 0 || !jobs_idle(s)
	    || !workers_dead(s))
		return;
	if (!remover_idle(s) && !ps->removing) {
		ps->removing = true;
		deadline_after(s, &ps->stop, REMOVE_BOUND);
	}
	if (remover_idle(s))
		end(s);
}
