#ifndef OZ0_SUPERVISOR_LEFTOVER_H
#define OZ0_SUPERVISOR_LEFTOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "supervisor/supervisor.h"
#include "wire/record.h"

/*
 * Who a process is: a pid alone is not enough, it may have been given to
 * another since (B017).
 */
/* Field 22 of /proc/PID/stat, and its state letter; 0 or -errno. */
int leftover_start_time(pid_t pid, uint64_t *ret);
int leftover_parse_stat(
    const char *text, char *ret_state, uint64_t *ret_start_time);
/* This boot's id: 36 characters and NUL; 0 or -errno. */
int leftover_boot_id(char ret[37]);
/*
 * A pidfd of the recorded child if it still lives: same boot, same start time,
 * asked again once the pidfd is had.  -ESRCH: it is gone.
 */
int leftover_open(const struct rec_child *c, const char *boot_id);
/* "pid 12 (D, in nfs_wait)": pid and its descendants that live. */
void leftover_describe(pid_t pid, struct buf *out);

/*
 * What the node before left behind, killed and waited for.  Add each child
 * that its log has born and not dead; wait until leftovers_left() is 0.
 */
struct leftovers;
struct leftovers *leftovers_new(void);
void leftovers_free(struct leftovers *l);
void leftovers_add(
    struct supervisor *s, struct leftovers *l, const struct rec_child *c);
unsigned leftovers_left(const struct leftovers *l);
void leftovers_kill(struct leftovers *l); /* again */
void leftovers_name(const struct leftovers *l, struct buf *out);

#endif
