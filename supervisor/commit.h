#ifndef OZ0_SUPERVISOR_COMMIT_H
#define OZ0_SUPERVISOR_COMMIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Group commit (DESIGN, Recording).  Under "durability": "power" an act that
 * follows from the log waits until the log is on its disk up to the last
 * record before the act, and for no later one: work that never pauses starves
 * nobody.  oz0-journal makes one sync at a time, for all that was recorded
 * before it was asked.
 */
struct commit {
	bool waits;	 /* acts wait at all */
	uint64_t synced; /* all up to this seq is on the disk */
	uint64_t asked;	 /* for a sync up to it; > synced: it is on its way */
};

/*
 * Acts of one kind, in the order in which they were to happen: bytes for one
 * client, attempts by number.  Whatever their number, two marks are enough:
 * those that the sync on its way will let go, and those after them.
 */
struct commit_queue {
	uint64_t passed; /* the acts up to this one may happen */
	struct commit_mark {
		uint64_t act, seq; /* up to this act: once seq is synced */
	} marks[2];
	unsigned n;
};

/* The acts up to `act` that are not in it yet follow from seq. */
void commit_put(const struct commit *c, struct commit_queue *q, uint64_t act,
    uint64_t seq);
/* Up to which act they may happen now. */
uint64_t commit_passed(const struct commit *c, struct commit_queue *q);

#endif
