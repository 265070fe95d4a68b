#ifndef OZ0_EXAMPLES_DEMO_FUNCTION_H
#define OZ0_EXAMPLES_DEMO_FUNCTION_H

#include "base/jsonw.h"
#include "examples/demo/demo.h"

/*
 * The functions: a table, and one handler each in the fn_*.c files.  start
 * runs when the request comes, tick when call_wait() is over, cancel when the
 * request is cancelled (NULL: the call is dropped unanswered).
 */
struct function {
	const char *name;
	const char *description;
	const char *properties;	 /* of inputSchema, JSON text */
	const char *required;	 /* JSON array, or NULL */
	const char *annotations; /* JSON text, or NULL */
	const char *meta;	 /* JSON text, or NULL */
	void (*start)(struct demo *, struct call *);
	void (*tick)(struct demo *, struct call *);
	void (*cancel)(struct demo *, struct call *);
};

/* NULL: unknown.  added_1 to added_n are there after list_changed. */
const struct function *function_find(
    const struct demo *d, struct json_value name);
/* Where a page begins; false: no such cursor.  JSON_NONE: at 0. */
bool function_cursor(
    const struct demo *d, struct json_value cursor, int64_t *ret_from);
/* Writes the members "tools" and "nextCursor" of a page. */
void function_list(const struct demo *d, int64_t from, struct jsonw *w);

/* fn_say.c */
void fn_echo(struct demo *, struct call *);
void fn_read(struct demo *, struct call *);
void fn_big(struct demo *, struct call *);
void fn_error(struct demo *, struct call *);
void fn_odd_id(struct demo *, struct call *);
void fn_twice(struct demo *, struct call *);
void fn_bad_json(struct demo *, struct call *);
void fn_bad_utf8(struct demo *, struct call *);
void fn_raw(struct demo *, struct call *);
/* fn_time.c */
void fn_sleep(struct demo *, struct call *);
void fn_sleep_tick(struct demo *, struct call *);
void fn_sleep_cancel(struct demo *, struct call *);
void fn_block(struct demo *, struct call *);
void fn_deaf(struct demo *, struct call *);
void fn_late(struct demo *, struct call *);
void fn_late_tick(struct demo *, struct call *);
void fn_late_cancel(struct demo *, struct call *);
/* fn_progress.c */
void fn_count(struct demo *, struct call *);
void fn_count_tick(struct demo *, struct call *);
void fn_progress(struct demo *, struct call *);
/* fn_write.c */
void fn_write(struct demo *, struct call *);
void fn_write_tick(struct demo *, struct call *);
void fn_write_cancel(struct demo *, struct call *);
void fn_charge(struct demo *, struct call *);
void fn_append(struct demo *, struct call *);
void fn_effects(struct demo *, struct call *);
/* fn_busy.c */
void fn_busy(struct demo *, struct call *);
void fn_flaky(struct demo *, struct call *);
/* fn_break.c */
void fn_crash(struct demo *, struct call *);
void fn_crash_tick(struct demo *, struct call *);
void fn_fork(struct demo *, struct call *);
/* fn_flood.c */
void fn_flood(struct demo *, struct call *);
void fn_flood_tick(struct demo *, struct call *);
/* fn_ask.c */
void fn_ask(struct demo *, struct call *);
void fn_ask_tick(struct demo *, struct call *);
/* A response to a request of the server's own; true: it was awaited. */
bool fn_ask_answered(struct demo *, struct json_value id, const char *what,
    struct json_value value);
void fn_list_changed(struct demo *, struct call *);
void fn_input_required(struct demo *, struct call *);
/* fn_world.c */
void fn_env(struct demo *, struct call *);
void fn_file(struct demo *, struct call *);

#endif
