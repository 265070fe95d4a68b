/*
 * The writer of JSON: every line and message that oz0 makes itself, in every
 * process.  What it writes is one line, UTF-8, and JSON, whatever it is given.
 */
#include "base/jsonw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_number.h"
#include "base/json_text.h"
#include "base/mem.h"

#define INTEGER_MOST 1e9 /* of doubles that are written as they count */
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

void
jsonw_init(struct jsonw *w, struct buf *out)
{
	w->out = out;
	w->comma = false;
}

/* One U+FFFD for each maximal part of a character that is cut or wrong, as
 * the Unicode Standard recommends (3.9, Substitution of Maximal Subparts). */
static void
put_escaped(struct buf *out, const char *p, size_t len)
{
	const char *end = p + len, *bad;
	char escape[JSON_ESCAPE_MAX];

	buf_putc(out, '"');
	while (p < end) {
		const char *run = p;

		do {
			p = json_run(p, end);
			p = json_utf8_run(p, end);
		} while (p < end && json_is_plain(*p));
		buf_put(out, run, (size_t)(p - run));
		if (p == end)
			break;
		if ((unsigned char)*p < 0x80) {
			buf_put(out, escape,
			    json_text_put_escape((unsigned char)*p++, escape));
			continue;
		}
		json_utf8_len(p, end, &bad);
		buf_puts(out, REPLACEMENT);
		p = bad > p ? bad : p + 1;
	}
	buf_putc(out, '"');
}

/* Most have nothing to be escaped in them. */
static void
put_string(struct buf *out, const char *p, size_t len)
{
	char *to;

	if (json_run(p, p + len) != p + len) {
		put_escaped(out, p, len);
		return;
	}
	to = buf_room(out, len + 2);
	to[0] = '"';
	memcpy(to + 1, p, len);
	to[len + 1] = '"';
	buf_added(out, len + 2);
}

void
jsonw_put_name(struct jsonw *w, const char *name)
{
	if (w->comma)
		buf_putc(w->out, ',');
	w->comma = true;
	if (name == NULL)
		return;
	put_string(w->out, name, strlen(name));
	buf_putc(w->out, ':');
}

static void
put_open(struct jsonw *w, const char *name, char c)
{
	jsonw_put_name(w, name);
	buf_putc(w->out, c);
	w->comma = false;
}

static void
put_close(struct jsonw *w, char c)
{
	buf_putc(w->out, c);
	w->comma = true;
}

void
jsonw_object(struct jsonw *w, const char *name)
{
	put_open(w, name, '{');
}

void
jsonw_object_end(struct jsonw *w)
{
	put_close(w, '}');
}

void
jsonw_array(struct jsonw *w, const char *name)
{
	put_open(w, name, '[');
}

void
jsonw_array_end(struct jsonw *w)
{
	put_close(w, ']');
}

void
jsonw_put_string(struct jsonw *w, const char *s, size_t len)
{
	put_string(w->out, s, len);
}

void
jsonw_stringf(struct jsonw *w, const char *name, const char *fmt, ...)
{
	char text[128]; /* most fit */
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(text)) {
		jsonw_string_n(w, name, text, (size_t)n);
		return;
	}
	va_start(ap, fmt);
	s = mem_vprintf(fmt, ap);
	va_end(ap);
	jsonw_string(w, name, s);
	free(s);
}

void
jsonw_int(struct jsonw *w, const char *name, int64_t n)
{
	jsonw_put_name(w, name);
	if (n < 0)
		buf_putc(w->out, '-');
	buf_put_uint(w->out, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

void
jsonw_double(struct jsonw *w, const char *name, double d)
{
	char text[JSON_NUMBER_LEN];

	if (!isfinite(d))
		return;
	if (d >= 1 && d <= INTEGER_MOST && d == (double)(uint32_t)d) {
		jsonw_uint(w, name, (uint32_t)d);
		return;
	}
	jsonw_put_name(w, name);
	if (d == 0 && signbit(d))
		buf_putc(w->out, '-');
	buf_put(w->out, text, json_double_format(d, false, text));
}

void
jsonw_bool(struct jsonw *w, const char *name, bool b)
{
	jsonw_put_name(w, name);
	buf_puts(w->out, b ? "true" : "false");
}

void
jsonw_null(struct jsonw *w, const char *name)
{
	jsonw_put_name(w, name);
	buf_puts(w->out, "null");
}

/* In seconds; a span without end is a field without a value. */
void
jsonw_span(struct jsonw *w, const char *name, struct span d)
{
	if (!span_is_none(d))
		jsonw_double(w, name, span_seconds(d));
}

void
jsonw_wall(struct jsonw *w, const char *name, struct wall t)
{
	char text[TIME_WALL_LEN];

	wall_format(t, text);
	jsonw_string(w, name, text);
}

void
jsonw_raw(struct jsonw *w, const char *name, const char *p, size_t len)
{
	if (len == 0)
		return;
	jsonw_put_name(w, name);
	buf_put(w->out, p, len);
}

void
jsonw_value(struct jsonw *w, const char *name, struct json_value v)
{
	if (v.type != JSON_NONE)
		jsonw_raw(w, name, v.p, v.len);
}
