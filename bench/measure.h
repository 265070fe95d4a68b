#ifndef OZ0_BENCH_MEASURE_H
#define OZ0_BENCH_MEASURE_H

#include <stddef.h>

#include "bench/launcher.h"
#include "bench/node.h"
#include "bench/row.h"

/* One round of each kind: the node and its floor, one after the other. */

struct measure {
	struct node *node;
	struct launcher *launcher;
	struct rows *rows;
	unsigned round;
	size_t calls;	 /* one after the other */
	size_t pipelined;
	size_t big;	 /* results of 1 MiB */
	size_t starts;
	size_t cancels;
	size_t sessions; /* idle ones, for their memory */
	unsigned kind;	 /* counts the jobs of calls.c */
};

/* calls.c */
void measure_calls(struct measure *m);
void measure_big(struct measure *m);
/* sessions.c */
void measure_start(struct measure *m);
void measure_cancel(struct measure *m);
void measure_memory(struct measure *m);

#endif
