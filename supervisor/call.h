#ifndef OZ0_SUPERVISOR_CALL_H
#define OZ0_SUPERVISOR_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/canon.h"
#include "base/jsonw.h"
#include "supervisor/job.h"
#include "wire/message.h"

struct function;

/* Why a call ended as it did: "reason" in INTERFACES. */
enum call_reason {
	REASON_NONE,
	REASON_TIMEOUT,
	REASON_CALL_TIMEOUT,
	REASON_SERVER_ENDED,
	REASON_SERVER_START,
	REASON_BAD_ANSWER,
	REASON_TOO_LARGE,
	REASON_INPUT_REQUIRED,
	REASON_RPC_ERROR,
	REASON_TRANSPORT,
	REASON_HTTP,
	REASON_WORKER_ENDED,
	REASON_REFUSED,
	REASON_KILLED,
	REASON_APPROVAL_NEEDED,
	REASON_DENIED,
	REASON_CANCELED,
	REASON_LOST,
	REASON_UNKNOWN_FUNCTION,
	REASON_NODE_FULL,
	REASON_INTERNAL,
};
const char *call_reason_name(enum call_reason r);

struct call {
	RB_ENTRY(call) by_number;
	RB_ENTRY(call) by_activity;
	TAILQ_ENTRY(call) in_job;
	TAILQ_ENTRY(call) in_queue; /* job->ready, or server->waiting */
	struct call_list *queue;    /* the one it is in; NULL: none */
	uint64_t number;	    /* c<number> */
	struct job *job;
	uint32_t run, session; /* session 0: none */
	/* These stand behind the call, in its own piece of memory. */
	char *activity, *key;
	char *function;		 /* full name */
	const char *bare;	 /* after the dot, within function */
	uint64_t activity_hash;
	bool holds_activity;	 /* it is in job->activities */
	struct conf_tool *conf;	 /* as it was when the call began */
	struct tool *tool;
	struct server *server;	 /* once known */
	char digest[CANON_DIGEST_LEN];
	char *arguments; /* raw JSON, one line; NULL after the end */
	size_t arguments_len;
	char *traceparent;
	struct span timeout, call_timeout; /* tool's, lowered by the caller's */
	enum call_state state;
	enum call_outcome outcome;
	enum call_stopped stopped;
	enum call_reason reason;
	enum call_reason stop_reason; /* why it is being stopped */
	unsigned attempts;
	char *asked_rule;    /* of the policy, while it waits for an approval */
	size_t asked_number; /* of that rule, from 1 */
	char *approved_rule; /* what it was approved for (L6.3) */
	bool repeatable;
	bool may_be_made; /* an attempt of it ended, and not as not made */
	const char *why_repeatable; /* or not, in words; NULL: not known */
	bool want_progress; /* its own caller asked for it */
	bool has_prior;	    /* its scheduler handed in an attempt's progress */
	/* Of the last attempt that reported any, or the prior one (L5.4). */
	bool has_progress, has_total;
	double progress, total;
	struct attempt *attempt; /* the one that runs; NULL: none */
	struct deadline retry;	 /* end of a backoff or an approval wait */
	struct deadline limit;	 /* looks at limit_at */
	struct mono limit_at;	 /* of call_timeout; MONO_NEVER: none */
	TAILQ_ENTRY(call) in_limited; /* s->limited, while it has one */
	char *answer;		 /* members after "outcome" (rec_call_end) */
	struct blob *large;	 /* or, answer NULL, a result alone */
	size_t answer_len;	 /* of either, as it is recorded */
	bool evicted;
	bool made_up;		       /* its activity: nobody can rejoin it */
	TAILQ_ENTRY(call) in_made_up;  /* job->made_up, once it has ended */
	TAILQ_ENTRY(call) in_kept; /* s->kept, while answer has a result */
	bool kept;
	struct waiter_list waiters;  /* told when it has ended */
	struct waiter_list watchers; /* told at each progress */
};

int call_compare(const struct call *a, const struct call *b);
RB_PROTOTYPE(call_tree, call, by_number, call_compare);

