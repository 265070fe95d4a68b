#ifndef OZ0_BASE_CLEANUP_H
#define OZ0_BASE_CLEANUP_H

#include <stdlib.h>

#include "base/fd.h"

/* Locals that clean up after themselves; give one away with steal_*(). */

static inline void
cleanup_freep(void *p)
{
	free(*(void **)p);
}

static inline void
cleanup_closep(int *fd)
{
	fd_close(fd);
}

static inline void *
cleanup_steal(void *pp)
{
	void *p = *(void **)pp;

	*(void **)pp = NULL;
	return p;
}

#define CLEANUP(fn) __attribute__((cleanup(fn)))
#define CLEANUP_FREE CLEANUP(cleanup_freep)
#define CLEANUP_CLOSE CLEANUP(cleanup_closep)
#define STEAL_PTR(p) ((__typeof__(p))cleanup_steal(&(p)))

#endif
