/*
 * Attempts: one request to a server, from its record until it has stopped.
 * Their time limits (LIFECYCLE L3.5), how they are stopped and what counts as
 * stopped (L1.2, L1.4), and that no two of a call ever overlap (L3.4).
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "supervisor/call_internal.h"
#include "supervisor/control.h"
#include "supervisor/process.h"

int
attempt_compare(const struct attempt *a, const struct attempt *b)
{
	return a->id < b->id ? -1 : a->id > b->id;
}
RB_GENERATE(attempt_tree, attempt, by_id, attempt_compare);

struct attempt *
attempt_find(struct supervisor *s, uint64_t id)
{
	struct attempt key;

	key.id = id;
	return RB_FIND(attempt_tree, &s->attempts, &key);
}

static bool
is_job_server(const struct attempt *a)
{
	return a->server->session != NULL;
}

/* ---- time ---- */

/* L3.5: two seconds, or a tenth of a shorter limit. */
static struct span
margin_of(struct span limit)
{
	return span_min(SPAN_S(2), (struct span) { limit.us / 10 });
}

static void attempt_due(struct supervisor *s, void *arg);

static void
set_limits(struct supervisor *s, struct attempt *a)
{
	struct call *c = a->call;
	struct span limit = c->timeout;

	a->started = time_mono();
	if (c->limit_at.us != MONO_NEVER.us)
		limit = span_min(limit, mono_since(c->limit_at, a->started));
	if (span_is_none(limit)) {
		a->stop_at = a->stop_until = MONO_NEVER;
		return;
	}
	if (limit.us < 0)
		limit.us = 0;
	a->stop_until = mono_add(a->started, limit);
	a->stop_at = mono_add(
	    a->started, (struct span) { limit.us - margin_of(limit).us });
	deadline_set(s, &a->timer, a->stop_at);
}

void
attempts_credit(struct supervisor *s, struct span held)
{
	struct attempt *a;
	struct call *c;

	RB_FOREACH(a, attempt_tree, &s->attempts) {
		if (a->cancelling)
			continue; /* stopping goes on under SIGTSTP too */
		a->stop_at = mono_add(a->stop_at, held);
		a->stop_until = mono_add(a->stop_until, held);
		deadline_set(s, &a->timer, a->stop_at);
	}
	/* whatever the call does now: it waits for the hold to end too */
	TAILQ_FOREACH(c, &s->limited, in_limited) {
		c->limit_at = mono_add(c->limit_at, held);
		deadline_set(s, &c->limit, c->limit_at);
	}
}

/* ---- starting ---- */

static struct function *
function_of(struct call *c)
{
	if (c->server->listing == NULL)
		return NULL;
	return function_find(c->server->listing, c->bare);
}

static void
fail_unknown(struct supervisor *s, struct call *c, const struct function *f)
{
	char *why;
	struct call_end e = { .ev = CALL_EV_FAIL,
		.reason = REASON_UNKNOWN_FUNCTION };

	why = f == NULL ? mem_printf("the server %s lists no function %s",
			      c->tool->name, c->bare)
			: mem_printf("%s is not callable: %s", c->function,
			      f->refused);
	e.message = why;
	e.outcome = c->attempts == 0 ? OUTCOME_NOT_MADE : c->outcome;
	call_end(s, c, &e);
	free(why);
}

void
attempt_start(struct supervisor *s, struct call *c)
{
	struct function *f = function_of(c);
	struct attempt *a;

	if (f == NULL || f->refused != NULL) {
		fail_unknown(s, c, f);
		return;
	}
	if (c->attempt != NULL)
		abort(); /* L3.4 */
	c->repeatable = call_repeatable(f, &c->why_repeatable);
	a = mem_zalloc(sizeof(*a));
	a->id = ++s->last_attempt;
	a->call = c;
	a->server = c->server;
	a->number = ++c->attempts;
	deadline_init(&a->timer, attempt_due, a);
	if (a->number == 1)
		call_limit_begin(s, c);
	set_limits(s, a);
	c->attempt = a;
	c->stop_reason = REASON_NONE;
	c->stopped = STOPPED_NONE;
	RB_INSERT(attempt_tree, &s->attempts, a);
	TAILQ_INSERT_TAIL(&a->server->attempts, a, in_server);
	a->server->running++;
	a->server->tool->running++;
	s->running++;
	s->queued--;
	call_set(c, CALL_EV_START, "a slot and its server are free");
	if (c->session != 0)
		session_note_call(s, session_find(c->job, c->session), c);
	attempt_step_started(s, a);
}

/* It is recorded, and waits for the log (attempts_send). */
static bool
is_unsent(const struct supervisor *s, const struct attempt *a)
{
	return a->id > s->last_sent;
}

