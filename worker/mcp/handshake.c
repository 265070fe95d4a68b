/*
 * How a connection begins: which era the server is of, and which revision.
 * server/discover first; initialize on any error that is not a modern one, on
 * silence, and where the supervisor says that the era is known to be legacy
 * (MCP 2026-07-28 basic/transports/stdio, Backward Compatibility).
 */
#include "worker/mcp/client_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "worker/mcp/compose.h"
#include "worker/mcp/version.h"

#define UNSUPPORTED_VERSION (-32022)
#define PROBES_MAX 3 /* some servers refuse the first one, whatever it says */
#define WORD_MAX 256

enum event { EVENT_RESULT, EVENT_ERROR, EVENT_TIMEOUT, EVENT_COUNT };

static void
envelope_set(struct client *c, const char *version)
{
	c->version = version;
	buf_clear(&c->envelope);
	compose_envelope(&c->envelope, version);
	buf_putc(&c->envelope, '\0');
}

static void
probe(struct client *c, const char *version, struct mono now)
{
	struct buf line = { 0 };
	int64_t id = client_request_add(c, &c->hello, REQUEST_DISCOVER);

	c->state = CLIENT_PROBING;
	c->probes++;
	c->probe_deadline = mono_add(now, c->config.probe);
	envelope_set(c, version);
	compose_discover(&line, id, buf_at(&c->envelope));
	client_send(c, &line, id, false);
}

static void
greet(struct client *c)
{
	struct buf line = { 0 };
	int64_t id = client_request_add(c, &c->hello, REQUEST_INITIALIZE);

	c->state = CLIENT_GREETING;
	c->greetings++;
	c->probe_deadline = MONO_NEVER;
	buf_clear(&c->envelope);
	compose_initialize(&line, id, VERSION_LEGACY);
	client_send(c, &line, id, false);
}

void
handshake_start(struct client *c, struct mono now)
{
	if (c->config.hint == WIRE_ERA_LEGACY)
		greet(c);
	else
		probe(c, VERSION_MODERN, now);
}

/* What initialize and server/discover say alike. */
static void
established(struct client *c, struct json_value capabilities,
    struct json_value info)
{
	struct json_value tools = json_member(capabilities, "tools");
	char name[WORD_MAX] = "", version[WORD_MAX] = "";
	bool changes = false;

	json_to_string(json_member(info, "name"), name, sizeof(name));
	json_to_string(json_member(info, "version"), version, sizeof(version));
	json_to_bool(json_member(tools, "listChanged"), &changes);
	c->has_tools = tools.type != JSON_NONE;
	c->tells_changes = changes;
	c->state = CLIENT_READY;
	c->probe_deadline = MONO_NEVER;
	c->ops->ready(c->arg, c->version, name, version);
	listing_start(c);
}

static void
probe_result(struct client *c, const struct message *m, struct mono now)
{
	struct json_want w[] = { { .name = "supportedVersions" },
		{ .name = "capabilities" }, { .name = "serverInfo" },
		{ .name = "_meta" } };
	const char *version;
	bool legacy;

	if (!json_pick(m->body, w, 4)) {
		greet(c);
		return;
	}
	version = version_pick(w[0].value, &legacy);
	if (version == NULL) {
		greet(c); /* an empty list, too, is no modern server's */
		return;
	}
	envelope_set(c, version);
	c->modern = true;
	if (w[2].value.type == JSON_NONE)
		w[2].value = json_member(
		    w[3].value, "io.modelcontextprotocol/serverInfo");
	established(c, w[1].value, w[2].value);
}

/* -32022 with a list: its list.  Everything else is no modern error. */
static struct json_value
supported(const struct message *m)
{
	struct json_value none = { 0 }, list;
	int64_t code;

	if (!json_to_int64(json_member(m->body, "code"), &code)
	    || code != UNSUPPORTED_VERSION)
		return none;
	list = json_member(json_member(m->body, "data"), "supported");
	return list.type == JSON_ARRAY ? list : none;
}

