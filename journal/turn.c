/*
 * A turn of oz0-journal: what is due, in bounded pieces, so that a ping is
 * answered between any two of them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "journal/journal.h"
#include "journal/retain.h"

/* Of 16 KiB, in a database made by this version; of 4 in an older one. */
#define WAL_PAGES 512	     /* 8 MiB: move it into the database */
#define WAL_PAGES_LARGE 4096 /* 64 MiB: somebody holds it back */
#define CHECKPOINT_AGAIN SPAN_S(1)
#define RETAIN_EVERY SPAN_S(30)
#define RETAIN_SOON SPAN_MS(20)
#define FINISH_TIME SPAN_S(2)

static bool
is_due(struct mono at)
{
	return !mono_before(time_mono(), at);
}

static uint64_t
larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- start ---- */

/* Everything that was left is in: says so, and recovery begins. */
static void
ready(struct journal *j)
{
	struct buf *b = chan_begin(j->chan, WIRE_JOURNAL_READY);

	wire_put_u64(b, larger(j->meta.last_seq, j->marks.seq));
	wire_put_u64(b, larger(j->meta.last_call, j->marks.call));
	wire_put_u64(b, larger(j->meta.last_attempt, j->marks.attempt));
	chan_end(j->chan, NULL, 0, NULL, 0);
	j->recovery = recovery_new();
	j->phase = PHASE_RECOVER;
}

/* 1: there is more to recover; 0: all was sent; or -errno. */
static int
recover(struct journal *j)
{
	uint64_t newest;
	int r = recovery_turn(j->recovery, j->db, j->chan);

	if (r != 0)
		return r;
	recovery_free(j->recovery);
	j->recovery = NULL;
	j->phase = PHASE_LIVE;
	/* Each start begins a new segment, under a number never used. */
	newest = larger(logdir_newest_begun(j->log),
	    larger(j->meta.segment, j->marks.segment));
	supply_want(&j->supply, newest + 1);
	return 0;
}

/* ---- the disk ---- */

/*
 * After a failed sync the kernel calls the next one good, though the pages
 * may be lost: it is not tried again, nothing is confirmed any more, and the
 * supervisor takes no new work.
 */
static void
sync_failed(struct journal *j, int error)
{
	struct buf *b;

	j->sync_failed = true;
	log_error("syncing the log: %s", strerror(error));
	b = chan_begin(j->chan, WIRE_JOURNAL_SYNC_FAILED);
	wire_put_u32(b, (uint32_t)error);
	wire_put_str(b, "the log cannot be synced to its disk");
	chan_end(j->chan, NULL, 0, NULL, 0);
}

/* Group commit: one fdatasync for all that was asked since the last. */
static void
sync_log(struct journal *j)
{
	uint64_t newest;
	struct buf *b;
	int r;

	if (j->sync_asked <= j->sync_done || j->sync_failed)
		return;
	newest = logdir_newest_begun(j->log);
	r = logdir_sync_from(j->log, j->sync_from);
	if (r < 0) {
		sync_failed(j, -r);
		return;
	}
	if (newest > j->sync_from)
		j->sync_from = newest;
	j->sync_done = j->sync_asked;
	b = chan_begin(j->chan, WIRE_JOURNAL_SYNCED);
	wire_put_u64(b, j->sync_done);
	chan_end(j->chan, NULL, 0, NULL, 0);
	chan_flush(j->chan); /* not behind the intake; run() sees a failure */
}

static bool
has_finished_segments(const struct journal *j)
{
	uint64_t first = logdir_next(j->log, 0);

	return first != 0 && first < j->meta.segment;
}

/* Only once their records are on the disk, and the marks before that. */
static int
drop_finished(struct journal *j)
{
	struct logdir_marks m = {
		.seq = larger(j->meta.last_seq, j->marks.seq),
		.call = larger(j->meta.last_call, j->marks.call),
		.attempt = larger(j->meta.last_attempt, j->marks.attempt),
		.segment = larger(j->meta.segment, j->marks.segment),
	};
	int r = logdir_set_marks(j->log, &m);

	if (r < 0)
		return r;
	j->marks = m;
	return logdir_drop_below(j->log, j->meta.segment);
}

