#ifndef OZ0_BENCH_PROC_H
#define OZ0_BENCH_PROC_H

#include <sys/types.h>

#include "bench/node.h"

/* The node's processes as /proc and node/ps show them. */

struct shares {
	double worker_kib; /* of all sessions' workers together */
	double init_kib;   /* of all inits of jobs' servers */
	double oz0d_kib;
	unsigned workers, inits;
};

/* KiB from smaps_rollup; -1: it may not be looked at. */
double proc_pss(pid_t pid);
/* Memory of the node; false: a process may not be looked at. */
bool proc_shares(struct node *n, struct shares *ret);
/* us of processor time so far. */
struct cpu {
	double oz0d, workers, journal;
};
void proc_cpu(struct node *n, struct cpu *ret);
/* Waits until no process of the node works any more (a minute at most). */
void proc_settle(struct node *n);

#endif
