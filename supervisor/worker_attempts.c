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

void
worker_attempts_init(struct worker_attempts *t)
{
	RB_INIT(&t->tree);
	TAILQ_INIT(&t->late);
	t->nlate = 0;
}

static struct worker_attempt *
find(struct worker_attempts *t, uint64_t id)
{
	struct worker_attempt key = { .id = id };

	return RB_FIND(worker_attempt_tree, &t->tree, &key);
}

void
worker_attempts_add(struct worker_attempts *t, uint64_t id, uint32_t server)
{
	struct worker_attempt *a = mem_zalloc(sizeof(*a));

	a->id = id;
	a->server = server;
	if (RB_INSERT(worker_attempt_tree, &t->tree, a) != NULL)
		free(a);
}

bool
worker_attempts_has(struct worker_attempts *t, uint64_t id)
{
	return find(t, id) != NULL;
}

void
worker_late_free(struct worker_late **late)
{
	if (*late == NULL)
		return;
	free((*late)->job);
	free(*late);
	*late = NULL;
}

static struct worker_late *
take_late(struct worker_attempts *t, struct worker_attempt *a)
{
	struct worker_late *late = a->late;

	if (late == NULL)
		return NULL;
	TAILQ_REMOVE(&t->late, late, entry);
	t->nlate--;
	a->late = NULL;
	return late;
}

void
worker_attempts_give_up(struct worker_attempts *t, uint64_t id,
    const struct attempt_late *l)
{
	struct worker_attempt *a = find(t, id);
	struct worker_late *late;

	if (a == NULL || a->late != NULL)
		return;
	if (t->nlate == WORKER_LATE_MAX) {
		late = take_late(t, TAILQ_FIRST(&t->late)->of);
		worker_late_free(&late);
	}
	late = mem_zalloc(sizeof(*late));
	late->job = mem_strdup(l->job);
	late->attempt = *l;
	late->attempt.job = late->job;
	late->of = a;
	a->late = late;
	TAILQ_INSERT_TAIL(&t->late, late, entry);
	t->nlate++;
}

static void
release(struct worker_attempts *t, struct worker_attempt *a)
{
	struct worker_late *late = take_late(t, a);

	worker_late_free(&late);
	RB_REMOVE(worker_attempt_tree, &t->tree, a);
	free(a);
}

bool
worker_attempts_end(struct worker_attempts *t, uint64_t id,
    struct worker_late **ret_late)
{
	struct worker_attempt *a = find(t, id);
	struct worker_late *late;

	if (a == NULL)
		return false;
	late = take_late(t, a);
	if (late != NULL)
		*ret_late = late;
	release(t, a);
	return true;
}

void
worker_attempts_drop(struct worker_attempts *t, uint32_t server)
{
	struct worker_attempt *a, *next;

	RB_FOREACH_SAFE(a, worker_attempt_tree, &t->tree, next)
		if (a->server == server)
			release(t, a);
}

void
worker_attempts_clear(struct worker_attempts *t)
{
	struct worker_attempt *a;

	while ((a = RB_MIN(worker_attempt_tree, &t->tree)) != NULL)
		release(t, a);
}
