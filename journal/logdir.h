#ifndef OZ0_JOURNAL_LOGDIR_H
#define OZ0_JOURNAL_LOGDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * state_dir/log: which segments there are, making and removing them, and the
 * marks: the highest numbers given out when segments were last removed, so
 * that none is given out twice should the database be lost.  Functions give 0
 * or a negative errno unless they say otherwise.
 */
struct logdir;

int logdir_open(int state_dir, struct logdir **ret);
void logdir_close(struct logdir *l); /* NULL is fine */

/* The smallest number above n; 0 when there is none. */
uint64_t logdir_next(const struct logdir *l, uint64_t n);
/* The smallest number above n whose segment was begun; 0: none. */
uint64_t logdir_next_begun(const struct logdir *l, uint64_t n);
uint64_t logdir_newest_begun(const struct logdir *l); /* 0: none */
size_t logdir_count(const struct logdir *l);

/* A segment for reading. */
int logdir_open_segment(const struct logdir *l, uint64_t number, int *ret_fd);
/*
 * A blank segment of that number with all its blocks had, made or found so:
 * open for writing.  -EEXIST: it was begun already.
 */
int logdir_make_segment(
    struct logdir *l, uint64_t number, uint64_t size, bool sync, int *ret_fd);
/* Removes every segment with a number below. */
int logdir_drop_below(struct logdir *l, uint64_t number);
/* fdatasync of the segments from number on that were begun. */
int logdir_sync_from(const struct logdir *l, uint64_t number);

struct logdir_marks {
	uint64_t seq, call, attempt, segment;
};
/* All 0 when there are none. */
int logdir_get_marks(const struct logdir *l, struct logdir_marks *ret);
int logdir_set_marks(const struct logdir *l, const struct logdir_marks *m);

#endif
