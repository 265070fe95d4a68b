/*
 * The schema and the statements of journal.db.  Jobs are numbered inside the
 * database, so that a job forgotten and started again under its name is
 * another one; steps are found by job through an index that ends in seq.
 * Pages of a query go on after a key, never by OFFSET.
 */
#include "journal/sql.h"

/* given, and good while the rule stands, for calls of jobs not ended */
#define APPROVALS \
	"CREATE TABLE approvals(" \
	" job INTEGER, key TEXT, rule TEXT NOT NULL, seq INTEGER NOT NULL," \
	" PRIMARY KEY (job, key)) WITHOUT ROWID;"

/* some answers one after the other; id: seq of the first one's end */
#define ANSWERS \
	"CREATE TABLE answers(" \
	" id INTEGER PRIMARY KEY, job INTEGER NOT NULL, body BLOB NOT NULL);"
#define ANSWERS_INDEX "CREATE INDEX answers_job ON answers(job);"

/*
 * steps.h has what a body is; first: seq of its first step; batch: of the
 * first step of its batch; job NULL: the node's own; at: of the newest one,
 * in microseconds since 1970
 */
#define STEPS \
	"CREATE TABLE steps(" \
	" first INTEGER PRIMARY KEY, batch INTEGER NOT NULL, job INTEGER," \
	" at INTEGER, body BLOB NOT NULL);"
#define STEPS_INDEX \
	"CREATE INDEX steps_job ON steps(job) WHERE job IS NOT NULL;" \
	"CREATE INDEX steps_node ON steps(at) WHERE job IS NULL;"

const char *const sql_schema =
    "CREATE TABLE meta("
    " id INTEGER PRIMARY KEY CHECK (id = 0), last_seq INTEGER NOT NULL,"
    " last_call INTEGER NOT NULL, last_attempt INTEGER NOT NULL,"
    " segment INTEGER NOT NULL, offset INTEGER NOT NULL);"
    "INSERT INTO meta VALUES(0, 0, 0, 0, 0, 0);"

    /* name NULL: forgotten, its rows are being removed */
    "CREATE TABLE jobs("
    " id INTEGER PRIMARY KEY, name TEXT UNIQUE, tenant TEXT, run INTEGER,"
    " uid INTEGER, state INTEGER NOT NULL, seq INTEGER NOT NULL,"
    " changed INTEGER NOT NULL);"
    "CREATE INDEX jobs_seq ON jobs(seq);"
    "CREATE INDEX jobs_changed ON jobs(state, changed);"

    "CREATE TABLE sessions("
    " job INTEGER, run INTEGER, session INTEGER, state INTEGER NOT NULL,"
    " restartable INTEGER, harness INTEGER, seq INTEGER NOT NULL,"
    " PRIMARY KEY (job, run, session)) WITHOUT ROWID;"

    "CREATE TABLE calls("
    " call INTEGER PRIMARY KEY, job INTEGER NOT NULL, run INTEGER,"
    " session INTEGER, activity TEXT, function TEXT, digest TEXT, key TEXT,"
    " repeatable INTEGER, state INTEGER NOT NULL,"
    " attempts INTEGER NOT NULL DEFAULT 0,"
    " outcome INTEGER NOT NULL DEFAULT 0,"
    " stopped INTEGER NOT NULL DEFAULT 0,"
    " evicted INTEGER NOT NULL DEFAULT 0, progress REAL, total REAL,"
    " seq INTEGER NOT NULL, state_seq INTEGER NOT NULL,"
    /* where in answers: row, first byte, bytes */
    " answer INTEGER NOT NULL DEFAULT 0,"
    " answer_at INTEGER NOT NULL DEFAULT 0,"
    " answer_len INTEGER NOT NULL DEFAULT 0);"
    "CREATE INDEX calls_job ON calls(job);"

    ANSWERS ANSWERS_INDEX STEPS STEPS_INDEX

    /* processes born and not known to be dead */
    "CREATE TABLE children("
    " boot_id TEXT, pid INTEGER, start_time INTEGER, role TEXT NOT NULL,"
    " seq INTEGER NOT NULL,"
    " PRIMARY KEY (boot_id, pid, start_time)) WITHOUT ROWID;"

    "CREATE TABLE tools("
    " tool TEXT PRIMARY KEY, killed INTEGER NOT NULL, seq INTEGER NOT NULL)"
    " WITHOUT ROWID;"

    /* what is to be removed: 1 answers up to a seq, 2 all of a job */
    "CREATE TABLE sweeps("
    " job INTEGER, what INTEGER, upto INTEGER NOT NULL,"
    " PRIMARY KEY (job, what)) WITHOUT ROWID;"

    APPROVALS;

