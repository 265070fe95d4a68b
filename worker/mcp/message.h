#ifndef OZ0_WORKER_MCP_MESSAGE_H
#define OZ0_WORKER_MCP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

/* One line as JSON-RPC 2.0 sees it.  Values are views into the line. */
enum message_kind {
	MESSAGE_NOT_JSON,
	MESSAGE_UTF8,	 /* no JSON because of bytes that are no UTF-8 */
	MESSAGE_NOT_RPC, /* JSON, but no message (a batch is none either) */
	MESSAGE_REQUEST,
	MESSAGE_NOTIFICATION,
	MESSAGE_RESULT,
	MESSAGE_ERROR,
};

/* Members of a result that say what is meant by it. */
enum message_said {
	SAID_IS_ERROR,
	SAID_META,
	SAID_TYPE,
	SAID_STATE,
	SAID_REQUESTS,
	SAID_COUNT,
};

struct message {
	enum message_kind kind;
	/*
	 * Of an answer: the id as a positive integer, 0 when it is something
	 * else.  Of one of the first three kinds: the id it seems to answer.
	 */
	int64_t id;
	struct json_value raw_id;
	struct json_value method;
	struct json_value params;
	struct json_value body; /* the result, or the error object */
	struct json_fault fault; /* of the first three kinds */
	/* Of a result; not good: no object, or one stands there twice. */
	struct json_value said[SAID_COUNT];
	bool said_good;
};

/*
 * One pass over the whole line, or none when it was proven on its way and
 * there are notes of it.  CR between tokens, the only line break that can be
 * there, becomes a space.
 */
void message_read(char *line, size_t len, const struct json_notes *notes,
    struct message *ret);

/*
 * Our ids are positive integers.  7, 7.0 and 7e0 are the same, and so is the
 * string "7": some servers send every id back as a string (B076), and we never
 * sent one, so it can mean nothing else.  0 for all else.
 */
int64_t message_id(struct json_value v);
int64_t message_id_text(const char *p, size_t len);

#endif
