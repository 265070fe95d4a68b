#ifndef OZ0_JOURNAL_FOLLOW_H
#define OZ0_JOURNAL_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/logdir.h"
#include "wire/record.h"

/*
 * Reads the log record after record, across segments, while oz0d writes it.
 * A segment ends where a whole, good record does not follow and a later one
 * was begun; before that the same place is read again (DESIGN, Recording).
 */
struct follow;

/* From that place on; segment 0: from the oldest on. */
struct follow *follow_new(
    struct logdir *l, uint64_t segment, uint64_t offset, uint64_t last_seq);
void follow_free(struct follow *f); /* NULL is fine */
/*
 * 1: *ret is the next record (its views last until the next follow_next());
 * 0: nothing more now; or -errno: the place is kept, try again later.
 */
int follow_next(struct follow *f, struct record *ret);
/* Where the next record stands. */
uint64_t follow_segment(const struct follow *f);
uint64_t follow_offset(const struct follow *f);

#endif
