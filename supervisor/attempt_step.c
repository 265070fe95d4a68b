/*
 * What the trace says of an attempt: when it starts, ends, is being stopped
 * and has stopped (LIFECYCLE L8.1).  Each step is recorded with the facts of
 * its call, so that both are true or neither.  Runs in oz0d, for attempt.c.
 */
#include <inttypes.h>
#include <string.h>

#include "supervisor/call_internal.h"
#include "supervisor/process.h"

#define PAYLOAD_SHOWN ((size_t)64 * 1024)

static struct step *
begin(struct supervisor *s, const struct attempt *a, enum step_event event)
{
	struct step *st = step_new(s, event, a->call->job->name);

	step_call(st, a->call);
	jsonw_uint(step_json(st), "attempt", a->number);
	return st;
}

/* Until an attempt has ended its outcome is not known (L9.1). */
static void
open_facts(const struct call *c, struct record *ret)
{
	call_state_facts(c, ret);
	ret->u.call_state.outcome = OUTCOME_UNKNOWN;
}

void
step_payload(struct step *st, const struct call *c, const char *name,
    const char *json, size_t len)
{
	if (c->conf == NULL || !c->conf->trace_payload || len == 0)
		return;
	if (len <= PAYLOAD_SHOWN)
		jsonw_raw(step_json(st), name, json, len);
	else
		jsonw_stringf(
		    step_json(st), name, "left out: %zu bytes", len);
}

/* L5.6: on a job's own or a plugin's server all that came before is begun
 * again, an attempt on another node included. */
static void
started_text(const struct attempt *a, struct step *st)
{
	const struct call *c = a->call;
	struct buf *b = step_words(st);

	buf_puts(b, "attempt ");
	buf_put_uint(b, a->number);
	if (a->number > 1 || c->has_prior) {
		buf_puts(b, ": started over: not a remote server");
		return;
	}
	buf_puts(b, " of at most ");
	buf_put_uint(b, c->repeatable ? c->conf->max_attempts : 1);
	buf_puts(b, " started on ");
	buf_puts(b, a->server->tool->name);
}

void
attempt_step_started(struct supervisor *s, const struct attempt *a)
{
	struct step *st = begin(s, a, STEP_ATTEMPT_STARTED);
	struct record facts;

	open_facts(a->call, &facts);
	jsonw_string(step_json(st), "tool", a->server->tool->name);
	if (!span_is_none(a->call->timeout))
		jsonw_span(step_json(st), "timeout", a->call->timeout);
	step_payload(st, a->call, "arguments", a->call->arguments,
	    a->call->arguments_len);
	started_text(a, st);
	step_commit_facts(st, &facts);
}

/* L5.3a: the attempt's last progress is recorded together with its end. */
static void
commit_end(struct supervisor *s, const struct attempt *a, struct step *st)
{
	struct record facts;

	call_state_facts(a->call, &facts);
	jsonw_string(
	    step_json(st), "outcome", call_outcome_name(a->call->outcome));
	if (a->has_progress) {
		jsonw_double(step_json(st), "progress", a->progress);
		if (a->has_total)
			jsonw_double(step_json(st), "total", a->total);
	}
	step_commit_facts(st, &facts);
}

void
attempt_step_ended(
    struct supervisor *s, const struct attempt *a, const char *words)
{
	struct step *st = begin(s, a, STEP_ATTEMPT_ENDED);
	struct buf *b = step_words(st);

	buf_puts(b, "attempt ");
	buf_put_uint(b, a->number);
	buf_puts(b, ": ");
	buf_puts(b, words);
	if (a->call->outcome != OUTCOME_MADE) {
		buf_puts(b, "; ");
		buf_puts(b, call_outcome_words(a->call->outcome));
	}
	commit_end(s, a, st);
}

static const char *
stop_words(const struct call *c)
{
	switch (c->stopped) {
	case STOPPED_SERVER_GONE:
		return "stopped: no process of its server is left";
	case STOPPED_ANSWERED:
		return "stopped: the server answered after the cancel";
	case STOPPED_NOT_CONFIRMED:
		return "stopped: not confirmed; what the server still does "
		       "lands";
	case STOPPED_NONE:
		break;
	}
	return "stopped before a byte of it was written";
}

void
attempt_step_stopped(struct supervisor *s, const struct attempt *a)
{
	struct step *st = begin(s, a, STEP_ATTEMPT_STOPPED);
	struct mono now = time_mono();

	jsonw_string(
	    step_json(st), "stopped", call_stopped_name(a->call->stopped));
	if (mono_before(a->stop_until, now))
		jsonw_span(step_json(st), "overrun_s",
		    mono_since(now, a->stop_until));
	step_text(st, "attempt %u: %s", a->number, stop_words(a->call));
	commit_end(s, a, st);
}

void
attempt_step_cancelling(
    struct supervisor *s, const struct attempt *a, enum call_reason reason)
{
	struct step *st = begin(s, a, STEP_CALL_CANCELLING);
	const struct call *c = a->call;
	unsigned n = a->number;
	struct record facts;

	open_facts(c, &facts);
	jsonw_string(step_json(st), "reason", call_reason_name(reason));
	/* A job's cancel has named its peer already. */
	if (reason == REASON_KILLED
	    || (reason == REASON_CANCELED && c->job->state == JOB_RUNNING))
		step_asked(st);
	switch (reason) {
	case REASON_TIMEOUT:
		step_text(st, "attempt %u is being stopped: its time limit of "
			      "%.6g s is near",
		    n, span_seconds(c->timeout));
		break;
	case REASON_CALL_TIMEOUT:
		step_text(st, "attempt %u is being stopped: the call_timeout "
			      "of %.6g s over all attempts is near",
		    n, span_seconds(c->call_timeout));
		break;
	case REASON_KILLED:
		step_text(st, "attempt %u is being stopped: the kill switch of "
			      "%s was set",
		    n, c->tool->name);
		break;
	case REASON_LOST:
		step_text(st, "attempt %u is being stopped: the node stops", n);
		break;
	default:
		step_text(st, "attempt %u is being stopped: %s", n,
		    call_reason_name(reason));
		break;
	}
	step_commit_facts(st, &facts);
}

void
attempt_step_cancel_sent(
    struct supervisor *s, const struct attempt *a, bool written)
{
	struct step *st = begin(s, a, STEP_CANCEL_SENT);

	jsonw_bool(step_json(st), "written", written);
	step_text(st, written ? "attempt %u: notifications/cancelled was sent"
			      : "attempt %u: the server takes no input; its "
				"stdin is ended instead of a cancel",
	    a->number);
	step_commit(st);
}
