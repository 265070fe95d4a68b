/*
 * Fuzzer of what a server can write: the input is its stdout, cut into pieces
 * as its first byte says, through lines.c into a client of either era with
 * calls open.  What must hold: each attempt ends at most once, its payload is
 * one proven JSON value in one line, and what is written is one JSON value a
 * line.  A line that was proven while it came is read as one that was not, and
 * the copy of its result is the result.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "worker/mcp/client.h"
#include "worker/mcp/message.h"
#include "worker/stdio/lines.h"

#define MAX_LINE 4096
#define CALLS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
	struct client *client;
	struct lines *lines;
	unsigned ended[CALLS + 1];
};

static void
must(bool fact)
{
	if (!fact)
		abort();
}

static void
one_line(const char *p, size_t len)
{
	must(json_check(p, len, NULL, NULL));
	must(memchr(p, '\n', len) == NULL && memchr(p, '\r', len) == NULL);
}

static void
op_send(void *arg, struct buf *text, int64_t tag, bool urgent)
{
	struct world *w = arg;

	must(buf_len(text) > 0 && text->data[text->end - 1] == '\n');
	one_line(buf_at(text), buf_len(text) - 1);
	client_begun(w->client, tag);
	client_written(w->client, tag, text);
	buf_free(text);
}

static bool
op_unsend(void *arg, int64_t tag)
{
	return false;
}

static size_t
op_unsent(void *arg)
{
	return 0;
}

static void
op_none(void *arg)
{
}

static void
op_ready(void *arg, const char *era, const char *name, const char *version)
{
	must(strlen(era) == 10 && strlen(name) < 256);
}

static void
op_function(void *arg, const struct client_function *f)
{
	one_line(f->json.p, f->json.len);
	must(*f->name != '\0');
	must(*f->refused != '\0' || strlen(f->name) <= 128);
}

static void
op_listed(void *arg, uint32_t generation, uint32_t count, const char *problem)
{
	must(generation > 0);
}

static void
op_failed(void *arg, enum wire_server_fault why, const char *text)
{
	must(why >= WIRE_FAULT_EOF && why <= WIRE_FAULT_INPUT);
}

static void
op_noise(void *arg, enum wire_noise what, const char *sample)
{
	must(what >= WIRE_NOISE_NOT_JSON && what <= WIRE_NOISE_LATE);
	must(strlen(sample) < 512);
}

static void
op_call_sent(void *arg, uint64_t attempt)
{
	must(attempt >= 1 && attempt <= CALLS);
}

static void
op_call_progress(void *arg, uint64_t attempt, double progress, bool has_total,
    double total)
{
	struct world *w = arg;

	must(w->ended[attempt] == 0 && progress - progress == 0);
}

static void
same_copy(int fd, const char *p, size_t len)
{
	char *copy = malloc(len + 1);
	size_t size = 0;

	must(fd_is_sealed(fd, &size) && size == len);
	must(pread(fd, copy, len + 1, 0) == (ssize_t)len);
	must(memcmp(copy, p, len) == 0);
	free(copy);
	close(fd);
}

static void
op_call_end(void *arg, const struct client_end *e)
{
	struct world *w = arg;

	must(e->attempt >= 1 && e->attempt <= CALLS);
	must(w->ended[e->attempt]++ == 0);
	if (e->payload.type != JSON_NONE)
		one_line(e->payload.p, e->payload.len);
	if (w->lines != NULL) {
		int fd = lines_take_copy(w->lines, e->payload);

		if (fd >= 0)
			same_copy(fd, e->payload.p, e->payload.len);
	}
}

static void
op_cancel_sent(void *arg, uint64_t attempt, bool written)
{
	must(attempt >= 1 && attempt <= CALLS);
}

static const struct client_ops ops = { op_send, op_unsend, op_unsent, op_none,
	op_none, op_ready, op_function, op_listed, op_failed, op_noise,
	op_call_sent, op_call_progress, op_call_end, op_cancel_sent };

static void
say(struct world *w, const char *text, struct mono now)
{
	char *copy = strdup(text);

	client_line(w->client, copy, strlen(copy), NULL, now);
	free(copy);
}

/* Ready, with calls 1 to CALLS open as ids 3 and up. */
static void
make_ready(struct world *w, bool modern, struct mono now)
{
	say(w,
	    modern ? "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{"
		     "\"supportedVersions\":[\"2026-07-28\"]}}"
		   : "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{"
		     "\"protocolVersion\":\"2025-11-25\"}}",
	    now);
	say(w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[]}}", now);
	for (uint64_t i = 1; i <= CALLS; i++) {
		struct client_call c = { .attempt = i, .function = "f",
			.key = "k", .traceparent = "", .progress = i % 2 == 0 };

		must(client_call(w->client, &c));
	}
	client_cancel(w->client, CALLS, "r", false);
}

