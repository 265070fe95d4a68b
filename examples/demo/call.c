/*
 * Calls: their arguments, their answers, their cancel, their clock.
 */
#include "examples/demo/call.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "examples/demo/function.h"
#include "examples/demo/ledger.h"
#include "examples/demo/out.h"

#define SECONDS_MAX 86400.0

static struct json_value
meta_of(struct json_value params)
{
	return json_member(params, "_meta");
}

struct call *
call_new(struct demo *d, const struct function *fn, enum era era,
    const char *line, size_t len)
{
	struct call *c = mem_zalloc(sizeof(*c));
	struct json_want top[] = {{.name = "id"}, {.name = "params"}};
	struct json_fault fault;

	c->fn = fn;
	c->era = era;
	c->line = mem_dup(line, len);
	c->due = MONO_NEVER;
	if (json_object_pick(c->line, len, top, 2, &fault)) {
		struct json_want in[] = {
		    {.name = "arguments"}, {.name = "requestState"}};

		c->id = top[0].value;
		c->meta = meta_of(top[1].value);
		json_pick(top[1].value, in, 2);
		c->arguments = in[0].value;
		c->state = in[1].value;
	}
	c->token = json_member(c->meta, "progressToken");
	json_to_new_string(
	    json_member(c->meta, "oz0/idempotency_key"), 4096, &c->key);
	TAILQ_INSERT_TAIL(&d->calls, c, entry);
	return c;
}

static void
call_end(struct demo *d, struct call *c, const char *how)
{
	struct jsonw w;

	if (ledger_begin(d->ledger, &w, how)) {
		jsonw_value(&w, "id", c->id);
		jsonw_string(&w, "function", c->fn->name);
		jsonw_string(&w, "key", c->key);
		ledger_end(d->ledger, &w);
	}
	TAILQ_REMOVE(&d->calls, c, entry);
	buf_free(&c->found);
	free(c->key);
	free(c->line);
	free(c);
}

struct json_value
call_value(struct call *c, const char *name)
{
	return json_member(c->arguments, name);
}

int64_t
call_int(struct call *c, const char *name, int64_t otherwise, int64_t min,
    int64_t max)
{
	struct json_value v = call_value(c, name);
	int64_t n = otherwise;

	if (!json_is(v, JSON_NONE) &&
	    (!json_to_int64(v, &n) || n < min || n > max))
		c->fault = name;
	return n;
}

struct span
call_seconds(struct call *c, const char *name, double otherwise)
{
	struct json_value v = call_value(c, name);
	struct span d = SPAN_NONE;
	double s = otherwise;

	if (!json_is(v, JSON_NONE) && !json_to_double(v, &s))
		c->fault = name;
	else if (s > SECONDS_MAX || !span_from_seconds(s, &d))
		c->fault = name;
	return d;
}

struct span
call_ms(struct call *c, const char *name, int64_t otherwise)
{
	return SPAN_MS(
	    call_int(c, name, otherwise, 0, (int64_t)(SECONDS_MAX * 1000)));
}

bool
call_bool(struct call *c, const char *name, bool otherwise)
{
	struct json_value v = call_value(c, name);

	if (!json_is(v, JSON_NONE) && !json_to_bool(v, &otherwise))
		c->fault = name;
	return otherwise;
}

const char *
call_word(struct call *c, const char *name, const char *const *words)
{
	struct json_value v = call_value(c, name);

	if (json_is(v, JSON_NONE))
		return words[0];
	for (size_t i = 0; words[i] != NULL; i++)
		if (json_string_is(v, words[i]))
			return words[i];
	c->fault = name;
	return words[0];
}

bool
call_refused(struct demo *d, struct call *c)
{
	char *why;

	if (c->fault == NULL)
		return false;
	why = mem_printf("argument %s does not fit", c->fault);
	call_error(d, c, -32602, why);
	free(why);
	return true;
}

void
call_wait(struct call *c, struct span d)
{
	c->due = mono_add(time_mono(), d);
}

