#ifndef OZ0_SUPERVISOR_LOG_RING_H
#define OZ0_SUPERVISOR_LOG_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "supervisor/job.h"

/*
 * What the servers of a tool wrote to stderr, the last lines of it, for
 * `oz0 logs`.  Lines are numbered from 1 over the life of the ring.
 */
#define LOG_RING_BYTES ((size_t)256 * 1024)
#define LOG_RING_LINE ((size_t)4096) /* a longer one is cut in pieces */

struct log_ring;

struct log_line {
	uint64_t n;
	struct wall time;
	const char *from; /* "billing", "j1/1 files" */
	const char *text; /* NUL-terminated, no newline */
};

struct log_ring *log_ring_new(size_t bytes);
void log_ring_free(struct log_ring *r); /* NULL is fine */
/* One line; bytes that are no UTF-8 are kept as they are. */
void log_ring_add(
    struct log_ring *r, const char *from, const char *text, size_t len);
/* Lines from number `since` on, oldest first; the number after the last. */
uint64_t log_ring_each(const struct log_ring *r, uint64_t since,
    void (*fn)(void *arg, const struct log_line *l), void *arg);
/* Told (and taken out) when lines were added; for `oz0 logs --follow`. */
struct waiter_list *log_ring_waiters(struct log_ring *r);
void log_ring_tell(struct supervisor *s, struct log_ring *r);

#endif