const char *const sql_steps[SQL_VERSION] = {
	[1] = APPROVALS,
	/* each old step and answer becomes a row that has only it */
	[2] = "ALTER TABLE steps RENAME TO steps_2;"
	      "DROP INDEX steps_job; DROP INDEX steps_node;" STEPS
	      "INSERT INTO steps SELECT seq, seq, job, at,"
	      " CAST(seq || ' ' || length(CAST(json AS BLOB)) || ' ' || json"
	      " || char(10) AS BLOB) FROM steps_2;"
	      "DROP TABLE steps_2;" STEPS_INDEX
	      "UPDATE sweeps SET upto = (SELECT coalesce(max(c.state_seq), 0)"
	      " FROM calls c WHERE c.job = sweeps.job AND c.call <= upto);"
	      "ALTER TABLE calls ADD answer INTEGER NOT NULL DEFAULT 0;"
	      "ALTER TABLE calls ADD answer_at INTEGER NOT NULL DEFAULT 0;"
	      "ALTER TABLE calls ADD answer_len INTEGER NOT NULL DEFAULT 0;"
	      "UPDATE calls SET answer = state_seq, answer_len ="
	      " (SELECT length(CAST(a.answer AS BLOB)) FROM answers a"
	      " WHERE a.call = calls.call)"
	      " WHERE call IN (SELECT call FROM answers);"
	      "ALTER TABLE answers RENAME TO answers_2;"
	      "DROP INDEX answers_job;" ANSWERS
	      "INSERT INTO answers SELECT c.state_seq, a.job,"
	      " CAST(a.answer AS BLOB) FROM answers_2 a"
	      " JOIN calls c ON c.call = a.call;"
	      "DROP TABLE answers_2;" ANSWERS_INDEX,
};

#define CALL_COLUMNS \
	"c.call, c.run, c.session, c.activity, c.function, c.digest, c.key," \
	" c.repeatable, c.state, c.attempts, c.outcome, c.stopped," \
	" c.evicted, c.progress, c.total, c.seq, c.state_seq"

/* a row to be added; a statement for each costs as much as the row itself */
#define CALL "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
#define CALLS_4 CALL "," CALL "," CALL "," CALL

/* substr() counts bytes of a blob, from 1 */
#define ANSWER "substr(a.body, c.answer_at + 1, c.answer_len)"

