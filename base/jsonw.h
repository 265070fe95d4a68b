#ifndef OZ0_BASE_JSONW_H
#define OZ0_BASE_JSONW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/time.h"

/*
 * Writes JSON onto a buffer, commas and nesting seen to.  In an object give a
 * name with each value, in an array NULL.  Strings that are not UTF-8 get
 * U+FFFD where they are not.  A NULL string writes nothing (a field without a
 * value is absent, INTERFACES), so does a non-finite double.
 */
struct jsonw {
	struct buf *out;
	bool comma;
};

void jsonw_init(struct jsonw *w, struct buf *out);
void jsonw_object(struct jsonw *w, const char *name);
void jsonw_object_end(struct jsonw *w);
void jsonw_array(struct jsonw *w, const char *name);
void jsonw_array_end(struct jsonw *w);
void jsonw_stringf(struct jsonw *w, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void jsonw_int(struct jsonw *w, const char *name, int64_t n);
/* Shortest form that reads back to the same double: 2, 0.5, 1e300. */
void jsonw_double(struct jsonw *w, const char *name, double d);
void jsonw_bool(struct jsonw *w, const char *name, bool b);
void jsonw_null(struct jsonw *w, const char *name);
void jsonw_span(struct jsonw *w, const char *name, struct span d); /* s */
void jsonw_wall(struct jsonw *w, const char *name, struct wall t);
/* A text that was proven to be one JSON value, byte for byte. */
void jsonw_raw(struct jsonw *w, const char *name, const char *p, size_t len);
void jsonw_value(struct jsonw *w, const char *name, struct json_value v);

/* For the functions below: what stands in front of a value; a string. */
void jsonw_put_name(struct jsonw *w, const char *name);
void jsonw_put_string(struct jsonw *w, const char *s, size_t len);

/*
 * Where the name is spelled in the program, in letters that need no escape,
 * all of this but its copy is done by the compiler.
 */
static inline void
jsonw_begin(struct jsonw *w, const char *name)
{
	size_t len = name != NULL ? strlen(name) : 0;
	char *at;

	if (!__builtin_constant_p(len) || len == 0 ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz_") != len) {
		jsonw_put_name(w, name);
		return;
	}
	at = buf_room(w->out, len + 4);
	*at = ',';
	at += w->comma;
	*at++ = '"';
	memcpy(at, name, len);
	at[len] = '"';
	at[len + 1] = ':';
	buf_added(w->out, len + 3 + w->comma);
	w->comma = true;
}

static inline void
jsonw_string_n(struct jsonw *w, const char *name, const char *s, size_t len)
{
	if (s == NULL)
		return;
	jsonw_begin(w, name);
	jsonw_put_string(w, s, len);
}

static inline void
jsonw_string(struct jsonw *w, const char *name, const char *s)
{
	if (s != NULL)
		jsonw_string_n(w, name, s, strlen(s));
}

static inline void
jsonw_uint(struct jsonw *w, const char *name, uint64_t n)
{
	jsonw_begin(w, name);
	buf_put_uint(w->out, n);
}

/* A letter and a number, as calls are named: "c12". */
static inline void
jsonw_id(struct jsonw *w, const char *name, char letter, uint64_t n)
{
	jsonw_begin(w, name);
	buf_putc(w->out, '"');
	buf_putc(w->out, letter);
	buf_put_uint(w->out, n);
	buf_putc(w->out, '"');
}

#endif
