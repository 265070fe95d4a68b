#ifndef OZ0_SANDBOX_CAPS_H
#define OZ0_SANDBOX_CAPS_H

#include <stdbool.h>
#include <sys/types.h>

/* Capabilities and user ids, by system call: nothing here allocates. */

/* Makes every permitted capability ambient, so that an exec keeps it. */
int caps_raise_ambient(void);
/*
 * Empties every set: ambient, bounding, inheritable, permitted, effective.
 * 0 or -errno.
 */
int caps_drop(void);
/* Are all sets empty, the bounding set included? */
bool caps_none(void);
/*
 * Root becomes uid and gid for good, without further groups, and can still
 * write its maps (dumpable).  0 or -errno.
 */
int caps_switch_user(uid_t uid, gid_t gid);
/*
 * Inside a fresh user namespace: own number to own number, no setgroups.
 * 0, or -errno with *ret_act.
 */
int caps_write_maps(uid_t uid, gid_t gid, const char **ret_act);

#endif
