#ifndef OZ0_WIRE_RECORD_H
#define OZ0_WIRE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/frame.h"

/*
 * What the supervisor writes down before it acts, and oz0-journal reads: the
 * records of the log.  Every record carries a step (the line of the trace and
 * of the events, as JSON without newline; empty for REC_CHILD and REC_NODE;
 * that of a REC_FORGET is the node's) and, by its type, the facts that a fresh
 * start needs.
 */
enum rec_type {
	REC_NODE = 1,	    /* a supervisor began: boot id, pid */
	REC_STEP = 2,	    /* a step that changes no state below */
	REC_JOB = 3,	    /* a job, as it is from here on */
	REC_SESSION = 4,    /* a session, likewise */
	REC_CALL = 5,	    /* a call was accepted */
	REC_CALL_STATE = 6, /* a call changed, and has not ended */
	REC_CALL_END = 7,
	REC_CHILD = 8, /* a child was born or is dead */
	REC_TOOL = 9,  /* a tool's switch (L1.9) */
	REC_APPROVAL = 10, /* an approval was given (L6.3) */
	REC_FORGET = 11,   /* a job, with all that is its own, is to go */
};

/* The numbers stand in files: never change one. */
enum job_state {
	JOB_RUNNING = 1,
	JOB_CANCELLING = 2, /* waits for its calls and processes to be gone */
	JOB_CANCELED = 3,
	JOB_COMPLETED = 4,
	JOB_FAILED = 5,
	JOB_LOST = 6,
};

enum session_state {
	SESSION_OPEN = 1,
	SESSION_CLOSING = 2, /* waits for its last process to be dead */
	SESSION_CLOSED = 3,
	SESSION_LOST = 4,
};

enum call_state {
	CALL_QUEUED = 1,	   /* waits for a slot or its server */
	CALL_WAITING_APPROVAL = 2, /* waits for an operator */
	CALL_RUNNING = 3,	   /* waits for its attempt to end */
	CALL_WAITING_RETRY = 4,	   /* waits for its backoff to be over */
	CALL_CANCELLING = 5,	   /* waits for its attempt to have stopped */
	CALL_COMPLETED = 6,
	CALL_FAILED = 7,
	CALL_REFUSED = 8,
	CALL_CANCELED = 9,
	CALL_LOST = 10,
};

enum call_outcome {
	OUTCOME_NONE = 0, /* not known yet */
	OUTCOME_MADE = 1,
	OUTCOME_NOT_MADE = 2,
	OUTCOME_UNKNOWN = 3,
};

enum call_stopped {
	STOPPED_NONE = 0,
	STOPPED_SERVER_GONE = 1,
	STOPPED_ANSWERED = 2,
	STOPPED_NOT_CONFIRMED = 3,
};

/* The words of INTERFACES for them, and back (0: no such word). */
const char *job_state_name(enum job_state s);
const char *session_state_name(enum session_state s);
const char *call_state_name(enum call_state s);
const char *call_outcome_name(enum call_outcome o); /* NULL for NONE */
const char *call_stopped_name(enum call_stopped s); /* NULL for NONE */
bool job_state_ended(enum job_state s);	  /* LOST is not: it can go on */
bool call_state_ended(enum call_state s);

struct rec_node {
	char *boot_id;
	uint32_t pid;
};

struct rec_job {
	char *job, *tenant;
	uint32_t run;
	uint32_t uid; /* of the peer that started it */
	uint8_t state;
};

struct rec_session {
	char *job;
	uint32_t run, session;
	uint8_t state;
	uint8_t restartable;
	uint8_t harness; /* has one */
};

struct rec_call {
	uint64_t call;
	char *job;
	uint32_t run, session; /* session 0: none (a plugin's or remote's) */
	char *activity, *function, *digest, *key;
	uint8_t repeatable; /* as far as its function's hints are known */
};

struct rec_call_state {
	uint64_t call;
	uint8_t state;
	uint32_t attempts; /* recorded so far */
	uint8_t outcome;   /* of the last attempt that ended */
	uint8_t has_progress, has_total;
	double progress, total;
	uint8_t repeatable; /* by the hints that its last attempt went by */
};

struct rec_call_end {
	uint64_t call;
	uint8_t state, outcome, stopped;
	uint8_t evicted; /* the answer had a result, which was not kept */
	uint32_t attempts;
	/*
	 * The members of its answer after "outcome", as JSON without braces:
	 * "result":... or "error":{...} (INTERFACES); what a rejoin is given.
	 */
	const char *answer;
	size_t answer_len;
	const char *result; /* the rest of answer, when it is put; else NULL */
	size_t result_len;
};

struct rec_child {
	char *role; /* "worker session j1/1", "sandbox j1/1 files" */
	char *boot_id;
	uint32_t pid;
	uint64_t start_time; /* field 22 of /proc/PID/stat */
	uint8_t born;	     /* 1: born, 0: dead */
};

struct rec_tool {
	char *tool;
	uint8_t killed;
};

/*
 * Given for the call under that key, and good while the rule that asked
 * stands: rule says that rule, or its digest, in 2,048 bytes at most.
 */
struct rec_approval {
	char *job, *key, *rule;
};

struct rec_forget {
	char *job;
};

/*
 * One record, read: the facts by type, whose job, call and session it is for
 * the trace's index, and the step.
 */
struct record {
	uint64_t seq;
	enum rec_type type;
	char *job;	  /* NULL: no job's */
	uint64_t call;	  /* 0: none */
	const char *step; /* a view */
	size_t step_len;
	char *text; /* of one that was read: the memory of its strings */
	union {
		struct rec_node node;
		struct rec_job job;
		struct rec_session session;
		struct rec_call call;
		struct rec_call_state call_state;
		struct rec_call_end call_end;
		struct rec_child child;
		struct rec_tool tool;
		struct rec_approval approval;
		struct rec_forget forget;
	} u;
};

/*
 * The content of a record, as it stands in the log between its header and its
 * end, and as payload of the WIRE_RECOVER_* messages:
 *   u64 seq, u16 type, str job, u64 call, facts, bytes step
 */
void record_put(struct buf *b, const struct record *r);
/* 0, or -EBADMSG; then record_clear(). Views point into p. */
int record_get(const void *p, size_t n, struct record *ret);
void record_clear(struct record *r);

#endif
