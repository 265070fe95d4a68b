/*
 * JSON-RPC 2.0 on the control socket: lines into requests, batches included,
 * and requests into answers.  A line is proven by the scanner of base/ before
 * anything in it is acted on; ids go back byte for byte as they came.  Answers
 * are put onto the connection here and leave at the end of the turn.  Runs in
 * oz0d; called by control_conn.c and the methods.
 */
#include "supervisor/control_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

/* ---- answers ---- */

/* Where the answer to a request is written: its line, or its batch. */
static struct buf *
answer_begin(struct conn *k, struct batch *b)
{
	if (b == NULL)
		return &k->out.text;
	if (b->some)
		buf_putc(&b->text, ',');
	b->some = true;
	return &b->text;
}

static void
batch_release(struct conn *k, struct batch *b)
{
	if (--b->open > 0)
		return;
	if (b->some) {
		buf_putc(&k->out.text, '[');
		buf_put(&k->out.text, buf_at(&b->text), buf_len(&b->text));
		buf_puts(&k->out.text, "]\n");
		conn_dirty(k);
	}
	k->batch_bytes -= b->counted;
	buf_free(&b->text);
	free(b);
}

static void
answer_end(struct conn *k, struct batch *b)
{
	if (b == NULL) {
		buf_putc(&k->out.text, '\n');
		conn_dirty(k);
	} else {
		k->batch_bytes += buf_len(&b->text) - b->counted;
		b->counted = buf_len(&b->text);
		conn_account(k);
	}
}

static void
put_head(struct buf *out, const char *id)
{
	buf_puts(out, "{\"jsonrpc\":\"2.0\",\"id\":");
	buf_puts(out, id != NULL ? id : "null");
	buf_putc(out, ',');
}

static void
put_error(struct buf *out, const char *id, int code, const char *message,
    const char *reason, const char *state)
{
	struct jsonw w;

	put_head(out, id);
	buf_puts(out, "\"error\":");
	jsonw_init(&w, out);
	jsonw_object(&w, NULL);
	jsonw_int(&w, "code", code);
	jsonw_string(&w, "message", message);
	if (reason != NULL) {
		jsonw_object(&w, "data");
		jsonw_string(&w, "reason", reason);
		jsonw_string(&w, "state", state);
		jsonw_object_end(&w);
	}
	jsonw_object_end(&w);
	buf_putc(out, '}');
}

/* An answer to what is no request: a bad line, or a bad part of a batch. */
static void __attribute__((format(printf, 5, 6)))
refuse(struct conn *k, struct batch *b, const char *id, int code,
    const char *fmt, ...)
{
	CLEANUP_FREE char *message = NULL;
	va_list ap;

	va_start(ap, fmt);
	message = mem_vprintf(fmt, ap);
	va_end(ap);
	put_error(answer_begin(k, b), id, code, message, NULL, NULL);
	answer_end(k, b);
}

/* ---- the life of a request ---- */

static struct request *
request_new(struct conn *k, const struct method *m, struct json_value id,
    struct batch *b)
{
	struct request *q = mem_zalloc(sizeof(*q));

	q->conn = k;
	q->method = m;
	if (id.type != JSON_NONE)
		q->id = mem_strndup(id.p, id.len);
	q->batch = b;
	if (b != NULL)
		b->open++;
	TAILQ_INSERT_TAIL(&k->requests, q, entry);
	k->nrequests++;
	return q;
}

void
request_listed(struct request *q, struct request_list *l)
{
	request_unlisted(q);
	TAILQ_INSERT_TAIL(l, q, in_list);
	q->list = l;
}

void
request_unlisted(struct request *q)
{
	if (q->list != NULL)
		TAILQ_REMOVE(q->list, q, in_list);
	q->list = NULL;
}

void
request_wait(struct request *q, struct waiter_list *l,
    void (*fn)(struct supervisor *s, struct waiter *w))
{
	q->waiter.fn = fn;
	q->waiter.arg = q;
	q->waits = l;
	waiter_add(l, &q->waiter);
}

/* Without an answer: it was given, or nobody is there to read it. */
void
request_free(struct request *q)
{
	struct conn *k = q->conn;

	if (q->waiter.on) {
		TAILQ_REMOVE(q->waits, &q->waiter, entry);
		q->waiter.on = false;
	}
	aside_drop(q);
	request_unlisted(q);
	past_drop(q);
	TAILQ_REMOVE(&k->requests, q, entry);
	k->nrequests--;
	if (q->batch != NULL)
		batch_release(k, q->batch);
	free(q->id);
	free(q);
}

/*
 * A notification is answered onto a buffer that nobody reads, so that methods
 * need not know.
 */