void
attempts_send(struct supervisor *s)
{
	struct attempt_end e = { .how = WIRE_END_CANCELED,
		.retry_after = -1,
		.message = "the request could not be handed to the server's "
			   "worker" };
	struct attempt *a, key;
	uint64_t safe;

	if (record_holds(s))
		return;
	/* Nothing was recorded since the flush that found no hold. */
	commit_put(&s->commit, &s->sending, s->last_attempt,
	    record_flushed_seq(s));
	safe = commit_passed(&s->commit, &s->sending);
	for (;;) {
		key.id = s->last_sent + 1;
		a = RB_NFIND(attempt_tree, &s->attempts, &key);
		if (a == NULL || a->id > safe)
			return;
		s->last_sent = a->id;
		if (!worker_call(s, a))
			attempt_ended(s, a, &e);
	}
}


/* ---- ending ---- */

static void
detach(struct supervisor *s, struct attempt *a)
{
	struct server *sv = a->server;

	deadline_clear(s, &a->timer);
	RB_REMOVE(attempt_tree, &s->attempts, a);
	TAILQ_REMOVE(&sv->attempts, a, in_server);
	sv->running--;
	sv->tool->running--;
	s->running--;
	if (a->call->outcome != OUTCOME_NOT_MADE)
		a->call->may_be_made = true;
	a->call->attempt = NULL;
	queue_server_room(s, sv);
}

/* An attempt that was being stopped has stopped. */
static void
stopped(struct supervisor *s, struct attempt *a, enum call_stopped how)
{
	struct call *c = a->call;
	struct server *sv = a->server;

	/* Its worker has not said that it was sent, nor that it was not: one
	 * that hangs, or is not read from, says neither. */
	if (how == STOPPED_NOT_CONFIRMED) {
		a->sent = true;
		worker_gave_up(s, a);
	}
	c->stopped = how;
	c->outcome = a->answered_late ? OUTCOME_MADE
	    : a->sent		      ? OUTCOME_UNKNOWN
				      : OUTCOME_NOT_MADE;
	attempt_step_stopped(s, a);
	detach(s, a);
	free(a);
	call_after_attempt(s, c, RESULT_TIME_LIMIT, NULL, NULL);
	if (!sv->session && how != STOPPED_NONE)
		server_confirmed(s, sv, how != STOPPED_NOT_CONFIRMED);
}

static void
ended_while_stopping(struct supervisor *s, struct attempt *a,
    const struct attempt_end *e)
{
	bool answered = attempt_is_answer(e);

	if (!a->sent)
		a->sent = e->sent;
	if (answered)
		attempt_answer_dropped(s, a, e);
	if (is_job_server(a))
		return; /* only the death of its tree counts (L1.4) */
	if (answered)
		stopped(s, a, STOPPED_ANSWERED);
	else if (!a->sent)
		stopped(s, a, STOPPED_NONE);
	/* Else its shared server is ending: calls_server_gone() follows. */
}

/* What the caller is told; *ret_own is its memory, where it has some. */
static const char *
describe(const struct attempt_end *e, const struct attempt_verdict *v,
    char **ret_own)
{
	bool said = e->message != NULL && *e->message != '\0';

	if (e->how == WIRE_END_RPC_ERROR)
		*ret_own = mem_printf("%s %" PRId64 "%s%s", v->words, e->code,
		    said ? ": " : "", said ? e->message : "");
	else if (said)
		*ret_own = mem_printf("%s: %s", v->words, e->message);
	else
		return v->words;
	return *ret_own;
}

/* What the trace says: the server's own words are not for it (L8.2). */
static void
step_ended(struct supervisor *s, const struct attempt *a,
    const struct attempt_end *e, const struct attempt_verdict *v,
    const char *message)
{
	char words[64];

	if (e->how == WIRE_END_RPC_ERROR &&
	    !a->call->conf->trace_payload) {
		snprintf(words, sizeof(words), "%s %" PRId64, v->words,
		    e->code);
		message = words;
	}
	attempt_step_ended(s, a, message);
}

void
attempt_ended(
    struct supervisor *s, struct attempt *a, const struct attempt_end *e)
{
	enum attempt_result r = attempt_result_of(e);
	const struct attempt_verdict *v = attempt_verdict(r);
	CLEANUP_FREE char *own = NULL;
	struct call *c = a->call;
	const char *message;

	if (a->cancelling) {
		ended_while_stopping(s, a, e);
		return;
	}
	c->outcome = v->outcome;
	if (e->how == WIRE_END_RESULT || e->how == WIRE_END_RPC_ERROR)
		server_confirmed(s, a->server, true); /* it does not block */
	message = describe(e, v, &own);
	step_ended(s, a, e, v, message);
	detach(s, a);
	free(a);
	call_after_attempt(s, c, r, e, message);
}

static void
lose_unsent(struct supervisor *s, struct attempt *a, const char *why)
{
	struct call *c = a->call;
	struct call_end e = { .ev = CALL_EV_LOSE,
		.reason = REASON_LOST,
		.outcome = OUTCOME_NOT_MADE,
		.message = why };
	char *words;

	c->outcome = OUTCOME_NOT_MADE;
	words = mem_printf("not sent: %s", why);
	attempt_step_ended(s, a, words);
	free(words);
	detach(s, a);
	free(a);
	call_end(s, c, &e);
}

