/*
 * Notifications of a server.  Those that the node does not know are good
 * messages and mean nothing.
 */
#include "worker/mcp/client_state.h"

#include <stddef.h>

static void
progress(struct client *c, const struct message *m, struct mono now)
{
	struct json_want w[] = { { .name = "progressToken" },
		{ .name = "progress" }, { .name = "total" } };
	struct request *r;
	int64_t id;

	if (!json_pick(m->params, w, 3)) {
		client_noise(c, WIRE_NOISE_PROGRESS, NULL, 0,
		    "progress without parameters");
		return;
	}
	id = message_id(w[0].value);
	r = id != 0 ? client_request_find(c, id) : NULL;
	if (r == NULL || r->kind != REQUEST_CALL)
		client_noise(c, WIRE_NOISE_PROGRESS, NULL, 0,
		    "progress of nothing that runs");
	else
		call_progress(c, r->attempt, &w[1].value, &w[2].value,
		    now);
}

static void
list_changed(struct client *c, const struct message *m, struct mono now)
{
	listing_changed(c, m->params, now);
}

/* A server may only end the stream that was opened for changes. */
static void
cancelled(struct client *c, const struct message *m, struct mono now)
{
	int64_t id = message_id(json_member(m->params, "requestId"));

	if (c->modern && id != 0 && id == c->listen.id)
		listing_stream_ended(c, now);
}

static const struct {
	const char *method;
	void (*fn)(struct client *, const struct message *, struct mono);
} notifications[] = {
	{ "notifications/progress", progress },
	{ "notifications/tools/list_changed", list_changed },
	{ "notifications/cancelled", cancelled },
};

void
notify_read(struct client *c, const struct message *m, struct mono now)
{
	for (size_t i = 0;
	     i < sizeof(notifications) / sizeof(notifications[0]); i++)
		if (json_string_is(m->method, notifications[i].method)) {
			notifications[i].fn(c, m, now);
			return;
		}
}
