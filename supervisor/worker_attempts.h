#ifndef OZ0_SUPERVISOR_WORKER_ATTEMPTS_H
#define OZ0_SUPERVISOR_WORKER_ATTEMPTS_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/queue.h>
#include <sys/tree.h>

#include "supervisor/call.h"

/*
 * The attempts that a worker was told of and has not told the end of.  The
 * core may have given one up meanwhile (its time for stopping was over), so
 * this is what says whether an end is the worker's to tell, and told once.
 */
struct worker_attempt {
	RB_ENTRY(worker_attempt) entry;
	uint64_t id;
	uint32_t server;
	struct worker_late *late; /* given up, not confirmed; or NULL */
};
RB_HEAD(worker_attempt_tree, worker_attempt);

/* What the trace needs, should it still be answered (L1.5). */
struct worker_late {
	TAILQ_ENTRY(worker_late) entry;
	struct worker_attempt *of;
	struct attempt_late attempt;
	char *job; /* attempt.job */
};
TAILQ_HEAD(worker_late_list, worker_late);
void worker_late_free(struct worker_late **late);

/* Most servers never answer what was cancelled: only the newest are kept. */
#define WORKER_LATE_MAX 4096

struct worker_attempts {
	struct worker_attempt_tree tree;
	struct worker_late_list late; /* oldest first */
	unsigned nlate;
};

void worker_attempts_init(struct worker_attempts *t);
void worker_attempts_add(
    struct worker_attempts *t, uint64_t id, uint32_t server);
bool worker_attempts_has(struct worker_attempts *t, uint64_t id);
void worker_attempts_give_up(struct worker_attempts *t, uint64_t id,
    const struct attempt_late *l);
/* *ret_late is the caller's; untouched where it was not given up. */
bool worker_attempts_end(struct worker_attempts *t, uint64_t id,
    struct worker_late **ret_late);
/* The server is gone and drained: no more is to be told of it. */
void worker_attempts_drop(struct worker_attempts *t, uint32_t server);
void worker_attempts_clear(struct worker_attempts *t);

#endif
