/*
 * What oz0-bench says at the end: for each row the node's value, the floor's,
 * their ratio, the aim and whether it is met.
 *
 * The ratio is the median of the rounds' ratios, since node and floor of one
 * round met the same machine; bare times are there to be looked at, not to be
 * compared with another day's.
 */
#include "bench/row.h"

#include <stdio.h>

enum aim {
	AIM_NONE,
	AIM_RATIO_MAX, /* node / floor */
	AIM_RATIO_MIN,
	AIM_VALUE_MAX, /* of the node alone */
};

static const struct {
	const char *what, *name, *unit;
	double per_unit; /* of what was added */
	enum aim aim;
	double bound;
} specs[ROW_COUNT] = {
	[ROW_CALL_P50] = { "one call, p50", "call_p50", "us", 1,
	    AIM_RATIO_MAX, 1.5 },
	[ROW_CALL_P99] = { "one call, p99", "call_p99", "us", 1, AIM_NONE, 0 },
	[ROW_CALLS] = { "calls a second, 32 in flight", "calls", "/s", 1,
	    AIM_RATIO_MIN, 0.6 },
	[ROW_BIG] = { "a result of 1 MiB", "big", "us", 1, AIM_RATIO_MAX, 1.5 },
	[ROW_START] = { "session to its server's first byte", "start", "ms",
	    1000, AIM_RATIO_MAX, 1.5 },
	[ROW_ANSWER] = { "session to its first answer", "answer", "ms", 1000,
	    AIM_NONE, 0 },
	[ROW_CANCEL] = { "cancel to CANCELED, 20 processes", "cancel", "ms",
	    1000, AIM_NONE, 0 },
	[ROW_MEMORY] = { "an idle session beside its server", "memory", "KiB",
	    1, AIM_VALUE_MAX, 1024 },
};

struct figures {
	double node, floor, ratio, low, high;
};

void
rows_add(struct rows *r, enum row_id id, double node, double floor)
{
	sample_add(&r->node[id], node);
	sample_add(&r->floor[id], floor);
}

static struct figures
figures_of(const struct rows *r, enum row_id id)
{
	struct sample ratios = { 0 };
	struct figures f;

	for (size_t i = 0; i < r->node[id].n; i++)
		sample_add(&ratios, r->node[id].v[i] / r->floor[id].v[i]);
	f.node = sample_quantile(&r->node[id], 0.5) / specs[id].per_unit;
	f.floor = sample_quantile(&r->floor[id], 0.5) / specs[id].per_unit;
	f.ratio = sample_quantile(&ratios, 0.5);
	f.low = sample_quantile(&ratios, 0);
	f.high = sample_quantile(&ratios, 1);
	sample_free(&ratios);
	return f;
}

static bool
meets(enum row_id id, const struct figures *f)
{
	switch (specs[id].aim) {
	case AIM_RATIO_MAX:
		return f->ratio <= specs[id].bound;
	case AIM_RATIO_MIN:
		return f->ratio >= specs[id].bound;
	case AIM_VALUE_MAX:
		return f->node <= specs[id].bound;
	case AIM_NONE:
		break;
	}
	return true;
}

static void
print_aim(enum row_id id, const struct figures *f)
{
	switch (specs[id].aim) {
	case AIM_RATIO_MAX:
		printf("  <= %-7.4g", specs[id].bound);
		break;
	case AIM_RATIO_MIN:
		printf("  >= %-7.4g", specs[id].bound);
		break;
	case AIM_VALUE_MAX:
		printf("  <= %-4.4g %s", specs[id].bound, specs[id].unit);
		break;
	case AIM_NONE:
		printf("  none\n");
		return;
	}
	printf(" %s\n", meets(id, f) ? "met" : "MISSED");
}

bool
rows_print(const struct rows *r, const char *title)
{
	bool all = true;

	printf("%s\n%-36s %11s %11s %7s %-15s  aim\n", title, "", "node",
	    "floor", "ratio", " (all rounds)");
	for (size_t id = 0; id < ROW_COUNT; id++) {
		struct figures f;
		char range[32];

		if (r->node[id].n == 0)
			continue;
		f = figures_of(r, id);
		snprintf(range, sizeof(range), "(%.2f-%.2f)", f.low, f.high);
		printf("%-36s %7.*f %-3s %7.*f %-3s %7.2f  %-14s",
		    specs[id].what, f.node < 1000 ? 1 : 0, f.node,
		    specs[id].unit, f.floor < 1000 ? 1 : 0, f.floor,
		    specs[id].unit, f.ratio, range);
		print_aim(id, &f);
		all = meets(id, &f) && all;
	}
	fflush(stdout);
	return all;
}

void
rows_print_json(const struct rows *r, const char *title)
{
	for (size_t id = 0; id < ROW_COUNT; id++) {
		struct figures f;

		if (r->node[id].n == 0)
			continue;
		f = figures_of(r, id);
		printf("{\"run\":\"%s\",\"row\":\"%s\",\"unit\":\"%s\","
		       "\"node\":%.6g,\"floor\":%.6g,\"ratio\":%.4g,"
		       "\"ratio_min\":%.4g,\"ratio_max\":%.4g,\"met\":%s}\n",
		    title, specs[id].name, specs[id].unit, f.node, f.floor,
		    f.ratio, f.low, f.high, meets(id, &f) ? "true" : "false");
	}
	fflush(stdout);
}

void
rows_free(struct rows *r)
{
	for (size_t id = 0; id < ROW_COUNT; id++) {
		sample_free(&r->node[id]);
		sample_free(&r->floor[id]);
	}
}
