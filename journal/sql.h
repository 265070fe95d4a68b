#ifndef OZ0_JOURNAL_SQL_H
#define OZ0_JOURNAL_SQL_H

/*
 * Every word of SQL that oz0-journal says: the schema and the statements, by
 * number.  sql.c has their texts; PROTOCOL.md describes the tables.
 */
#define SQL_VERSION 3 /* PRAGMA user_version */
#define SQL_APPLICATION 0x6f7a306a /* "oz0j" */
/* SQL_CALLS_ADD takes that many rows, one after the other. */
#define SQL_CALLS_ROWS 16
#define SQL_CALL_COLUMNS 21

enum sql {
	SQL_META_GET,
	SQL_META_SET,

	/* taking in records */
	SQL_STEPS_ADD,
	SQL_JOB_ID,
	SQL_JOB_ADD,
	SQL_JOB_SET,
	SQL_SESSION_SET,
	SQL_CALL_ADD,
	SQL_CALLS_ADD,
	SQL_CALL_LOAD,
	SQL_CALL_SET,
	SQL_ANSWERS_ADD,
	SQL_CHILD_ADD,
	SQL_CHILD_DROP,
	SQL_CHILD_OTHER_BOOTS,
	SQL_TOOL_SET,
	SQL_APPROVAL_SET,
	SQL_APPROVALS_LAPSE,

	/* recovery, in pages */
	SQL_KEPT_JOBS,
	SQL_LIVE_SESSIONS,
	SQL_LIVE_CALLS,
	SQL_LIVE_APPROVALS,
	SQL_CHILDREN,
	SQL_TOOLS,

	/* queries, in pages */
	SQL_JOB_STEPS,
	SQL_ALL_STEPS,
	SQL_JOB_GET,
	SQL_JOB_SESSIONS,
	SQL_JOB_CALLS,
	SQL_CALL_GET,
	SQL_ANSWER_GET,
	SQL_ENDED_JOBS,

	/* what is not kept */
	SQL_SWEEP_ADD,
	SQL_SWEEP_NEXT,
	SQL_SWEEP_DONE,
	SQL_JOB_UNNAME,
	SQL_JOB_EXPIRED,
	SQL_JOB_LOST_EXPIRED,
	SQL_DROP_ANSWERS,
	SQL_DROP_STEPS,
	SQL_DROP_CALLS,
	SQL_DROP_SESSIONS,
	SQL_DROP_APPROVALS,
	SQL_DROP_JOB,
	SQL_DROP_NODE_STEPS,

	SQL_COUNT
};

extern const char *const sql_schema;
/* What makes a database of a version one of the next: [1] from 1 to 2. */
extern const char *const sql_steps[SQL_VERSION];
extern const char *const sql_texts[SQL_COUNT];

#endif
