#ifndef OZ0_JOURNAL_RETAIN_H
#define OZ0_JOURNAL_RETAIN_H

#include <stdbool.h>

#include "base/time.h"
#include "journal/db.h"

/*
 * What is not kept: ended jobs after keep_jobs, forgotten ones, the answers
 * of ended jobs, the node's own steps after keep_jobs.  One bounded piece a
 * call; *ret_more says whether another one is due at once.
 */
int retain_turn(struct db *d, struct span keep, bool *ret_more);
/*
 * At start, before the recovery: jobs LOST for longer than keep_jobs, which
 * nobody came back for.  (Later the supervisor holds them in memory.)
 */
int retain_lost(struct db *d, struct span keep);

#endif