const char *const sql_texts[SQL_COUNT] = {
	[SQL_META_GET] =
	    "SELECT last_seq, last_call, last_attempt, segment, offset"
	    " FROM meta",
	[SQL_META_SET] =
	    "UPDATE meta SET last_seq = ?1, last_call = ?2,"
	    " last_attempt = ?3, segment = ?4, offset = ?5",

	[SQL_STEPS_ADD] = "INSERT INTO steps VALUES(?1, ?2, ?3, ?4, ?5)",
	[SQL_JOB_ID] = "SELECT id, run FROM jobs WHERE name = ?1",
	[SQL_JOB_ADD] =
	    "INSERT INTO jobs(name, state, seq, changed)"
	    " VALUES(?1, 0, ?2, ?3) RETURNING id",
	[SQL_JOB_SET] =
	    "UPDATE jobs SET tenant = ?2, run = ?3, uid = ?4, state = ?5,"
	    " seq = ?6, changed = ?7 WHERE id = ?1",
	[SQL_SESSION_SET] =
	    "INSERT OR REPLACE INTO sessions"
	    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[SQL_CALL_ADD] = "INSERT OR IGNORE INTO calls VALUES" CALL,
	[SQL_CALLS_ADD] =
	    "INSERT OR IGNORE INTO calls VALUES"
	    CALLS_4 "," CALLS_4 "," CALLS_4 "," CALLS_4,
	[SQL_CALL_LOAD] =
	    "SELECT job, attempts, progress, total, stopped, evicted, answer,"
	    " answer_at, answer_len, repeatable FROM calls WHERE call = ?1",
	[SQL_CALL_SET] =
	    "UPDATE calls SET state = ?2, attempts = ?3, outcome = ?4,"
	    " stopped = ?5, evicted = ?6, progress = ?7, total = ?8,"
	    " state_seq = ?9, answer = ?10, answer_at = ?11,"
	    " answer_len = ?12, repeatable = ?13 WHERE call = ?1",
	[SQL_ANSWERS_ADD] = "INSERT INTO answers VALUES(?1, ?2, ?3)",
	[SQL_CHILD_ADD] =
	    "INSERT OR REPLACE INTO children VALUES(?1, ?2, ?3, ?4, ?5)",
	[SQL_CHILD_DROP] =
	    "DELETE FROM children"
	    " WHERE boot_id = ?1 AND pid = ?2 AND start_time = ?3",
	[SQL_CHILD_OTHER_BOOTS] = "DELETE FROM children WHERE boot_id <> ?1",
	[SQL_TOOL_SET] = "INSERT OR REPLACE INTO tools VALUES(?1, ?2, ?3)",
	[SQL_APPROVAL_SET] =
	    "INSERT OR REPLACE INTO approvals VALUES(?1, ?2, ?3, ?4)",
	/* before the job is set: it ends, or another run of it begins */
	[SQL_APPROVALS_LAPSE] =
	    "DELETE FROM approvals WHERE job = ?1 AND (?2 OR EXISTS("
	    "SELECT 1 FROM jobs WHERE id = ?1 AND run <> ?3))",

	[SQL_KEPT_JOBS] =
	    "SELECT id, name, tenant, run, uid, state, seq FROM jobs"
	    " WHERE id > ?1 AND state <> 0 AND name IS NOT NULL"
	    " ORDER BY id LIMIT ?2",
	[SQL_LIVE_SESSIONS] =
	    "SELECT run, session, state, restartable, harness, seq"
	    " FROM sessions WHERE job = ?1 AND run = ?2 AND session > ?3"
	    " ORDER BY session LIMIT ?4",
	[SQL_LIVE_CALLS] =
	    "SELECT " CALL_COLUMNS ", " ANSWER " FROM calls c"
	    " LEFT JOIN answers a ON a.id = c.answer"
	    " WHERE c.job = ?1 AND c.run = ?2 AND c.call > ?3"
	    " ORDER BY c.call LIMIT ?4",
	[SQL_LIVE_APPROVALS] =
	    "SELECT key, rule, seq FROM approvals"
	    " WHERE job = ?1 AND key > ?2 ORDER BY key LIMIT ?3",
	[SQL_CHILDREN] =
	    "SELECT seq, boot_id, pid, start_time, role FROM children"
	    " WHERE seq > ?1 ORDER BY seq LIMIT ?2",
	[SQL_TOOLS] =
	    "SELECT tool, killed, seq FROM tools WHERE tool > ?1"
	    " AND killed = 1 ORDER BY tool LIMIT ?2",

	/* from the row that since may be in; of all, from its whole batch */
	[SQL_JOB_STEPS] =
	    "SELECT batch, body FROM steps WHERE job = ?2 AND first >="
	    " coalesce((SELECT max(first) FROM steps WHERE job = ?2"
	    " AND first <= ?1), 0) ORDER BY first",
	[SQL_ALL_STEPS] =
	    "SELECT batch, body FROM steps WHERE first >="
	    " coalesce((SELECT batch FROM steps WHERE first <= ?1"
	    " ORDER BY first DESC LIMIT 1), 0) ORDER BY first",
	[SQL_JOB_GET] =
	    "SELECT id, name, tenant, run, state, seq FROM jobs"
	    " WHERE name = ?1",
	[SQL_JOB_SESSIONS] =
	    "SELECT session, state, restartable, run FROM sessions"
	    " WHERE job = ?1 AND run = ?2 ORDER BY session LIMIT ?3",
	[SQL_JOB_CALLS] =
	    "SELECT " CALL_COLUMNS " FROM calls c WHERE c.job = ?1"
	    " ORDER BY c.call LIMIT ?2",
	[SQL_CALL_GET] =
	    "SELECT " CALL_COLUMNS ", j.name FROM calls c"
	    " JOIN jobs j ON j.id = c.job"
	    " WHERE c.call = ?1 AND j.name IS NOT NULL",
	[SQL_ANSWER_GET] =
	    "SELECT " ANSWER " FROM calls c JOIN answers a ON a.id = c.answer"
	    " WHERE c.call = ?1",
	[SQL_ENDED_JOBS] =
	    "SELECT seq, name, tenant, run, state FROM jobs"
	    " WHERE seq >= ?1 AND state IN (3, 4, 5) AND name IS NOT NULL"
	    " ORDER BY seq LIMIT ?2",

	[SQL_SWEEP_ADD] = "INSERT OR REPLACE INTO sweeps VALUES(?1, ?2, ?3)",
	[SQL_SWEEP_NEXT] = "SELECT job, what, upto FROM sweeps LIMIT 1",
	[SQL_SWEEP_DONE] = "DELETE FROM sweeps WHERE job = ?1 AND what = ?2",
	[SQL_JOB_UNNAME] = "UPDATE jobs SET name = NULL WHERE id = ?1",
	[SQL_JOB_EXPIRED] =
	    "SELECT id FROM jobs WHERE state IN (0, 3, 4, 5)"
	    " AND changed < ?1 AND name IS NOT NULL LIMIT 1",
	[SQL_JOB_LOST_EXPIRED] =
	    "SELECT id FROM jobs WHERE state = 6"
	    " AND changed < ?1 AND name IS NOT NULL LIMIT 1",
	[SQL_DROP_ANSWERS] =
	    "DELETE FROM answers WHERE id IN (SELECT id FROM answers"
	    " WHERE job = ?1 AND id <= ?2 ORDER BY id LIMIT ?3)",
	[SQL_DROP_STEPS] =
	    "DELETE FROM steps WHERE first IN (SELECT first FROM steps"
	    " WHERE job = ?1 ORDER BY first LIMIT ?2)",
	[SQL_DROP_CALLS] =
	    "DELETE FROM calls WHERE call IN (SELECT call FROM calls"
	    " WHERE job = ?1 ORDER BY call LIMIT ?2)",
	[SQL_DROP_SESSIONS] = "DELETE FROM sessions WHERE job = ?1",
	[SQL_DROP_APPROVALS] = "DELETE FROM approvals WHERE job = ?1",
	[SQL_DROP_JOB] = "DELETE FROM jobs WHERE id = ?1",
	[SQL_DROP_NODE_STEPS] =
	    "DELETE FROM steps WHERE first IN (SELECT first FROM steps"
	    " WHERE job IS NULL AND at < ?1 ORDER BY at LIMIT ?2)",
};
