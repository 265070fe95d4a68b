/*
 * What a call may do.  Three tables, and nothing else in oz0 decides these
 * things: which state follows which event, what the end of an attempt means
 * (LIFECYCLE L3.7), and which calls may be made again (L3.1).
 */
#include "supervisor/call_table.h"

#include "supervisor/process.h"

struct cell {
	enum call_state next;
	const char *rule;
};

/*
 * state x event.  A cell that is not written cannot happen; the setter treats
 * it as an internal fault.
 */
static const struct cell table[CALL_LOST + 1][CALL_EV_COUNT] = {
	/* Waits for a slot, or for its server. */
	[CALL_QUEUED] = {
		[CALL_EV_START] = { CALL_RUNNING, "L3.5" },
		[CALL_EV_RETRY] = { CALL_WAITING_RETRY, "L3.7" },
		[CALL_EV_ASK] = { CALL_WAITING_APPROVAL, "L6.3" },
		[CALL_EV_FAIL] = { CALL_FAILED, "L3.8" },
		[CALL_EV_REFUSE] = { CALL_REFUSED, "L6.2" },
		[CALL_EV_CANCELED] = { CALL_CANCELED, "L1.3" },
		[CALL_EV_LOSE] = { CALL_LOST, "L9.1" },
	},
	/* Waits for an operator, without a slot. */
	[CALL_WAITING_APPROVAL] = {
		[CALL_EV_APPROVE] = { CALL_QUEUED, "L6.3" },
		[CALL_EV_FAIL] = { CALL_FAILED, "L3.8" },
		[CALL_EV_REFUSE] = { CALL_REFUSED, "L6.3" },
		[CALL_EV_CANCELED] = { CALL_CANCELED, "L1.3" },
		[CALL_EV_LOSE] = { CALL_LOST, "L9.1" },
	},
	/* Waits for its attempt to end. */
	[CALL_RUNNING] = {
		[CALL_EV_RETRY] = { CALL_WAITING_RETRY, "L3.7" },
		[CALL_EV_STOP] = { CALL_CANCELLING, "L1.3" },
		[CALL_EV_DONE] = { CALL_COMPLETED, "L3.7" },
		[CALL_EV_FAIL] = { CALL_FAILED, "L3.7" },
		[CALL_EV_LOSE] = { CALL_LOST, "L9.1" },
	},
	/* Waits for its backoff to be over, without a slot. */
	[CALL_WAITING_RETRY] = {
		[CALL_EV_DUE] = { CALL_QUEUED, "L3.2" },
		[CALL_EV_FAIL] = { CALL_FAILED, "L3.8a" },
		[CALL_EV_REFUSE] = { CALL_REFUSED, "L3.6" },
		[CALL_EV_CANCELED] = { CALL_CANCELED, "L1.3" },
		[CALL_EV_LOSE] = { CALL_LOST, "L9.1" },
	},
	/* Waits until its attempt has stopped; an answer is late (L1.5). */
	[CALL_CANCELLING] = {
		[CALL_EV_STOP] = { CALL_CANCELLING, "L1.6" },
		[CALL_EV_RETRY] = { CALL_WAITING_RETRY, "L3.7" },
		[CALL_EV_FAIL] = { CALL_FAILED, "L1.10" },
		[CALL_EV_CANCELED] = { CALL_CANCELED, "L1.10" },
		[CALL_EV_LOSE] = { CALL_LOST, "L1.10" },
	},
	/* The ended states take nothing. */
};

static const char *const event_names[] = {
	[CALL_EV_START] = "start",
	[CALL_EV_RETRY] = "retry",
	[CALL_EV_DUE] = "due",
	[CALL_EV_ASK] = "ask",
	[CALL_EV_APPROVE] = "approve",
	[CALL_EV_STOP] = "stop",
	[CALL_EV_DONE] = "done",
	[CALL_EV_FAIL] = "fail",
	[CALL_EV_REFUSE] = "refuse",
	[CALL_EV_CANCELED] = "canceled",
	[CALL_EV_LOSE] = "lose",
};

