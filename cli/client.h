#ifndef OZ0_CLI_CLIENT_H
#define OZ0_CLI_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/jsonw.h"
#include "cli/cmd.h"

/*
 * A connection to the node's control socket (oz0-control(7)), one line a
 * message.  A connection that cannot be had or breaks ends the program with
 * CLI_NO_NODE, as does a node that turns the caller away (with its reason's
 * code), unless client_optional() was called.
 */
struct client;

/* An answer; its views last until the next client_*() of the connection. */
struct reply {
	bool ok;
	struct json_value result, error;
	int64_t code; /* JSON-RPC */
	char reason[32];
	char state[32]; /* data.state, of already_ended */
};

enum client_got {
	CLIENT_NOTHING,
	CLIENT_ANSWER,
	CLIENT_EVENT, /* it was given to the handler */
	CLIENT_LOST,  /* only of an optional connection */
};

struct client *client_open(struct cli *cli);
void client_close(struct client *c); /* NULL is fine */
int client_fd(const struct client *c); /* to be polled; -1: lost */
void client_optional(struct client *c);
void client_on_event(struct client *c,
    void (*fn)(void *arg, struct json_value step), void *arg);

/*
 * A request: client_begin(), members onto the writer (an open object), then
 * client_end(), which gives the id of the answer.  client_flush() sends what
 * was ended in one piece; *fds go with its first byte (SCM_RIGHTS).  false:
 * stop_fd (-1: none) became readable before all was sent, and the connection
 * is of no use any more.
 */
struct jsonw *client_begin(struct client *c, const char *method);
uint64_t client_end(struct client *c);
bool client_flush(struct client *c, const int *fds, size_t nfds, int stop_fd);

/* What is there, without waiting. */
enum client_got client_take(
    struct client *c, uint64_t *ret_id, struct reply *ret);
/* Sends what was ended and waits for the answer to that id. */
void client_wait(struct client *c, uint64_t id, struct reply *ret);
/* The same, and the program ends when it is an error. */
void client_do(struct client *c, uint64_t id, struct reply *ret);

/* An error answer: shown as --json or words have it; its exit code. */
int client_fault(const struct client *c, const struct reply *r);

#endif
