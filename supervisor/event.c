/*
 * Events: every step goes to every subscriber, once and in order.  One that
 * comes back says what it saw last and is first given what it missed, from
 * memory or, page by page as it reads, from oz0-journal; then it is live.
 * Progress has no number and is not repeated.  Runs in oz0d; the core calls
 * control_event() and control_progress(), which only queue.
 */
#include "supervisor/control_internal.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "supervisor/call.h"
#include "supervisor/record.h"

#define PAGE_ROWS 256
#define PAGE_BYTES ((size_t)1 << 20)
#define PROGRESS_MAX ((size_t)1 << 20) /* of events that wait: then dropped */

void
event_line(struct buf *out, const char *json, size_t len)
{
	buf_puts(out, "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":");
	buf_put(out, json, len);
	buf_puts(out, "}\n");
}

static void
give(struct conn *k, uint64_t seq, const char *json, size_t len)
{
	if (seq <= k->seen)
		return;
	event_line(&k->events, json, len);
	k->seen = seq;
	conn_dirty(k);
}

/*
 * A client that does not read its events is dropped.  One that could not,
 * since the log is not synced, is given the rest of them later.
 */
static void
too_many(struct conn *k)
{
	if (k->is_unsafe)
		k->sub = SUB_PAST;
	else
		conn_kill(k, "it does not read its events");
}

void
control_event(struct supervisor *s, uint64_t seq, const char *json, size_t len)
{
	struct control *c = s->control;
	struct conn *k, *next;

	if (c == NULL)
		return;
	TAILQ_FOREACH_SAFE(k, &c->subscribers, subscriber, next)
	{
		if (k->sub != SUB_LIVE)
			continue;
		give(k, seq, json, len);
		if (buf_len(&k->events) > CONN_EVENTS_MAX)
			too_many(k);
		conn_account(k);
	}
	if (!TAILQ_EMPTY(&c->starting))
		session_run_event(c, json, len);
}

static void
write_progress(const struct call *call, struct buf *out)
{
	struct jsonw w;

	jsonw_init(&w, out);
	jsonw_object(&w, NULL);
	jsonw_wall(&w, "time", time_wall());
	jsonw_string(&w, "job", call->job->name);
	jsonw_string(&w, "event", "progress");
	jsonw_stringf(&w, "call", "c%" PRIu64, call->number);
	jsonw_uint(&w, "attempt", call->attempts);
	jsonw_double(&w, "progress", call->progress);
	if (call->has_total)
		jsonw_double(&w, "total", call->total);
	jsonw_object_end(&w);
}

void
control_progress(struct supervisor *s, const struct call *call)
{
	struct control *c = s->control;
	struct buf json = {0};
	struct conn *k;

	if (c == NULL || TAILQ_EMPTY(&c->subscribers))
		return;
	write_progress(call, &json);
	TAILQ_FOREACH(k, &c->subscribers, subscriber)
	{
		if (k->sub != SUB_LIVE || buf_len(&k->events) > PROGRESS_MAX)
			continue;
		event_line(&k->events, buf_at(&json), buf_len(&json));
		conn_dirty(k);
		conn_account(k);
	}
	buf_free(&json);
}

/* ---- what a subscriber missed ---- */

struct taking {
	struct conn *k;
	bool full;
};

static void
take_recent(void *arg, uint64_t seq, const char *json, size_t len)
{
	struct taking *t = arg;

	if (buf_len(&t->k->events) > PAGE_BYTES)
		t->full = true;
	if (!t->full)
		give(t->k, seq, json, len);
}

static void
on_row(struct supervisor *s, struct journal_reader *r, const char *json,
    size_t len)
{
	struct conn *k = r->arg;
	struct json_value v;
	struct json_fault f;
	uint64_t seq;

	/* oz0-journal's bytes are proven like a worker's */
	if (json_check(json, len, &v, &f) && memchr(json, '\n', len) == NULL &&
	    json_to_uint64(json_member(v, "seq"), &seq))
		give(k, seq, v.p, v.len);
}

static void
on_end(struct supervisor *s, struct journal_reader *r, const char *error,
    bool more)
{
	struct conn *k = r->arg;

	k->reading_past = false;
	if (error != NULL) {
		log_warning("control: events after %" PRIu64
			    " cannot be read: %s",
		    k->seen, error);
		subscriber_drop(k); /* never with a gap: it comes back */
		conn_close_after(k);
		return;
	}
	if (!more && k->seen < k->asked_at)
		k->seen = k->asked_at; /* there are no others up to there */
	conn_account(k);
	conn_wake(k);
}

bool
subscriber_wants(const struct conn *k)
{
	return !k->dead && k->sub == SUB_PAST && !k->reading_past &&
	       chain_len(&k->out) + buf_len(&k->events) <= PAGE_BYTES;
}

void
subscriber_more(struct conn *k)
{
	struct supervisor *s = k->c->s;
	struct taking t = {k, false};

	if (!subscriber_wants(k))
		return;
	if (record_recent(s, k->seen, take_recent, &t)) {
		if (!t.full)
			k->sub = SUB_LIVE;
		conn_account(k);
		return;
	}
	k->reading_past = true;
	k->asked_at = record_flushed_seq(s);
	k->reader.row = on_row;
	k->reader.end = on_end;
	k->reader.arg = k;
	journal_query(s, &k->reader, WIRE_QUERY_EVENTS, "", k->seen, PAGE_ROWS);
}

void
subscriber_drop(struct conn *k)
{
	if (k->sub == SUB_NONE)
		return;
	if (k->reading_past)
		journal_query_drop(k->c->s, &k->reader);
	k->reading_past = false;
	k->sub = SUB_NONE;
	TAILQ_REMOVE(&k->c->subscribers, k, subscriber);
}

/* events/subscribe {since?}: the last event that the client has. */
void
events_subscribe(
    struct supervisor *s, struct request *q, const struct params *p)
{
	uint64_t last = record_last_seq(s);
	uint64_t since = params_uint(p, "since", last);
	struct conn *k = q->conn;
	struct jsonw *w;

	if (since > last) {
		request_error(q, RPC_PARAMS, NULL,
		    "\"since\" is %" PRIu64 ", and the last event is %" PRIu64
		    ": it is of another state directory",
		    since, last);
		return;
	}
	w = request_answer(q);
	jsonw_object(w, NULL);
	jsonw_uint(w, "seq", last);
	jsonw_object_end(w);
	request_answered(q);
	subscriber_drop(k);
	TAILQ_INSERT_TAIL(&k->c->subscribers, k, subscriber);
	k->seen = since;
	k->sub = since == last ? SUB_LIVE : SUB_PAST;
	conn_wake(k);
}
