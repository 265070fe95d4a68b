/*
 * Questions of the supervisor to oz0-journal, and their pages.
 */
#include "journal/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/jsonw.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "journal/follow.h"
#include "journal/rows.h"
#include "journal/sql.h"
#include "journal/steps.h"
#include "wire/record.h"

#define PAGE 64

struct query {
	TAILQ_ENTRY(query) entry;
	uint64_t id;
	enum wire_query what;
	char *job;
	uint64_t since;	 /* moves on with each row */
	uint64_t left;	 /* of limit */
	int64_t job_id;	 /* 0: not looked up yet */
	struct follow *tail; /* behind the database */
	bool ready;
	bool full; /* limit reached, and there was more */
	const char *why;
};

struct queries {
	TAILQ_HEAD(, query) list;
};

struct queries *
queries_new(void)
{
	struct queries *qs = mem_zalloc(sizeof(*qs));

	TAILQ_INIT(&qs->list);
	return qs;
}

static void
drop(struct queries *qs, struct query *q)
{
	TAILQ_REMOVE(&qs->list, q, entry);
	follow_free(q->tail);
	free(q->job);
	free(q);
}

void
queries_free(struct queries *qs)
{
	struct query *q;

	if (qs == NULL)
		return;
	while ((q = TAILQ_FIRST(&qs->list)) != NULL)
		drop(qs, q);
	free(qs);
}

void
queries_add(struct queries *qs, uint64_t id, enum wire_query what,
    const char *job, uint64_t since, uint32_t limit)
{
	struct query *q = mem_zalloc(sizeof(*q));

	q->id = id;
	q->what = what;
	q->job = mem_strdup(job);
	q->since = since;
	q->left = limit != 0 ? limit : UINT64_MAX;
	TAILQ_INSERT_TAIL(&qs->list, q, entry);
}

bool
queries_waiting(const struct queries *qs)
{
	struct query *q;

	TAILQ_FOREACH (q, &qs->list, entry)
		if (!q->ready)
			return true;
	return false;
}

void
queries_ready(struct queries *qs)
{
	struct query *q;

	TAILQ_FOREACH (q, &qs->list, entry)
		q->ready = true;
}

/* ---- frames ---- */

static int
send_row(struct query *q, struct chan *c, const char *p, size_t n)
{
	int r;

	wire_put_u64(chan_begin(c, WIRE_JOURNAL_ROW), q->id);
	r = chan_end(c, p, n, NULL, 0);
	if (r == -EMSGSIZE) {
		log_error("a row of %zu bytes is too large to be sent", n);
		r = 0;
	}
	return r;
}

static void
send_end(struct query *q, struct chan *c, int error)
{
	struct buf *b = chan_begin(c, WIRE_JOURNAL_END);

	wire_put_u64(b, q->id);
	wire_put_u32(b, (uint32_t)error);
	wire_put_str(b, error == 0 ? "" : q->why != NULL ? q->why
							 : strerror(error));
	wire_put_u8(b, q->full);
	chan_end(c, NULL, 0, NULL, 0);
}

/* ---- pages: 1 there may be more, 0 that was all, or -errno ---- */

/* A step that is due: 1 when it was sent, 0 when the limit forbids it. */
static int
give_step(struct query *q, struct chan *c, uint64_t seq, const char *p,
    size_t n)
{
	int r;

	if (q->left == 0) {
		q->full = true;
		return 0;
	}
	r = send_row(q, c, p, n);
	if (r < 0)
		return r;
	q->left--;
	q->since = seq + 1;
	return 1;
}

static int
find_job(struct query *q, struct db *d)
{
	struct sqlite3_stmt *s;
	int r = db_find(d, &s, SQL_JOB_ID, "t", q->job);

	if (r != 1)
		return r;
	q->job_id = db_int(s, 0);
	db_done(s);
	return 1;
}

static int
steps_of_log(
    struct query *q, const struct query_source *from, struct chan *c)
{
	struct record rec;
	int r = 0, given = 1;

	if (q->tail == NULL)
		q->tail = follow_new(from->log, from->log_from->segment,
		    from->log_from->offset, from->log_from->last_seq);
	for (int i = 0; i < PAGE && given == 1; i++) {
		bool mine;

		r = follow_next(q->tail, &rec);
		if (r <= 0)
			return r;
		mine = rec.step_len != 0 && rec.seq >= q->since
		    && (q->what == WIRE_QUERY_EVENTS
			|| (rec.job != NULL && strcmp(rec.job, q->job) == 0));
		if (mine)
			given = give_step(q, c, rec.seq, rec.step,
			    rec.step_len);
		record_clear(&rec);
	}
	return given;
}

