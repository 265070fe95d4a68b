#ifndef OZ0_WORKER_MCP_ANSWER_H
#define OZ0_WORKER_MCP_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "wire/message.h"
#include "worker/mcp/message.h"

/* What the answer to a tools/call says (LIFECYCLE L3.7, L3.7a, L4.1). */
struct answer {
	enum wire_end how; /* RESULT, RPC_ERROR, BAD_ANSWER, INPUT_REQUIRED */
	bool is_error;
	enum wire_busy busy;
	double retry_after; /* -1: none */
	int64_t code;
	/*
	 * INPUT_REQUIRED with requestState alone: it may go on.  JSON_NONE:
	 * input was asked for that was never offered.
	 */
	struct json_value state;
	char message[512];
};

void answer_read_result(const struct message *m, bool modern,
    struct answer *ret);
void answer_read_error(struct json_value error, struct answer *ret);

#endif
