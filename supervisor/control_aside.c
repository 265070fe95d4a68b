/*
 * Calls that are asked for while the budget for messages is used up (LIFECYCLE
 * L9.6) are put aside, and what comes behind them on their connection goes on:
 * a cancel above all, which no queue of the node may stand before (L1.4a).
 * They are begun in their order, connections in turn, once there is room.
 * What is put aside is bounded in bytes; beyond that it is refused.  Runs in
 * oz0d; called by control_rpc.c and control_budget.c.
 */
#include "supervisor/control_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "supervisor/record.h"

#define BEGIN_PER_TURN 256
/* Of the budget: what one connection may put aside, and what all may. */
#define PART_OF_ONE 16
#define PART_OF_ALL 4

static void on_begin(evutil_socket_t fd, short what, void *arg);

static size_t
bound(const struct control *c, unsigned part)
{
	size_t n = (size_t)c->s->conf->message_budget / part;
	size_t line = (size_t)c->s->conf->max_message + CONN_LINE_SLACK;

	return n > line ? n : line; /* one line always fits */
}

bool
aside_fits(const struct conn *k, size_t bytes)
{
	const struct control *c = k->c;

	/* what others put aside takes no room from small requests */
	return bytes <= CONN_LONG_LINE ||
	       (bytes <= bound(c, PART_OF_ONE) &&
		   c->aside - k->aside + bytes <= bound(c, PART_OF_ALL));
}

void
aside_full_words(struct control *c, char *ret, size_t size)
{
	unsigned long long budget = c->s->conf->message_budget;

	snprintf(ret, size,
	    "the node's `message_budget` of %llu bytes is used up, and as many "
	    "requests as may wait for room do: %zu bytes for one connection, "
	    "%zu for all; call again later, or raise it",
	    budget, bound(c, PART_OF_ONE), bound(c, PART_OF_ALL));
}

int
aside_init(struct control *c)
{
	TAILQ_INIT(&c->waiting);
	c->begin = event_new(c->s->base, -1, 0, on_begin, c);
	return c->begin == NULL ? -ENOMEM : 0;
}

void
aside_free(struct control *c)
{
	if (c->begin != NULL)
		event_free(c->begin);
	c->begin = NULL;
}

/*
 * What asks for work waits, and its job's end behind it: job/end lets calls
 * end first, those that were asked for before it included.
 */
bool
aside_wanted(const struct conn *k, const struct method *m)
{
	if (m->fn == call_start_request)
		return budget_over(k->c) || !TAILQ_EMPTY(&k->aside_list);
	return m->fn == job_end_request && !TAILQ_EMPTY(&k->aside_list);
}

static size_t
cost(size_t len)
{
	return len + sizeof(struct request);
}

void
aside_put(struct request *q, struct json_value params)
{
	struct conn *k = q->conn;
	char words[300];

	if (!aside_fits(k, k->aside_bytes + cost(params.len))) {
		aside_full_words(k->c, words, sizeof(words));
		request_error(q, RPC_FAULT, "node_full", "%s", words);
		return;
	}
	q->params = mem_dup(params.p, params.len);
	q->params_len = params.len;
	q->asked = record_last_seq(k->c->s);
	k->aside_bytes += cost(params.len);
	if (TAILQ_EMPTY(&k->aside_list))
		TAILQ_INSERT_TAIL(&k->c->waiting, k, waiting);
	request_listed(q, &k->aside_list);
	k->c->naside++;
	conn_account(k);
}

/* Its params, which are the caller's from here on. */
static char *
take(struct request *q)
{
	struct conn *k = q->conn;
	char *params = q->params;

	request_unlisted(q);
	if (TAILQ_EMPTY(&k->aside_list) && !k->dead)
		TAILQ_REMOVE(&k->c->waiting, k, waiting);
	k->aside_bytes -= cost(q->params_len);
	k->c->naside--;
	q->params = NULL;
	return params;
}

void
aside_drop(struct request *q)
{
	if (q->params != NULL)
		free(take(q));
}

/*
 * It was meant for what then had the job's name.  That was cancelled since, and
 * has taken nothing new from there on (L1.3): the run that came after it is
 * neither given its calls nor ended by its end.
 */
bool
aside_is_late(const struct request *q, const struct params *p)
{
	CLEANUP_FREE char *name = params_string(p, "job");
	const struct job *j;

	if (q->asked == 0 || name == NULL)
		return false;
	j = job_find(q->conn->c->s, name);
	return j != NULL && j->started > q->asked;
}

/* A dead connection begins nothing more. */
void
aside_leave(struct conn *k)
{
	if (!TAILQ_EMPTY(&k->aside_list))
		TAILQ_REMOVE(&k->c->waiting, k, waiting);
}

/*
 * There is room; or it is not calls that take it, but what waits: then some of
 * that goes on.  To begin a call takes no more room, only in another place.
 */
static bool
may_begin(const struct control *c)
{
	return !TAILQ_EMPTY(&c->waiting) &&
	       (!budget_over(c) ||
		   c->s->payload_bytes < c->s->conf->message_budget / 2);
}

static void
begin_one(struct control *c)
{
	struct conn *k = TAILQ_FIRST(&c->waiting);
	struct request *q = TAILQ_FIRST(&k->aside_list);
	size_t len = q->params_len;
	char *text = take(q);

	if (!TAILQ_EMPTY(&k->aside_list)) {
		TAILQ_REMOVE(&c->waiting, k, waiting);
		TAILQ_INSERT_TAIL(&c->waiting, k, waiting);
	}
	request_begin(q, text, len);
	free(text);
	conn_account(k);
}

static void
on_begin(evutil_socket_t fd, short what, void *arg)
{
	struct control *c = arg;

	for (unsigned n = 0; n < BEGIN_PER_TURN && may_begin(c); n++)
		begin_one(c);
	/* budget_check() looks whether more can begin in the next turn */
}

void
aside_check(struct control *c)
{
	if (may_begin(c))
		event_active(c->begin, EV_READ, 0);
}
