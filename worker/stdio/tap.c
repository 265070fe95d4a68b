/*
 * How much of a server's stderr passes, in oz0-worker: a token bucket.
 */
#include "worker/stdio/tap.h"

#include <inttypes.h>
#include <string.h>

void
tap_init(struct tap *t, struct mono now)
{
	memset(t, 0, sizeof(*t));
	t->tokens = TAP_BURST;
	t->filled = now;
}

void
tap_free(struct tap *t)
{
	buf_free(&t->tail);
}

static void
fill(struct tap *t, struct mono now)
{
	int64_t us = mono_since(now, t->filled).us;
	uint64_t more;

	if (us < 1000)
		return;
	if (us > 1000000)
		us = 1000000;
	more = (uint64_t)us * TAP_RATE / 1000000;
	t->tokens = TAP_BURST - t->tokens < more ? TAP_BURST
						 : t->tokens + (size_t)more;
	t->filled = now;
}

static void
drop(struct tap *t, const char *p, size_t n)
{
	t->dropped += n;
	if (n > TAP_TAIL) {
		p += n - TAP_TAIL;
		n = TAP_TAIL;
	}
	buf_put(&t->tail, p, n);
	if (buf_len(&t->tail) > TAP_TAIL)
		buf_take(&t->tail, buf_len(&t->tail) - TAP_TAIL);
}

void
tap_flush(struct tap *t, struct buf *out)
{
	uint64_t lost = t->dropped - buf_len(&t->tail);

	if (lost != 0)
		buf_printf(out,
		    "\n[oz0: %" PRIu64 " bytes of stderr were dropped]\n",
		    lost);
	if (buf_len(&t->tail) != 0)
		buf_put(out, buf_at(&t->tail), buf_len(&t->tail));
	buf_clear(&t->tail);
	t->dropped = 0;
}

void
tap_pass(struct tap *t, const char *p, size_t n, struct mono now,
    struct buf *out)
{
	size_t pass;

	fill(t, now);
	/* once something was dropped, wait for a good part of the bucket */
	if (t->dropped != 0 && t->tokens < TAP_BURST / 2) {
		drop(t, p, n);
		return;
	}
	if (t->dropped != 0)
		tap_flush(t, out);
	pass = n < t->tokens ? n : t->tokens;
	buf_put(out, p, pass);
	t->tokens -= pass;
	if (pass < n)
		drop(t, p + pass, n - pass);
}
