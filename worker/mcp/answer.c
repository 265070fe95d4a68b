/*
 * Judging the answer to a tools/call, in oz0-worker.  The payload itself is
 * relayed as it stands; here is only read what decides how the attempt ended.
 */
#include "worker/mcp/answer.h"

#include <stdio.h>
#include <string.h>

#define WAIT_MAX 1e9 /* s; as good as never */

static void
bad(struct answer *a, const char *why)
{
	a->how = WIRE_END_BAD_ANSWER;
	snprintf(a->message, sizeof(a->message), "%s", why);
}

/* L4.1: only true means busy; a wait that is no wait is the server's fault. */
static void
read_busy(struct json_value meta, struct answer *a)
{
	struct json_want w[] = { { .name = "oz0/retryable" },
		{ .name = "oz0/retry_after" } };
	double wait;

	if (!json_pick(meta, w, 2) || w[0].value.type == JSON_NONE
	    || w[0].value.type == JSON_FALSE)
		return;
	if (w[0].value.type != JSON_TRUE) {
		a->busy = WIRE_BUSY_BAD_FLAG;
		return;
	}
	a->busy = WIRE_BUSY_YES;
	if (w[1].value.type == JSON_NONE)
		return;
	if (json_to_double(w[1].value, &wait) && wait >= 0)
		a->retry_after = wait < WAIT_MAX ? wait : WAIT_MAX;
	else
		a->busy = WIRE_BUSY_BAD_WAIT;
}

/* An empty map asks for nothing. */
static bool
asks_for_input(struct json_value requests)
{
	struct json_value key, v;
	struct json_iter it;

	if (requests.type == JSON_NONE || requests.type == JSON_NULL)
		return false;
	if (requests.type != JSON_OBJECT)
		return true;
	json_iter_init(&it, requests);
	return json_iter_next(&it, &key, &v);
}

static void
read_input_required(struct json_value requests, struct json_value state,
    struct answer *a)
{
	a->how = WIRE_END_INPUT_REQUIRED;
	if (asks_for_input(requests)) {
		snprintf(a->message, sizeof(a->message),
		    "it asks for input that was never offered");
		return;
	}
	if (state.type != JSON_STRING)
		bad(a, "input_required with nothing to go on with");
	a->state = state;
}

void
answer_read_result(
    const struct message *m, bool modern, struct answer *ret)
{
	struct json_value type = m->said[SAID_TYPE];
	struct json_value is_error = m->said[SAID_IS_ERROR];

	memset(ret, 0, sizeof(*ret));
	ret->how = WIRE_END_RESULT;
	ret->retry_after = -1;
	if (!m->said_good) {
		bad(ret, m->body.type == JSON_OBJECT
			? "a member of the result stands twice"
			: "the result is not an object");
		return;
	}
	if (modern && type.type != JSON_NONE
	    && !json_string_is(type, "complete")) {
		if (json_string_is(type, "input_required"))
			read_input_required(m->said[SAID_REQUESTS],
			    m->said[SAID_STATE], ret);
		else
			bad(ret, "the result is of an unknown resultType");
		return;
	}
	if (is_error.type != JSON_NONE
	    && !json_to_bool(is_error, &ret->is_error)) {
		bad(ret, "isError is neither true nor false");
		return;
	}
	if (ret->is_error)
		read_busy(m->said[SAID_META], ret);
}

void
answer_read_error(struct json_value error, struct answer *ret)
{
	struct json_want w[] = { { .name = "code" }, { .name = "message" } };

	memset(ret, 0, sizeof(*ret));
	ret->how = WIRE_END_RPC_ERROR;
	ret->retry_after = -1;
	if (!json_pick(error, w, 2)
	    || !json_to_int64(w[0].value, &ret->code)) {
		bad(ret, "the error has no code");
		return;
	}
	json_to_string(w[1].value, ret->message, sizeof(ret->message));
}
