/*
 * Messages of oz0-worker to the supervisor, as wire/message.h gives their
 * fields.  Only worker.c and server.c call these.
 */
#include "worker/report.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 2048

/* Bytes of the character at p that may stand in a log line or a field of a
 * trace as they are; 0: none. */
static size_t
fit(const unsigned char *p, size_t n)
{
	size_t more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : 1;

	if (*p < 0x80)
		return *p >= 0x20 && *p != 0x7f;
	if (*p < 0xc2 || *p > 0xf4 || more >= n
	    || (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f)
	    || (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))
		return 0;
	for (size_t i = 1; i <= more; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return more + 1;
}

/* At most TEXT_MAX bytes of one line of UTF-8. */
static void
put_text(struct buf *b, const char *s)
{
	size_t n = strnlen(s, TEXT_MAX), k;
	unsigned char *at;

	wire_put_bytes(b, s, n);
	at = (unsigned char *)b->data + b->end - n;
	for (size_t i = 0; i < n; i += k) {
		k = fit(at + i, n - i);
		if (k == 0) {
			at[i] = '?';
			k = 1;
		}
	}
}

/* A frame without descriptors fails only for its payload's size or a memfd
 * that is not to be had; those who send a payload look. */
static void
end(struct chan *c)
{
	chan_end(c, NULL, 0, NULL, 0);
}

void
report_worker_ready(struct chan *c)
{
	struct buf *b = chan_begin(c, WIRE_WORKER_READY);

	wire_put_u32(b, WIRE_VERSION);
	wire_put_u32(b, (uint32_t)getpid());
	end(c);
}

void
report_pong(struct chan *c, uint64_t n)
{
	wire_put_u64(chan_begin(c, WIRE_WORKER_PONG), n);
	chan_end_urgent(c);
}

void
report_log(struct chan *c, enum log_level level, const char *line)
{
	struct buf *b = chan_begin(c, WIRE_WORKER_LOG);

	wire_put_u8(b, (uint8_t)level);
	put_text(b, line);
	end(c);
}

void
report_ready(struct chan *c, uint32_t server, const char *era,
    const char *name, const char *version)
{
	struct buf *b = chan_begin(c, WIRE_SERVER_READY);

	wire_put_u32(b, server);
	put_text(b, era);
	put_text(b, name);
	put_text(b, version);
	end(c);
}

static int
put_function(struct chan *c, uint32_t server, const struct client_function *f,
    const char *refused, struct json_value json)
{
	struct buf *b = chan_begin(c, WIRE_SERVER_FUNCTION);

	wire_put_u32(b, server);
	wire_put_u32(b, f->generation);
	put_text(b, f->name);
	wire_put_u8(b, (uint8_t)f->read_only);
	wire_put_u8(b, (uint8_t)f->destructive);
	wire_put_u8(b, (uint8_t)f->idempotent);
	wire_put_u8(b, (uint8_t)f->open_world);
	wire_put_u8(b, f->honours_key);
	wire_put_u8(b, f->resume);
	put_text(b, refused);
	return chan_end(c, json.p, json.len, NULL, 0);
}

void
report_function(
    struct chan *c, uint32_t server, const struct client_function *f)
{
	struct json_value none = { JSON_OBJECT, "{}", 2 };
	char why[128];
	int r = put_function(c, server, f, f->refused, f->json);

	if (r == 0)
		return;
	snprintf(why, sizeof(why), "its listing cannot be passed on: %s",
	    strerror(-r));
	put_function(c, server, f, why, none);
}

void
report_listed(struct chan *c, uint32_t server, uint32_t generation,
    uint32_t count, const char *problem)
{
	struct buf *b = chan_begin(c, WIRE_SERVER_LISTED);

	wire_put_u32(b, server);
	wire_put_u32(b, generation);
	wire_put_u32(b, count);
	put_text(b, problem);
	end(c);
}

void
report_failed(struct chan *c, uint32_t server, enum wire_server_fault why,
    const char *text)
{
	struct buf *b = chan_begin(c, WIRE_SERVER_FAILED);

	wire_put_u32(b, server);
	wire_put_u8(b, (uint8_t)why);
	put_text(b, text);
	end(c);
}

void
report_stderr(struct chan *c, uint32_t server, const char *p, size_t len)
{
	while (len > 0) {
		size_t n = len < WIRE_INLINE_MAX ? len : WIRE_INLINE_MAX;

		wire_put_u32(chan_begin(c, WIRE_SERVER_STDERR), server);
		chan_end(c, p, n, NULL, 0);
		p += n;
		len -= n;
	}
}

void
report_drained(struct chan *c, uint32_t server)
{
	wire_put_u32(chan_begin(c, WIRE_SERVER_DRAINED), server);
	end(c);
}

void
report_noise(struct chan *c, uint32_t server, enum wire_noise what,
    uint64_t count, const char *sample)
{
	struct buf *b = chan_begin(c, WIRE_SERVER_NOISE);

	wire_put_u32(b, server);
	wire_put_u8(b, (uint8_t)what);
	wire_put_u64(b, count);
	put_text(b, sample);
	end(c);
}

void
report_call_sent(struct chan *c, uint64_t attempt)
{
	wire_put_u64(chan_begin(c, WIRE_CALL_SENT), attempt);
	end(c);
}

void
report_call_progress(struct chan *c, uint64_t attempt, double progress,
    bool has_total, double total)
{
	struct buf *b = chan_begin(c, WIRE_CALL_PROGRESS);

	wire_put_u64(b, attempt);
	wire_put_f64(b, progress);
	wire_put_u8(b, has_total);
	wire_put_f64(b, total);
	end(c);
}

static int
put_call_end(struct chan *c, const struct client_end *e)
{
	struct buf *b = chan_begin(c, WIRE_CALL_END);

	wire_put_u64(b, e->attempt);
	wire_put_u8(b, (uint8_t)e->how);
	wire_put_u8(b, e->sent);
	wire_put_u8(b, e->after_cancel);
	wire_put_u8(b, e->is_error);
	wire_put_u8(b, (uint8_t)e->busy);
	wire_put_f64(b, e->retry_after);
	wire_put_i64(b, e->code);
	wire_put_u32(b, e->dropped_progress);
	put_text(b, e->message);
	return chan_end(c, e->payload.p, e->payload.len, NULL, 0);
}

/* An answer that cannot be passed on is as good as one over the limit. */
void
report_call_end(struct chan *c, const struct client_end *e)
{
	char why[128];
	struct client_end lost = { .attempt = e->attempt,
		.how = WIRE_END_TOO_LARGE, .sent = e->sent,
		.after_cancel = e->after_cancel, .retry_after = -1,
		.dropped_progress = e->dropped_progress, .message = why };
	int r = put_call_end(c, e);

	if (r == 0)
		return;
	snprintf(why, sizeof(why), "the answer cannot be passed on: %s",
	    strerror(-r));
	put_call_end(c, &lost);
}

void
report_cancel_sent(struct chan *c, uint64_t attempt, bool written)
{
	struct buf *b = chan_begin(c, WIRE_CALL_CANCEL_SENT);

	wire_put_u64(b, attempt);
	wire_put_u8(b, written);
	end(c);
}