static void
probe_error(struct client *c, const struct message *m, struct mono now)
{
	struct json_value list = supported(m);
	const char *version;
	bool legacy;

	if (list.type == JSON_NONE) {
		greet(c);
		return;
	}
	version = version_pick(list, &legacy);
	if (version != NULL && c->probes < PROBES_MAX)
		probe(c, version, now);
	else if (version == NULL && legacy && c->greetings == 0)
		greet(c);
	else
		client_fail(c, WIRE_FAULT_HANDSHAKE,
		    "no protocol version in common: the server supports %.*s",
		    (int)(list.len < WORD_MAX ? list.len : WORD_MAX), list.p);
}

static void
probe_timeout(struct client *c, const struct message *m, struct mono now)
{
	c->late_id = c->hello.id;
	client_request_drop(c, &c->hello);
	if (c->greetings != 0)
		client_fail(c, WIRE_FAULT_HANDSHAKE,
		    "no answer to server/discover, and initialize refused");
	else
		greet(c);
}

static void
greet_result(struct client *c, const struct message *m, struct mono now)
{
	struct json_want w[] = { { .name = "protocolVersion" },
		{ .name = "capabilities" }, { .name = "serverInfo" } };
	struct buf line = { 0 };
	bool modern;

	if (!json_pick(m->body, w, 3)) {
		client_fail(c, WIRE_FAULT_HANDSHAKE,
		    "the answer to initialize is no result");
		return;
	}
	c->version = version_find(w[0].value, &modern);
	if (c->version == NULL || modern) {
		client_fail(c, WIRE_FAULT_HANDSHAKE,
		    "the server answered initialize with protocol version "
		    "%.*s",
		    (int)(w[0].value.len < WORD_MAX ? w[0].value.len
						    : WORD_MAX),
		    w[0].value.len != 0 ? w[0].value.p : "(none)");
		return;
	}
	compose_initialized(&line);
	client_send(c, &line, 0, false);
	established(c, w[1].value, w[2].value);
}

/*
 * A modern server that was slow to answer the probe refuses initialize once it
 * has taken the probe for its first request; so does one whose era the
 * supervisor remembers wrongly.  Ask it again, once.
 */
static void
greet_error(struct client *c, const struct message *m, struct mono now)
{
	struct json_value list = supported(m);
	char text[WORD_MAX] = "";
	const char *version;
	int64_t code = 0;
	bool legacy;

	version = version_pick(list, &legacy);
	if (version != NULL && c->greetings == 1
	    && (c->late_id != 0 || c->probes == 0)) {
		probe(c, version, now);
		return;
	}
	json_to_int64(json_member(m->body, "code"), &code);
	json_to_string(json_member(m->body, "message"), text, sizeof(text));
	client_fail(c, WIRE_FAULT_HANDSHAKE, "initialize failed: %s (%lld)",
	    *text != '\0' ? text : "no message", (long long)code);
}

typedef void (*event_fn)(
    struct client *, const struct message *, struct mono);

static const event_fn events[CLIENT_NSTATES][EVENT_COUNT] = {
	[CLIENT_PROBING] = { probe_result, probe_error, probe_timeout },
	[CLIENT_GREETING] = { greet_result, greet_error, NULL },
};

static void
happen(struct client *c, enum event e, const struct message *m,
    struct mono now)
{
	event_fn fn = events[c->state][e];

	if (fn != NULL)
		fn(c, m, now);
}

void
handshake_answer(struct client *c, const struct message *m, struct mono now)
{
	client_request_drop(c, &c->hello);
	happen(c, m->kind == MESSAGE_RESULT ? EVENT_RESULT : EVENT_ERROR, m,
	    now);
}

void
handshake_timeout(struct client *c, struct mono now)
{
	happen(c, EVENT_TIMEOUT, NULL, now);
}