static int
give_steps(struct query *q, struct chan *c, const struct steps *s)
{
	int given = 1;

	for (size_t i = 0; i < s->n && given == 1; i++)
		given = give_step(q, c, s->one[i].seq,
		    buf_at(&s->text) + s->one[i].at, s->one[i].len);
	return given;
}

static int
steps(struct query *q, const struct query_source *from, struct chan *c)
{
	CLEANUP(steps_free) struct steps s = { 0 };
	int r;

	if (q->tail != NULL)
		return steps_of_log(q, from, c);
	if (q->what == WIRE_QUERY_TRACE && q->job_id == 0) {
		r = find_job(q, from->db);
		if (r == 0 && from->log_from == NULL) {
			q->why = "unknown job";
			return -ENOENT;
		}
		if (r == 0)
			return steps_of_log(q, from, c);
		if (r < 0)
			return r;
	}
	r = steps_read(from->db, q->job_id, q->since, &s);
	if (r < 0)
		return r;
	if (r == 1)
		return give_steps(q, c, &s);
	return from->log_from != NULL ? steps_of_log(q, from, c) : 0;
}

static int
ended_jobs(struct query *q, const struct query_source *from, struct chan *c)
{
	struct sqlite3_stmt *s;
	struct buf out = { 0 };
	int r, given = 1, rows = 0;

	r = db_find(from->db, &s, SQL_ENDED_JOBS, "ii", (int64_t)q->since,
	    (int64_t)PAGE);
	while (r == 1 && given == 1) {
		struct jsonw w;

		buf_clear(&out);
		jsonw_init(&w, &out);
		jsonw_object(&w, NULL);
		jsonw_string(&w, "job", db_text(s, 1));
		jsonw_string(&w, "tenant", db_text(s, 2));
		jsonw_int(&w, "run", db_int(s, 3));
		jsonw_string(&w, "state",
		    job_state_name((enum job_state)db_int(s, 4)));
		jsonw_int(&w, "seq", db_int(s, 0));
		jsonw_object_end(&w);
		given = give_step(q, c, (uint64_t)db_int(s, 0), buf_at(&out),
		    buf_len(&out));
		rows++;
		if (given == 1)
			r = db_next(from->db, s);
	}
	if (r == 1)
		db_done(s);
	buf_free(&out);
	if (r < 0 || given <= 0)
		return r < 0 ? r : given;
	return rows == PAGE;
}

static int
one_row(struct query *q, const struct query_source *from, struct chan *c)
{
	struct buf out = { 0 };
	uint64_t call = 0;
	int r = 0;

	if (q->what == WIRE_QUERY_JOB)
		r = rows_job(from->db, q->job, &out);
	else if (str_is_call_name(q->job, &call))
		r = q->what == WIRE_QUERY_CALL
		    ? rows_call(from->db, call, &out)
		    : rows_result(from->db, call, &out);
	if (r == 1)
		r = send_row(q, c, buf_at(&out), buf_len(&out));
	else if (r == 0) {
		q->why = q->what == WIRE_QUERY_JOB ? "unknown job"
						   : "unknown call";
		r = -ENOENT;
	}
	buf_free(&out);
	return r;
}

static int (*const pages[])(
    struct query *, const struct query_source *, struct chan *) = {
	[WIRE_QUERY_TRACE] = steps,
	[WIRE_QUERY_EVENTS] = steps,
	[WIRE_QUERY_JOB] = one_row,
	[WIRE_QUERY_CALL] = one_row,
	[WIRE_QUERY_JOBS] = ended_jobs,
	[WIRE_QUERY_RESULT] = one_row,
};

bool
queries_turn(
    struct queries *qs, const struct query_source *from, struct chan *c)
{
	struct query *q, *next;
	bool more = false;

	TAILQ_FOREACH_SAFE (q, &qs->list, entry, next) {
		int r;

		if (!q->ready)
			continue;
		if (chan_queued(c) > QUERY_QUEUE_MOST)
			return false; /* on when the channel has drained */
		r = pages[q->what](q, from, c);
		if (r == 1) {
			more = true;
			continue;
		}
		send_end(q, c, -r);
		drop(qs, q);
	}
	/* The next turn begins with another one. */
	q = TAILQ_FIRST(&qs->list);
	if (q != NULL) {
		TAILQ_REMOVE(&qs->list, q, entry);
		TAILQ_INSERT_TAIL(&qs->list, q, entry);
	}
	return more;
}
