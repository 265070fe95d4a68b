#ifndef OZ0_EXAMPLES_DEMO_DEMO_H
#define OZ0_EXAMPLES_DEMO_DEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/time.h"
#include "examples/demo/options.h"

/*
 * What the whole of oz0-demo shares: the server, its open calls, and the
 * requests of its own that wait for an answer.
 */

#define DEMO_NAME "oz0-demo"
#define DEMO_MODERN "2026-07-28"

enum era {
	ERA_LEGACY, /* 2024-11-05 to 2025-11-25: initialize */
	ERA_MODERN, /* 2026-07-28: each request brings its own _meta */
};

struct function;

/* A tools/call that has not ended.  All values point into `line`. */
struct call {
	TAILQ_ENTRY(call) entry;
	const struct function *fn;
	enum era era;
	char *line;
	struct json_value id;
	struct json_value arguments; /* JSON_NONE: absent */
	struct json_value meta;
	struct json_value token; /* progressToken */
	struct json_value state; /* requestState */
	char *key;		 /* oz0/idempotency_key; NULL: none */
	struct mono due;	 /* when its tick is due */
	const char *fault;	 /* name of an argument that does not fit */
	/* For the function's own use. */
	int64_t step;
	int64_t steps;
	struct span every;
	char word[32];
	struct buf found;
};
TAILQ_HEAD(call_list, call);

/* A subscriptions/listen that stands; id as JSON text. */
struct listener {
	TAILQ_ENTRY(listener) entry;
	char *id;
};
TAILQ_HEAD(listener_list, listener);

struct demo {
	struct options opt;
	struct ledger *ledger;
	struct buf in;
	size_t scanned; /* bytes of `in` known to hold no line end */
	struct buf out;
	bool out_broken;
	bool eof;
	bool hold_input;	/* until `out` is drained */
	struct mono deaf_until; /* stdin is not read before */
	bool initialized;	/* the legacy handshake was made */
	bool done;
	int64_t next_id; /* of the server's own requests, from 0 */
	int64_t added;	 /* functions that list_changed added */
	struct call_list calls;
	struct listener_list listeners;
};

#endif
