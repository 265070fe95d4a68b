#ifndef OZ0_SANDBOX_FILTER_MEMFD_H
#define OZ0_SANDBOX_FILTER_MEMFD_H

#include <seccomp.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Making a filter's programs into a memfd, for filter_server.c and
 * filter_strict.c; filter_apply_memfd() of sandbox/filter.h loads one.
 */

/* Rules that compare with it compare with the pid of who loads the filter. */
#define FILTER_OWN_PID 0x6f7a3050u /* more than any pid can be */

struct filter_program {
	uint32_t fallback; /* the action where no rule fits */
	uint32_t badarch;  /* and for system calls of another architecture */
	int (*rules)(scmp_filter_ctx);
};

/* Loaded in this order; second may be NULL.  A descriptor, or -errno. */
int filter_memfd(const struct filter_program *first,
    const struct filter_program *second);

#endif
