#ifndef OZ0_WORKER_CANCELS_H
#define OZ0_WORKER_CANCELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/tree.h>

/*
 * Cancels that came before their call: on the channel an urgent frame passes
 * those that are not begun.  A cancel of what has ended long ago looks the
 * same, so only the newest CANCELS_MAX are kept.
 */
#define CANCELS_MAX 65536

struct cancel {
	RB_ENTRY(cancel) entry;
	TAILQ_ENTRY(cancel) order;
	uint64_t attempt;
};
RB_HEAD(cancel_tree, cancel);
TAILQ_HEAD(cancel_list, cancel);

struct cancels {
	struct cancel_tree tree;
	struct cancel_list list; /* oldest first */
	size_t n;
};

void cancels_init(struct cancels *c);
void cancels_free(struct cancels *c);
void cancels_add(struct cancels *c, uint64_t attempt);
bool cancels_take(struct cancels *c, uint64_t attempt); /* was it there? */

#endif
