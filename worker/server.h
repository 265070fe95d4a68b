#ifndef OZ0_WORKER_SERVER_H
#define OZ0_WORKER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/time.h"
#include "wire/message.h"
#include "worker/mcp/client.h"

/*
 * One stdio server of a worker: its three descriptors, their events, and the
 * MCP client between them and the supervisor's channel.
 */
struct worker;
struct server;

struct server_config {
	uint32_t id;
	const char *tool;
	enum wire_server_kind kind;
	enum wire_era hint;
	struct span probe;
	size_t max_message;
	int fds[3]; /* stdin, stdout, stderr; taken over, also on failure */
};

struct server *server_new(struct worker *w, const struct server_config *c);
void server_free(struct server *s);
uint32_t server_id(const struct server *s);
struct client *server_client(struct server *s);
/* WIRE_SERVER_GONE: reads what is left and tells that it was drained.  The
 * caller frees the server then. */
void server_drain(struct server *s);
/* The end of a loop turn: what was queued is written. */
void server_flush(struct server *s);

/* Bytes of lines that are not whole yet. */
size_t server_held(const struct server *s);
/* Which server began its unfinished line first; 0: it has none. */
uint64_t server_held_since(const struct server *s);
/* Its stdout is read, or left alone (LIFECYCLE L9.6). */
void server_pause(struct server *s, bool pause);

#endif
