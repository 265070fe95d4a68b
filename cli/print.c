/*
 * Output for people.  Runs in oz0.
 */
#include "cli/print.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

struct table {
	size_t columns, ncells, cap;
	char **cells;
};

void
print_json(struct json_value v)
{
	fwrite(v.p, 1, v.len, stdout);
	putchar('\n');
}

static bool
is_control(unsigned char ch)
{
	return (ch < 0x20 && ch != '\n' && ch != '\t') || ch == 0x7f;
}

void
print_text(const char *p, size_t len)
{
	if (!isatty(STDOUT_FILENO)) {
		fwrite(p, 1, len, stdout);
		return;
	}
	for (size_t i = 0; i < len; i++) {
		unsigned char ch = (unsigned char)p[i];
		/* U+0080 to U+009F: control characters, as C2 80..9F */
		bool c1 = ch == 0xc2 && i + 1 < len &&
		    (unsigned char)p[i + 1] < 0xa0;

		putchar(is_control(ch) || c1 ? '?' : p[i]);
		i += c1;
	}
}

const char *
member_text(struct json_value object, const char *name)
{
	static char ring[16][512];
	static unsigned next;
	struct json_value v = json_member(object, name);
	char *out = ring[next++ % 16];

	out[0] = '\0';
	if (v.type == JSON_STRING) {
		if (!json_to_string(v, out, sizeof(ring[0])))
			snprintf(out, sizeof(ring[0]), "...");
	} else if (v.type != JSON_NONE && v.type != JSON_NULL) {
		snprintf(out, sizeof(ring[0]), "%.*s",
		    v.len < sizeof(ring[0]) ? (int)v.len : 500, v.p);
	}
	return out;
}

struct table *
table_new(size_t columns)
{
	struct table *t = mem_zalloc(sizeof(*t));

	t->columns = columns;
	return t;
}

void
table_cell(struct table *t, const char *text)
{
	if (t->ncells == t->cap) {
		t->cap = t->cap != 0 ? 2 * t->cap : 64;
		t->cells = mem_realloc(t->cells, t->cap * sizeof(char *));
	}
	t->cells[t->ncells] = mem_strdup(text);
	for (char *p = t->cells[t->ncells]; *p != '\0'; p++)
		if (is_control((unsigned char)*p) || *p == '\n' || *p == '\t')
			*p = '?';
	t->ncells++;
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

void
table_print(struct table *t)
{
	size_t *width = mem_array(t->columns, sizeof(*width));

	for (size_t i = 0; i < t->ncells; i++) {
		size_t n = strlen(t->cells[i]);

		if (width[i % t->columns] < n)
			width[i % t->columns] = n;
	}
	for (size_t i = 0; i < t->ncells; i++) {
		size_t col = i % t->columns;

		if (col + 1 == t->columns)
			printf("%s\n", t->cells[i]);
		else
			printf("%-*s  ", (int)width[col], t->cells[i]);
		free(t->cells[i]);
	}
	free(width);
	free(t->cells);
	free(t);
}
