/*
 * Which acts the log lets happen by now, under "durability": "power".  Pure
 * arithmetic, run by oz0d: journal.c asks for syncs and notes what is synced,
 * attempt.c and control_conn.c put their acts here and ask.
 */
#include "supervisor/commit.h"

#include <stddef.h>

uint64_t
commit_passed(const struct commit *c, struct commit_queue *q)
{
	while (q->n > 0 && (!c->waits || q->marks[0].seq <= c->synced)) {
		q->passed = q->marks[0].act;
		q->marks[0] = q->marks[1];
		q->n--;
	}
	return q->passed;
}

void
commit_put(const struct commit *c, struct commit_queue *q, uint64_t act,
    uint64_t seq)
{
	struct commit_mark m = { act, seq }, *last;

	commit_passed(c, q);
	last = q->n > 0 ? &q->marks[q->n - 1] : NULL;
	if (act == (last == NULL ? q->passed : last->act))
		return;
	if (last != NULL && (last->seq > c->asked || seq <= c->asked)) {
		*last = m; /* the same sync lets both go */
	} else if (q->n == 2) {
		/* both are on their way with one sync: a fresh oz0-journal
		 * was asked again */
		q->marks[0] = q->marks[1];
		q->marks[1] = m;
	} else {
		q->marks[q->n++] = m;
	}
	commit_passed(c, q);
}
