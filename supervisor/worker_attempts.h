#ifndef OZ0_SUPERVISOR_WORKER_ATTEMPTS_H
#define OZ0_SUPERVISOR_WORKER_ATTEMPTS_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/tree.h>

/*
 * The attempts that a worker was told of and has not told the end of.  The
 * core may have given one up meanwhile (its time for stopping was over), so
 * this is what says whether an end is the worker's to tell, and told once.
 */
struct worker_attempt {
	RB_ENTRY(worker_attempt) entry;
	uint64_t id;
	uint32_t server;
};
RB_HEAD(worker_attempt_tree, worker_attempt);

void worker_attempts_add(
    struct worker_attempt_tree *t, uint64_t id, uint32_t server);
bool worker_attempts_has(struct worker_attempt_tree *t, uint64_t id);
bool worker_attempts_end(struct worker_attempt_tree *t, uint64_t id);
/* The server is gone and drained: no more is to be told of it. */
void worker_attempts_drop(struct worker_attempt_tree *t, uint32_t server);
void worker_attempts_clear(struct worker_attempt_tree *t);

#endif
