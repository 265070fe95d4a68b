#ifndef OZ0_TESTS_CONTROL_FAKE_H
#define OZ0_TESTS_CONTROL_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/call.h"
#include "supervisor/control.h"
#include "supervisor/process.h"
#include "supervisor/record.h"

/*
 * The real core and the real control socket in one process, with fakes for
 * what has processes: a plugin `shared` and a job tool `own` that are ready at
 * once, and a journal that keeps the steps in an array.  Functions:
 *	echo	answers with its arguments, in the turn after
 *	hold	answers when fake_release() says so
 * A test is client and node at once: fake_turn() is one turn of the loop.
 */
struct fake_node {
	struct supervisor s; /* the first: the fakes go from it to the node */
	char dir[64];
	int log_fd;
	bool hold_ends;	    /* servers do not die when they are stopped */
	unsigned harnesses; /* started */
	bool harness_fails;
	char harness_said[64]; /* what came through its stdin */
	unsigned rows, cols;   /* of its terminal, once they were set */
	bool drained;
	unsigned queries;
	bool journal_broken;
};

/* conf_node: members of "node" besides the places, as JSON, or NULL. */
struct fake_node *fake_new(const char *conf_node);
void fake_free(struct fake_node *n);
void fake_turn(struct fake_node *n);
void fake_release(struct fake_node *n); /* all held calls are answered */
void fake_steps(struct fake_node *n, unsigned count); /* steps of no job */

/* Between the files of the fakes: the journal's part of a turn. */
void fake_journal_answer(struct fake_node *n);
void fake_journal_keep(struct fake_node *n); /* what was recorded */
void fake_journal_free(void);

/* Requests, as text. */
#define HELLO "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"node/hello\"}"
#define REQ(id, method, params)                                                \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method              \
	"\",\"params\":" params "}"

struct client {
	struct fake_node *n;
	int fd;
	char *in;
	size_t start, len, cap; /* start: taken already */
	bool closed;
};
void client_open(struct fake_node *n, struct client *c);
void client_close(struct client *c);
void client_send(struct client *c, const char *text);
/* Turns until a line is there; without newline, until the next call.
 * NULL: the connection was closed. */
const char *client_line(struct client *c);
/* Turns until nothing happens any more; true when a line is there. */
bool client_quiet(struct client *c);
/* Sends a line and gives the next one that is no event. */
const char *client_ask(struct client *c, const char *line);
/* Asks: the answer has this part, or is an error of this code and id (raw). */
void client_ask_has(struct client *c, const char *line, const char *part);
void client_ask_error(
    struct client *c, const char *line, int code, const char *id);
/* Says hello, as the admin that it is. */
void client_works(struct client *c);

#endif