struct jsonw *
request_answer(struct request *q)
{
	struct control *c = q->conn->c;

	if (q->id == NULL) {
		jsonw_init(&c->w, &c->unread);
		return &c->w;
	}
	jsonw_init(&c->w, answer_begin(q->conn, q->batch));
	put_head(c->w.out, q->id);
	buf_puts(c->w.out, "\"result\":");
	return &c->w;
}

void
request_put_blob(struct request *q, struct blob *b)
{
	struct control *c = q->conn->c;

	if (q->id == NULL || q->batch != NULL)
		buf_put(c->w.out, blob_at(b), blob_len(b));
	else
		chain_put_blob(&q->conn->out, b);
}

void
request_answered(struct request *q)
{
	struct control *c = q->conn->c;

	if (q->id == NULL) {
		buf_clear(&c->unread);
	} else {
		buf_putc(c->w.out, '}');
		answer_end(q->conn, q->batch);
	}
	request_free(q);
}

void
request_result_raw(struct request *q, const char *json, size_t len)
{
	jsonw_raw(request_answer(q), NULL, json, len);
	request_answered(q);
}

void
request_done(struct request *q)
{
	request_result_raw(q, "{}", 2);
}

static void
answer_error(struct request *q, int code, const char *message,
    const char *reason, const char *state)
{
	if (q->id != NULL) {
		put_error(answer_begin(q->conn, q->batch), q->id, code, message,
		    reason, state);
		answer_end(q->conn, q->batch);
	}
	request_free(q);
}

void
request_error(
    struct request *q, int code, const char *reason, const char *fmt, ...)
{
	CLEANUP_FREE char *message = NULL;
	va_list ap;

	va_start(ap, fmt);
	message = mem_vprintf(fmt, ap);
	va_end(ap);
	answer_error(q, code, message, reason, NULL);
}

void
request_fault(struct request *q, const struct fault *f, const char *state)
{
	if (f->reason == FAULT_PARAMS) {
		answer_error(q, RPC_PARAMS, f->message, NULL, NULL);
		return;
	}
	if (state == NULL && f->state[0] != '\0')
		state = f->state;
	answer_error(
	    q, RPC_FAULT, f->message, fault_reason_name(f->reason), state);
}

/* ---- from a line to its requests ---- */

enum { WANT_JSONRPC, WANT_ID, WANT_METHOD, WANT_PARAMS, WANT_COUNT };

struct envelope {
	struct json_want want[WANT_COUNT];
};

static void
envelope_init(struct envelope *e)
{
	static const char *const names[WANT_COUNT] = {
	    "jsonrpc", "id", "method", "params"};

	memset(e, 0, sizeof(*e));
	for (size_t i = 0; i < WANT_COUNT; i++)
		e->want[i].name = names[i];
}

/* The id as text to give back; NULL when it is none that can be. */
static char *
envelope_id(const struct envelope *e)
{
	struct json_value id = e->want[WANT_ID].value;

	if ((id.type != JSON_STRING && id.type != JSON_NUMBER) ||
	    id.len > ID_MAX)
		return NULL;
	return mem_strndup(id.p, id.len);
}

/* What is wrong with it as a request, or NULL. */
static const char *
envelope_fault(const struct envelope *e)
{
	struct json_value id = e->want[WANT_ID].value;

	if (!json_string_is(e->want[WANT_JSONRPC].value, "2.0"))
		return "\"jsonrpc\" must be \"2.0\"";
	if (id.type != JSON_NONE && id.type != JSON_STRING &&
	    id.type != JSON_NUMBER)
		return "\"id\" must be a string or a number";
	if (id.len > ID_MAX)
		return "\"id\" is longer than 1024 bytes";
	if (e->want[WANT_METHOD].value.type != JSON_STRING)
		return "\"method\" must be a string";
	return NULL;
}

/* What it causes at once has its peer's name in the trace (step_asked). */
static void
carry_out(struct conn *k, struct request *q, const struct params *p)
{
	struct supervisor *s = k->c->s;

	s->asker.on = true;
	s->asker.uid = k->peer.uid;
	q->method->fn(s, q, p);
	s->asker.on = false;
}

/* Roles are looked at when it begins: a reload may have changed them. */
static void
method_run(struct request *q, struct json_value params, struct params *p)
{
	const struct method *m = q->method;
	struct conn *k = q->conn;
	struct fault f;

	if (k->role < m->role)
		request_error(q, RPC_FAULT, "not_allowed",
		    "%s is for the role %s; uid %lu has the role %s", m->name,
		    role_name(m->role), (unsigned long)k->peer.uid,
		    role_name(k->role));
	else if (!params_read(m, params, p, &f))
		request_fault(q, &f, NULL);
	else if (aside_is_late(q, p))
		request_error(q, RPC_FAULT, "not_allowed",
		    "its job was started again while it waited for room");
	else
		carry_out(k, q, p);
}

