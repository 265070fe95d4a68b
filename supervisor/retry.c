/*
 * What follows an attempt that ended: the call's end, or a wait and the next
 * attempt.  The one retry layer of the node (LIFECYCLE L3.3).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "supervisor/call_internal.h"
#include "supervisor/policy_gate.h"
#include "supervisor/process.h"

#define BUSY_WAIT_MAX SPAN_S(60) /* L4.2 */

/* L3.2: exponential, with full jitter. */
static struct span
backoff(const struct call *c)
{
	int64_t top = c->conf->backoff_base.us;
	int64_t cap = c->conf->backoff_cap.us;

	for (unsigned i = 1; i < c->attempts && top < cap; i++)
		top *= 2;
	if (top > cap)
		top = cap;
	if (top <= 0)
		return SPAN_US(0);
	return SPAN_US((int64_t)((double)arc4random() / 4294967296.0 *
	    (double)top));
}

static void
wait_for_next(struct supervisor *s, struct call *c, struct span wait,
    const char *why)
{
	struct record facts;
	struct step *st;

	/* From a queue (its server failed to start) it was counted already. */
	if (c->state != CALL_QUEUED)
		s->queued++;
	call_set(c, CALL_EV_RETRY, why);
	call_state_facts(c, &facts);
	st = step_new(s, STEP_RETRY_WAITING, c->job->name);
	step_call(st, c);
	jsonw_uint(step_json(st), "attempt", c->attempts + 1);
	jsonw_span(step_json(st), "wait_s", wait);
	jsonw_string(step_json(st), "key", c->key);
	step_text(st, "attempt %u of at most %u follows in %.3g s, under the "
		      "same key: %s",
	    c->attempts + 1, c->conf->max_attempts, span_seconds(wait), why);
	step_commit_facts(st, &facts);
	deadline_after(s, &c->retry, wait);
}

/* Would the wait outlast the call's own limit? */
static bool
outlasts(const struct call *c, struct span wait)
{
	return c->limit_at.us != MONO_NEVER.us &&
	    !mono_before(mono_add(time_mono(), wait), c->limit_at);
}

/* Why no attempt follows after that wait, though the rules would have one;
 * NULL: one may. */
static const char *
no_next(const struct supervisor *s, const struct call *c, struct span wait)
{
	if (c->attempts >= c->conf->max_attempts)
		return "that was the last attempt (`max_attempts`)";
	if (c->job->state != JOB_RUNNING)
		return "its job takes no further attempt";
	if (s->state == NODE_DRAINING || s->state == NODE_STOPPING)
		return "the node takes no further attempt";
	if (!record_is_safe(s))
		return "no further attempt can be recorded";
	if (outlasts(c, wait))
		return "the wait for the next attempt would outlast its "
		       "`call_timeout`";
	return NULL;
}

static void
end_with_result(struct supervisor *s, struct call *c,
    const struct attempt_end *e, const char *no_more)
{
	struct call_end end = { .ev = CALL_EV_DONE,
		.no_more = no_more,
		.outcome = c->outcome,
		.result = e->payload,
		.result_len = e->payload_len,
		.blob = e->blob };

	call_end(s, c, &end);
}

/* The limit that stands behind a failure, where there is one (L3.8). */
static void
name_limit(const struct supervisor *s, const struct call *c,
    struct call_end *end)
{
	switch (end->reason) {
	case REASON_TIMEOUT:
		end->limit = "timeout";
		end->limit_value = span_seconds(c->timeout);
		break;
	case REASON_CALL_TIMEOUT:
		end->limit = "call_timeout";
		end->limit_value = span_seconds(c->call_timeout);
		break;
	case REASON_TOO_LARGE:
		end->limit = "max_message";
		end->limit_value = (double)s->conf->max_message;
		end->limit_bytes = true;
		break;
	default:
		break;
	}
}

static void
end_failed(struct supervisor *s, struct call *c, enum call_reason reason,
    const struct attempt_end *e, const char *message, const char *no_more)
{
	struct call_end end = { .ev = CALL_EV_FAIL,
		.no_more = no_more,
		.reason = reason,
		.outcome = c->outcome,
		.message = message };
	char shown[64];

	name_limit(s, c, &end);
	if (e != NULL && e->how == WIRE_END_RPC_ERROR) {
		end.has_code = true;
		end.code = e->code;
		/* The server's own words are not the trace's (L8.2). */
		snprintf(shown, sizeof(shown), "JSON-RPC error %" PRId64,
		    e->code);
		if (!c->conf->trace_payload)
			end.shown = shown;
	}
	call_end(s, c, &end);
}

