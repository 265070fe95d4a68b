#ifndef OZ0_SUPERVISOR_CALL_TABLE_H
#define OZ0_SUPERVISOR_CALL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/call.h"
#include "wire/message.h"
#include "wire/record.h"

struct function;

/* What can happen to a call. */
enum call_event {
	CALL_EV_START,	 /* an attempt was recorded */
	CALL_EV_RETRY,	 /* its attempt ended and another may follow */
	CALL_EV_DUE,	 /* the wait is over: back to the queue */
	CALL_EV_ASK,	 /* the policy wants an approval */
	CALL_EV_APPROVE, /* it was given */
	CALL_EV_STOP,	 /* its attempt is being stopped */
	CALL_EV_DONE,	 /* a result came */
	CALL_EV_FAIL,
	CALL_EV_REFUSE,
	CALL_EV_CANCELED,
	CALL_EV_LOSE,
	CALL_EV_COUNT,
};

/*
 * The state that follows, or 0 when the event cannot happen in that state.
 * *ret_rule is the rule of LIFECYCLE that says so.
 */
enum call_state call_table_next(
    enum call_state state, enum call_event ev, const char **ret_rule);
const char *call_event_name(enum call_event ev);

/* How an attempt ended: the rows of L3.7. */
enum attempt_result {
	RESULT_RESULT,
	RESULT_ERROR,
	RESULT_BUSY,
	RESULT_RPC_NOT_MADE, /* -32700 -32601 -32020 -32021 -32022 */
	RESULT_RPC_REQUEST,  /* -32600 -32602 */
	RESULT_RPC_OTHER,
	RESULT_TIME_LIMIT,
	RESULT_SERVER_ENDED,
	RESULT_WORKER_ENDED,
	RESULT_BAD_ANSWER,
	RESULT_TOO_LARGE,
	RESULT_INPUT_REQUIRED,
	RESULT_NOT_STARTED, /* its server could not be started */
	RESULT_NOT_SENT,    /* ended before a byte of it was written */
};

enum attempt_then {
	THEN_DONE, /* the result is the call's */
	THEN_BUSY, /* L4.2 decides */
	THEN_NEXT, /* the next attempt, while there are any */
	THEN_FAIL,
};

struct attempt_verdict {
	enum call_outcome outcome;
	enum attempt_then repeatable; /* what follows for a repeatable call */
	enum attempt_then other;      /* for any other */
	enum call_reason reason;      /* of the failure, where it fails */
	const char *words;	      /* for the trace */
	const char *rule;
};

const struct attempt_verdict *attempt_verdict(enum attempt_result r);
/* L4.1: the result says that nothing was made, try again. */
bool attempt_is_busy(const struct attempt_end *e);
/* The row that a worker's report falls into. */
enum attempt_result attempt_result_of(const struct attempt_end *e);

/*
 * May a call of this function be made again (L3.1)?  And why, in words, for
 * `oz0 functions` and the trace.
 */
bool call_repeatable(const struct function *f, const char **ret_why);

#endif
