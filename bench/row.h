#ifndef OZ0_BENCH_ROW_H
#define OZ0_BENCH_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/sample.h"

/*
 * A row of the result: what was measured, once a round on the node and once
 * on its floor.
 */

enum row_id {
	ROW_CALL_P50,
	ROW_CALL_P99,
	ROW_CALLS,
	ROW_BIG,
	ROW_START,
	ROW_ANSWER,
	ROW_CANCEL,
	ROW_MEMORY,
	ROW_COUNT,
};

struct rows {
	struct sample node[ROW_COUNT];
	struct sample floor[ROW_COUNT];
};

void rows_add(struct rows *r, enum row_id id, double node, double floor);
/* A table on stdout; false: an aim was missed. */
bool rows_print(const struct rows *r, const char *title);
/* One JSON object a row. */
void rows_print_json(const struct rows *r, const char *title);
void rows_free(struct rows *r);

#endif