static void
checkpoint(struct journal *j)
{
	bool whole = false;
	int r;

	if ((db_wal_pages(j->db) < WAL_PAGES && !has_finished_segments(j))
	    || !is_due(j->checkpoint_at))
		return;
	r = db_checkpoint(j->db, &whole);
	if (r == 0 && whole && has_finished_segments(j))
		r = drop_finished(j);
	if (r < 0 || !whole)
		j->checkpoint_at = mono_add(time_mono(), CHECKPOINT_AGAIN);
	if (r == -EUCLEAN)
		journal_db_failed(j, "checkpoint", r);
	else if (r < 0 && !j->wal_told)
		log_warning("moving " DB_NAME "-wal into the database: %s",
		    strerror(-r));
	else if (r == 0 && !whole && !j->wal_told
	    && db_wal_pages(j->db) > WAL_PAGES_LARGE)
		log_warning(DB_NAME "-wal grows: another program has an open "
				    "transaction on the database");
	else {
		j->wal_told = j->wal_told && !whole;
		return;
	}
	j->wal_told = true;
}

/* ---- what was asked ---- */

/* true: there is more to answer now. */
static bool
answer(struct journal *j, bool all_in)
{
	struct query_source from = { .db = j->db, .log = j->log,
		.log_from = j->held != 0 ? &j->meta : NULL };

	if (all_in || j->held != 0)
		queries_ready(j->queries);
	return queries_turn(j->queries, &from, j->chan);
}

static void
retain(struct journal *j)
{
	bool more = false;
	int r;

	if (!is_due(j->retain_at) || j->held != 0)
		return;
	r = retain_turn(j->db, j->keep_jobs, &more);
	j->retain_at =
	    mono_add(time_mono(), more ? RETAIN_SOON : RETAIN_EVERY);
	if (r < 0)
		journal_db_failed(j, "removing what is not kept", r);
}

/* ---- the turn ---- */

static bool
live_turn(struct journal *j, bool all_in)
{
	bool more;

	supply_want(&j->supply, follow_segment(j->follow) + 1);
	more = answer(j, all_in);
	if (j->db != NULL)
		retain(j);
	return more;
}

bool
journal_turn(struct journal *j)
{
	bool more = false, all_in = false;
	int r;

	if (j->phase == PHASE_INIT)
		return false;
	sync_log(j);
	if (j->phase == PHASE_LIVE)
		supply_turn(&j->supply, j->log, j->chan);
	if (is_due(j->poll_at) || j->held != 0) {
		more = journal_intake(j);
		all_in = !more && j->held == 0;
	}
	if (j->db == NULL)
		return false;
	if (j->phase == PHASE_INTAKE && all_in) {
		r = retain_lost(j->db, j->keep_jobs);
		if (r < 0)
			journal_db_failed(j, "removing lost jobs", r);
		else
			ready(j);
		more = true;
	} else if (j->phase == PHASE_RECOVER && j->held == 0) {
		r = recover(j);
		if (r < 0)
			journal_db_failed(j, "recovery", r);
		more = r == 1 && chan_queued(j->chan) < QUERY_QUEUE_MOST;
	} else if (j->phase == PHASE_LIVE) {
		more = live_turn(j, all_in) || more;
	}
	if (j->db != NULL)
		checkpoint(j);
	return more;
}

static struct mono
earlier(struct mono a, struct mono b)
{
	return mono_before(a, b) ? a : b;
}

struct mono
journal_due(const struct journal *j)
{
	struct mono at;

	if (j->phase == PHASE_INIT)
		return MONO_NEVER;
	at = j->held != 0 ? j->held_until : j->poll_at;
	if (j->phase != PHASE_LIVE)
		return at;
	at = earlier(at, supply_due(&j->supply));
	return j->held != 0 || j->db == NULL ? at : earlier(at, j->retain_at);
}

void
journal_finish(struct journal *j)
{
	struct mono until = mono_add(time_mono(), FINISH_TIME);
	bool whole;

	if (j->phase != PHASE_INIT) {
		while (journal_intake(j) && mono_before(time_mono(), until))
			;
		if (j->db != NULL && j->held == 0)
			db_checkpoint(j->db, &whole);
	}
	queries_free(j->queries);
	recovery_free(j->recovery);
	follow_free(j->follow);
	batch_free(j->batch);
	db_close(j->db);
	logdir_close(j->log);
}
