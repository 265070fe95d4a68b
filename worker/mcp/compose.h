#ifndef OZ0_WORKER_MCP_COMPOSE_H
#define OZ0_WORKER_MCP_COMPOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"

/*
 * The lines that a client writes, each with its LF.  envelope: the members of
 * _meta that a modern request must have (compose_envelope()), "" for a legacy
 * one.
 */
void compose_envelope(struct buf *out, const char *version);
void compose_discover(struct buf *out, int64_t id, const char *envelope);
void compose_initialize(struct buf *out, int64_t id, const char *version);
void compose_initialized(struct buf *out);
/* cursor: as the server wrote it; NULL: the first page. */
void compose_list(struct buf *out, int64_t id, const char *envelope,
    const char *cursor);
void compose_listen(struct buf *out, int64_t id, const char *envelope);
void compose_cancelled(struct buf *out, int64_t id, const char *reason);
/* Answers to a legacy server's requests; id as it stands in the request. */
void compose_pong(struct buf *out, struct json_value id);
void compose_refusal(struct buf *out, struct json_value id);

struct compose_call {
	int64_t id;
	const char *envelope;
	const char *function, *key;
	const char *traceparent; /* "": none */
	bool progress;
	const char *arguments;
	size_t arguments_len; /* 0: {} */
	struct json_value state; /* requestState to echo, or JSON_NONE */
};
/* Where the arguments stand in the line goes to *ret_at and *ret_len. */
void compose_call(struct buf *out, const struct compose_call *call,
    size_t *ret_at, size_t *ret_len);

/* May s stand in a JSON string as it is?  Printable ASCII, no quote, no
 * backslash: names, keys, traceparent. */
bool compose_is_plain(const char *s);

#endif
