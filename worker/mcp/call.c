/*
 * tools/call: attempts from their request to their end.  There is one retry
 * layer and it is not here (L3.3): a request is written once; only what a
 * server itself asks to go on with (input_required) makes another.
 */
#include "worker/mcp/client_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "worker/mcp/answer.h"
#include "worker/mcp/compose.h"

#define ROUNDS_MAX 10 /* L3.7a */
#define PROGRESS_EVERY SPAN_MS(50)

int
attempt_compare(const struct attempt *a, const struct attempt *b)
{
	return a->number < b->number ? -1 : a->number > b->number;
}

RB_GENERATE(attempt_tree, attempt, entry, attempt_compare)

static struct attempt *
find(struct client *c, uint64_t number)
{
	struct attempt key = { .number = number };

	return RB_FIND(attempt_tree, &c->attempts, &key);
}

static void
attempt_free(struct client *c, struct attempt *a)
{
	client_request_drop(c, &a->request);
	RB_REMOVE(attempt_tree, &c->attempts, a);
	buf_free(&a->text);
	free(a->function);
	free(a->key);
	free(a->traceparent);
	free(a);
}

static void
tell_cancel(struct client *c, struct attempt *a, bool written)
{
	if (!a->cancelled || a->cancel_told)
		return;
	a->cancel_told = true;
	c->ops->cancel_sent(c->arg, a->number, written);
}

static void
tell_progress(struct client *c, struct attempt *a)
{
	if (!a->untold)
		return;
	a->untold = false;
	c->ops->call_progress(
	    c->arg, a->number, a->last, a->has_total, a->total);
}

/* The one place where an attempt ends; e says how. */
static void
end(struct client *c, struct attempt *a, struct client_end *e)
{
	e->attempt = a->number;
	e->sent = a->sent;
	e->after_cancel = a->cancelled;
	e->dropped_progress = a->dropped;
	tell_progress(c, a);
	tell_cancel(c, a, false);
	c->ops->call_end(c->arg, e);
	attempt_free(c, a);
}

static void
end_plainly(struct client *c, struct attempt *a, enum wire_end how,
    const char *message)
{
	struct client_end e = { .how = how, .retry_after = -1,
		.message = message };

	end(c, a, &e);
}

void
call_end_all(struct client *c, enum wire_end how, bool unsent_only,
    const char *message)
{
	struct attempt *a, *next;

	RB_FOREACH_SAFE(a, attempt_tree, &c->attempts, next) {
		if (unsent_only) {
			if (a->request.begun
			    || !c->ops->unsend(c->arg, a->request.id))
				continue;
		}
		end_plainly(c, a, how, message);
	}
}

void
call_free_all(struct client *c)
{
	struct attempt *a, *next;

	RB_FOREACH_SAFE(a, attempt_tree, &c->attempts, next)
		attempt_free(c, a);
}

/* ---- out ---- */

static void
send_request(struct client *c, struct attempt *a, const char *arguments,
    size_t arguments_len, struct json_value state)
{
	struct compose_call call = { .envelope = "", .function = a->function,
		.key = a->key, .traceparent = a->traceparent,
		.progress = a->progress, .arguments = arguments,
		.arguments_len = arguments_len, .state = state };
	struct buf line = { 0 };

	if (c->modern)
		call.envelope = buf_at(&c->envelope);
	call.id = client_request_add(c, &a->request, REQUEST_CALL);
	compose_call(&line, &call, &a->arguments_at, &a->arguments_len);
	client_send(c, &line, call.id, false);
}

static const char *
not_callable(const struct client *c)
{
	if (c->eof)
		return "the server has ended its output";
	if (c->closed || c->muted)
		return "the server is being stopped";
	if (c->state == CLIENT_FAILED)
		return "the server is broken";
	if (c->state != CLIENT_READY)
		return "the server is not ready";
	return NULL;
}

bool
client_call(struct client *c, const struct client_call *call)
{
	struct json_value none = { 0 };
	struct attempt *a;
	const char *why;

	if (find(c, call->attempt) != NULL || !str_is_name(call->function)
	    || !compose_is_plain(call->key)
	    || !compose_is_plain(call->traceparent))
		return false;
	a = mem_zalloc(sizeof(*a));
	a->number = call->attempt;
	a->request.attempt = a;
	RB_INSERT(attempt_tree, &c->attempts, a);
	why = not_callable(c);
	if (why != NULL) {
		end_plainly(c, a, WIRE_END_SERVER, why);
		return true;
	}
	a->progress = call->progress;
	a->function = mem_strdup(call->function);
	a->key = mem_strdup(call->key);
	a->traceparent = mem_strdup(call->traceparent);
	send_request(c, a, call->arguments, call->arguments_len, none);
	return true;
}

/* ---- in ---- */

/* The server wants its state back: a new id, all else as before. */
static bool
go_on(struct client *c, struct attempt *a, struct json_value state)
{
	struct buf text = a->text;

	if (a->rounds == ROUNDS_MAX || a->cancelled
	    || not_callable(c) != NULL || buf_len(&text) == 0)
		return false;
	memset(&a->text, 0, sizeof(a->text));
	a->rounds++;
	client_request_drop(c, &a->request);
	send_request(c, a, buf_at(&text) + a->arguments_at, a->arguments_len,
	    state);
	buf_free(&text);
	return true;
}