static void
same_value(struct json_value a, const char *from_a, struct json_value b,
    const char *from_b)
{
	must(a.type == b.type && a.len == b.len);
	must(a.type == JSON_NONE || a.p - from_a == b.p - from_b);
}

/* The line by its notes and without them, in memory that ends with it. */
static void
same_message(const char *line, size_t len, const struct json_notes *notes)
{
	char *a = malloc(len), *b = malloc(len);
	struct message m, n;

	memcpy(a, line, len);
	memcpy(b, line, len);
	message_read(a, len, notes, &m);
	message_read(b, len, NULL, &n);
	must(m.kind == n.kind && m.id == n.id);
	same_value(m.raw_id, a, n.raw_id, b);
	same_value(m.method, a, n.method, b);
	same_value(m.params, a, n.params, b);
	same_value(m.body, a, n.body, b);
	must(memcmp(a, b, len) == 0);
	must(m.said_good == n.said_good);
	if (m.said_good)
		for (int i = 0; i < SAID_COUNT; i++)
			same_value(m.said[i], a, n.said[i], b);
	free(a);
	free(b);
}

static void
take(struct world *w, struct lines *l, struct mono now)
{
	size_t len;
	int64_t id;
	char *line;

	for (;;) {
		switch (lines_next(l, &line, &len, &id)) {
		case LINES_LINE:
			must(len > 0 && len <= MAX_LINE);
			if (lines_notes(l) != NULL)
				same_message(line, len, lines_notes(l));
			client_line(
			    w->client, line, len, lines_notes(l), now);
			continue;
		case LINES_LONG_ID:
			client_long_id(w->client, id);
			continue;
		case LINES_LONG_END:
			client_long_end(w->client, len);
			continue;
		case LINES_NONE:
			return;
		}
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mono now = { 1000000 };
	struct client_config config = { .tool = "t", .probe = SPAN_S(10),
		.max_message = MAX_LINE };
	struct world w = { 0 };
	struct lines l;
	size_t piece, len = 0, n;
	char *rest;

	if (size < 2)
		return 0;
	log_set_level(LOG_LEVEL_ERROR);
	piece = (data[0] & 0x3f) + (data[0] & 0x40 ? 1000 : 1);
	config.hint = data[1] & 1 ? WIRE_ERA_LEGACY : WIRE_ERA_UNKNOWN;
	w.client = client_new(&config, &ops, &w);
	client_start(w.client, now);
	if (data[1] & 2)
		make_ready(&w, (data[1] & 1) == 0, now);
	lines_init(&l, MAX_LINE);
	w.lines = &l;
	if (data[1] & 4)
		l.prove_from = l.proof.copy_from = 0;
	for (size_t at = 2; at < size; at += n) {
		size_t room;
		char *to = lines_room(&l, &room);

		n = size - at < piece ? size - at : piece;
		memcpy(to, data + at, n);
		lines_added(&l, n);
		take(&w, &l, now);
		now = mono_add(now, SPAN_MS(30));
		client_expire(w.client, now);
	}
	rest = lines_rest(&l, &len);
	client_eof(w.client, rest, len, now);
	if (data[1] & 2)
		for (int i = 1; i <= CALLS; i++)
			must(w.ended[i] == 1);
	w.lines = NULL;
	client_free(w.client);
	lines_free(&l);
	return 0;
}
