/*
 * The start of a node.  Run by the supervisor once the state directory is its
 * own by `lock`.
 *
 * `alive` is free when no init, worker or oz0-journal of the node before lives
 * any more; usually they die by themselves within a moment.  That moment is
 * waited for before a new oz0-journal touches the database; then the log says
 * who else may be left.  All of it has ten seconds.
 */
#include "supervisor/startup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fatal.h"
#include "base/log.h"
#include "base/mem.h"
#include "supervisor/control.h"
#include "supervisor/folder.h"
#include "supervisor/journal.h"
#include "supervisor/leftover.h"
#include "supervisor/lock.h"
#include "supervisor/policy.h"
#include "supervisor/processes.h"
#include "supervisor/record.h"
#include "supervisor/tool.h"

#define BOUND SPAN_S(10)
#define FIRST_PATIENCE SPAN_S(2)
#define LOOK_EVERY SPAN_MS(10)
#define KILL_AGAIN SPAN_S(1)

struct startup {
	struct leftovers *left;
	bool alive; /* the lock is this node's */
	struct mono journal_by, until, kill_at;
	struct deadline look;
};

void
startup_failed(struct supervisor *s, const char *why)
{
	log_error("%s", why);
	s->processes->exit_code = EXIT_CODE_UNAVAILABLE;
	node_stop_start(s);
}

static void
give_up(struct supervisor *s)
{
	struct startup *st = s->processes->startup;
	CLEANUP(buf_free) struct buf who = { 0 };
	char why[1024];

	leftovers_name(st->left, &who);
	buf_putc(&who, '\0');
	if (leftovers_left(st->left) > 0)
		snprintf(why, sizeof(why),
		    "processes of the node before do not end: %s",
		    buf_at(&who));
	else
		snprintf(why, sizeof(why),
		    "a process of the node before holds %s/alive open and"
		    " does not end (fuser names it)",
		    s->conf->state_dir);
	startup_failed(s, why);
}

static void
record_node(struct supervisor *s)
{
	struct record r = {
		.type = REC_NODE,
		.u.node = { .boot_id = s->boot_id, .pid = (uint32_t)getpid() },
	};

	record_facts(s, &r);
	children_record(s);
}

static void
become_ready(struct supervisor *s)
{
	int r;

	startup_free(s);
	s->state = NODE_READY;
	record_node(s);
	recover_finish(s);
	remover_sweep(s);
	r = control_start(s);
	if (r < 0) {
		char why[512];

		snprintf(why, sizeof(why), "control socket %s: %s",
		    s->conf->socket, strerror(-r));
		startup_failed(s, why);
		return;
	}
	tools_start_eager(s);
	if (s->conf->policy->absent)
		log_notice("the configuration has no policy: all calls are "
			   "allowed");
	log_notice("node %s is ready, %s", s->conf->node, s->conf->socket);
	notify_ready(s);
	notify_start_watchdog(s);
	if (s->processes->drain_early)
		node_drain(s);
}

void
startup_advance(struct supervisor *s)
{
	struct startup *st = s->processes->startup;
	struct mono now = time_mono();
	const char *refuses;

	if (st == NULL || s->processes->no_start)
		return;
	if (!st->alive && lock_try_alive(s->processes->alive) == 0)
		st->alive = true;
	if (s->processes->journal == NULL
	    && (st->alive || !mono_before(now, st->journal_by))) {
		char why[512];

		if (journal_start(s, why, sizeof(why)) < 0) {
			startup_failed(s, why);
			return;
		}
	}
	refuses = record_refuses(s);
	if (st->alive && leftovers_left(st->left) == 0
	    && s->processes->journal != NULL && journal_recovered(s)
	    && (refuses == NULL || s->processes->no_space)) {
		become_ready(s);
		return;
	}
	if (!st->alive || leftovers_left(st->left) > 0) {
		if (!mono_before(now, st->until)) {
			give_up(s);
			return;
		}
		if (!mono_before(now, st->kill_at)) {
			leftovers_kill(st->left);
			st->kill_at = mono_add(now, KILL_AGAIN);
		}
		deadline_after(s, &st->look, LOOK_EVERY);
	}
}

static void
look(struct supervisor *s, void *arg)
{
	startup_advance(s);
}

void
startup_child(struct supervisor *s, const struct rec_child *c)
{
	struct startup *st = s->processes->startup;

	if (st != NULL && c->born)
		leftovers_add(s, st->left, c);
}

void
startup_begin(struct supervisor *s)
{
	struct startup *st = mem_zalloc(sizeof(*st));
	struct mono now = time_mono();

	st->left = leftovers_new();
	st->journal_by = mono_add(now, FIRST_PATIENCE);
	st->until = mono_add(now, BOUND);
	st->kill_at = mono_add(now, KILL_AGAIN);
	deadline_init(&st->look, look, NULL);
	s->processes->startup = st;
	startup_advance(s);
}

void
startup_free(struct supervisor *s)
{
	struct startup *st = s->processes->startup;

	if (st == NULL)
		return;
	s->processes->startup = NULL;
	deadline_clear(s, &st->look);
	leftovers_free(st->left);
	free(st);
}