/* L3.8: which limit, with its value, and what to do about it. */
static void
end_timeout(struct supervisor *s, struct call *c, enum call_reason reason,
    const char *no_more)
{
	bool lowered = c->timeout.us < c->conf->timeout.us;
	char *m;

	if (reason == REASON_CALL_TIMEOUT)
		m = mem_printf("the call ran into its `call_timeout` of %.6g s "
			       "over all attempts and waits",
		    span_seconds(c->call_timeout));
	else if (lowered || span_is_none(c->conf->timeout))
		m = mem_printf("the attempt ran into the time limit of %.6g s "
			       "that its caller set",
		    span_seconds(c->timeout));
	else
		m = mem_printf("the attempt ran into its time limit of %.6g s; "
			       "raise `timeout` of %s if it needs more",
		    span_seconds(c->timeout), c->tool->name);
	end_failed(s, c, reason, NULL, m, no_more);
	free(m);
}

static void
after_time_limit(struct supervisor *s, struct call *c)
{
	struct span wait = backoff(c);
	const char *no_more = c->repeatable ? no_next(s, c, wait)
					    : c->why_repeatable;

	if (no_more == NULL)
		wait_for_next(s, c, wait, c->why_repeatable);
	else
		end_timeout(s, c,
		    c->repeatable && outlasts(c, wait) ? REASON_CALL_TIMEOUT
						       : REASON_TIMEOUT,
		    no_more);
}

/* An attempt that was stopped for a cause of L1.10. */
static void
after_stop(struct supervisor *s, struct call *c)
{
	struct call_end end = { .outcome = c->outcome,
		.reason = c->stop_reason };

	switch (c->stop_reason) {
	case REASON_TIMEOUT:
		after_time_limit(s, c);
		return;
	case REASON_CALL_TIMEOUT:
		end_timeout(s, c, REASON_CALL_TIMEOUT, NULL);
		return;
	case REASON_LOST:
		end.ev = CALL_EV_LOSE;
		end.message = "the node stopped while the call ran";
		break;
	case REASON_KILLED:
		end.ev = CALL_EV_CANCELED;
		end.message = "stopped by the kill switch of its tool (oz0 "
			      "unkill)";
		break;
	default:
		end.ev = CALL_EV_CANCELED;
		end.reason = REASON_CANCELED;
		end.message = "canceled";
		break;
	}
	call_end(s, c, &end);
}

/* L4.1: what is no value for it is a fault of the server. */
static void
note_malformed(
    struct supervisor *s, struct call *c, const struct attempt_end *e)
{
	struct step *st;

	if (!e->is_error ||
	    (e->busy != WIRE_BUSY_BAD_WAIT && e->busy != WIRE_BUSY_BAD_FLAG))
		return;
	st = step_new(s, STEP_FAULT, c->job->name);
	step_call(st, c);
	jsonw_string(step_json(st), "tool", c->tool->name);
	step_text(st, e->busy == WIRE_BUSY_BAD_WAIT
		? "fault of %s: oz0/retry_after is no number of seconds from 0 "
		  "on; the wait counts as not named"
		: "fault of %s: oz0/retryable is neither true nor false; the "
		  "result does not count as busy",
	    c->tool->name);
	step_commit(st);
}

/* L4.2 */
static void
after_busy(struct supervisor *s, struct call *c, const struct attempt_end *e)
{
	struct span wait = SPAN_US(0);
	bool named = e->busy == WIRE_BUSY_YES && e->retry_after >= 0;
	const char *no_more;

	/* A wait beyond what a span holds is longer than a minute. */
	if (named && !span_from_seconds(e->retry_after, &wait))
		wait = SPAN_NONE;
	if (!named)
		wait = backoff(c);
	if (!c->repeatable)
		no_more = c->why_repeatable;
	else if (wait.us > BUSY_WAIT_MAX.us)
		no_more = "the wait that the server named is longer than a "
			  "minute";
	else
		no_more = no_next(s, c, wait);
	if (no_more != NULL)
		end_with_result(s, c, e, no_more);
	else
		wait_for_next(s, c, wait,
		    named ? "the server is busy and named this wait"
			  : "the server is busy and named no wait");
}

