#ifndef OZ0_BASE_JSONW_H
#define OZ0_BASE_JSONW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
void jsonw_string(struct jsonw *w, const char *name, const char *s);
void jsonw_string_n(
    struct jsonw *w, const char *name, const char *s, size_t len);
void jsonw_stringf(struct jsonw *w, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void jsonw_int(struct jsonw *w, const char *name, int64_t n);
void jsonw_uint(struct jsonw *w, const char *name, uint64_t n);
/* A letter and a number, as calls are named: "c12". */
void jsonw_id(struct jsonw *w, const char *name, char letter, uint64_t n);
/* Shortest form that reads back to the same double: 2, 0.5, 1e300. */
void jsonw_double(struct jsonw *w, const char *name, double d);
void jsonw_bool(struct jsonw *w, const char *name, bool b);
void jsonw_null(struct jsonw *w, const char *name);
void jsonw_span(struct jsonw *w, const char *name, struct span d); /* s */
void jsonw_wall(struct jsonw *w, const char *name, struct wall t);
/* A text that was proven to be one JSON value, byte for byte. */
void jsonw_raw(struct jsonw *w, const char *name, const char *p, size_t len);
void jsonw_value(struct jsonw *w, const char *name, struct json_value v);

#endif
