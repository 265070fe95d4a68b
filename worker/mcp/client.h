#ifndef OZ0_WORKER_MCP_CLIENT_H
#define OZ0_WORKER_MCP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/time.h"
#include "wire/message.h"

/*
 * The MCP client of one server: both eras, one connection from its start to
 * its end.  It knows messages, not descriptors and no event loop: lines come
 * in, and what is to be done goes out through ops.  Ops do not call back into
 * the client, except where they say so.
 */
struct client;

/* A function as listed (WIRE_SERVER_FUNCTION). */
struct client_function {
	uint32_t generation;
	const char *name;
	enum wire_hint read_only, destructive, idempotent, open_world;
	bool honours_key;
	bool resume;
	const char *refused; /* why not callable; "" when it is */
	struct json_value json;
};

/* How an attempt ended (WIRE_CALL_END). */
struct client_end {
	uint64_t attempt;
	enum wire_end how;
	bool sent;
	bool after_cancel;
	bool is_error;
	enum wire_busy busy;
	double retry_after; /* -1: none */
	int64_t code;
	uint32_t dropped_progress;
	const char *message;
	struct json_value payload;
};

struct client_ops {
	/* To the server.  Takes text over; a tag: see client_begun(). */
	void (*send)(void *arg, struct buf *text, int64_t tag, bool urgent);
	/* Takes a line back that is not begun; false: it is. */
	bool (*unsend)(void *arg, int64_t tag);
	/* Bytes that wait for the server. */
	size_t (*unsent)(void *arg);
	/* Writes what can be written now; may call client_begun/written(). */
	void (*push)(void *arg);
	/* Ends the server's input, the line begun abandoned. */
	void (*end_input)(void *arg);

	/* To the supervisor. */
	void (*ready)(void *arg, const char *version, const char *name,
	    const char *server_version);
	void (*function)(void *arg, const struct client_function *f);
	void (*listed)(void *arg, uint32_t generation, uint32_t count,
	    const char *problem);
	void (*failed)(void *arg, enum wire_server_fault why, const char *text);
	void (*noise)(void *arg, enum wire_noise what, const char *sample);
	void (*call_sent)(void *arg, uint64_t attempt);
	void (*call_progress)(void *arg, uint64_t attempt, double progress,
	    bool has_total, double total);
	void (*call_end)(void *arg, const struct client_end *e);
	void (*cancel_sent)(void *arg, uint64_t attempt, bool written);
};

struct client_config {
	const char *tool; /* for the log */
	enum wire_era hint;
	struct span probe;  /* how long silence on server/discover may last */
	size_t max_message;
};

struct client *client_new(const struct client_config *config,
    const struct client_ops *ops, void *arg);
void client_free(struct client *c);

/* The first line goes out. */
void client_start(struct client *c, struct mono now);

/* A line came; it is the client's to change.  notes: of one that was proven
 * already; else NULL. */
void client_line(struct client *c, char *line, size_t len,
    const struct json_notes *notes, struct mono now);
/* A line over the limit: it answers id; it has ended after len bytes; it has
 * no end. */
void client_long_id(struct client *c, int64_t id);
void client_long_end(struct client *c, size_t len);
void client_endless(struct client *c);
/* stdout is at its end.  rest: what stood there without LF. */
void client_eof(struct client *c, char *rest, size_t len, struct mono now);
/* stdin takes no more: nobody reads it. */
void client_input_broken(struct client *c, struct mono now);

/* The first byte, the last byte of the line with this tag was written.  text
 * may be kept, by moving it out. */
void client_begun(struct client *c, int64_t tag);
void client_written(struct client *c, int64_t tag, struct buf *text);

/* When client_expire() wants to be called; MONO_NEVER: not. */
struct mono client_deadline(const struct client *c);
void client_expire(struct client *c, struct mono now);

struct client_call {
	uint64_t attempt;
	const char *function;
	const char *key;
	const char *traceparent; /* "": none */
	bool progress;
	const char *arguments; /* one proven JSON object, or nothing */
	size_t arguments_len;
};

/* false: the attempt is known already, or the names cannot stand in a
 * message. */
bool client_call(struct client *c, const struct client_call *call);
/*
 * false: there is no such attempt.  stop: the server is being stopped; nothing
 * but the cancel is written to it any more (L1.4a).
 */
bool client_cancel(struct client *c, uint64_t attempt, const char *reason,
    bool stop);
/* Nothing more is written. */
void client_stop(struct client *c);
/* The server's tree is dead.  What is left of its output follows, and then
 * client_eof(), where that has not come already: it ends the attempts. */
void client_gone(struct client *c);

#endif
