/*
 * Counting noise for oz0-worker; see noise.h.
 */
#include "worker/noise.h"

#include "base/str.h"

#define EVERY SPAN_S(1)

static struct mono
due(const struct noise_kind *k)
{
	if (k->count == 0)
		return MONO_NEVER;
	return k->ever ? mono_add(k->told, EVERY) : (struct mono) { 0 };
}

bool
noise_add(struct noise *n, enum wire_noise what, const char *sample,
    struct mono now)
{
	struct noise_kind *k = &n->kinds[what];

	if (k->count++ == 0)
		str_copy(k->sample, sizeof(k->sample), sample);
	return !mono_before(now, due(k));
}

bool
noise_take(struct noise *n, struct mono now, bool all,
    enum wire_noise *ret_what, uint64_t *ret_count, const char **ret_sample)
{
	for (int i = 0; i < NOISE_KINDS; i++) {
		struct noise_kind *k = &n->kinds[i];

		if (k->count == 0 || (!all && mono_before(now, due(k))))
			continue;
		*ret_what = (enum wire_noise)i;
		*ret_count = k->count;
		*ret_sample = k->sample;
		k->count = 0;
		k->ever = true;
		k->told = now;
		return true;
	}
	return false;
}

struct mono
noise_due(const struct noise *n)
{
	struct mono t = MONO_NEVER;

	for (int i = 0; i < NOISE_KINDS; i++)
		if (mono_before(due(&n->kinds[i]), t))
			t = due(&n->kinds[i]);
	return t;
}
