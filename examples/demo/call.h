#ifndef OZ0_EXAMPLES_DEMO_CALL_H
#define OZ0_EXAMPLES_DEMO_CALL_H

#include "base/jsonw.h"
#include "examples/demo/demo.h"

/*
 * One tools/call from its request to its end.  What ends a call (call_answer,
 * call_text, call_json, call_error, call_drop) frees it: return right after.
 */

/* Values of `line` as they stand; the call has a copy of it all. */
struct call *call_new(struct demo *d, const struct function *fn, enum era era,
    const char *line, size_t len);

/*
 * Arguments.  One of another type or out of bounds is noted, and
 * call_refused() answers for it with -32602 and ends the call.
 */
int64_t call_int(struct call *c, const char *name, int64_t otherwise,
    int64_t min, int64_t max);
struct span call_seconds(struct call *c, const char *name, double otherwise);
struct span call_ms(struct call *c, const char *name, int64_t otherwise);
bool call_bool(struct call *c, const char *name, bool otherwise);
/* One of a NULL-terminated list of words; the first is the default. */
const char *call_word(
    struct call *c, const char *name, const char *const *words);
struct json_value call_value(struct call *c, const char *name);
bool call_refused(struct demo *d, struct call *c);

/* When the function's tick runs. */
void call_wait(struct call *c, struct span d);

struct answer {
	const char *text;
	size_t len;
	struct json_value structured; /* JSON_NONE: none */
	bool is_error;
	const char *meta; /* members of _meta as JSON text, or NULL */
};

/* Writes an answer under this id (JSON text; NULL: none), ends nothing. */
void call_write(struct demo *d, struct call *c, const struct answer *a,
    const char *id, size_t id_len);
void call_answer(struct demo *d, struct call *c, const struct answer *a);
void call_text(struct demo *d, struct call *c, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The buffer's JSON as text and as structuredContent. */
void call_json(struct demo *d, struct call *c, const struct buf *json);
void call_error(
    struct demo *d, struct call *c, int64_t code, const char *message);
void call_drop(struct demo *d, struct call *c);

/* notifications/progress with these JSON texts; total NULL: none. */
void call_progress(
    struct demo *d, struct call *c, const char *progress, const char *total);

/* From the peer and from the loop. */
void call_cancel(struct demo *d, struct json_value id);
void call_run_due(struct demo *d);
struct mono call_next_due(const struct demo *d);

#endif
