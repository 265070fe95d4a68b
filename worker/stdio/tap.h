#ifndef OZ0_WORKER_STDIO_TAP_H
#define OZ0_WORKER_STDIO_TAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/time.h"

/*
 * A server's stderr on its way to the supervisor.  It is always read (B035);
 * what comes faster than TAP_RATE bytes a second, beyond TAP_BURST, is dropped
 * and counted, but for its last TAP_TAIL bytes: they say why a server ended.
 */
#define TAP_BURST ((size_t)64 * 1024)
#define TAP_RATE ((size_t)512 * 1024)
#define TAP_TAIL ((size_t)4096)

struct tap {
	size_t tokens;
	struct mono filled;
	uint64_t dropped; /* bytes since the last chunk, kept tail included */
	struct buf tail;
};

void tap_init(struct tap *t, struct mono now);
void tap_free(struct tap *t);
/* n bytes came; what may pass now goes onto out. */
void tap_pass(struct tap *t, const char *p, size_t n, struct mono now,
    struct buf *out);
/* The end: how much is missing, and the tail. */
void tap_flush(struct tap *t, struct buf *out);

#endif
