/*
 * From a line to what it asks: JSON-RPC's rules, the era of a request (MCP
 * 2026-07-28 basic/versioning, Backward Compatibility), and the methods.
 */
#include "examples/demo/rpc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "base/mem.h"
#include "examples/demo/call.h"
#include "examples/demo/function.h"
#include "examples/demo/ledger.h"
#include "examples/demo/mcp.h"
#include "examples/demo/out.h"

#define META "io.modelcontextprotocol/"

struct message {
	struct json_value version, id, method, params, result, error;
};

static void
record(struct demo *d, const char *event, const struct message *m)
{
	struct json_value meta = json_member(m->params, "_meta");
	struct jsonw w;

	if (!ledger_begin(d->ledger, &w, event))
		return;
	jsonw_value(&w, "method", m->method);
	if (!json_is(m->id, JSON_NONE))
		jsonw_value(&w, "id", m->id);
	if (json_string_is(m->method, "tools/call")) {
		struct json_value name = json_member(m->params, "name");
		struct json_value key =
		    json_member(meta, "oz0/idempotency_key");

		if (json_is(name, JSON_STRING))
			jsonw_value(&w, "function", name);
		if (!json_is(key, JSON_NONE))
			jsonw_value(&w, "key", key);
	}
	if (!json_is(meta, JSON_NONE))
		jsonw_value(&w, "meta", meta);
	ledger_end(d->ledger, &w);
}

static void
refuse_version(struct demo *d, const struct message *m, struct json_value asked)
{
	struct buf b = {0};
	struct jsonw w;

	jsonw_init(&w, &b);
	jsonw_object(&w, NULL);
	jsonw_array(&w, "supported");
	jsonw_string(&w, NULL, DEMO_MODERN);
	jsonw_array_end(&w);
	if (json_is(asked, JSON_STRING))
		jsonw_value(&w, "requested", asked);
	jsonw_object_end(&w);
	buf_putc(&b, '\0');
	out_error(d, m->id, -32022, "Unsupported protocol version", buf_at(&b));
	buf_free(&b);
}

/*
 * The era of a request, or false when it was refused: one that names no
 * version is legacy once the handshake was made, and faulty otherwise.
 */
static bool
find_era(struct demo *d, const struct message *m, enum era *ret)
{
	struct json_value meta = json_member(m->params, "_meta");
	struct json_value version = json_member(meta, META "protocolVersion");

	*ret = ERA_LEGACY;
	if (json_string_is(m->method, "initialize")) {
		if (!d->opt.legacy)
			refuse_version(
			    d, m, json_member(m->params, "protocolVersion"));
		return d->opt.legacy;
	}
	if (!d->opt.modern)
		return true;
	if (json_is(version, JSON_NONE)) {
		if (d->initialized)
			return true;
		if (d->opt.legacy && json_string_is(m->method, "ping"))
			return true;
		out_error(d, m->id, -32602,
		    "_meta lacks " META "protocolVersion", NULL);
		return false;
	}
	if (!json_is(version, JSON_STRING)) {
		out_error(d, m->id, -32602,
		    META "protocolVersion is not a string", NULL);
		return false;
	}
	if (!json_is(
		json_member(meta, META "clientCapabilities"), JSON_OBJECT)) {
		out_error(d, m->id, -32602,
		    "_meta lacks " META "clientCapabilities", NULL);
		return false;
	}
	if (!json_string_is(version, DEMO_MODERN)) {
		refuse_version(d, m, version);
		return false;
	}
	*ret = ERA_MODERN;
	return true;
}