/* One request to a server, from its record until it has stopped. */
struct attempt {
	RB_ENTRY(attempt) by_id;
	TAILQ_ENTRY(attempt) in_server;
	uint64_t id;
	struct call *call;
	struct server *server;
	unsigned number; /* from 1 within the call */
	struct mono started;
	struct mono stop_at, stop_until;
	struct deadline timer; /* soft limit, then end of the time to stop */
	bool sent;	       /* a byte of the request was written */
	bool cancelling;
	bool cancel_sent;
	bool answered_late;    /* an answer came after the cancel */
	bool has_progress, has_total;
	double progress, total;
};
TAILQ_HEAD(attempt_list, attempt);
int attempt_compare(const struct attempt *a, const struct attempt *b);
RB_PROTOTYPE(attempt_tree, attempt, by_id, attempt_compare);

/*
 * Where an attempt on another node got to (L5.4).  Its resume token is for
 * remote servers alone (L5.5): no other call keeps it.
 */
struct call_prior {
	double progress, total;
	bool has_total;
};

struct call_start {
	struct job *job;
	uint32_t session;     /* 0: not named */
	const char *activity; /* NULL: the node makes one up */
	const char *function;
	const char *arguments; /* proven JSON object; NULL: absent */
	size_t arguments_len;
	bool has_timeout;
	struct span timeout;
	bool want_progress;
	const struct call_prior *prior; /* NULL: none */
	const char *traceparent;
	uid_t peer_uid;
	bool peer_admin;
};

/*
 * Accepts a call, or joins the one that holds the activity (L2.2): *ret may
 * have ended already; else add a waiter.  false: no call exists, *f says why.
 */
bool call_start(struct supervisor *s, const struct call_start *p,
    struct call **ret, struct fault *f);
struct call *call_find(struct supervisor *s, const char *name);
/* L1.6: false with FAULT_ALREADY_ENDED when it ended. */
bool call_cancel(struct supervisor *s, struct call *c, struct fault *f);
/* The answer of call/start, as one JSON object (raw result within). */
void call_write_answer(const struct call *c, struct jsonw *w);
/*
 * The same without a large result, which is returned (else NULL): its bytes
 * come next, then what call_answer_end() writes.
 */
struct blob *call_answer_begin(const struct call *c, struct jsonw *w);
void call_answer_end(struct jsonw *w);
/* Members of `oz0 --json status CALL`. */
void call_write(const struct call *c, struct jsonw *w);

/* SIGCONT: time under SIGTSTP is credited to running limits (L3.5). */
void attempts_credit(struct supervisor *s, struct span held);

/* Requests of attempts whose record is safe leave; called once a turn. */
void attempts_send(struct supervisor *s);
/*
 * The log is of no use any more (record_unsafe): calls that wait are lost,
 * with attempts of which nothing has left; those that run go on.
 */
void calls_lose_waiting(struct supervisor *s, const char *why);

/* dispatch.c: starts what can be started; called once a turn. */
void dispatch_turn(struct supervisor *s);

/* ---- from worker.c, after it proved that the frame's attempt is its own */
struct attempt_end {
	enum wire_end how;
	bool sent, after_cancel, is_error;
	enum wire_busy busy;
	double retry_after; /* < 0: none */
	int64_t code;
	const char *message;
	const char *payload; /* proven to be one JSON value in one line */
	size_t payload_len;
	struct blob *blob; /* where payload is; NULL: it is the frame's */
};
struct attempt *attempt_find(struct supervisor *s, uint64_t id);
/*
 * An attempt that was given up, its stop not confirmed, and that its server
 * may still answer (worker_gave_up): that is traced, and changes no end.
 */
struct attempt_late {
	const char *job;
	uint64_t call;
	unsigned number; /* of the attempt, within the call */
};
void attempt_answered_late(struct supervisor *s, const struct attempt_late *l,
    const struct attempt_end *e);
void attempt_sent(struct supervisor *s, struct attempt *a);
void attempt_progress(struct supervisor *s, struct attempt *a, double progress,
    bool has_total, double total);
void attempt_ended(
    struct supervisor *s, struct attempt *a, const struct attempt_end *e);
void attempt_cancel_sent(
    struct supervisor *s, struct attempt *a, bool written);

/* ---- from server.c */
void calls_server_ready(struct supervisor *s, struct server *sv);
/* It could not be started: each call that waits for it (L3.7, last row). */
void calls_server_failed(
    struct supervisor *s, struct server *sv, const char *why);
/* Its tree is dead and all it wrote was seen. */
void calls_server_gone(struct supervisor *s, struct server *sv);
/* Its worker died: what it wrote will never be seen. */
void calls_worker_gone(struct supervisor *s, struct server *sv);

#endif
