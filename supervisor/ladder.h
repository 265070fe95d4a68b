#ifndef OZ0_SUPERVISOR_LADDER_H
#define OZ0_SUPERVISOR_LADDER_H

#include <stdbool.h>

#include "base/time.h"

/*
 * When each step of stopping a process tree is due (LIFECYCLE L1.2): stdin
 * ends at once (by the worker, after the cancel; by the supervisor where the
 * worker does not, at 10 %), SIGTERM at 40 % of the time, SIGKILL at 80 %.
 * Pure arithmetic: server.c and session_process.c act on it.
 */
enum ladder_step {
	LADDER_REST,  /* not begun */
	LADDER_STDIN, /* waits for a polite end */
	LADDER_SHUT,  /* the supervisor shut stdin itself */
	LADDER_TERM,  /* waits for SIGTERM to work */
	LADDER_KILL,  /* waits for the kernel */
};

struct ladder {
	enum ladder_step step;
	struct mono began;
	struct mono until;
};

/*
 * Begins, or where it began already takes the earlier end.  true: begun now.
 */
bool ladder_begin(struct ladder *l, struct mono now, struct span time);
/* The steps that are due now, one a call: true and the step to carry out. */
bool ladder_due(struct ladder *l, struct mono now, enum ladder_step *ret);
/* When the next one is due; MONO_NEVER after SIGKILL. */
struct mono ladder_next(const struct ladder *l);
const char *ladder_step_name(enum ladder_step step);

#endif
