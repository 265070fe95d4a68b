/*
 * Memory of a batch of oz0-journal: thousands of calls at a time, each of
 * which is there until all of them go.
 */
#include "journal/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define PIECE ((size_t)64 * 1024)

struct arena_piece {
	struct arena_piece *next;
	size_t size;
	alignas(max_align_t) char data[];
};

static void
add_piece(struct arena *a, size_t n)
{
	size_t size = n > PIECE ? n : PIECE;
	struct arena_piece *p = mem_alloc(sizeof(*p) + size);

	p->next = a->first;
	p->size = size;
	a->first = p;
	a->used = 0;
}

void *
arena_zalloc(struct arena *a, size_t n)
{
	const size_t unit = alignof(max_align_t);
	char *p;

	n = (n + unit - 1) / unit * unit;
	if (a->first == NULL || a->first->size - a->used < n)
		add_piece(a, n);
	p = a->first->data + a->used;
	a->used += n;
	return memset(p, 0, n);
}

/* All pieces but those from keep on. */
static void
drop_until(struct arena *a, const struct arena_piece *keep)
{
	while (a->first != keep) {
		struct arena_piece *p = a->first;

		a->first = p->next;
		free(p);
	}
	a->used = 0;
}

void
arena_clear(struct arena *a)
{
	struct arena_piece *oldest = a->first;

	while (oldest != NULL && oldest->next != NULL)
		oldest = oldest->next;
	drop_until(a, oldest);
}

void
arena_free(struct arena *a)
{
	drop_until(a, NULL);
}