static void
tools_call(struct demo *d, const struct message *m, enum era era,
    const char *line, size_t len)
{
	struct json_want want[] = {{.name = "name"}, {.name = "arguments"}};
	const struct function *fn;
	struct call *c;

	if (!json_pick(m->params, want, 2) ||
	    !json_is(want[0].value, JSON_STRING) ||
	    !(json_is(want[1].value, JSON_OBJECT) ||
		json_is(want[1].value, JSON_NONE))) {
		out_error(d, m->id, -32602, "malformed params", NULL);
		return;
	}
	fn = function_find(d, want[0].value);
	if (fn == NULL) {
		out_error(d, m->id, -32602, "unknown tool", NULL);
		return;
	}
	c = call_new(d, fn, era, line, len);
	fn->start(d, c);
}

static void
request(struct demo *d, const struct message *m, const char *line, size_t len)
{
	enum era era;
	bool known;

	record(d, "request", m);
	if (!json_is(m->id, JSON_STRING) && !json_is(m->id, JSON_NUMBER)) {
		out_error(d, (struct json_value){0}, -32600,
		    "an id is a string or a number", NULL);
		return;
	}
	if (json_string_is(m->method, "server/discover") &&
	    mcp_discover_misbehaves(d, m->id))
		return;
	if (!find_era(d, m, &era))
		return;
	known = json_string_is(m->method, "tools/call");
	if (era == ERA_LEGACY && !d->initialized &&
	    !json_string_is(m->method, "initialize") &&
	    !json_string_is(m->method, "ping") &&
	    !json_string_is(m->method, "server/discover"))
		out_error(d, m->id, -32600, "not initialized", NULL);
	else if (known)
		tools_call(d, m, era, line, len);
	else
		known = mcp_request(d, era, m->id, m->method, m->params);
	if (known && d->opt.exit_after != NULL &&
	    json_string_is(m->method, d->opt.exit_after))
		d->done = true;
}

static void
notification(struct demo *d, const struct message *m)
{
	struct json_value id = json_member(m->params, "requestId");

	if (!json_string_is(m->method, "notifications/cancelled")) {
		record(d, "notification", m);
	} else if (json_is(id, JSON_STRING) || json_is(id, JSON_NUMBER)) {
		if (!mcp_listener_drop(d, id))
			call_cancel(d, id);
	}
}

static void
response(struct demo *d, const struct message *m)
{
	bool good = !json_is(m->result, JSON_NONE);
	struct jsonw w;
	bool awaited = fn_ask_answered(
	    d, m->id, good ? "result" : "error", good ? m->result : m->error);

	if (!ledger_begin(d->ledger, &w, "response"))
		return;
	jsonw_value(&w, "id", m->id);
	jsonw_bool(&w, "awaited", awaited);
	jsonw_value(&w, good ? "result" : "error", good ? m->result : m->error);
	ledger_end(d->ledger, &w);
}

void
rpc_line(struct demo *d, const char *line, size_t len)
{
	struct json_want want[] = {{.name = "jsonrpc"}, {.name = "id"},
	    {.name = "method"}, {.name = "params"}, {.name = "result"},
	    {.name = "error"}};
	const struct json_value none = {0};
	struct json_value whole;
	struct json_fault fault;
	struct message m;

	if (!json_object_pick(line, len, want, 6, &fault)) {
		if (json_check(line, len, &whole, &fault))
			out_error(d, none, -32600, "no JSON-RPC message", NULL);
		else
			out_error(d, none, -32700, fault.why, NULL);
		return;
	}
	m = (struct message){want[0].value, want[1].value, want[2].value,
	    want[3].value, want[4].value, want[5].value};
	if (!json_string_is(m.version, "2.0"))
		out_error(d, none, -32600, "jsonrpc is not 2.0", NULL);
	else if (json_is(m.method, JSON_STRING) && !json_is(m.id, JSON_NONE))
		request(d, &m, line, len);
	else if (json_is(m.method, JSON_STRING))
		notification(d, &m);
	else if (!json_is(m.id, JSON_NONE) &&
		 json_is(m.result, JSON_NONE) != json_is(m.error, JSON_NONE))
		response(d, &m);
	else
		out_error(d, none, -32600, "no JSON-RPC message", NULL);
}
