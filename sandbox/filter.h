#ifndef OZ0_SANDBOX_FILTER_H
#define OZ0_SANDBOX_FILTER_H

#include "base/buf.h"

/*
 * seccomp programs, made apart from being applied (DESIGN, Starting one).
 *
 * The servers' filter is two programs: what is not known answers ENOSYS, so
 * that libc falls back (clone3, fchmodat2); what is refused answers EPERM.
 * Nothing kills: runtimes probe for what they may not have.
 */

/*
 * Made once, by the supervisor, as a sealed memfd to go with each
 * WIRE_SANDBOX_PLAN.  A descriptor, or -errno.
 */
int filter_server_memfd(void);
/* Applies a memfd of here to the caller, who has no_new_privs. 0 or -errno. */
int filter_apply_memfd(int fd);

/*
 * The strict filters of the node's own confined processes, made and applied at
 * once: the dangerous calls kill, what is not allowed answers ENOSYS.
 */
enum filter_strict { FILTER_WORKER, FILTER_JOURNAL };
int filter_apply_strict(enum filter_strict which);
/*
 * The same as a sealed memfd for filter_apply_memfd(): what the supervisor
 * makes once and each worker is given, since making it costs more than the
 * rest of the confinement.  A descriptor, or -errno.
 */
int filter_strict_memfd(enum filter_strict which);

/* The servers' filter in words. */
void filter_explain(struct buf *out);

#endif