void
call_write(struct demo *d, struct call *c, const struct answer *a,
    const char *id, size_t id_len)
{
	struct jsonw w;

	out_result_begin(d, &w, c->era, id, id_len, "complete");
	jsonw_array(&w, "content");
	jsonw_object(&w, NULL);
	jsonw_string(&w, "type", "text");
	jsonw_string_n(&w, "text", a->text, a->len);
	jsonw_object_end(&w);
	jsonw_array_end(&w);
	if (!json_is(a->structured, JSON_NONE))
		jsonw_value(&w, "structuredContent", a->structured);
	if (a->is_error)
		jsonw_bool(&w, "isError", true);
	out_result_end(d, &w, c->era, a->meta);
}

void
call_answer(struct demo *d, struct call *c, const struct answer *a)
{
	call_write(d, c, a, c->id.p, c->id.len);
	call_end(d, c, "answered");
}

void
call_text(struct demo *d, struct call *c, const char *fmt, ...)
{
	struct answer a = {0};
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = mem_vprintf(fmt, ap);
	va_end(ap);
	a.text = text;
	a.len = strlen(text);
	call_answer(d, c, &a);
	free(text);
}

void
call_json(struct demo *d, struct call *c, const struct buf *json)
{
	struct answer a = {.text = buf_at(json), .len = buf_len(json)};

	a.structured = (struct json_value){JSON_OBJECT, a.text, a.len};
	call_answer(d, c, &a);
}

void
call_error(struct demo *d, struct call *c, int64_t code, const char *message)
{
	out_error(d, c->id, code, message, NULL);
	call_end(d, c, "answered");
}

void
call_drop(struct demo *d, struct call *c)
{
	call_end(d, c, "dropped");
}

void
call_progress(
    struct demo *d, struct call *c, const char *progress, const char *total)
{
	struct buf b = {0};
	struct jsonw w;

	if (json_is(c->token, JSON_NONE))
		return;
	jsonw_init(&w, &b);
	jsonw_object(&w, NULL);
	jsonw_value(&w, "progressToken", c->token);
	jsonw_raw(&w, "progress", progress, strlen(progress));
	if (total != NULL)
		jsonw_raw(&w, "total", total, strlen(total));
	jsonw_string(&w, "message", "words of the demo server's own");
	jsonw_object_end(&w);
	buf_putc(&b, '\0');
	out_notify(d, "notifications/progress", buf_at(&b));
	buf_free(&b);
}

/*
 * MCP basic/utilities/cancellation: a cancelled request is not answered.  The
 * function may do otherwise, which is what some of them are for.
 */
void
call_cancel(struct demo *d, struct json_value id)
{
	struct jsonw w;
	struct call *c;

	TAILQ_FOREACH(c, &d->calls, entry)
	if (c->id.len == id.len && memcmp(c->id.p, id.p, id.len) == 0)
		break;
	if (ledger_begin(d->ledger, &w, "cancel")) {
		jsonw_value(&w, "id", id);
		jsonw_bool(&w, "open", c != NULL);
		if (c != NULL)
			jsonw_string(&w, "key", c->key);
		ledger_end(d->ledger, &w);
	}
	if (c == NULL)
		return;
	if (c->fn->cancel != NULL)
		c->fn->cancel(d, c);
	else
		call_drop(d, c);
}

void
call_run_due(struct demo *d)
{
	struct mono now = time_mono();
	struct call *c, *next;

	for (c = TAILQ_FIRST(&d->calls); c != NULL; c = next) {
		next = TAILQ_NEXT(c, entry);
		if (mono_before(now, c->due))
			continue;
		c->due = MONO_NEVER;
		c->fn->tick(d, c);
	}
}

struct mono
call_next_due(const struct demo *d)
{
	struct mono first = MONO_NEVER;
	const struct call *c;

	TAILQ_FOREACH(c, &d->calls, entry)
	if (mono_before(c->due, first))
		first = c->due;
	return first;
}
