/*
 * The end of a call: recorded, then shown to all that wait for it, then what
 * is not to be kept is dropped.  A result is kept for a rejoin while its job
 * lives (LIFECYCLE L2.2), up to the node's result_limit.
 */
#include <stdlib.h>
#include <string.h>

#include "base/blob.h"
#include "base/mem.h"
#include "supervisor/call_internal.h"
#include "supervisor/control.h"
#include "supervisor/process.h"

/* "error":{...} of INTERFACES. */
static void
write_error(const struct call_end *e, struct jsonw *w)
{
	jsonw_object(w, "error");
	jsonw_string(w, "reason", call_reason_name(e->reason));
	jsonw_string(w, "message", e->message);
	if (e->has_code)
		jsonw_int(w, "code", e->code);
	if (e->limit != NULL) {
		jsonw_string(w, "limit", e->limit);
		jsonw_double(
		    w, e->limit_bytes ? "limit_bytes" : "limit_s",
		    e->limit_value);
	}
	jsonw_object_end(w);
}

static void
make_answer(
    struct supervisor *s, struct call *c, const struct call_end *e)
{
	struct buf b = { 0 };

	if (e->blob != NULL) {
		c->large = blob_ref(e->blob);
		c->answer_len = strlen(ANSWER_RESULT) + e->result_len;
		s->payload_bytes += c->answer_len;
		return;
	}
	if (e->result != NULL) {
		buf_puts(&b, ANSWER_RESULT);
		buf_put(&b, e->result, e->result_len);
	} else {
		struct buf error = { 0 };
		struct jsonw w;

		/* An object of one member, without its braces. */
		jsonw_init(&w, &error);
		jsonw_object(&w, NULL);
		write_error(e, &w);
		buf_put(&b, buf_at(&error) + 1, buf_len(&error) - 1);
		buf_free(&error);
	}
	c->answer = buf_steal(&b, &c->answer_len);
	s->payload_bytes += c->answer_len;
}

static void
add_words(struct buf *b, const char *between, const char *words)
{
	if (words == NULL)
		return;
	buf_puts(b, between);
	buf_puts(b, words);
}

/* What happened, what was made, and why nothing follows. */
static void
end_text(const struct call *c, const struct call_end *e, struct step *st)
{
	const char *state = call_state_name(c->state);
	const char *why = e->shown != NULL ? e->shown : e->message;
	struct buf *b = step_words(st);

	if (why != NULL && strcmp(why, state) == 0)
		why = NULL;
	buf_puts(b, "call c");
	buf_put_uint(b, c->number);
	buf_putc(b, ' ');
	buf_puts(b, state);
	if (c->attempts > 0) {
		buf_puts(b, " after ");
		buf_put_uint(b, c->attempts);
		buf_puts(b, c->attempts == 1 ? " attempt" : " attempts");
	}
	add_words(b, ": ", why);
	if (c->state != CALL_COMPLETED || c->outcome != OUTCOME_MADE)
		add_words(b, "; ", call_outcome_words(c->outcome));
	add_words(b, "; ", e->no_more);
}

/* An error is always kept, a result up to the node's result_limit. */
static bool
kept(const struct supervisor *s, const struct call *c)
{
	return c->answer_len <= s->conf->result_limit;
}

static void
record_end(struct supervisor *s, struct call *c, const struct call_end *e)
{
	struct record facts = { .type = REC_CALL_END };
	struct step *st = step_new(s, STEP_CALL_ENDED, c->job->name);
	bool keep = e->result == NULL || kept(s, c);

	facts.u.call_end = (struct rec_call_end) { .call = c->number,
		.state = (uint8_t)c->state,
		.outcome = (uint8_t)c->outcome,
		.stopped = (uint8_t)c->stopped,
		.evicted = !keep,
		.attempts = c->attempts,
		.answer = keep ? c->answer : "",
		.answer_len = keep ? c->answer_len : 0 };
	if (keep && c->large != NULL) {
		facts.u.call_end.answer = ANSWER_RESULT;
		facts.u.call_end.answer_len = strlen(ANSWER_RESULT);
		facts.u.call_end.result = e->result;
		facts.u.call_end.result_len = e->result_len;
	}
	step_call(st, c);
	jsonw_string(step_json(st), "function", c->function);
	jsonw_string(step_json(st), "state", call_state_name(c->state));
	jsonw_string(step_json(st), "outcome", call_outcome_name(c->outcome));
	jsonw_uint(step_json(st), "attempts", c->attempts);
	jsonw_string(
	    step_json(st), "stopped", call_stopped_name(c->stopped));
	if (e->reason != REASON_NONE)
		jsonw_string(
		    step_json(st), "reason", call_reason_name(e->reason));
	if (e->reason == REASON_CANCELED && c->job->state == JOB_RUNNING)
		step_asked(st);
	if (e->has_code)
		jsonw_int(step_json(st), "code", e->code);
	if (e->limit != NULL) {
		jsonw_string(step_json(st), "limit", e->limit);
		jsonw_double(step_json(st),
		    e->limit_bytes ? "limit_bytes" : "limit_s",
		    e->limit_value);
	}
	step_payload(st, c, "result", e->result, e->result_len);
	end_text(c, e, st);
	step_commit_facts(st, &facts);
}

