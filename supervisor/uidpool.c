/*
 * A bitmap over uid_range, searched from where the last search ended: a uid
 * that ended a moment ago is the last to be given again.  Run by the
 * supervisor alone.
 */
#include "supervisor/uidpool.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"

#define WORD_BITS 64

struct uidpool {
	uid_t first;
	size_t count, next, taken;
	uint64_t *map;
};

struct uidpool *
uidpool_new(uid_t first, uid_t last)
{
	struct uidpool *p = mem_zalloc(sizeof(*p));

	p->first = first;
	p->count = (size_t)(last - first) + 1;
	p->map = mem_array(
	    (p->count + WORD_BITS - 1) / WORD_BITS, sizeof(*p->map));
	return p;
}

void
uidpool_free(struct uidpool *p)
{
	if (p == NULL)
		return;
	free(p->map);
	free(p);
}

static bool
is_taken(const struct uidpool *p, size_t i)
{
	return (p->map[i / WORD_BITS] >> (i % WORD_BITS) & 1) != 0;
}

static bool
index_of(const struct uidpool *p, uid_t uid, size_t *ret)
{
	if (uid < p->first || (size_t)(uid - p->first) >= p->count)
		return false;
	*ret = (size_t)(uid - p->first);
	return true;
}

static void
mark(struct uidpool *p, size_t i)
{
	p->map[i / WORD_BITS] |= (uint64_t)1 << (i % WORD_BITS);
	p->taken++;
}

bool
uidpool_take(struct uidpool *p, uid_t *ret)
{
	size_t i = p->next;

	if (p->taken == p->count)
		return false;
	while (is_taken(p, i))
		i = (i + 1) % p->count;
	mark(p, i);
	p->next = (i + 1) % p->count;
	*ret = p->first + (uid_t)i;
	return true;
}

bool
uidpool_reserve(struct uidpool *p, uid_t uid)
{
	size_t i;

	if (!index_of(p, uid, &i) || is_taken(p, i))
		return false;
	mark(p, i);
	return true;
}

void
uidpool_give(struct uidpool *p, uid_t uid)
{
	size_t i;

	if (!index_of(p, uid, &i) || !is_taken(p, i))
		return;
	p->map[i / WORD_BITS] &= ~((uint64_t)1 << (i % WORD_BITS));
	p->taken--;
}
