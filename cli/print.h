#ifndef OZ0_CLI_PRINT_H
#define OZ0_CLI_PRINT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

/* Output for people: tables, and text that cannot drive their terminal. */

/* The raw value and a newline: what --json prints. */
void print_json(struct json_value v);
/* Text from elsewhere; control characters are shown as ? on a terminal. */
void print_text(const char *p, size_t len);
/* Members, for people: "" when absent. */
const char *member_text(struct json_value object, const char *name);

/* Columns of equal width; cells are copied.  Ended and freed by _print. */
struct table;
struct table *table_new(size_t columns);
void table_cell(struct table *t, const char *text);
void table_cellf(struct table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void table_print(struct table *t);

#endif
