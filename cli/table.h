#ifndef OZ0_CLI_TABLE_H
#define OZ0_CLI_TABLE_H

#include <stdbool.h>

/*
 * Columns as wide as their widest cell.  Cells are copied; control characters
 * in them are shown as `?` everywhere, so that a row is one line.
 */
struct table;
/* heads: columns' names, in one string with blanks between. */
struct table *table_new(const char *heads, bool color);
void table_cell(struct table *t, const char *text);
void table_cellf(struct table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
bool table_is_empty(const struct table *t);
/* Prints and frees it; without a row nothing but `none`. */
void table_print(struct table *t, const char *none);
void table_free(struct table *t);

#endif
