/*
 * The MCP client of one server, in oz0-worker: what comes in is read once and
 * goes to whom it concerns; what is no message is counted (L3.7b).  Ids are
 * ours alone, positive and increasing, never used twice on a connection; a
 * server's own ids live in its requests and are only echoed.
 */
#include "worker/mcp/client.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "worker/mcp/client_state.h"
#include "worker/mcp/compose.h"

#define DEAF_GRACE SPAN_MS(500)
#define NOISE_LINES 1000	      /* L3.7b */
#define NOISE_BYTES ((size_t)1024 * 1024)
#define REPLIES_MAX ((size_t)256 * 1024) /* unread answers to its requests */
#define SAMPLE 80

int
request_compare(const struct request *a, const struct request *b)
{
	return a->id < b->id ? -1 : a->id > b->id;
}

RB_GENERATE(request_tree, request, entry, request_compare)

struct client *
client_new(const struct client_config *config, const struct client_ops *ops,
    void *arg)
{
	struct client *c = mem_zalloc(sizeof(*c));

	c->config = *config;
	c->tool = mem_strdup(config->tool);
	c->config.tool = c->tool;
	c->ops = ops;
	c->arg = arg;
	c->next_id = 1;
	c->probe_deadline = MONO_NEVER;
	c->deaf_due = MONO_NEVER;
	c->listing.due = MONO_NEVER;
	c->progress_due = MONO_NEVER;
	RB_INIT(&c->requests);
	RB_INIT(&c->attempts);
	return c;
}

void
client_free(struct client *c)
{
	if (c == NULL)
		return;
	call_free_all(c);
	listing_forget(c);
	buf_free(&c->envelope);
	free(c->tool);
	free(c);
}

/* ---- requests ---- */

int64_t
client_request_add(
    struct client *c, struct request *r, enum request_kind kind)
{
	r->id = c->next_id++;
	r->kind = kind;
	r->begun = false;
	RB_INSERT(request_tree, &c->requests, r);
	return r->id;
}

void
client_request_drop(struct client *c, struct request *r)
{
	if (r->id == 0)
		return;
	RB_REMOVE(request_tree, &c->requests, r);
	r->id = 0;
}

struct request *
client_request_find(struct client *c, int64_t id)
{
	struct request key = { .id = id };

	return RB_FIND(request_tree, &c->requests, &key);
}

void
client_send(struct client *c, struct buf *text, int64_t tag, bool urgent)
{
	if (c->closed || c->muted)
		buf_free(text);
	else
		c->ops->send(c->arg, text, tag, urgent);
}

/* ---- faults ---- */

void
client_fail(
    struct client *c, enum wire_server_fault why, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (c->state == CLIENT_FAILED)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->state = CLIENT_FAILED;
	c->probe_deadline = MONO_NEVER;
	c->deaf_due = MONO_NEVER;
	c->listing.due = MONO_NEVER;
	c->ops->failed(c->arg, why, text);
}

void
client_good(struct client *c)
{
	c->noise_lines = 0;
	c->noise_bytes = 0;
}

static bool
is_bad(enum wire_noise what)
{
	return what == WIRE_NOISE_NOT_JSON || what == WIRE_NOISE_UTF8
	    || what == WIRE_NOISE_NOT_RPC || what == WIRE_NOISE_UNKNOWN_ID
	    || what == WIRE_NOISE_TOO_LONG;
}

/*
 * Something to be counted; line: what it was, shown only where it cannot hold
 * a part of an answer (L8.2).  Without end, of the bad kinds: L3.7b.
 */
void
client_noise(struct client *c, enum wire_noise what, const char *line,
    size_t len, const char *why)
{
	char sample[SAMPLE + 256];

	if (line != NULL && *line != '{' && *line != '[')
		snprintf(sample, sizeof(sample), "%s: %.*s", why,
		    (int)(len < SAMPLE ? len : SAMPLE), line);
	else if (len != 0)
		snprintf(sample, sizeof(sample), "%s, %zu bytes", why, len);
	else
		snprintf(sample, sizeof(sample), "%s", why);
	c->ops->noise(c->arg, what, sample);
	if (!is_bad(what))
		return;
	c->noise_lines++;
	c->noise_bytes += len;
	if (c->noise_lines >= NOISE_LINES)
		client_fail(c, WIRE_FAULT_BROKEN,
		    "%d lines on stdout without a message", NOISE_LINES);
	else if (c->noise_bytes >= NOISE_BYTES)
		client_fail(c, WIRE_FAULT_BROKEN,
		    "%zu bytes on stdout without a message", c->noise_bytes);
}

