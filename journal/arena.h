#ifndef OZ0_JOURNAL_ARENA_H
#define OZ0_JOURNAL_ARENA_H

#include <stddef.h>

/*
 * Memory for what lives as long as a batch: taken in small pieces, given back
 * as a whole, and used again for the next one.  Zero-initialised is empty.
 */
struct arena {
	struct arena_piece *first; /* the one being used up */
	size_t used;		   /* of it */
};

/* Zeroed, aligned for everything; good until arena_clear(). */
void *arena_zalloc(struct arena *a, size_t n);
/* All of it goes but one piece, which the next batch begins with. */
void arena_clear(struct arena *a);
void arena_free(struct arena *a);

#endif
