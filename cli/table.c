/*
 * Tables for people.  Runs in oz0.
 */
#include "cli/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/print.h"

struct table {
	size_t columns, ncells, cap;
	char **cells;
	bool color;
};

struct table *
table_new(const char *heads, bool color)
{
	struct table *t = mem_zalloc(sizeof(*t));

	t->color = color;
	while (*heads != '\0') {
		size_t n = strcspn(heads, " ");
		char *head = mem_strndup(heads, n);

		table_cell(t, head);
		free(head);
		t->columns++;
		heads += n + strspn(heads + n, " ");
	}
	return t;
}

static void
tame(char *s)
{
	for (unsigned char *p = (unsigned char *)s; *p != '\0'; p++) {
		if (*p < 0x20 || *p == 0x7f)
			*p = '?';
		else if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
			p[0] = p[1] = '?';
	}
}

void
table_cell(struct table *t, const char *text)
{
	if (t->ncells == t->cap) {
		t->cap = t->cap != 0 ? 2 * t->cap : 64;
		t->cells = mem_realloc(t->cells, t->cap * sizeof(char *));
	}
	t->cells[t->ncells] = mem_strdup(text);
	tame(t->cells[t->ncells++]);
}

void
table_cellf(struct table *t, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = mem_vprintf(fmt, ap);
	va_end(ap);
	table_cell(t, s);
	free(s);
}

bool
table_is_empty(const struct table *t)
{
	return t->ncells <= t->columns;
}

/* Characters, not bytes: continuation bytes of UTF-8 take no column. */
static size_t
width_of(const char *s)
{
	size_t n = 0;

	for (; *s != '\0'; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void
print_cell(const struct table *t, size_t i, const size_t *width)
{
	const char *s = t->cells[i];
	const char *color = t->color && i >= t->columns ? color_of(s) : "";
	size_t pad = width[i % t->columns] - width_of(s);

	printf("%s%s%s", color, s, *color != '\0' ? COLOR_END : "");
	if ((i + 1) % t->columns == 0)
		putchar('\n');
	else
		printf("%*s", (int)pad + 2, "");
}

void
table_print(struct table *t, const char *none)
{
	size_t *width = mem_array(t->columns, sizeof(*width));

	for (size_t i = 0; i < t->ncells; i++) {
		size_t n = width_of(t->cells[i]);

		if (width[i % t->columns] < n)
			width[i % t->columns] = n;
	}
	if (table_is_empty(t))
		printf("%s\n", none);
	else
		for (size_t i = 0; i < t->ncells; i++)
			print_cell(t, i, width);
	free(width);
	table_free(t);
}

void
table_free(struct table *t)
{
	for (size_t i = 0; i < t->ncells; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t);
}
