#ifndef OZ0_SUPERVISOR_SUPERVISOR_H
#define OZ0_SUPERVISOR_SUPERVISOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sys/queue.h>
#include <sys/tree.h>

#include "base/time.h"
#include "supervisor/commit.h"
#include "supervisor/conf.h"
#include "supervisor/deadline.h"

struct event_base;
struct job;
struct call;
struct tool;
struct server;
struct worker;
struct attempt;
struct policy;	   /* policy.h */
struct recorder;   /* record.h: the log's writer */
struct processes;  /* process.h: children, links, journal, folders, uids */
struct control;	   /* control.h: the socket and its connections */

RB_HEAD(deadline_tree, deadline);
RB_HEAD(job_tree, job);
RB_HEAD(call_tree, call);
RB_HEAD(attempt_tree, attempt);
TAILQ_HEAD(tool_list, tool);
TAILQ_HEAD(job_ring, job);
TAILQ_HEAD(kept_list, call);
TAILQ_HEAD(limited_list, call);

/* What the node as a whole is doing (INTERFACES, status). */
enum node_state {
	NODE_STARTING, /* waits for recovery */
	NODE_READY,
	NODE_HOLDING,  /* SIGTSTP: admits no new attempt */
	NODE_DRAINING, /* waits for running calls */
	NODE_STOPPING, /* waits for the last process */
};

/*
 * The node.  There is one, made by main() and passed to everything; no module
 * keeps state of its own outside it (STYLE rule 3).
 */
struct supervisor {
	struct conf *conf;
	struct event_base *base;
	struct deadline_tree deadlines;
	enum node_state state;
	const char *degraded; /* NULL, or why (L1.4b): child.c's words */
	struct wall started;
	char boot_id[37];

	struct job_tree jobs;	       /* by name; those in memory */
	struct call_tree calls;	       /* by number; those in memory */
	struct attempt_tree attempts;  /* by id; those not ended */
	struct tool_list tools;
	struct job_ring ready;	       /* jobs with calls that could start */
	struct kept_list kept;	       /* with a kept result, oldest first */
	size_t kept_bytes;
	struct limited_list limited;   /* whose call_timeout runs */
	struct job_ring settling;      /* jobs that may have come to an end */
	uint64_t last_call, last_attempt;
	uint64_t last_sent;	       /* attempt handed to a worker */
	struct commit commit;	       /* how far the log is synced */
	struct commit_queue sending;   /* attempts, by id */
	unsigned running;	       /* slots taken */
	unsigned queued;	       /* calls queued, waiting or retrying */
	size_t payload_bytes;	       /* arguments and answers held (L9.6) */
	struct mono held_since;	       /* while NODE_HOLDING */

	struct {
		bool on; /* a request of a client is being carried out */
		uid_t uid;
	} asker;

	struct policy *policy_set; /* over the control socket; NULL: none */

	struct recorder *recorder;
	struct processes *processes;
	struct control *control;
};

/*
 * One turn of the loop: events are handled (they only queue), then in this
 * order: calls that can start are started (dispatch_turn), the log is written
 * (record_flush), and only then requests and answers leave (attempts_send,
 * control_flush), as far as the log is synced where that counts (commit.h).
 * So nothing is acted on or shown before it is recorded; what stops work
 * leaves all the same (process_flush).
 */
int supervisor_run(struct supervisor *s); /* exit code */

#endif
