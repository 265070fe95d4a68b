/*
 * The words of faults, and filling one in.
 */
#include "supervisor/fault.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const names[] = {
	[FAULT_UNKNOWN_JOB] = "unknown_job",
	[FAULT_UNKNOWN_CALL] = "unknown_call",
	[FAULT_UNKNOWN_TOOL] = "unknown_tool",
	/* INTERFACES has no word of its own for a session that is not open. */
	[FAULT_UNKNOWN_SESSION] = "not_allowed",
	[FAULT_ALREADY_ENDED] = "already_ended",
	[FAULT_BUSY_ACTIVITY] = "busy_activity",
	[FAULT_NOT_ALLOWED] = "not_allowed",
	[FAULT_DRAINING] = "draining",
	[FAULT_NODE_FULL] = "node_full",
	[FAULT_INTERNAL] = "internal",
	[FAULT_PARAMS] = "params",
};

const char *
fault_reason_name(enum fault_reason r)
{
	return names[r];
}

bool
fault_set(struct fault *f, enum fault_reason r, const char *fmt, ...)
{
	va_list ap;

	f->reason = r;
	f->state[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(f->message, sizeof(f->message), fmt, ap);
	va_end(ap);
	return false;
}
