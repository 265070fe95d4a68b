/*
 * The other direction: requests to the client during a call, changes of the
 * listing, and the rounds that 2026-07-28 has instead of requests.
 */
#include "examples/demo/function.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "examples/demo/call.h"
#include "examples/demo/mcp.h"
#include "examples/demo/out.h"

#define ASK_MAX 100

static void
finish_ask(struct demo *d, struct call *c, int64_t unanswered)
{
	struct buf b = {0};
	struct jsonw w;

	jsonw_init(&w, &b);
	jsonw_object(&w, NULL);
	jsonw_array(&w, "answers");
	buf_put(&b, buf_at(&c->found), buf_len(&c->found));
	jsonw_array_end(&w);
	jsonw_int(&w, "unanswered", unanswered);
	jsonw_object_end(&w);
	call_json(d, c, &b);
	buf_free(&b);
}

/*
 * step is the first id, steps how many; each answer goes into `found`.  The
 * number still open is in word, as text.
 */
static int64_t
open_count(const struct call *c)
{
	return strtoll(c->word, NULL, 10);
}

static void
set_open_count(struct call *c, int64_t n)
{
	snprintf(c->word, sizeof(c->word), "%" PRId64, n);
}

void
fn_ask(struct demo *d, struct call *c)
{
	static const char usual[] =
	    "[\"ping\",\"roots/list\",\"sampling/createMessage\"]";
	struct json_value list = call_value(c, "methods"), key, v;
	struct span wait = call_ms(c, "ms", 2000);
	char method[128];
	struct json_iter it;

	if (json_is(list, JSON_NONE))
		list =
		    (struct json_value){JSON_ARRAY, usual, sizeof(usual) - 1};
	if (!json_is(list, JSON_ARRAY))
		c->fault = "methods";
	if (call_refused(d, c))
		return;
	c->step = d->next_id;
	json_iter_init(&it, list);
	while (c->steps < ASK_MAX && json_iter_next(&it, &key, &v)) {
		if (!json_to_string(v, method, sizeof(method)))
			continue;
		out_request(d, method);
		c->steps++;
	}
	set_open_count(c, c->steps);
	if (c->steps == 0)
		finish_ask(d, c, 0);
	else
		call_wait(c, wait);
}

void
fn_ask_tick(struct demo *d, struct call *c)
{
	finish_ask(d, c, open_count(c));
}

bool
fn_ask_answered(struct demo *d, struct json_value id, const char *what,
    struct json_value value)
{
	struct call *c;
	struct jsonw w;
	int64_t n;

	if (!json_to_int64(id, &n))
		return false;
	TAILQ_FOREACH(c, &d->calls, entry)
	if (c->fn->start == fn_ask && n >= c->step && n < c->step + c->steps)
		break;
	if (c == NULL)
		return false;
	if (buf_len(&c->found) > 0)
		buf_putc(&c->found, ',');
	jsonw_init(&w, &c->found);
	jsonw_object(&w, NULL);
	jsonw_int(&w, "id", n);
	jsonw_value(&w, what, value);
	jsonw_object_end(&w);
	set_open_count(c, open_count(c) - 1);
	if (open_count(c) == 0)
		finish_ask(d, c, 0);
	return true;
}

void
fn_list_changed(struct demo *d, struct call *c)
{
	int64_t times = call_int(c, "times", 1, 0, 100000);

	if (call_refused(d, c))
		return;
	d->added++;
	for (int64_t i = 0; i < times; i++)
		mcp_list_changed(d);
	call_text(d, c, "added_%" PRId64, d->added);
}

/* requestState is "round-N": the server itself keeps nothing between. */
void
fn_input_required(struct demo *d, struct call *c)
{
	static const char person[] =
	    "{\"name\":{\"method\":\"elicitation/create\",\"params\":"
	    "{\"message\":\"Who are you?\",\"requestedSchema\":{\"type\":"
	    "\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}}}}";
	int64_t rounds = call_int(c, "rounds", 1, 0, INT32_MAX), round = 0;
	bool ask = call_bool(c, "ask", false);
	char state[32];
	struct jsonw w;

	if (!json_is(c->state, JSON_NONE) &&
	    (!json_to_string(c->state, state, sizeof(state)) ||
		sscanf(state, "round-%" SCNd64, &round) != 1))
		c->fault = "requestState";
	if (call_refused(d, c))
		return;
	if (c->era == ERA_LEGACY || round >= rounds) {
		call_text(d, c, "after %" PRId64 " rounds", round);
		return;
	}
	out_result_begin(d, &w, c->era, c->id.p, c->id.len, "input_required");
	jsonw_stringf(&w, "requestState", "round-%" PRId64, round + 1);
	if (ask)
		jsonw_raw(&w, "inputRequests", person, sizeof(person) - 1);
	out_result_end(d, &w, c->era, NULL);
	call_drop(d, c);
}
