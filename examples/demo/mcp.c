/*
 * initialize, server/discover, ping, tools/list and subscriptions/listen.
 */
#include "examples/demo/mcp.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/mem.h"
#include "config.h"
#include "examples/demo/function.h"
#include "examples/demo/out.h"

#define SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"
#define INSTRUCTIONS                                                           \
	"One function a behaviour, to see what a client makes of it."

static void
put_capabilities(struct jsonw *w)
{
	jsonw_object(w, "capabilities");
	jsonw_object(w, "tools");
	jsonw_bool(w, "listChanged", true);
	jsonw_object_end(w);
	jsonw_object_end(w);
}

/* A known version not above --max-version is agreed to, else that one. */
static void
initialize(struct demo *d, enum era era, struct json_value id,
    struct json_value params)
{
	struct json_value asked = json_member(params, "protocolVersion");
	const char *version = d->opt.max_version;
	char word[16];
	struct jsonw w;

	if (json_to_string(asked, word, sizeof(word)) &&
	    options_legacy_version(word) && strcmp(word, version) < 0)
		version = word;
	d->initialized = true;
	out_result_begin(d, &w, era, id.p, id.len, NULL);
	jsonw_string(&w, "protocolVersion", version);
	put_capabilities(&w);
	jsonw_object(&w, "serverInfo");
	jsonw_string(&w, "name", DEMO_NAME);
	jsonw_string(&w, "version", PACKAGE_VERSION);
	jsonw_object_end(&w);
	jsonw_string(&w, "instructions", INSTRUCTIONS);
	out_result_end(d, &w, era, NULL);
}

static void
discover(struct demo *d, enum era era, struct json_value id,
    struct json_value params)
{
	struct jsonw w;

	out_result_begin(d, &w, era, id.p, id.len, "complete");
	jsonw_array(&w, "supportedVersions");
	jsonw_string(&w, NULL, DEMO_MODERN);
	jsonw_array_end(&w);
	put_capabilities(&w);
	jsonw_string(&w, "instructions", INSTRUCTIONS);
	jsonw_int(&w, "ttlMs", 0);
	jsonw_string(&w, "cacheScope", "private");
	out_result_end(d, &w, era, NULL);
}

static void
ping(struct demo *d, enum era era, struct json_value id,
    struct json_value params)
{
	struct jsonw w;

	out_result_begin(d, &w, era, id.p, id.len, NULL);
	out_result_end(d, &w, era, NULL);
}

static void
tools_list(struct demo *d, enum era era, struct json_value id,
    struct json_value params)
{
	struct json_value cursor = json_member(params, "cursor");
	struct jsonw w;
	int64_t from;

	if (!function_cursor(d, cursor, &from)) {
		out_error(d, id, -32602, "no such cursor", NULL);
		return;
	}
	out_result_begin(d, &w, era, id.p, id.len, "complete");
	function_list(d, from, &w);
	if (era == ERA_MODERN) {
		jsonw_int(&w, "ttlMs", 0);
		jsonw_string(&w, "cacheScope", "private");
	}
	out_result_end(d, &w, era, NULL);
}

static void
notify_listener(
    struct demo *d, const struct listener *l, const char *method, bool ack)
{
	struct buf b = {0};
	struct jsonw w;

	jsonw_init(&w, &b);
	jsonw_object(&w, NULL);
	jsonw_object(&w, "_meta");
	jsonw_raw(&w, SUBSCRIPTION, l->id, strlen(l->id));
	jsonw_object_end(&w);
	if (ack) {
		jsonw_object(&w, "notifications");
		jsonw_bool(&w, "toolsListChanged", true);
		jsonw_object_end(&w);
	}
	jsonw_object_end(&w);
	buf_putc(&b, '\0');
	out_notify(d, method, buf_at(&b));
	buf_free(&b);
}

/* Stays open: its answer is the stream of notifications. */
static void
listen_(struct demo *d, enum era era, struct json_value id,
    struct json_value params)
{
	struct json_value filter = json_member(params, "notifications");
	bool wanted = false;
	struct listener *l;

	if (!json_is(filter, JSON_OBJECT)) {
		out_error(d, id, -32602, "no filter in notifications", NULL);
		return;
	}
	json_to_bool(json_member(filter, "toolsListChanged"), &wanted);
	if (!wanted) {
		out_error(d, id, -32602, "nothing of it is offered", NULL);
		return;
	}
	l = mem_zalloc(sizeof(*l));
	l->id = mem_strndup(id.p, id.len);
	TAILQ_INSERT_TAIL(&d->listeners, l, entry);
	notify_listener(d, l, "notifications/subscriptions/acknowledged", true);
}

static const struct {
	const char *method;
	bool legacy;
	bool modern;
	void (*fn)(
	    struct demo *, enum era, struct json_value, struct json_value);
} methods[] = {
    {"initialize", true, false, initialize},
    {"ping", true, false, ping},
    {"server/discover", false, true, discover},
    {"subscriptions/listen", false, true, listen_},
    {"tools/list", true, true, tools_list},
};

bool
mcp_request(struct demo *d, enum era era, struct json_value id,
    struct json_value method, struct json_value params)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		bool served =
		    era == ERA_MODERN ? methods[i].modern : methods[i].legacy;

		if (served && json_string_is(method, methods[i].method)) {
			methods[i].fn(d, era, id, params);
			return true;
		}
	}
	out_error(d, id, -32601, "Method not found", NULL);
	return false;
}

bool
mcp_discover_misbehaves(struct demo *d, struct json_value id)
{
	if (d->opt.exit_on_discover) {
		out_flush(d, true);
		exit(1);
	}
	if (d->opt.discover_error != 0)
		out_error(d, id, d->opt.discover_error, "not today", NULL);
	return d->opt.silent_discover || d->opt.discover_error != 0;
}

static void
drop(struct demo *d, struct listener *l)
{
	TAILQ_REMOVE(&d->listeners, l, entry);
	free(l->id);
	free(l);
}

bool
mcp_listener_drop(struct demo *d, struct json_value id)
{
	struct listener *l;

	TAILQ_FOREACH(l, &d->listeners, entry)
	{
		if (strlen(l->id) != id.len || memcmp(l->id, id.p, id.len) != 0)
			continue;
		drop(d, l);
		return true;
	}
	return false;
}

void
mcp_listener_drop_all(struct demo *d)
{
	struct listener *l;

	while ((l = TAILQ_FIRST(&d->listeners)) != NULL)
		drop(d, l);
}

void
mcp_list_changed(struct demo *d)
{
	const char *method = "notifications/tools/list_changed";
	const struct listener *l;

	if (d->initialized)
		out_notify(d, method, NULL);
	TAILQ_FOREACH(l, &d->listeners, entry)
	notify_listener(d, l, method, false);
}
