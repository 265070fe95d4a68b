#ifndef OZ0_JOURNAL_STEPS_H
#define OZ0_JOURNAL_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "journal/db.h"

/*
 * How steps stand in the database.  The body of a row of `steps` has those
 * that one job (or the node) made in one batch, in the order of seq, each as
 *
 *	SEQ LENGTH JSON newline
 *
 * Batches follow each other: no step of a later one has a smaller seq than
 * one of an earlier, while the rows of one batch interleave.
 */
void steps_put(struct buf *body, uint64_t seq, const char *json, size_t len);

/* Some steps in the order of seq, read from their rows. */
struct steps {
	struct buf text;
	struct steps_one {
		uint64_t seq;
		size_t at, len; /* in text */
	} *one;
	size_t n, room;
};

void steps_free(struct steps *s); /* also a CLEANUP function */

/*
 * The next steps from since on, of a job or (0) of all and of the node: those
 * of a batch.  1, 0 when there are none, or what db_run() gives.
 */
int steps_read(struct db *d, int64_t job, uint64_t since, struct steps *ret);

#endif
