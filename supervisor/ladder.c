/*
 * The times of the ladder.  A shorter time that comes later moves what has
 * not been done yet; nothing is done twice.
 */
#include "supervisor/ladder.h"

static const struct {
	unsigned percent;
	const char *name;
} steps[] = {
	[LADDER_REST] = { 0, "rest" },
	[LADDER_STDIN] = { 0, "stdin" },
	[LADDER_SHUT] = { 10, "stdin shut down" },
	[LADDER_TERM] = { 40, "SIGTERM" },
	[LADDER_KILL] = { 80, "SIGKILL" },
};

const char *
ladder_step_name(enum ladder_step step)
{
	return steps[step].name;
}

static struct mono
time_of(const struct ladder *l, enum ladder_step step)
{
	int64_t whole = l->until.us - l->began.us;

	return mono_add(
	    l->began, SPAN_US(whole / 100 * (int64_t)steps[step].percent));
}

bool
ladder_begin(struct ladder *l, struct mono now, struct span time)
{
	struct mono until = mono_add(now, time);

	if (l->step != LADDER_REST) {
		if (mono_before(until, l->until)) {
			l->began = now;
			l->until = until;
		}
		return false;
	}
	l->step = LADDER_STDIN;
	l->began = now;
	l->until = until;
	return true;
}

bool
ladder_due(struct ladder *l, struct mono now, enum ladder_step *ret)
{
	enum ladder_step next = l->step + 1;

	if (l->step == LADDER_REST || l->step == LADDER_KILL
	    || mono_before(now, time_of(l, next)))
		return false;
	l->step = next;
	*ret = next;
	return true;
}

struct mono
ladder_next(const struct ladder *l)
{
	if (l->step == LADDER_REST || l->step == LADDER_KILL)
		return MONO_NEVER;
	return time_of(l, l->step + 1);
}
