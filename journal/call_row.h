#ifndef OZ0_JOURNAL_CALL_ROW_H
#define OZ0_JOURNAL_CALL_ROW_H

/* The columns of a call as the statements of sql.c give them, in order. */
enum call_column {
	CALL_NUMBER,
	CALL_RUN,
	CALL_SESSION,
	CALL_ACTIVITY,
	CALL_FUNCTION,
	CALL_DIGEST,
	CALL_KEY,
	CALL_REPEATABLE,
	CALL_STATE,
	CALL_ATTEMPTS,
	CALL_OUTCOME,
	CALL_STOPPED,
	CALL_EVICTED,
	CALL_PROGRESS,
	CALL_TOTAL,
	CALL_SEQ,
	CALL_STATE_SEQ,
	CALL_EXTRA, /* its answer, or its job's name */
};

#endif