void
call_answer(struct client *c, struct request *r, const struct message *m)
{
	struct attempt *a = r->attempt;
	struct answer ans;
	struct client_end e = { 0 };

	if (m->kind == MESSAGE_RESULT)
		answer_read_result(m, c->modern, &ans);
	else
		answer_read_error(m->body, &ans);
	if (ans.how == WIRE_END_INPUT_REQUIRED
	    && ans.state.type == JSON_STRING) {
		if (go_on(c, a, ans.state))
			return;
		snprintf(ans.message, sizeof(ans.message),
		    a->rounds == ROUNDS_MAX
			? "it asked to go on more than 10 times"
			: "it asked to go on, which it cannot any more");
	}
	e.how = ans.how;
	e.is_error = ans.is_error;
	e.busy = ans.busy;
	e.retry_after = ans.retry_after;
	e.code = ans.code;
	e.message = ans.message;
	if (ans.how == WIRE_END_RESULT || ans.how == WIRE_END_RPC_ERROR)
		e.payload = m->body;
	end(c, a, &e);
}

void
call_broken_answer(
    struct client *c, struct request *r, enum wire_end how, const char *why)
{
	end_plainly(c, r->attempt, how, why);
}

/*
 * L5.3.  The message of a progress notification never gets this far.  A server
 * that reports more often than every 50 ms is told of at that pace; the last
 * report always is.
 */
void
call_progress(struct client *c, struct attempt *a,
    const struct json_value *progress, const struct json_value *total,
    struct mono now)
{
	double value;
	struct mono due = mono_add(a->told_at, PROGRESS_EVERY);

	if (a->cancelled || !a->progress || !json_to_double(*progress, &value)
	    || (a->have_last && value <= a->last)) {
		a->dropped++;
		client_noise(c, WIRE_NOISE_PROGRESS, NULL, 0,
		    "progress that does not count");
		return;
	}
	a->last = value;
	a->total = 0;
	a->has_total = json_to_double(*total, &a->total);
	a->untold = true;
	if (!a->have_last || !mono_before(now, due)) {
		a->told_at = now;
		tell_progress(c, a);
	} else if (mono_before(due, c->progress_due)) {
		c->progress_due = due;
	}
	a->have_last = true;
}

void
call_expire(struct client *c, struct mono now)
{
	struct attempt *a;

	if (mono_before(now, c->progress_due))
		return;
	c->progress_due = MONO_NEVER;
	RB_FOREACH(a, attempt_tree, &c->attempts) {
		if (a->untold)
			a->told_at = now;
		tell_progress(c, a);
	}
}

/* ---- what became of a line ---- */

void
client_begun(struct client *c, int64_t tag)
{
	struct request *r;

	if (tag < 0)
		return; /* a cancel: it counts when all of it is written */
	r = client_request_find(c, tag);
	if (r == NULL)
		return;
	r->begun = true;
	if (r->kind == REQUEST_CALL && !r->attempt->sent) {
		r->attempt->sent = true;
		c->ops->call_sent(c->arg, r->attempt->number);
	}
}

void
client_written(struct client *c, int64_t tag, struct buf *text)
{
	struct request *r = client_request_find(c, tag < 0 ? -tag : tag);

	if (r == NULL || r->kind != REQUEST_CALL)
		return;
	if (tag < 0) {
		tell_cancel(c, r->attempt, true);
	} else if (c->modern) {
		/* the server may ask to go on with it */
		r->attempt->text = *text;
		memset(text, 0, sizeof(*text));
	}
}

/* ---- cancel ---- */

/* Nothing but this and other cancels goes to the server from here on. */
static void
stop_for_cancel(struct client *c)
{
	if (c->muted)
		return;
	c->muted = true;
	call_end_all(c, WIRE_END_CANCELED, true,
	    "the server was stopped before the request was written");
}

/* The line, or what stands before it, was not taken: no waiting (L1.4a). */
static void
push_or_end(struct client *c, uint64_t number)
{
	struct attempt *a;

	c->ops->push(c->arg);
	a = find(c, number);
	if (a != NULL && a->cancel_told)
		return;
	if (!c->closed) {
		c->closed = true;
		c->ops->end_input(c->arg);
	}
	if (a != NULL)
		tell_cancel(c, a, false);
}

/* LIFECYCLE L1.2, L1.4a, L1.6. */
bool
client_cancel(struct client *c, uint64_t number, const char *reason, bool stop)
{
	struct attempt *a = find(c, number);
	struct buf line = { 0 };
	bool again;

	if (a == NULL)
		return false;
	again = a->cancelled;
	a->cancelled = true;
	if (!a->request.begun && c->ops->unsend(c->arg, a->request.id)) {
		end_plainly(c, a, WIRE_END_CANCELED,
		    "cancelled before the request was written");
		if (stop)
			stop_for_cancel(c);
		return true;
	}
	if (stop)
		stop_for_cancel(c);
	if (c->closed || c->eof) {
		tell_cancel(c, a, false);
	} else if (!again) {
		compose_cancelled(&line, a->request.id, reason);
		c->ops->send(c->arg, &line, -a->request.id, true);
	}
	if (stop && !a->cancel_told)
		push_or_end(c, number);
	return true;
}
