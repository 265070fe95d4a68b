#ifndef OZ0_WORKER_WORKER_H
#define OZ0_WORKER_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "wire/chan.h"

/*
 * The worker itself: its channel to the supervisor, its servers, its loop.
 * main.c makes one; server.c uses what stands below worker_run().
 */
struct worker;
struct event_base;

/* Takes fd over.  NULL: no event loop is to be had. */
struct worker *worker_new(int fd, enum wire_worker_kind kind);
void worker_free(struct worker *w);
struct chan *worker_chan(struct worker *w);
/* Serves until the supervisor goes away: 0, or -errno when it broke the rules
 * or cannot be read. */
int worker_run(struct worker *w);

struct event_base *worker_base(struct worker *w);
/* The time at which this turn of the loop began. */
struct mono worker_now(const struct worker *w);
/* Something was queued for a server: it is written when the turn ends. */
void worker_touch(struct worker *w);
uint64_t worker_ticket(struct worker *w); /* 1, 2, 3, ... */
/*
 * An attempt's first byte was written.  The supervisor is told soon, and not
 * at all when the attempt's end, which says it too, comes first: that spares
 * it a wake-up for each call.
 */
void worker_call_sent(struct worker *w, uint64_t attempt);
void worker_call_ended(struct worker *w, uint64_t attempt);

#endif
