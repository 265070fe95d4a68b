/*
 * Measured values and what is said of them.  Part of oz0-bench.
 *
 * A benchmark here speaks in medians and quantiles, never in means: one pause
 * of the machine must not decide what a figure is.
 */
#include "bench/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/mem.h"

void
sample_add(struct sample *s, double v)
{
	if (s->n == s->cap) {
		s->cap = s->cap != 0 ? s->cap * 2 : 64;
		s->v = mem_realloc(s->v, s->cap * sizeof(*s->v));
	}
	s->v[s->n++] = v;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double
sample_quantile(const struct sample *s, double q)
{
	CLEANUP_FREE double *sorted = NULL;
	size_t at;

	if (s->n == 0)
		return NAN;
	sorted = mem_dup(s->v, s->n * sizeof(*s->v));
	qsort(sorted, s->n, sizeof(*sorted), compare);
	at = (size_t)(q * (double)s->n);
	return sorted[at < s->n ? at : s->n - 1];
}

void
sample_free(struct sample *s)
{
	free(s->v);
	memset(s, 0, sizeof(*s));
}

double
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}
