#ifndef OZ0_BENCH_FLOOR_H
#define OZ0_BENCH_FLOOR_H

#include <stddef.h>
#include <sys/types.h>

/*
 * The floor of a call: the least that its way costs on this machine.  The
 * caller, as many bare relays as a node has processes on the way, and a
 * server that answers each line with the same line; nothing is looked at.
 */

#define FLOOR_RELAYS_MAX 2

struct floor {
	int fd; /* the caller's end, blocking */
	pid_t pids[FLOOR_RELAYS_MAX + 1];
	size_t npids;
};

/* Answers have answer_len bytes, newline included; at least one relay. */
void floor_open(struct floor *f, size_t relays, size_t answer_len);
void floor_close(struct floor *f);

#endif
