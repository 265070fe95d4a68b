/*
 * Composing the lines that oz0-worker writes to MCP servers.  A caller's
 * arguments are put in byte for byte (DESIGN, What crosses); all else here is
 * the node's own.
 */
#include "config.h"

#include "worker/mcp/compose.h"

#include <string.h>

#include "base/jsonw.h"

#define CLIENT_INFO "{\"name\":\"oz0\",\"version\":\"" PACKAGE_VERSION "\"}"

static void
put_number(struct buf *out, int64_t n)
{
	char text[24], *p = text + sizeof(text);

	do
		*--p = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	buf_put(out, p, (size_t)(text + sizeof(text) - p));
}

/* Up to the method's params, which the caller writes and closes by "}}\n". */
static void
begin(struct buf *out, int64_t id, const char *method)
{
	buf_puts(out, "{\"jsonrpc\":\"2.0\",\"id\":");
	put_number(out, id);
	buf_puts(out, ",\"method\":\"");
	buf_puts(out, method);
	buf_puts(out, "\",\"params\":{");
}

void
compose_envelope(struct buf *out, const char *version)
{
	buf_printf(out,
	    "\"io.modelcontextprotocol/protocolVersion\":\"%s\","
	    "\"io.modelcontextprotocol/clientInfo\":" CLIENT_INFO ","
	    "\"io.modelcontextprotocol/clientCapabilities\":{}",
	    version);
}

void
compose_discover(struct buf *out, int64_t id, const char *envelope)
{
	begin(out, id, "server/discover");
	buf_printf(out, "\"_meta\":{%s}}}\n", envelope);
}

/* No capability is offered: a server that was told of roots waits for them
 * and does not end at the end of its input. */
void
compose_initialize(struct buf *out, int64_t id, const char *version)
{
	begin(out, id, "initialize");
	buf_printf(out,
	    "\"protocolVersion\":\"%s\",\"capabilities\":{},"
	    "\"clientInfo\":" CLIENT_INFO "}}\n",
	    version);
}

void
compose_initialized(struct buf *out)
{
	buf_puts(out,
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
}

void
compose_list(
    struct buf *out, int64_t id, const char *envelope, const char *cursor)
{
	begin(out, id, "tools/list");
	if (*envelope != '\0')
		buf_printf(out, "\"_meta\":{%s}%s", envelope,
		    cursor != NULL ? "," : "");
	if (cursor != NULL)
		buf_printf(out, "\"cursor\":%s", cursor);
	buf_puts(out, "}}\n");
}

void
compose_listen(struct buf *out, int64_t id, const char *envelope)
{
	begin(out, id, "subscriptions/listen");
	buf_printf(out,
	    "\"_meta\":{%s},\"notifications\":{\"toolsListChanged\":true}}}\n",
	    envelope);
}

void
compose_cancelled(struct buf *out, int64_t id, const char *reason)
{
	struct jsonw w;

	buf_puts(out,
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	    "\"params\":{\"requestId\":");
	put_number(out, id);
	if (*reason != '\0') {
		buf_puts(out, ",\"reason\":");
		jsonw_init(&w, out);
		jsonw_string(&w, NULL, reason);
	}
	buf_puts(out, "}}\n");
}

void
compose_pong(struct buf *out, struct json_value id)
{
	buf_puts(out, "{\"jsonrpc\":\"2.0\",\"id\":");
	buf_put(out, id.p, id.len);
	buf_puts(out, ",\"result\":{}}\n");
}

void
compose_refusal(struct buf *out, struct json_value id)
{
	buf_puts(out, "{\"jsonrpc\":\"2.0\",\"id\":");
	buf_put(out, id.p, id.len);
	buf_puts(out,
	    ",\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}\n");
}

static void
put_member(struct buf *out, const char *name, const char *value)
{
	buf_puts(out, name);
	buf_puts(out, value);
	buf_putc(out, '"');
}

static void
put_arguments(struct buf *out, const struct compose_call *call,
    size_t *ret_at, size_t *ret_len)
{
	const char *p = call->arguments_len != 0 ? call->arguments : "{}";
	size_t n = call->arguments_len != 0 ? call->arguments_len : 2;
	char *at;

	*ret_at = buf_len(out);
	*ret_len = n;
	buf_put(out, p, n);
	at = out->data + out->end - n;
	/* the supervisor has proven them, and has seen to line breaks */
	if (memchr(at, '\n', n) != NULL || memchr(at, '\r', n) != NULL)
		json_one_line(at, n);
}

/* LIFECYCLE L2.1, L5.1; MCP 2026-07-28 basic/index#meta, patterns/mrtr. */
void
compose_call(struct buf *out, const struct compose_call *call,
    size_t *ret_at, size_t *ret_len)
{
	buf_room(out, 512 + call->arguments_len + call->state.len);
	begin(out, call->id, "tools/call");
	put_member(out, "\"name\":\"", call->function);
	buf_puts(out, ",\"_meta\":{");
	buf_puts(out, call->envelope);
	put_member(out,
	    *call->envelope != '\0' ? ",\"oz0/idempotency_key\":\""
				    : "\"oz0/idempotency_key\":\"",
	    call->key);
	if (call->progress) {
		buf_puts(out, ",\"progressToken\":");
		put_number(out, call->id);
	}
	if (*call->traceparent != '\0')
		put_member(out, ",\"traceparent\":\"", call->traceparent);
	buf_puts(out, "},\"arguments\":");
	put_arguments(out, call, ret_at, ret_len);
	if (call->state.type != JSON_NONE) {
		buf_puts(out, ",\"requestState\":");
		buf_put(out, call->state.p, call->state.len);
	}
	buf_puts(out, "}}\n");
}

bool
compose_is_plain(const char *s)
{
	for (; *s != '\0'; s++)
		if (*s <= 0x20 || *s >= 0x7f || *s == '"' || *s == '\\')
			return false;
	return true;
}
