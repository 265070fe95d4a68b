/*
 * Where calls wait, and who is next.  A call waits with its server until that
 * is ready and has room, then with its job until a slot is free; jobs take
 * turns (LIFECYCLE L3.9).  Each step costs the same with 1 or 20,000 queued.
 */
#include "supervisor/call_internal.h"
#include "supervisor/policy_gate.h"
#include "supervisor/process.h"

static bool
has_room(const struct server *sv)
{
	unsigned max = sv->tool->conf->max_running;

	return max == 0 || sv->running < max;
}

/* One that is stuck may answer other calls than those it left unconfirmed, and
 * is not stuck then (L9.3). */
static bool
takes_calls(const struct server *sv)
{
	return sv->state == SERVER_READY || sv->state == SERVER_STUCK;
}

static void
put(struct call_list *q, struct call *c)
{
	TAILQ_INSERT_TAIL(q, c, in_queue);
	c->queue = q;
}

static void
ring_add(struct supervisor *s, struct job *j)
{
	if (j->in_ring)
		return;
	TAILQ_INSERT_TAIL(&s->ready, j, ring);
	j->in_ring = true;
}

static void
ring_drop(struct supervisor *s, struct job *j)
{
	if (!j->in_ring)
		return;
	TAILQ_REMOVE(&s->ready, j, ring);
	j->in_ring = false;
}

void
queue_take(struct supervisor *s, struct call *c)
{
	if (c->queue == NULL)
		return;
	TAILQ_REMOVE(c->queue, c, in_queue);
	c->queue = NULL;
	if (TAILQ_EMPTY(&c->job->ready))
		ring_drop(s, c->job);
}

static void
record_queued(struct supervisor *s, struct call *c, const char *why)
{
	struct step *st = step_new(s, STEP_CALL_QUEUED, c->job->name);
	struct buf *b;

	step_call(st, c);
	b = step_words(st);
	buf_puts(b, "call c");
	buf_put_uint(b, c->number);
	buf_puts(b, " waits for ");
	buf_puts(b, why);
	step_commit(st);
}

void
queue_put(struct supervisor *s, struct call *c)
{
	struct server *sv = c->server;

	if (!takes_calls(sv)) {
		put(&sv->waiting, c);
		record_queued(s, c, "its server");
		server_want(s, sv);
		return;
	}
	put(&c->job->ready, c);
	ring_add(s, c->job);
	if (s->running >= s->conf->slots)
		record_queued(s, c, "a slot");
}

/* Calls of jobs that are ready may still find their server full: they wait
 * with it, and come back one by one as it gets room. */
void
queue_server_room(struct supervisor *s, struct server *sv)
{
	struct call *c;

	if (!takes_calls(sv) || !has_room(sv))
		return;
	c = TAILQ_FIRST(&sv->waiting);
	if (c == NULL)
		return;
	queue_take(s, c);
	put(&c->job->ready, c);
	ring_add(s, c->job);
}

void
calls_server_ready(struct supervisor *s, struct server *sv)
{
	struct call *c;

	while ((c = TAILQ_FIRST(&sv->waiting)) != NULL) {
		queue_take(s, c);
		put(&c->job->ready, c);
		ring_add(s, c->job);
	}
}

static void
start_one(struct supervisor *s, struct call *c)
{
	struct server *sv = c->server;

	queue_take(s, c);
	if (!takes_calls(sv)) {
		put(&sv->waiting, c);
		server_want(s, sv);
	} else if (!has_room(sv)) {
		put(&sv->waiting, c);
	} else {
		if (gate_ask(s, c, c->attempts == 0 ? GATE_START
						    : GATE_AGAIN) == GATE_GO)
			attempt_start(s, c);
		/* Room that is left, or was not taken, is the next one's. */
		queue_server_room(s, sv);
	}
}

void
dispatch_turn(struct supervisor *s)
{
	struct job *j;

	while (s->state == NODE_READY && s->running < s->conf->slots &&
	    !record_holds(s) && (j = TAILQ_FIRST(&s->ready)) != NULL) {
		/* To the end of the ring: every job has its turn. */
		ring_drop(s, j);
		start_one(s, TAILQ_FIRST(&j->ready));
		if (!TAILQ_EMPTY(&j->ready))
			ring_add(s, j);
	}
	jobs_settle(s);
}
