#ifndef OZ0_SUPERVISOR_FAULT_H
#define OZ0_SUPERVISOR_FAULT_H

#include <stdbool.h>

/*
 * Why a request of the control protocol is answered with an error before a
 * call exists: JSON-RPC code 1 with data.reason (INTERFACES).  An operation
 * that can fail so returns false and fills one in.
 */
enum fault_reason {
	FAULT_UNKNOWN_JOB,
	FAULT_UNKNOWN_CALL,
	FAULT_UNKNOWN_TOOL,
	FAULT_UNKNOWN_SESSION,
	FAULT_ALREADY_ENDED,
	FAULT_BUSY_ACTIVITY,
	FAULT_NOT_ALLOWED,
	FAULT_DRAINING,
	FAULT_NODE_FULL,
	FAULT_INTERNAL,
	FAULT_PARAMS, /* JSON-RPC -32602 */
};

struct fault {
	enum fault_reason reason;
	char message[512];
	char state[16]; /* FAULT_ALREADY_ENDED: the state it ended in */
};

const char *fault_reason_name(enum fault_reason r); /* "unknown_job" */
/* Fills in *f and returns false, for `return fault_set(...)`. */
bool fault_set(struct fault *f, enum fault_reason r, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
