#ifndef OZ0_TESTS_FAKE_NODE_H
#define OZ0_TESTS_FAKE_NODE_H

#include "supervisor/call.h"
#include "supervisor/process.h"
#include "supervisor/record.h"

/*
 * The core of the supervisor with nothing around it: processes, journal and
 * control socket are fakes that write down what they were asked, time stands
 * still until fake_pass(), and the log goes to a memfd that is read back.
 */
struct fake_node {
	struct supervisor s;
	struct conf conf;
	struct conf_tool job_tool, plugin_tool;
	struct tool tools[2];
	struct server plugin;
	int log_fd;
};

struct fake_node *fake_node_new(void);
void fake_node_free(struct fake_node *n);
/* Ends a turn: dispatch, record. */
void fake_turn(struct fake_node *n);
/* Fires the deadlines of the next d of time, in order, turn by turn. */
void fake_pass(struct fake_node *n, struct span d);

struct job *fake_job(struct fake_node *n, const char *name);
/* arguments NULL: none; NULL when refused, with the reason in *ret. */
struct call *fake_call(struct fake_node *n, struct job *j,
    const char *activity, const char *function, const char *arguments,
    struct fault *ret);
/* A call of job j1 to the plugin (a function "shared.NAME") that runs. */
struct call *fake_running(
    struct fake_node *n, const char *activity, const char *function);
/* The server of session 1 of the job; NULL: never asked for. */
struct server *fake_job_server(struct job *j);
/* Its listing has: read (read only), write (idempotent, honours the key),
 * once (nothing). */
void fake_ready(struct fake_node *n, struct server *sv);
void fake_gone(struct fake_node *n, struct server *sv); /* tree dead */
void fake_start_failed(struct fake_node *n, struct server *sv);
bool fake_wanted(const struct server *sv);
bool fake_stopping(const struct server *sv);

void fake_answer(struct fake_node *n, struct call *c, const char *result);
void fake_end(
    struct fake_node *n, struct call *c, const struct attempt_end *e);
/* The call's answer is JSON, and this is part of it. */
void fake_answer_has(const struct call *c, const char *part);
/* What the worker was sent for this call: requests, cancels. */
unsigned fake_requests(const struct call *c);
unsigned fake_cancels(const struct call *c);
/* An attempt of it was given up, once, and may be answered late. */
bool fake_given_up(const struct call *c);

/* Events seen so far whose text or event name contains s. */
unsigned fake_events(const char *s);

#endif
