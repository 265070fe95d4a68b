#ifndef OZ0_CLI_CLIENT_H
#define OZ0_CLI_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/jsonw.h"

/*
 * A connection to the node's control socket (oz0-control(7)), blocking, one
 * line a message.  What breaks it ends the program with EXIT_NO_NODE.
 */

/* Exit codes of oz0 (INTERFACES). */
enum cli_exit {
	CLI_DONE = 0,
	CLI_TOOL_ERROR = 1,
	CLI_USAGE = 2,
	CLI_REFUSED = 3,
	CLI_CANCELED = 4,
	CLI_NOT_MADE = 5,
	CLI_UNKNOWN = 6,
	CLI_NO_NODE = 7,
	CLI_RUN_FAILED = 125, /* of `oz0 run`: oz0 itself failed */
};

struct client;

/* An answer; its views last until the next client_*() of the connection. */
struct reply {
	bool ok;
	struct json_value result;
	int64_t code; /* JSON-RPC */
	char reason[32];
	char state[32]; /* data.state, of already_ended */
	char message[1024];
};

struct client *client_open(const char *path); /* NULL path: the default */
void client_close(struct client *c);
int client_fd(const struct client *c);

/*
 * A request: client_begin(), members onto the writer (an open object), then
 * client_send(); *fds go with it (SCM_RIGHTS).  The id of the answer.
 */
struct jsonw *client_begin(struct client *c, const char *method);
uint64_t client_send(struct client *c, const int *fds, size_t nfds);
/* Waits for the answer to that id; events meanwhile go to the handler. */
void client_wait(struct client *c, uint64_t id, struct reply *ret);
/* The next message that is there or comes within timeout_ms (-1: waits): 1 an
 * answer to *ret_id, 0 an event (handled) or nothing. */
int client_poll(
    struct client *c, int timeout_ms, uint64_t *ret_id, struct reply *ret);
void client_on_event(struct client *c,
    void (*fn)(void *arg, struct json_value step), void *arg);

/* One request without params that matter; ends the program on a fault. */
void client_do(struct client *c, uint64_t id, struct reply *ret);

#endif
