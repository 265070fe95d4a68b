/*
 * Cancels that overtook their calls, in oz0-worker; see cancels.h.
 */
#include "worker/cancels.h"

#include <stdlib.h>

#include "base/mem.h"

static int
compare(const struct cancel *a, const struct cancel *b)
{
	return a->attempt < b->attempt ? -1 : a->attempt > b->attempt;
}

RB_GENERATE_INTERNAL(cancel_tree, cancel, entry, compare,
    static __attribute__((unused)))

void
cancels_init(struct cancels *c)
{
	RB_INIT(&c->tree);
	TAILQ_INIT(&c->list);
	c->n = 0;
}

static void
drop(struct cancels *c, struct cancel *x)
{
	RB_REMOVE(cancel_tree, &c->tree, x);
	TAILQ_REMOVE(&c->list, x, order);
	c->n--;
	free(x);
}

void
cancels_free(struct cancels *c)
{
	while (!TAILQ_EMPTY(&c->list))
		drop(c, TAILQ_FIRST(&c->list));
}

void
cancels_add(struct cancels *c, uint64_t attempt)
{
	struct cancel *x = mem_zalloc(sizeof(*x));

	x->attempt = attempt;
	if (RB_INSERT(cancel_tree, &c->tree, x) != NULL) {
		free(x);
		return;
	}
	TAILQ_INSERT_TAIL(&c->list, x, order);
	if (++c->n > CANCELS_MAX)
		drop(c, TAILQ_FIRST(&c->list));
}

bool
cancels_take(struct cancels *c, uint64_t attempt)
{
	struct cancel key = { .attempt = attempt };
	struct cancel *x = RB_FIND(cancel_tree, &c->tree, &key);

	if (x == NULL)
		return false;
	drop(c, x);
	return true;
}
