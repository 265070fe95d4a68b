/*
 * From the log into the database, in oz0-journal: bounded transactions, the
 * place in the log committed with what was read before it.  A disk that is
 * full or a database that another program locks holds the intake; nothing is
 * lost by that, the log has it.  A damaged database is replaced.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/fatal.h"
#include "base/log.h"
#include "journal/journal.h"

#define SLICE_RECORDS 12000
#define SLICE_TIME SPAN_MS(20)
#define POLL_FIRST SPAN_MS(60)
#define POLL_MOST SPAN_MS(250)
#define HOLD_FIRST SPAN_MS(100)
#define HOLD_MOST SPAN_S(2)
#define REPLACED_MOST 3

static void
hold(struct journal *j, const char *act, int error)
{
	if (j->held != error)
		log_warning("%s: %s (%s): %s", act, strerror(-error),
		    j->db != NULL ? db_why(j->db) : "it is not open",
		    j->phase < PHASE_LIVE
			? "the start waits for it"
			: "the log keeps what happens meanwhile");
	if (j->held == 0)
		j->held_wait = HOLD_FIRST;
	j->held = error;
	j->held_until = mono_add(time_mono(), j->held_wait);
	j->held_wait = span_min(SPAN_US(j->held_wait.us * 2), HOLD_MOST);
}

static void
follow_from_meta(struct journal *j)
{
	follow_free(j->follow);
	j->follow = follow_new(j->log, j->meta.segment, j->meta.offset,
	    j->meta.last_seq);
}

static void
replace(struct journal *j, const char *act)
{
	int r;

	log_error("%s: " DB_NAME " is damaged (%s)", act, db_why(j->db));
	if (++j->replaced > REPLACED_MOST)
		fatalx(EXIT_CODE_INTERNAL,
		    DB_NAME " was found damaged %u times", j->replaced);
	r = db_replace(&j->db);
	if (r == 0)
		r = store_load(j->db, &j->meta);
	if (r < 0)
		hold(j, "making a new " DB_NAME, r);
	else
		follow_from_meta(j);
}

void
journal_db_failed(struct journal *j, const char *act, int error)
{
	if (j->db != NULL)
		db_rollback(j->db);
	if (error == -EUCLEAN)
		replace(j, act);
	else
		hold(j, act, error);
}

void
journal_open(struct journal *j)
{
	bool fresh = false;
	int r = db_open(&j->db, &fresh);

	if (r == -ENOTSUP)
		fatalx(EXIT_CODE_UNAVAILABLE,
		    DB_NAME " was written by a newer oz0");
	if (r == 0)
		r = store_load(j->db, &j->meta);
	if (r < 0) {
		db_close(j->db);
		j->db = NULL;
		hold(j, "opening " DB_NAME, r);
		return;
	}
	if (fresh && (j->marks.seq != 0 || logdir_newest_begun(j->log) != 0))
		log_notice("a new " DB_NAME " is filled from the log");
	follow_from_meta(j);
}

/* Where the slice left the log, into m. */
static void
take_place(struct journal *j, struct store_meta *m)
{
	m->segment = follow_segment(j->follow);
	m->offset = follow_offset(j->follow);
}

static bool
moved(const struct journal *j, const struct store_meta *m)
{
	return m->segment != j->meta.segment || m->offset != j->meta.offset;
}

/*
 * Records into an open transaction: 1 when the slice is full, 0 when the log
 * has no more, or -errno; *ret_read tells a failing log from the database.
 */
static int
take_slice(struct journal *j, struct store_meta *m, bool *ret_read)
{
	struct mono until = mono_add(time_mono(), SLICE_TIME);
	struct record rec;
	int r = 1;

	for (int i = 0; i < SLICE_RECORDS && r == 1; i++) {
		r = follow_next(j->follow, &rec);
		*ret_read = r >= 0;
		if (r <= 0)
			break;
		r = store_record(j->db, j->batch, m, &rec);
		if ((rec.type == REC_JOB && job_state_ended(rec.u.job.state))
		    || rec.type == REC_FORGET)
			j->retain_at = time_mono(); /* rows are to go */
		record_clear(&rec);
		if (r == 0)
			r = 1;
		if (i % 64 == 63 && mono_before(until, time_mono()))
			break;
	}
	return r;
}

static int
commit_slice(struct journal *j, struct store_meta *m)
{
	int r;

	take_place(j, m);
	if (!moved(j, m)) {
		batch_clear(j->batch);
		db_rollback(j->db);
		return 0;
	}
	r = store_save(j->db, j->batch, m);
	if (r == 0)
		r = db_commit(j->db);
	if (r == 0)
		j->meta = *m;
	return r;
}

static void
poll_later(struct journal *j, bool found)
{
	if (found || j->poll_wait.us == 0)
		j->poll_wait = POLL_FIRST;
	else
		j->poll_wait =
		    span_min(SPAN_US(j->poll_wait.us * 2), POLL_MOST);
	j->poll_at = mono_add(time_mono(), j->poll_wait);
}

static void
resume(struct journal *j)
{
	if (j->held != 0)
		log_notice(DB_NAME " takes in what happened");
	j->held = 0;
}

bool
journal_intake(struct journal *j)
{
	struct store_meta m;
	uint64_t before = j->meta.last_seq;
	bool read_fine = true;
	int r, e;

	if (j->held != 0 && mono_before(time_mono(), j->held_until))
		return false;
	if (j->db == NULL)
		journal_open(j);
	if (j->db == NULL)
		return false;
	m = j->meta;
	batch_clear(j->batch);
	r = db_begin(j->db);
	if (r == 0)
		r = take_slice(j, &m, &read_fine);
	/* What was read before the log failed is good. */
	e = r < 0 && read_fine ? r : commit_slice(j, &m);
	if (e < 0) {
		journal_db_failed(j, "writing " DB_NAME, e);
		if (j->db != NULL)
			follow_from_meta(j);
		return false;
	}
	if (r < 0) {
		hold(j, "reading the log", r);
		return false;
	}
	resume(j);
	poll_later(j, j->meta.last_seq != before);
	return r == 1;
}
