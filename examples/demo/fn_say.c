/*
 * Functions that answer at once: well, or in ways that no server should.
 */
#include "examples/demo/function.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "examples/demo/call.h"
#include "examples/demo/out.h"

#define BIG_MAX ((int64_t)1 << 30)

void
fn_echo(struct demo *d, struct call *c)
{
	struct json_value v = c->arguments;
	struct answer a = {0};

	if (json_is(v, JSON_NONE))
		v = (struct json_value){JSON_OBJECT, "{}", 2};
	a.text = v.p;
	a.len = v.len;
	a.structured = v;
	call_answer(d, c, &a);
}

void
fn_read(struct demo *d, struct call *c)
{
	call_text(d, c, "a constant text");
}

void
fn_big(struct demo *d, struct call *c)
{
	size_t n = (size_t)call_int(c, "bytes", 1024 * 1024, 0, BIG_MAX);
	struct answer a = {0};
	char *text;

	if (call_refused(d, c))
		return;
	text = mem_alloc(n + 1);
	memset(text, 'x', n);
	a.text = text;
	a.len = n;
	call_answer(d, c, &a);
	free(text);
}

void
fn_error(struct demo *d, struct call *c)
{
	int64_t code = call_int(c, "code", -32603, INT32_MIN, INT32_MAX);
	struct json_value said = call_value(c, "message");
	char *message = NULL;

	if (!json_is(said, JSON_NONE) &&
	    !json_to_new_string(said, 65536, &message))
		c->fault = "message";
	if (!call_refused(d, c))
		call_error(
		    d, c, code, message != NULL ? message : "as asked for");
	free(message);
}

static const struct answer plain = {.text = "answered", .len = 8};

void
fn_twice(struct demo *d, struct call *c)
{
	call_write(d, c, &plain, c->id.p, c->id.len);
	call_answer(d, c, &plain);
}

/* The id as JSON text, changed as the word says; NULL: left out. */
static char *
odd_id(struct json_value id, const char *as)
{
	bool string = json_is(id, JSON_STRING);

	if (strcmp(as, "none") == 0)
		return NULL;
	if (strcmp(as, "null") == 0)
		return mem_strdup("null");
	if (strcmp(as, "other") == 0)
		return mem_strdup("987654321");
	if (strcmp(as, "float") == 0 && !string)
		return mem_printf("%.*s.0", (int)id.len, id.p);
	if (string) /* as the number that it holds, or the text bare */
		return mem_strndup(id.p + 1, id.len - 2);
	return mem_printf("\"%.*s\"", (int)id.len, id.p);
}

void
fn_odd_id(struct demo *d, struct call *c)
{
	static const char *const words[] = {
	    "string", "float", "null", "none", "other", NULL};
	const char *as = call_word(c, "as", words);
	char *id;

	if (call_refused(d, c))
		return;
	id = odd_id(c->id, as);
	call_write(d, c, &plain, id, id != NULL ? strlen(id) : 0);
	free(id);
	call_drop(d, c);
}

/* A line that starts as the answer would, then these bytes. */
static void
bad_answer(struct demo *d, struct call *c, const char *bytes)
{
	bool answer = call_bool(c, "answer", false);

	if (call_refused(d, c))
		return;
	out_put(d, "{\"jsonrpc\":\"2.0\",\"id\":", 22);
	out_put(d, c->id.p, c->id.len);
	out_put(
	    d, ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":", 45);
	out_line(d, bytes);
	if (answer)
		call_answer(d, c, &plain);
	else
		call_drop(d, c);
}

void
fn_bad_json(struct demo *d, struct call *c)
{
	bad_answer(d, c, "NaN}]}");
}

void
fn_bad_utf8(struct demo *d, struct call *c)
{
	bad_answer(d, c, "\"\xff\xfe\xc0\x80\"}]}}");
}

static bool
put_hex(struct demo *d, const char *hex)
{
	size_t n = strlen(hex);

	if (n % 2 != 0 || strspn(hex, "0123456789abcdefABCDEF") != n)
		return false;
	for (size_t i = 0; i < n; i += 2) {
		const char pair[3] = {hex[i], hex[i + 1], '\0'};
		char byte = (char)strtoul(pair, NULL, 16);

		out_put(d, &byte, 1);
	}
	return true;
}

void
fn_raw(struct demo *d, struct call *c)
{
	struct json_value text = call_value(c, "text");
	struct json_value hex = call_value(c, "hex");
	char *s = NULL;

	if (!json_is(text, JSON_NONE)) {
		if (json_to_new_string(text, text.len, &s))
			out_put(d, s, strlen(s));
		else
			c->fault = "text";
	} else if (!json_to_new_string(hex, hex.len, &s) || !put_hex(d, s)) {
		c->fault = "hex";
	}
	free(s);
	if (!call_refused(d, c))
		call_answer(d, c, &plain);
}
