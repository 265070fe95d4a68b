#ifndef OZ0_JOURNAL_SUPPLY_H
#define OZ0_JOURNAL_SUPPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "journal/logdir.h"
#include "wire/chan.h"

/*
 * The next segment is always ready before it is needed, so that a full disk
 * is known before it hurts (DESIGN, Recording).  One that cannot be had is
 * told to the supervisor and tried again with backoff.  While segments are
 * used up within seconds some more lie ready, up to SUPPLY_AHEAD, so that a
 * process that gets little of the processor holds no work up.
 */
#define SUPPLY_AHEAD 4

struct supply {
	uint64_t size;	 /* of a segment */
	bool sync;	 /* durability "power" */
	uint64_t want;	 /* the number to be made; 0: none */
	uint64_t given;	 /* the highest number sent */
	uint64_t needed; /* the next one: others are in reserve */
	uint64_t upto;	 /* the last one in reserve */
	unsigned ahead;
	struct mono rotated;
	struct mono at;	 /* not before */
	struct span wait; /* backoff */
	int told;	 /* the errno that the supervisor knows of */
};

/* A segment of that number is wanted, if none that high was sent. */
void supply_want(struct supply *s, uint64_t number);
/* The supervisor began that one. */
void supply_rotated(struct supply *s, uint64_t number);
/* Makes and sends what is wanted, when it is time. */
void supply_turn(struct supply *s, struct logdir *l, struct chan *c);
/* When supply_turn() has something to do; MONO_NEVER: nothing. */
struct mono supply_due(const struct supply *s);

#endif