void
request_begin(struct request *q, char *params, size_t len)
{
	struct params p = {0};
	struct json_value v;
	struct json_fault f;

	if (json_check(params, len, &v, &f))
		method_run(q, v, &p);
	else /* it was proven in its line */
		request_error(q, RPC_FAULT, "internal", "params: %s", f.why);
}

static void
request_run(struct conn *k, const struct envelope *e, struct batch *b,
    const struct params *where)
{
	const struct method *m = method_find(e->want[WANT_METHOD].value);
	struct request *q = request_new(k, m, e->want[WANT_ID].value, b);
	struct json_value params = e->want[WANT_PARAMS].value;
	struct params p = *where;

	if (m == NULL)
		request_error(q, RPC_METHOD, NULL, "no such method");
	else if (m->fn == NULL)
		request_error(q, RPC_METHOD, NULL, "%s: %s", m->name, m->later);
	else if (k->nrequests > CONN_REQUESTS_MAX)
		request_error(q, RPC_FAULT, "node_full",
		    "%d requests of this connection wait for their answers",
		    CONN_REQUESTS_MAX);
	else if (aside_wanted(k, m) && k->role >= m->role &&
		 json_is(params, JSON_OBJECT))
		aside_put(q, params);
	else
		method_run(q, params, &p);
}

/* One part of a batch, or a whole line: a text that is proven JSON. */
static void
message(struct conn *k, const struct envelope *e, struct batch *b,
    const struct params *where)
{
	const char *why = envelope_fault(e);
	CLEANUP_FREE char *id = NULL;

	if (why == NULL) {
		request_run(k, e, b, where);
		return;
	}
	id = envelope_id(e);
	refuse(k, b, id, RPC_REQUEST, "invalid request: %s", why);
}

static void
batch_item(struct conn *k, struct json_value item, struct batch *b,
    const struct params *where)
{
	CLEANUP_FREE char *id = NULL;
	struct json_fault f;
	struct envelope e;

	envelope_init(&e);
	if (json_object_pick_within(JSON_LINE_DEPTH, item.p, item.len, e.want,
		WANT_COUNT, &f)) {
		message(k, &e, b, where);
		return;
	}
	id = envelope_id(&e);
	refuse(k, b, id, RPC_REQUEST, "invalid request: %s", f.why);
}

static void
batch(struct conn *k, struct json_value all, const struct params *where)
{
	struct json_value key, item;
	struct json_iter it;
	struct batch *b;
	unsigned n = 0;

	json_iter_init(&it, all);
	while (n <= BATCH_MAX && json_iter_next(&it, &key, &item))
		n++;
	if (n == 0 || n > BATCH_MAX) {
		refuse(k, NULL, NULL, RPC_REQUEST,
		    n == 0 ? "invalid request: an empty batch"
			   : "invalid request: a batch may hold %d requests",
		    BATCH_MAX);
		return;
	}
	b = mem_zalloc(sizeof(*b));
	b->open = 1; /* this reader */
	json_iter_init(&it, all);
	/* as with lines: nothing is begun for a peer that was dropped */
	while (!k->dead && json_iter_next(&it, &key, &item))
		batch_item(k, item, b, where);
	batch_release(k, b);
}

void
rpc_line(struct conn *k, char *line, size_t len)
{
	struct params where = {
	    .line_begin = k->taken, .line_end = k->taken + len};
	struct json_fault f = {0};
	struct json_value whole = {JSON_NONE, NULL, 0};
	struct envelope e;

	envelope_init(&e);
	if (json_object_pick_within(
		JSON_LINE_DEPTH, line, len, e.want, WANT_COUNT, &f)) {
		message(k, &e, NULL, &where);
	} else if (!f.is_json) {
		refuse(k, NULL, NULL, RPC_PARSE, "parse error at byte %zu: %s",
		    f.offset, f.why);
	} else if (json_check_within(
		       JSON_LINE_DEPTH, line, len, &whole, &f) &&
		   whole.type == JSON_ARRAY) {
		batch(k, whole, &where);
	} else {
		CLEANUP_FREE char *id = envelope_id(&e);

		refuse(k, NULL, id, RPC_REQUEST, "invalid request: %s",
		    whole.type == JSON_OBJECT ? "a member stands there twice"
					      : "no object");
	}
}

void
rpc_line_skipped(struct conn *k, const char *head, size_t len)
{
	CLEANUP_FREE char *id = NULL;
	struct envelope e;
	struct json_fault f;
	char words[300];

	envelope_init(&e);
	if (json_object_pick(head, len, e.want, WANT_COUNT, &f) &&
	    envelope_fault(&e) == NULL) {
		id = envelope_id(&e);
		if (id == NULL)
			return; /* a notification */
	}
	aside_full_words(k->c, words, sizeof(words));
	put_error(&k->out.text, id, RPC_FAULT, words, "node_full", NULL);
	answer_end(k, NULL);
}
