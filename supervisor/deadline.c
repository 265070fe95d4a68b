/*
 * Deadlines: a tree of times and one timerfd on CLOCK_BOOTTIME, because
 * libevent counts on a clock that stands still while the machine sleeps.  The
 * timer is set once a turn, to the first of the tree (loop.c).
 */
#include "supervisor/deadline.h"

#include <stdint.h>

#include "supervisor/supervisor.h"

static int
compare(const struct deadline *a, const struct deadline *b)
{
	if (a->at.us != b->at.us)
		return a->at.us < b->at.us ? -1 : 1;
	return (uintptr_t)a < (uintptr_t)b ? -1 : (uintptr_t)a > (uintptr_t)b;
}

RB_GENERATE_INTERNAL(deadline_tree, deadline, entry, compare,
    __attribute__((unused)) static)

void
deadline_init(struct deadline *d,
    void (*fn)(struct supervisor *s, void *arg), void *arg)
{
	d->set = false;
	d->fn = fn;
	d->arg = arg;
}

void
deadline_clear(struct supervisor *s, struct deadline *d)
{
	if (d->set)
		RB_REMOVE(deadline_tree, &s->deadlines, d);
	d->set = false;
}

void
deadline_set(struct supervisor *s, struct deadline *d, struct mono at)
{
	deadline_clear(s, d);
	if (at.us == MONO_NEVER.us)
		return;
	d->at = at;
	d->set = true;
	RB_INSERT(deadline_tree, &s->deadlines, d);
}

void
deadline_after(struct supervisor *s, struct deadline *d, struct span d2)
{
	deadline_set(s, d,
	    span_is_none(d2) ? MONO_NEVER : mono_add(time_mono(), d2));
}

struct mono
deadline_first(struct supervisor *s)
{
	struct deadline *d = RB_MIN(deadline_tree, &s->deadlines);

	return d == NULL ? MONO_NEVER : d->at;
}

void
deadline_run(struct supervisor *s, struct mono now)
{
	struct deadline *d;

	/* now stands still: what is set meanwhile waits for the next turn */
	while ((d = RB_MIN(deadline_tree, &s->deadlines)) != NULL
	    && d->at.us <= now.us) {
		deadline_clear(s, d);
		d->fn(s, d->arg);
	}
}