/* L3.7, row by row. */
static const struct attempt_verdict verdicts[] = {
	[RESULT_RESULT] = { OUTCOME_MADE, THEN_DONE, THEN_DONE, REASON_NONE,
	    "answered with a result", "L3.7" },
	[RESULT_ERROR] = { OUTCOME_MADE, THEN_DONE, THEN_DONE, REASON_NONE,
	    "answered with an error result", "L3.7" },
	[RESULT_BUSY] = { OUTCOME_NOT_MADE, THEN_BUSY, THEN_DONE, REASON_NONE,
	    "the server is busy", "L4.2" },
	[RESULT_RPC_NOT_MADE] = { OUTCOME_NOT_MADE, THEN_FAIL, THEN_FAIL,
	    REASON_RPC_ERROR, "JSON-RPC error", "L3.7" },
	[RESULT_RPC_REQUEST] = { OUTCOME_UNKNOWN, THEN_FAIL, THEN_FAIL,
	    REASON_RPC_ERROR, "JSON-RPC error", "L3.7" },
	[RESULT_RPC_OTHER] = { OUTCOME_UNKNOWN, THEN_NEXT, THEN_FAIL,
	    REASON_RPC_ERROR, "JSON-RPC error", "L3.7" },
	[RESULT_TIME_LIMIT] = { OUTCOME_UNKNOWN, THEN_NEXT, THEN_FAIL,
	    REASON_TIMEOUT, "time limit", "L3.7" },
	[RESULT_SERVER_ENDED] = { OUTCOME_UNKNOWN, THEN_NEXT, THEN_FAIL,
	    REASON_SERVER_ENDED, "server ended", "L3.7" },
	[RESULT_WORKER_ENDED] = { OUTCOME_UNKNOWN, THEN_NEXT, THEN_FAIL,
	    REASON_WORKER_ENDED, "worker ended", "L9.2" },
	[RESULT_BAD_ANSWER] = { OUTCOME_UNKNOWN, THEN_NEXT, THEN_FAIL,
	    REASON_BAD_ANSWER, "broken answer", "L3.7" },
	[RESULT_TOO_LARGE] = { OUTCOME_UNKNOWN, THEN_NEXT, THEN_FAIL,
	    REASON_TOO_LARGE, "answer over the size limit", "L3.7" },
	[RESULT_INPUT_REQUIRED] = { OUTCOME_UNKNOWN, THEN_FAIL, THEN_FAIL,
	    REASON_INPUT_REQUIRED, "asks for input that was never offered",
	    "L3.7a" },
	[RESULT_NOT_STARTED] = { OUTCOME_NOT_MADE, THEN_NEXT, THEN_NEXT,
	    REASON_SERVER_START, "server could not be started", "L3.7" },
	[RESULT_NOT_SENT] = { OUTCOME_NOT_MADE, THEN_NEXT, THEN_NEXT,
	    REASON_SERVER_ENDED, "server ended before the request was written",
	    "L3.7" },
};

enum call_state
call_table_next(
    enum call_state state, enum call_event ev, const char **ret_rule)
{
	const struct cell *c = &table[state][ev];

	*ret_rule = c->rule != NULL ? c->rule : "";
	return c->next;
}

const char *
call_event_name(enum call_event ev)
{
	return event_names[ev];
}

const struct attempt_verdict *
attempt_verdict(enum attempt_result r)
{
	return &verdicts[r];
}

static enum attempt_result
result_of_code(int64_t code)
{
	switch (code) {
	case -32700: /* parse error */
	case -32601: /* method not found */
	case -32020: /* header mismatch */
	case -32021: /* missing client capability */
	case -32022: /* unsupported protocol version */
		return RESULT_RPC_NOT_MADE;
	case -32600: /* invalid request */
	case -32602: /* invalid params */
		return RESULT_RPC_REQUEST;
	default:
		return RESULT_RPC_OTHER;
	}
}

bool
attempt_is_busy(const struct attempt_end *e)
{
	return e->how == WIRE_END_RESULT && e->is_error &&
	    (e->busy == WIRE_BUSY_YES || e->busy == WIRE_BUSY_BAD_WAIT);
}

enum attempt_result
attempt_result_of(const struct attempt_end *e)
{
	switch (e->how) {
	case WIRE_END_RESULT:
		if (attempt_is_busy(e))
			return RESULT_BUSY;
		return e->is_error ? RESULT_ERROR : RESULT_RESULT;
	case WIRE_END_RPC_ERROR:
		return result_of_code(e->code);
	case WIRE_END_BAD_ANSWER:
		return RESULT_BAD_ANSWER;
	case WIRE_END_TOO_LARGE:
		return RESULT_TOO_LARGE;
	case WIRE_END_INPUT_REQUIRED:
		return RESULT_INPUT_REQUIRED;
	case WIRE_END_SERVER:
	case WIRE_END_CANCELED:
		break;
	}
	return e->sent ? RESULT_SERVER_ENDED : RESULT_NOT_SENT;
}

bool
call_repeatable(const struct function *f, const char **ret_why)
{
	bool idempotent = f->idempotent == WIRE_HINT_TRUE;

	if (f->read_only == WIRE_HINT_TRUE) {
		*ret_why = "may be made again: it only reads";
		return true;
	}
	if (idempotent && f->honours_key) {
		*ret_why = "may be made again: it is idempotent and honours "
			   "the key";
		return true;
	}
	if (idempotent)
		*ret_why = "sent once: it is idempotent, but does not say "
			   "that it honours the key";
	else if (f->honours_key)
		*ret_why = "sent once: it honours the key, but does not say "
			   "that it is idempotent";
	else
		*ret_why = "sent once: it says neither that it only reads "
			   "nor that it is idempotent and honours the key";
	return false;
}
