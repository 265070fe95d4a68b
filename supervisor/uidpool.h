#ifndef OZ0_SUPERVISOR_UIDPOOL_H
#define OZ0_SUPERVISOR_UIDPOOL_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Uids of uid_range for sessions, workers and tools, when oz0d is root.  One
 * that was given back is used again as late as can be.
 */
struct uidpool;
struct uidpool *uidpool_new(uid_t first, uid_t last);
void uidpool_free(struct uidpool *p); /* NULL is fine */
bool uidpool_take(struct uidpool *p, uid_t *ret); /* false: all taken */
/* One that is known to be in use (a tool's); false: not in range, or taken. */
bool uidpool_reserve(struct uidpool *p, uid_t uid);
void uidpool_give(struct uidpool *p, uid_t uid);

#endif