/* ---- keeping answers ---- */

void
answer_drop(struct supervisor *s, struct call *c)
{
	if (c->kept) {
		TAILQ_REMOVE(&s->kept, c, in_kept);
		s->kept_bytes -= c->answer_len;
		c->kept = false;
	}
	free(c->answer);
	c->answer = NULL;
	blob_unref(c->large);
	c->large = NULL;
	c->answer_len = 0;
}

void
answer_keep(struct supervisor *s, struct call *c, bool has_result)
{
	struct call *oldest;

	if (!has_result)
		return; /* an error is small and always kept */
	TAILQ_INSERT_TAIL(&s->kept, c, in_kept);
	c->kept = true;
	s->kept_bytes += c->answer_len;
	while (s->kept_bytes > s->conf->kept_results &&
	    (oldest = TAILQ_FIRST(&s->kept)) != NULL) {
		answer_drop(s, oldest);
		oldest->evicted = true;
	}
}

/* It was shown: arguments are needed no more, a large result is not kept. */
static void
drop_payload(struct supervisor *s, struct call *c, const struct call_end *e)
{
	s->payload_bytes -= c->arguments_len + c->answer_len;
	free(c->arguments);
	c->arguments = NULL;
	c->arguments_len = 0;
	if (e->result != NULL && !kept(s, c)) {
		answer_drop(s, c);
		c->evicted = true;
	} else {
		answer_keep(s, c, e->result != NULL);
	}
}

void
waiter_add(struct waiter_list *l, struct waiter *w)
{
	TAILQ_INSERT_TAIL(l, w, entry);
	w->on = true;
}

void
waiters_tell(struct supervisor *s, struct waiter_list *l)
{
	struct waiter *w;

	while ((w = TAILQ_FIRST(l)) != NULL) {
		TAILQ_REMOVE(l, w, entry);
		w->on = false;
		w->fn(s, w);
	}
}

void
call_end(struct supervisor *s, struct call *c, const struct call_end *e)
{
	struct job *j = c->job;
	const char *why;
	bool was_ready;

	if (c->state != CALL_RUNNING && c->state != CALL_CANCELLING)
		s->queued--;
	was_ready = c->queue == &c->job->ready;
	queue_take(s, c);
	if (was_ready) /* the room that it came for is the next one's */
		queue_server_room(s, c->server);
	deadline_clear(s, &c->retry);
	call_limit_clear(s, c);
	why = e->shown != NULL ? e->shown : e->message;
	call_set(c, e->ev, why != NULL ? why : "done");
	c->reason = e->reason;
	/* L4.2: a busy result is the service's own word on the key. */
	c->outcome = e->ev == CALL_EV_DONE ? e->outcome
					   : call_outcome(c, e->outcome);
	make_answer(s, c, e);
	record_end(s, c, e);
	waiters_tell(s, &c->waiters);
	drop_payload(s, c, e);
	j->live--;
	if (c->made_up) {
		TAILQ_INSERT_TAIL(&j->made_up, c, in_made_up);
		j->nmade_up++;
	}
	job_touch(s, j);
}

void
call_end_idle(struct supervisor *s, struct call *c, enum call_event ev,
    enum call_reason reason, const char *message)
{
	struct call_end e = { .ev = ev, .reason = reason, .message = message };

	/* L1.10: nothing was sent, or what the last attempt left. */
	e.outcome = c->attempts == 0 ? OUTCOME_NOT_MADE : c->outcome;
	call_end(s, c, &e);
}
