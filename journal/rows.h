#ifndef OZ0_JOURNAL_ROWS_H
#define OZ0_JOURNAL_ROWS_H

#include <stdint.h>

#include "base/buf.h"
#include "journal/db.h"

/*
 * Jobs and calls of the past as JSON, with the names of INTERFACES.  Each
 * appends one object to out: 1, 0 when there is no such thing, or -errno.
 */
int rows_job(struct db *d, const char *job, struct buf *out);
int rows_call(struct db *d, uint64_t call, struct buf *out);
/* As call/start answered it, as far as the answer is kept. */
int rows_result(struct db *d, uint64_t call, struct buf *out);

#endif