/* ---- lines in ---- */

/*
 * What cannot be read but seems to answer a request ends that request: its
 * caller is not left to wait for a time limit (B072, B076).
 */
static void
broken_line(struct client *c, const struct message *m, const char *line,
    size_t len, struct mono now)
{
	static const enum wire_noise kinds[] = {
		[MESSAGE_NOT_JSON] = WIRE_NOISE_NOT_JSON,
		[MESSAGE_UTF8] = WIRE_NOISE_UTF8,
		[MESSAGE_NOT_RPC] = WIRE_NOISE_NOT_RPC,
	};
	struct request *r = m->id != 0 ? client_request_find(c, m->id) : NULL;
	struct message none = { .kind = MESSAGE_ERROR };
	char why[128];

	snprintf(why, sizeof(why), "%s at byte %zu", m->fault.why,
	    m->fault.offset);
	client_noise(c, kinds[m->kind], line, len, why);
	if (c->state == CLIENT_FAILED || r == NULL || !r->begun)
		return;
	if (r->kind == REQUEST_CALL)
		call_broken_answer(c, r, WIRE_END_BAD_ANSWER, why);
	else if (r->kind == REQUEST_LIST)
		listing_answer(c, &none, now);
	else if (r->kind == REQUEST_LISTEN)
		listing_listen_answer(c, &none, now);
	else
		handshake_answer(c, &none, now);
}

static void
answer(struct client *c, const struct message *m, size_t len, struct mono now)
{
	struct request *r = m->id != 0 ? client_request_find(c, m->id) : NULL;

	if (r == NULL || !r->begun) {
		if (r == NULL && m->id > 0 && m->id < c->next_id) {
			client_good(c);
			client_noise(c,
			    m->id == c->late_id ? WIRE_NOISE_LATE
						: WIRE_NOISE_TWICE,
			    NULL, len, "an answer to what was answered");
		} else {
			client_noise(c, WIRE_NOISE_UNKNOWN_ID, NULL, len,
			    m->kind == MESSAGE_ERROR
				    && m->raw_id.type <= JSON_NULL
				? "an error without an id"
				: "an answer to nothing that was asked");
		}
		return;
	}
	client_good(c);
	if (m->raw_id.type == JSON_STRING && !c->string_ids) {
		c->string_ids = true;
		log_notice("%s: the server answers with ids as strings",
		    c->tool);
	}
	switch (r->kind) {
	case REQUEST_CALL:
		call_answer(c, r, m);
		break;
	case REQUEST_LIST:
		listing_answer(c, m, now);
		break;
	case REQUEST_LISTEN:
		listing_listen_answer(c, m, now);
		break;
	default:
		handshake_answer(c, m, now);
	}
}

/*
 * A legacy server is answered at once, whatever is going on: one that is left
 * waiting does not end at the end of its input.  To a modern one nothing may
 * be answered (MCP 2026-07-28 basic/transports/stdio, Sending Messages).
 */
static void
request(struct client *c, const struct message *m, size_t len)
{
	struct buf line = { 0 };

	client_good(c);
	if (c->modern) {
		client_noise(c, WIRE_NOISE_REQUEST, NULL, len,
		    "a request, which a server of this revision never makes");
		return;
	}
	if (c->ops->unsent(c->arg) > REPLIES_MAX) {
		client_noise(c, WIRE_NOISE_REQUEST, NULL, len,
		    "a request, but the answers to others were not read");
		return;
	}
	if (json_string_is(m->method, "ping"))
		compose_pong(&line, m->raw_id);
	else
		compose_refusal(&line, m->raw_id);
	client_send(c, &line, 0, false);
}

void
client_line(struct client *c, char *line, size_t len,
    const struct json_notes *notes, struct mono now)
{
	struct message m;

	if (c->state == CLIENT_FAILED)
		return;
	message_read(line, len, notes, &m);
	switch (m.kind) {
	case MESSAGE_NOT_JSON:
	case MESSAGE_UTF8:
	case MESSAGE_NOT_RPC:
		broken_line(c, &m, line, len, now);
		break;
	case MESSAGE_REQUEST:
		request(c, &m, len);
		break;
	case MESSAGE_NOTIFICATION:
		client_good(c);
		notify_read(c, &m, now);
		break;
	case MESSAGE_RESULT:
	case MESSAGE_ERROR:
		answer(c, &m, len, now);
		break;
	}
}

