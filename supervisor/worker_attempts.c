/*
 * What a worker still owes an end, by the supervisor's own records.
 */
#include "supervisor/worker_attempts.h"

#include <stdlib.h>

#include "base/mem.h"

static int
compare(const struct worker_attempt *a, const struct worker_attempt *b)
{
	return a->id < b->id ? -1 : a->id > b->id;
}

RB_GENERATE_INTERNAL(worker_attempt_tree, worker_attempt, entry, compare,
    __attribute__((unused)) static)

static struct worker_attempt *
find(struct worker_attempt_tree *t, uint64_t id)
{
	struct worker_attempt key = { .id = id };

	return RB_FIND(worker_attempt_tree, t, &key);
}

void
worker_attempts_add(
    struct worker_attempt_tree *t, uint64_t id, uint32_t server)
{
	struct worker_attempt *a = mem_zalloc(sizeof(*a));

	a->id = id;
	a->server = server;
	if (RB_INSERT(worker_attempt_tree, t, a) != NULL)
		free(a);
}

bool
worker_attempts_has(struct worker_attempt_tree *t, uint64_t id)
{
	return find(t, id) != NULL;
}

bool
worker_attempts_end(struct worker_attempt_tree *t, uint64_t id)
{
	struct worker_attempt *a = find(t, id);

	if (a == NULL)
		return false;
	RB_REMOVE(worker_attempt_tree, t, a);
	free(a);
	return true;
}

void
worker_attempts_drop(struct worker_attempt_tree *t, uint32_t server)
{
	struct worker_attempt *a = RB_MIN(worker_attempt_tree, t), *next;

	for (; a != NULL; a = next) {
		next = RB_NEXT(worker_attempt_tree, t, a);
		if (a->server != server)
			continue;
		RB_REMOVE(worker_attempt_tree, t, a);
		free(a);
	}
}

void
worker_attempts_clear(struct worker_attempt_tree *t)
{
	struct worker_attempt *a;

	while ((a = RB_MIN(worker_attempt_tree, t)) != NULL) {
		RB_REMOVE(worker_attempt_tree, t, a);
		free(a);
	}
}