void
calls_lose_waiting(struct supervisor *s, const char *why)
{
	struct call *c, *next;

	RB_FOREACH_SAFE(c, call_tree, &s->calls, next) {
		if (call_state_ended(c->state))
			continue;
		if (c->attempt == NULL)
			call_end_idle(s, c, CALL_EV_LOSE, REASON_LOST, why);
		else if (is_unsent(s, c->attempt))
			lose_unsent(s, c->attempt, why);
	}
}

/* ---- stopping ---- */

void
attempt_stop(struct supervisor *s, struct attempt *a, enum call_reason reason,
    struct span time)
{
	struct call *c = a->call;

	a->cancelling = true;
	a->stop_until = mono_add(time_mono(), time);
	c->stop_reason = reason;
	call_set(c, CALL_EV_STOP, call_reason_name(reason));
	attempt_step_cancelling(s, a, reason);
	if (is_unsent(s, a)) {
		stopped(s, a, STOPPED_NONE);
		return;
	}
	deadline_set(s, &a->timer, a->stop_until);
	worker_cancel(s, a, call_reason_name(reason), is_job_server(a));
	if (is_job_server(a))
		server_stop(s, a->server, time, "its call is being stopped");
}

/* Which cause ends the call, where there are several (L1.10). */
static int
strength(enum call_reason reason)
{
	switch (reason) {
	case REASON_LOST:
		return 3; /* the node stops */
	case REASON_CANCELED:
	case REASON_KILLED:
		return 2; /* somebody wants it ended, for good */
	default:
		return 1; /* a time limit */
	}
}

/* The first cause stands, but for a stronger one; the trace has both. */
void
attempt_stop_cause(
    struct supervisor *s, struct attempt *a, enum call_reason reason)
{
	struct call *c = a->call;

	if (strength(reason) <= strength(c->stop_reason))
		return;
	c->stop_reason = reason;
	attempt_step_cancelling(s, a, reason);
}

/* The limit less its margin is over; or the time for stopping is. */
static void
attempt_due(struct supervisor *s, void *arg)
{
	struct attempt *a = arg;
	struct call *c = a->call;

	if (!a->cancelling) {
		bool whole = !mono_before(a->stop_until, c->limit_at);

		attempt_stop(s, a,
		    whole ? REASON_CALL_TIMEOUT : REASON_TIMEOUT,
		    mono_since(a->stop_until, a->stop_at));
	} else if (!is_job_server(a)) {
		stopped(s, a, STOPPED_NOT_CONFIRMED);
	}
	/* A job's own server: the ladder goes on until it is dead (L1.2). */
}

/* ---- reports on the way ---- */

void
attempt_sent(struct supervisor *s, struct attempt *a)
{
	a->sent = true;
}

void
attempt_cancel_sent(struct supervisor *s, struct attempt *a, bool written)
{
	if (!a->cancelling || a->cancel_sent)
		return;
	a->cancel_sent = true;
	attempt_step_cancel_sent(s, a, written);
}

void
attempt_progress(struct supervisor *s, struct attempt *a, double progress,
    bool has_total, double total)
{
	struct call *c = a->call;

	/* L5.3; the worker counts what it drops. */
	if (a->cancelling || !isfinite(progress) ||
	    (has_total && !isfinite(total)) ||
	    (a->has_progress && progress <= a->progress))
		return;
	a->has_progress = c->has_progress = true;
	a->progress = c->progress = progress;
	a->has_total = c->has_total = has_total;
	a->total = c->total = total;
	control_progress(s, c);
}

/* ---- servers that went away ---- */

void
calls_server_gone(struct supervisor *s, struct server *sv)
{
	struct attempt *a;

	while ((a = TAILQ_FIRST(&sv->attempts)) != NULL) {
		struct attempt_end e = { .how = WIRE_END_SERVER,
			.sent = a->sent,
			.retry_after = -1,
			.message = "no process of it is left" };

		if (a->cancelling)
			stopped(s, a, STOPPED_SERVER_GONE);
		else
			attempt_ended(s, a, &e);
	}
	/* Calls that waited for room on it want it again (L1.8). */
	if (!TAILQ_EMPTY(&sv->waiting))
		server_want(s, sv);
}

/*
 * L9.2.  What the server did is unknown, and nothing that it still writes will
 * be seen: attempts end here, but for those whose stop only the death of the
 * tree proves; the server is being stopped by the processes' side.
 */
void
calls_worker_gone(struct supervisor *s, struct server *sv)
{
	struct attempt *a, *next;

	TAILQ_FOREACH_SAFE(a, &sv->attempts, in_server, next) {
		struct call *c = a->call;

		a->sent = true; /* it may have been: nobody knows */
		if (a->cancelling)
			continue;
		c->outcome = OUTCOME_UNKNOWN;
		attempt_step_ended(
		    s, a, attempt_verdict(RESULT_WORKER_ENDED)->words);
		detach(s, a);
		free(a);
		call_after_attempt(
		    s, c, RESULT_WORKER_ENDED, NULL, "the worker ended");
	}
}
