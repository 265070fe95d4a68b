/*
 * What oz0-journal says of jobs and calls that the supervisor holds no more.
 */
#include "journal/rows.h"

#include <inttypes.h>

#include "base/jsonw.h"
#include "journal/call_row.h"
#include "journal/sql.h"
#include "wire/record.h"

/* A row must fit into one message; what does not is counted. */
#define SESSIONS_MOST ((int64_t)10000)
#define CALLS_MOST ((int64_t)50000)
#define ROW_MOST ((size_t)8 << 20)

static void
write_name(struct jsonw *w, struct sqlite3_stmt *q, int column)
{
	if (db_len(q, column) != 0)
		jsonw_string(w, "job", db_text(q, column));
}

/* Members of a call, from CALL_COLUMNS; job stands in column job if >= 0. */
static void
write_call(struct jsonw *w, struct sqlite3_stmt *q, int job)
{
	uint64_t call = (uint64_t)db_int(q, CALL_NUMBER);

	jsonw_stringf(w, "call", "c%" PRIu64, call);
	if (job >= 0)
		write_name(w, q, job);
	jsonw_int(w, "run", db_int(q, CALL_RUN));
	if (db_int(q, CALL_SESSION) != 0)
		jsonw_int(w, "session", db_int(q, CALL_SESSION));
	jsonw_string(w, "function", db_text(q, CALL_FUNCTION));
	jsonw_string(w, "state",
	    call_state_name((enum call_state)db_int(q, CALL_STATE)));
	jsonw_string(w, "key", db_text(q, CALL_KEY));
	jsonw_int(w, "attempts", db_int(q, CALL_ATTEMPTS));
	jsonw_string(w, "outcome",
	    call_outcome_name((enum call_outcome)db_int(q, CALL_OUTCOME)));
	jsonw_string(w, "stopped",
	    call_stopped_name((enum call_stopped)db_int(q, CALL_STOPPED)));
}

static void
write_more(struct jsonw *w, struct sqlite3_stmt *q)
{
	if (db_len(q, CALL_ACTIVITY) != 0)
		jsonw_string(w, "activity", db_text(q, CALL_ACTIVITY));
	if (!db_is_null(q, CALL_PROGRESS))
		jsonw_double(w, "progress", db_double(q, CALL_PROGRESS));
	if (!db_is_null(q, CALL_TOTAL))
		jsonw_double(w, "total", db_double(q, CALL_TOTAL));
}

static int
write_sessions(struct jsonw *w, struct db *d, int64_t job, int64_t run)
{
	struct sqlite3_stmt *q;
	int r;

	jsonw_array(w, "sessions");
	r = db_find(d, &q, SQL_JOB_SESSIONS, "iii", job, run, SESSIONS_MOST);
	for (; r == 1; r = db_next(d, q)) {
		jsonw_object(w, NULL);
		jsonw_int(w, "session", db_int(q, 0));
		jsonw_string(w, "state", session_state_name(
		    (enum session_state)db_int(q, 1)));
		jsonw_bool(w, "restartable", db_int(q, 2) != 0);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
	return r;
}

static int
write_calls(struct jsonw *w, struct db *d, int64_t job)
{
	struct sqlite3_stmt *q;
	uint64_t left_out = 0;
	int r;

	jsonw_array(w, "calls");
	r = db_find(d, &q, SQL_JOB_CALLS, "ii", job, CALLS_MOST);
	for (; r == 1; r = db_next(d, q)) {
		if (buf_len(w->out) > ROW_MOST) {
			left_out++;
			continue;
		}
		jsonw_object(w, NULL);
		write_call(w, q, -1);
		write_more(w, q);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
	if (left_out != 0)
		jsonw_uint(w, "calls_left_out", left_out);
	return r;
}

int
rows_job(struct db *d, const char *job, struct buf *out)
{
	struct sqlite3_stmt *q;
	struct jsonw w;
	int64_t id, run;
	int r = db_find(d, &q, SQL_JOB_GET, "t", job);

	if (r <= 0)
		return r;
	id = db_int(q, 0);
	run = db_int(q, 3);
	jsonw_init(&w, out);
	jsonw_object(&w, NULL);
	jsonw_string(&w, "job", db_text(q, 1));
	jsonw_string(&w, "tenant", db_text(q, 2));
	jsonw_int(&w, "run", run);
	jsonw_string(&w, "state",
	    job_state_name((enum job_state)db_int(q, 4)));
	db_done(q);
	r = write_sessions(&w, d, id, run);
	if (r == 0)
		r = write_calls(&w, d, id);
	jsonw_object_end(&w);
	return r < 0 ? r : 1;
}

int
rows_call(struct db *d, uint64_t call, struct buf *out)
{
	struct sqlite3_stmt *q;
	struct jsonw w;
	int r = db_find(d, &q, SQL_CALL_GET, "i", (int64_t)call);

	if (r <= 0)
		return r;
	jsonw_init(&w, out);
	jsonw_object(&w, NULL);
	write_call(&w, q, CALL_EXTRA);
	write_more(&w, q);
	jsonw_object_end(&w);
	db_done(q);
	return 1;
}

int
rows_result(struct db *d, uint64_t call, struct buf *out)
{
	struct sqlite3_stmt *q;
	struct jsonw w;
	bool evicted, completed;
	int r = db_find(d, &q, SQL_CALL_GET, "i", (int64_t)call);

	if (r <= 0)
		return r;
	evicted = db_int(q, CALL_EVICTED) != 0;
	completed = db_int(q, CALL_STATE) == CALL_COMPLETED;
	jsonw_init(&w, out);
	jsonw_object(&w, NULL);
	write_call(&w, q, CALL_EXTRA);
	db_done(q);
	r = db_find(d, &q, SQL_ANSWER_GET, "i", (int64_t)call);
	if (r < 0)
		return r;
	if (r == 1) {
		buf_putc(out, ',');
		buf_put(out, db_text(q, 0), db_len(q, 0));
		db_done(q);
	} else {
		evicted = evicted || completed;
	}
	if (evicted)
		jsonw_bool(&w, "evicted", true);
	jsonw_object_end(&w);
	return 1;
}
