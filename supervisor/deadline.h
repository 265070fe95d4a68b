#ifndef OZ0_SUPERVISOR_DEADLINE_H
#define OZ0_SUPERVISOR_DEADLINE_H

#include <stdbool.h>

#include <sys/tree.h>

#include "base/time.h"

struct supervisor;

/*
 * A time at which something is to be done, on CLOCK_BOOTTIME.  It lies in the
 * object that it belongs to; initialise once, set and clear at will.
 */
struct deadline {
	RB_ENTRY(deadline) entry;
	struct mono at;
	bool set;
	void (*fn)(struct supervisor *s, void *arg);
	void *arg;
};

void deadline_init(struct deadline *d,
    void (*fn)(struct supervisor *s, void *arg), void *arg);
/* Replaces an earlier time.  MONO_NEVER clears. */
void deadline_set(struct supervisor *s, struct deadline *d, struct mono at);
void deadline_after(struct supervisor *s, struct deadline *d, struct span d2);
void deadline_clear(struct supervisor *s, struct deadline *d);
/* loop.c: the first one's time (MONO_NEVER: none); runs what is due. */
struct mono deadline_first(struct supervisor *s);
void deadline_run(struct supervisor *s, struct mono now);

#endif
