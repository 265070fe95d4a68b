/*
 * Reading one line that a server wrote, in oz0-worker.  Nothing here knows of
 * connections; what a message means to one is client.c's business.
 */
#include "worker/mcp/message.h"

#include <string.h>

#include "worker/mcp/skim.h"

#define ID_RAW_MAX 256 /* an id longer than that is not echoed */

int64_t
message_id_text(const char *p, size_t len)
{
	int64_t n = 0;

	if (len == 0 || len > 18 || *p == '0')
		return 0;
	for (size_t i = 0; i < len; i++) {
		if (p[i] < '0' || p[i] > '9')
			return 0;
		n = n * 10 + (p[i] - '0');
	}
	return n;
}

int64_t
message_id(struct json_value v)
{
	int64_t n;

	if (v.type == JSON_STRING && v.len >= 2)
		return message_id_text(v.p + 1, v.len - 2);
	if (!json_to_int64(v, &n) || n < 0)
		return 0;
	return n;
}

/* Not to be read: does it at least say what it answers? */
static void
broken(struct message *m, enum message_kind kind, const char *line, size_t len)
{
	struct skim s;

	m->kind = kind;
	skim_init(&s);
	skim_feed(&s, line, len);
	m->id = skim_id(&s);
}

static const char *
classify(struct message *m, const struct json_want *w)
{
	struct json_value version = w[0].value, result = w[4].value,
			  error = w[5].value;

	m->raw_id = w[1].value;
	m->method = w[2].value;
	m->params = w[3].value;
	if (!json_string_is(version, "2.0"))
		return "\"jsonrpc\" is not \"2.0\"";
	if (m->method.type != JSON_NONE) {
		if (m->method.type != JSON_STRING)
			return "the method is no string";
		if (result.type != JSON_NONE || error.type != JSON_NONE)
			return "both a request and an answer";
		m->kind = m->raw_id.type == JSON_NONE ? MESSAGE_NOTIFICATION
						      : MESSAGE_REQUEST;
		if (m->kind == MESSAGE_REQUEST
		    && ((m->raw_id.type != JSON_STRING
			    && m->raw_id.type != JSON_NUMBER)
			|| m->raw_id.len > ID_RAW_MAX))
			return "the id of a request is no id";
		return NULL;
	}
	if (result.type != JSON_NONE && error.type != JSON_NONE)
		return "both a result and an error";
	m->id = message_id(m->raw_id);
	if (result.type != JSON_NONE) {
		m->kind = MESSAGE_RESULT;
		m->body = result;
		return NULL;
	}
	if (error.type == JSON_NONE)
		return "neither a request nor an answer";
	m->kind = MESSAGE_ERROR;
	m->body = error;
	return NULL;
}

/* Where the members of a message are in what read() wants. */
enum { RESULT = 4, WANTS = 6 };

static bool
pick(char *line, size_t len, const struct json_notes *notes,
    struct json_want *wants, struct json_fault *ret_fault)
{
	struct json_want *result = &wants[RESULT];

	if (notes != NULL && json_notes_pick(notes, line, NULL, wants, WANTS)) {
		result->inner_good = json_notes_pick(notes, line,
		    &result->value, result->inner, result->ninner)
		    || json_pick(result->value, result->inner,
			result->ninner);
		if (notes->breaks)
			json_one_line(line, len);
		return true;
	}
	if (!json_object_pick_within(
		JSON_LINE_DEPTH, line, len, wants, WANTS, ret_fault))
		return false;
	if (memchr(line, '\r', len) != NULL)
		json_one_line(line, len);
	return true;
}

void
message_read(char *line, size_t len, const struct json_notes *notes,
    struct message *ret)
{
	struct json_want said[SAID_COUNT] = {
		[SAID_IS_ERROR] = { .name = "isError" },
		[SAID_META] = { .name = "_meta" },
		[SAID_TYPE] = { .name = "resultType" },
		[SAID_STATE] = { .name = "requestState" },
		[SAID_REQUESTS] = { .name = "inputRequests" },
	};
	struct json_want wants[WANTS] = { { .name = "jsonrpc" },
		{ .name = "id" }, { .name = "method" }, { .name = "params" },
		[RESULT] = { .name = "result", .inner = said,
		    .ninner = SAID_COUNT },
		{ .name = "error" } };
	struct json_fault f = { 0 };
	const char *why;

	memset(ret, 0, sizeof(*ret));
	if (!pick(line, len, notes, wants, &f)) {
		ret->fault = f;
		if (f.is_json)
			broken(ret, MESSAGE_NOT_RPC, line, len);
		else if (strcmp(f.why, "invalid UTF-8") == 0)
			broken(ret, MESSAGE_UTF8, line, len);
		else
			broken(ret, MESSAGE_NOT_JSON, line, len);
		return;
	}
	ret->said_good = wants[RESULT].inner_good;
	for (size_t i = 0; i < SAID_COUNT; i++)
		ret->said[i] = said[i].value;
	why = classify(ret, wants);
	if (why != NULL) {
		ret->fault.why = why;
		broken(ret, MESSAGE_NOT_RPC, line, len);
	}
}
