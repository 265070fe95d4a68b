/*
 * Removal in oz0-journal.  A job's name goes first and its rows follow in
 * small transactions, listed in the table `sweeps`, so that neither a kill
 * nor a job with a million steps disturbs anything else.
 */
#include "journal/retain.h"

#include "journal/sql.h"
#include "journal/store.h"

/* A piece; bodies of steps have up to 256 KiB, of answers 16 KiB or one. */
#define ROWS ((int64_t)500)
#define STEPS ((int64_t)32)
#define ANSWERS ((int64_t)16)
#define PAGES 64

/* Names a job for removal, when there is one: 1, 0 or -errno. */
static int
expire_one(struct db *d, int sql, int64_t before)
{
	struct sqlite3_stmt *q;
	int64_t id;
	int r = db_find(d, &q, sql, "i", before);

	if (r <= 0)
		return r;
	id = db_int(q, 0);
	db_done(q);
	r = db_run(d, SQL_JOB_UNNAME, "i", id);
	if (r == 0)
		r = db_run(d, SQL_SWEEP_ADD, "iii", id,
		    (int64_t)STORE_SWEEP_JOB, (int64_t)0);
	return r < 0 ? r : 1;
}

/* Removes a piece of a job; 1 when nothing of it was left. */
static int
drop_job(struct db *d, int64_t job)
{
	int r = db_run(d, SQL_DROP_STEPS, "ii", job, STEPS);

	if (r == 0 && db_changes(d) == 0) {
		r = db_run(d, SQL_DROP_ANSWERS, "iii", job, INT64_MAX,
		    ANSWERS);
		if (r == 0 && db_changes(d) == 0)
			r = db_run(d, SQL_DROP_CALLS, "ii", job, ROWS);
	}
	if (r < 0 || db_changes(d) != 0)
		return r;
	r = db_run(d, SQL_DROP_SESSIONS, "i", job);
	if (r == 0)
		r = db_run(d, SQL_DROP_APPROVALS, "i", job);
	if (r == 0)
		r = db_run(d, SQL_DROP_JOB, "i", job);
	return r < 0 ? r : 1;
}

/* 1: a piece was removed; 0: nothing to remove. */
static int
sweep(struct db *d)
{
	struct sqlite3_stmt *q;
	int64_t job, what, upto;
	int r = db_find(d, &q, SQL_SWEEP_NEXT, "");

	if (r <= 0)
		return r;
	job = db_int(q, 0);
	what = db_int(q, 1);
	upto = db_int(q, 2);
	db_done(q);
	if (what == STORE_SWEEP_ANSWERS) {
		r = db_run(d, SQL_DROP_ANSWERS, "iii", job, upto, ANSWERS);
		if (r == 0)
			r = db_changes(d) == 0;
	} else {
		r = drop_job(d, job);
	}
	if (r == 1)
		r = db_run(d, SQL_SWEEP_DONE, "ii", job, what);
	return r < 0 ? r : 1;
}

static int
turn(struct db *d, int64_t before, bool *ret_more)
{
	int r = sweep(d);

	if (r == 0)
		r = expire_one(d, SQL_JOB_EXPIRED, before);
	if (r == 0) {
		r = db_run(d, SQL_DROP_NODE_STEPS, "ii", before, STEPS);
		if (r == 0)
			r = db_changes(d) != 0;
	}
	if (r < 0)
		return r;
	*ret_more = r == 1;
	return 0;
}

static int64_t
time_before(struct span keep)
{
	int64_t now = time_wall().us;

	return span_is_none(keep) || keep.us > now ? 0 : now - keep.us;
}

int
retain_turn(struct db *d, struct span keep, bool *ret_more)
{
	bool more = false;
	int r = db_begin(d);

	if (r == 0)
		r = turn(d, time_before(keep), &more);
	if (r < 0) {
		db_rollback(d);
		return r;
	}
	r = db_commit(d);
	if (r == 0 && !more)
		r = db_shrink(d, PAGES);
	if (r == 0)
		*ret_more = more;
	return r;
}

int
retain_lost(struct db *d, struct span keep)
{
	int r = db_begin(d);

	while (r == 0) {
		r = expire_one(d, SQL_JOB_LOST_EXPIRED, time_before(keep));
		if (r == 0)
			return db_commit(d);
		if (r == 1)
			r = 0;
	}
	db_rollback(d);
	return r;
}