void
call_after_attempt(struct supervisor *s, struct call *c,
    enum attempt_result result, const struct attempt_end *e,
    const char *message)
{
	const struct attempt_verdict *v = attempt_verdict(result);
	enum attempt_then then = c->repeatable ? v->repeatable : v->other;
	const char *no_more = c->repeatable ? "such an end is final"
					    : c->why_repeatable;
	struct span wait;

	if (c->state == CALL_CANCELLING) {
		after_stop(s, c);
		return;
	}
	switch (then) {
	case THEN_DONE:
		note_malformed(s, c, e);
		end_with_result(
		    s, c, e, result == RESULT_BUSY ? no_more : NULL);
		return;
	case THEN_BUSY:
		note_malformed(s, c, e);
		after_busy(s, c, e);
		return;
	case THEN_NEXT:
		wait = backoff(c);
		no_more = no_next(s, c, wait);
		if (no_more == NULL) {
			wait_for_next(s, c, wait,
			    c->outcome == OUTCOME_NOT_MADE
				? "nothing was made"
				: c->why_repeatable);
			return;
		}
		break;
	case THEN_FAIL:
		break;
	}
	if (c->repeatable && then == THEN_NEXT && no_more != NULL &&
	    outlasts(c, wait))
		end_timeout(s, c, REASON_CALL_TIMEOUT, no_more);
	else
		end_failed(s, c, v->reason, e, message, no_more);
}

void
call_retry_due(struct supervisor *s, void *arg)
{
	struct call *c = arg;

	if (c->state == CALL_WAITING_APPROVAL) {
		gate_timeout(s, c);
		return;
	}
	call_set(c, CALL_EV_DUE, "its wait is over");
	queue_put(s, c);
}

void
call_limit_begin(struct supervisor *s, struct call *c)
{
	if (span_is_none(c->call_timeout))
		return;
	c->limit_at = mono_add(time_mono(), c->call_timeout);
	deadline_set(s, &c->limit, c->limit_at);
	TAILQ_INSERT_TAIL(&s->limited, c, in_limited);
}

void
call_limit_clear(struct supervisor *s, struct call *c)
{
	if (c->limit_at.us == MONO_NEVER.us)
		return;
	deadline_clear(s, &c->limit);
	TAILQ_REMOVE(&s->limited, c, in_limited);
	c->limit_at = MONO_NEVER;
}

/* L3.8a: the limit over all attempts and waits.  A running attempt has its own
 * limit lowered to it and ends by that; one whose stop takes longer is the
 * last, since no wait fits before limit_at. */
void
call_limit_due(struct supervisor *s, void *arg)
{
	struct call *c = arg;

	if (c->attempt == NULL && !call_state_ended(c->state))
		end_timeout(s, c, REASON_CALL_TIMEOUT, NULL);
}

/* L3.7, last row: it counts as an attempt, so that it has an end. */
void
calls_server_failed(
    struct supervisor *s, struct server *sv, const char *why)
{
	struct call_list failed;
	struct call *c;

	TAILQ_INIT(&failed);
	TAILQ_CONCAT(&failed, &sv->waiting, in_queue);
	TAILQ_FOREACH(c, &failed, in_queue)
		c->queue = NULL;
	while ((c = TAILQ_FIRST(&failed)) != NULL) {
		struct record facts;
		struct step *st;

		TAILQ_REMOVE(&failed, c, in_queue);
		c->attempts++;
		c->outcome = OUTCOME_NOT_MADE;
		call_state_facts(c, &facts);
		st = step_new(s, STEP_ATTEMPT_ENDED, c->job->name);
		step_call(st, c);
		jsonw_uint(step_json(st), "attempt", c->attempts);
		jsonw_string(step_json(st), "outcome", "not_made");
		step_text(st, "attempt %u: the server could not be started: %s",
		    c->attempts, why);
		step_commit_facts(st, &facts);
		if (c->attempts == 1)
			call_limit_begin(s, c);
		call_after_attempt(s, c, RESULT_NOT_STARTED, NULL, why);
	}
}