void
client_long_id(struct client *c, int64_t id)
{
	struct request *r = client_request_find(c, id);
	char why[64];

	if (c->state == CLIENT_FAILED || r == NULL || !r->begun)
		return;
	c->long_answer = true;
	client_good(c);
	snprintf(why, sizeof(why), "the answer is larger than %zu bytes",
	    c->config.max_message);
	if (r->kind == REQUEST_CALL)
		call_broken_answer(c, r, WIRE_END_TOO_LARGE, why);
	else if (r->kind == REQUEST_LISTEN)
		client_request_drop(c, r);
	else
		client_fail(c, r->kind == REQUEST_LIST ? WIRE_FAULT_LISTING
						       : WIRE_FAULT_HANDSHAKE,
		    "%s", why);
}

void
client_long_end(struct client *c, size_t len)
{
	if (c->state != CLIENT_FAILED && !c->long_answer)
		client_noise(c, WIRE_NOISE_TOO_LONG, NULL, len,
		    "a line over the limit");
	c->long_answer = false;
}

void
client_endless(struct client *c)
{
	client_fail(c, WIRE_FAULT_BROKEN, "a line on stdout has no end");
}

/* A last line without LF counts when it is whole; a cut one is no answer. */
void
client_eof(struct client *c, char *rest, size_t len, struct mono now)
{
	struct message m;

	c->eof = true;
	if (rest != NULL && c->state != CLIENT_FAILED) {
		message_read(rest, len, NULL, &m);
		if (m.kind >= MESSAGE_REQUEST)
			client_line(c, rest, len, NULL, now);
		else
			client_noise(c, WIRE_NOISE_NOT_JSON, rest, len,
			    "stdout ended within a line");
	}
	call_end_all(c, WIRE_END_SERVER, false, "its output ended");
	if (c->closed || c->muted)
		return;
	if (c->state == CLIENT_PROBING && c->greetings == 0)
		client_fail(c, WIRE_FAULT_PROBE_EOF,
		    "the server ended when it was asked server/discover");
	else
		client_fail(c, WIRE_FAULT_EOF, "its output ended");
}

/* ---- the rest of a connection's life ---- */

void
client_start(struct client *c, struct mono now)
{
	handshake_start(c, now);
}

/* What was written may still be answered: stdout's end ends those. */
void
client_input_broken(struct client *c, struct mono now)
{
	struct attempt *a;

	c->closed = true;
	call_end_all(c, WIRE_END_SERVER, true,
	    "the server does not read its input");
	RB_FOREACH(a, attempt_tree, &c->attempts)
		if (a->cancelled && !a->cancel_told) {
			a->cancel_told = true;
			c->ops->cancel_sent(c->arg, a->number, false);
		}
	if (c->state == CLIENT_FAILED)
		return;
	/* one that is ending is told of by its stdout's end */
	c->deaf_due = mono_add(now, DEAF_GRACE);
	if (c->state == CLIENT_READY)
		log_notice("%s: the server has closed its input", c->tool);
}

/* It lives, takes no input and owes no answer: it is of no use any more. */
static void
deaf_expire(struct client *c, struct mono now)
{
	if (mono_before(now, c->deaf_due))
		return;
	if (RB_EMPTY(&c->attempts))
		client_fail(c, WIRE_FAULT_INPUT, "nothing can be asked of it");
	else
		c->deaf_due = mono_add(now, DEAF_GRACE);
}

void
client_stop(struct client *c)
{
	if (c->closed)
		return;
	call_end_all(c, WIRE_END_SERVER, true,
	    "the server was stopped before the request was written");
	c->closed = true;
	c->probe_deadline = MONO_NEVER;
	c->listing.due = MONO_NEVER;
	c->ops->end_input(c->arg);
}

void
client_gone(struct client *c)
{
	c->closed = true;
	c->probe_deadline = MONO_NEVER;
	c->listing.due = MONO_NEVER;
}

struct mono
client_deadline(const struct client *c)
{
	struct mono t = c->probe_deadline;

	if (mono_before(c->listing.due, t))
		t = c->listing.due;
	if (mono_before(c->progress_due, t))
		t = c->progress_due;
	if (mono_before(c->deaf_due, t))
		t = c->deaf_due;
	return t;
}

void
client_expire(struct client *c, struct mono now)
{
	if (c->state == CLIENT_PROBING
	    && !mono_before(now, c->probe_deadline)) {
		c->probe_deadline = MONO_NEVER;
		handshake_timeout(c, now);
	}
	listing_expire(c, now);
	call_expire(c, now);
	deaf_expire(c, now);
}
