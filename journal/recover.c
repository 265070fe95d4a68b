/*
 * The recovery at start: rows of the database turned into records again and
 * sent as RECOVER_* messages, a job with all that is its own after another.
 */
#include "journal/recover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "journal/call_row.h"
#include "journal/query.h"
#include "journal/sql.h"
#include "wire/record.h"

#define PAGE ((int64_t)32)

enum stage { JOBS, SESSIONS, CALLS, APPROVALS, CHILDREN, TOOLS, DONE };

struct recovery {
	enum stage stage;
	int64_t job_id; /* the one being sent */
	char *job;
	int64_t run;
	bool live;	/* it has not ended */
	int64_t after;	/* the last row of this stage that was sent */
	char *key;	/* likewise: an approval's, */
	char *tool;	/* a tool's */
	struct buf out;
};

struct recovery *
recovery_new(void)
{
	struct recovery *rc = mem_zalloc(sizeof(*rc));

	rc->key = mem_strdup("");
	rc->tool = mem_strdup("");
	return rc;
}

void
recovery_free(struct recovery *rc)
{
	if (rc == NULL)
		return;
	free(rc->job);
	free(rc->key);
	free(rc->tool);
	buf_free(&rc->out);
	free(rc);
}

static char *
text(struct sqlite3_stmt *q, int column)
{
	return (char *)(uintptr_t)db_text(q, column); /* only read by put */
}

static int
send_record(struct recovery *rc, struct chan *c, enum wire_type type,
    const struct record *r)
{
	int e;

	buf_clear(&rc->out);
	record_put(&rc->out, r);
	chan_begin(c, type);
	e = chan_end(c, buf_at(&rc->out), buf_len(&rc->out), NULL, 0);
	if (e == -EMSGSIZE) {
		log_error("a record is too large to be recovered");
		e = 0;
	}
	return e;
}

/* One job: 1 then what is its own follows; 0: there is no other. */
static int
send_job(struct recovery *rc, struct db *d, struct chan *c)
{
	struct record r = { .type = REC_JOB };
	struct sqlite3_stmt *q;
	int64_t before = rc->job_id;
	int e = db_find(d, &q, SQL_KEPT_JOBS, "ii", before, (int64_t)1);

	if (e <= 0)
		return e;
	rc->job_id = db_int(q, 0);
	free(rc->job);
	rc->job = mem_strdup(db_text(q, 1));
	free(rc->key);
	rc->key = mem_strdup("");
	rc->run = db_int(q, 3);
	r.job = r.u.job.job = rc->job;
	r.u.job.tenant = text(q, 2);
	r.u.job.run = (uint32_t)rc->run;
	r.u.job.uid = (uint32_t)db_int(q, 4);
	r.u.job.state = (uint8_t)db_int(q, 5);
	r.seq = (uint64_t)db_int(q, 6);
	rc->live = !job_state_ended((enum job_state)r.u.job.state);
	e = send_record(rc, c, WIRE_RECOVER_JOB, &r);
	db_done(q);
	if (e < 0)
		rc->job_id = before;
	return e < 0 ? e : 1;
}

static int
send_sessions(struct recovery *rc, struct db *d, struct chan *c)
{
	struct sqlite3_stmt *q;
	int e = db_find(d, &q, SQL_LIVE_SESSIONS, "iiii", rc->job_id, rc->run,
	    rc->after, PAGE);
	int sent = 0, rows = 0;

	while (e == 1 && sent == 0) {
		struct record r = { .type = REC_SESSION };

		r.job = r.u.session.job = rc->job;
		r.u.session.run = (uint32_t)db_int(q, 0);
		r.u.session.session = (uint32_t)db_int(q, 1);
		r.u.session.state = (uint8_t)db_int(q, 2);
		r.u.session.restartable = db_int(q, 3) != 0;
		r.u.session.harness = db_int(q, 4) != 0;
		r.seq = (uint64_t)db_int(q, 5);
		sent = send_record(rc, c, WIRE_RECOVER_SESSION, &r);
		rows++;
		if (sent < 0)
			break;
		rc->after = db_int(q, 1);
		e = db_next(d, q);
	}
	if (e == 1)
		db_done(q);
	if (sent < 0 || e < 0)
		return sent < 0 ? sent : e;
	return rows == PAGE;
}

static int
send_state(struct recovery *rc, struct chan *c, struct sqlite3_stmt *q)
{
	struct record r = { .type = REC_CALL_STATE };
	struct rec_call_state *s = &r.u.call_state;

	r.job = rc->job;
	r.seq = (uint64_t)db_int(q, CALL_STATE_SEQ);
	r.call = s->call = (uint64_t)db_int(q, CALL_NUMBER);
	s->state = (uint8_t)db_int(q, CALL_STATE);
	s->attempts = (uint32_t)db_int(q, CALL_ATTEMPTS);
	s->outcome = (uint8_t)db_int(q, CALL_OUTCOME);
	s->has_progress = !db_is_null(q, CALL_PROGRESS);
	s->has_total = !db_is_null(q, CALL_TOTAL);
	s->progress = db_double(q, CALL_PROGRESS);
	s->total = db_double(q, CALL_TOTAL);
	s->repeatable = db_int(q, CALL_REPEATABLE) != 0;
	return send_record(rc, c, WIRE_RECOVER_CALL, &r);
}

static int
send_end(struct recovery *rc, struct chan *c, struct sqlite3_stmt *q)
{
	struct record r = { .type = REC_CALL_END };
	struct rec_call_end *s = &r.u.call_end;

	r.job = rc->job;
	r.seq = (uint64_t)db_int(q, CALL_STATE_SEQ);
	r.call = s->call = (uint64_t)db_int(q, CALL_NUMBER);
	s->state = (uint8_t)db_int(q, CALL_STATE);
	s->outcome = (uint8_t)db_int(q, CALL_OUTCOME);
	s->stopped = (uint8_t)db_int(q, CALL_STOPPED);
	s->evicted = db_int(q, CALL_EVICTED) != 0;
	s->attempts = (uint32_t)db_int(q, CALL_ATTEMPTS);
	s->answer = db_text(q, CALL_EXTRA);
	s->answer_len = db_len(q, CALL_EXTRA);
	return send_record(rc, c, WIRE_RECOVER_CALL, &r);
}

static int
send_call(struct recovery *rc, struct chan *c, struct sqlite3_stmt *q)
{
	struct record r = { .type = REC_CALL };
	struct rec_call *s = &r.u.call;
	int e;

	r.job = s->job = rc->job;
	r.seq = (uint64_t)db_int(q, CALL_SEQ);
	r.call = s->call = (uint64_t)db_int(q, CALL_NUMBER);
	s->run = (uint32_t)db_int(q, CALL_RUN);
	s->session = (uint32_t)db_int(q, CALL_SESSION);
	s->activity = text(q, CALL_ACTIVITY);
	s->function = text(q, CALL_FUNCTION);
	s->digest = text(q, CALL_DIGEST);
	s->key = text(q, CALL_KEY);
	s->repeatable = db_int(q, CALL_REPEATABLE) != 0;
	e = send_record(rc, c, WIRE_RECOVER_CALL, &r);
	if (e < 0 || db_int(q, CALL_STATE_SEQ) == db_int(q, CALL_SEQ))
		return e;
	if (call_state_ended((enum call_state)db_int(q, CALL_STATE)))
		return send_end(rc, c, q);
	return send_state(rc, c, q);
}

/*
 * Rows one by one: with answers of a MiB each a page would be too much.  A
 * call whose second half could not be sent is sent again from its beginning.
 */
static int
send_calls(struct recovery *rc, struct db *d, struct chan *c)
{
	struct sqlite3_stmt *q;
	int e = 1;

	for (int i = 0; i < PAGE && chan_queued(c) < QUERY_QUEUE_MOST; i++) {
		e = db_find(d, &q, SQL_LIVE_CALLS, "iiii", rc->job_id,
		    rc->run, rc->after, (int64_t)1);
		if (e <= 0)
			return e;
		e = send_call(rc, c, q);
		if (e == 0)
			rc->after = db_int(q, CALL_NUMBER);
		db_done(q);
		if (e < 0)
			return e;
	}
	return 1;
}

static int
send_approvals(struct recovery *rc, struct db *d, struct chan *c)
{
	struct record r = { .type = REC_APPROVAL };
	struct sqlite3_stmt *q;
	int e = db_find(d, &q, SQL_LIVE_APPROVALS, "iti", rc->job_id, rc->key,
	    (int64_t)1);

	if (e <= 0)
		return e;
	r.job = r.u.approval.job = rc->job;
	r.u.approval.key = text(q, 0);
	r.u.approval.rule = text(q, 1);
	r.seq = (uint64_t)db_int(q, 2);
	e = send_record(rc, c, WIRE_RECOVER_APPROVAL, &r);
	if (e == 0) {
		free(rc->key);
		rc->key = mem_strdup(db_text(q, 0));
	}
	db_done(q);
	return e < 0 ? e : 1;
}

static int
send_children(struct recovery *rc, struct db *d, struct chan *c)
{
	struct sqlite3_stmt *q;
	int e = db_find(d, &q, SQL_CHILDREN, "ii", rc->after, PAGE);
	int sent = 0, rows = 0;

	while (e == 1 && sent == 0) {
		struct record r = { .type = REC_CHILD };

		r.seq = (uint64_t)db_int(q, 0);
		r.u.child.boot_id = text(q, 1);
		r.u.child.pid = (uint32_t)db_int(q, 2);
		r.u.child.start_time = (uint64_t)db_int(q, 3);
		r.u.child.role = text(q, 4);
		r.u.child.born = 1;
		sent = send_record(rc, c, WIRE_RECOVER_CHILD, &r);
		rows++;
		if (sent < 0)
			break;
		rc->after = db_int(q, 0);
		e = db_next(d, q);
	}
	if (e == 1)
		db_done(q);
	if (sent < 0 || e < 0)
		return sent < 0 ? sent : e;
	return rows == PAGE;
}

static int
send_tool(struct recovery *rc, struct db *d, struct chan *c)
{
	struct record r = { .type = REC_TOOL };
	struct sqlite3_stmt *q;
	int e = db_find(d, &q, SQL_TOOLS, "ti", rc->tool, (int64_t)1);

	if (e <= 0)
		return e;
	r.u.tool.tool = text(q, 0);
	r.u.tool.killed = db_int(q, 1) != 0;
	r.seq = (uint64_t)db_int(q, 2);
	e = send_record(rc, c, WIRE_RECOVER_TOOL, &r);
	if (e == 0) {
		free(rc->tool);
		rc->tool = mem_strdup(db_text(q, 0));
	}
	db_done(q);
	return e < 0 ? e : 1;
}

/*
 * Each stage: 1 when it has more, 0 when it is over, or -errno.  Of an ended
 * job only its row is sent: its name is taken, and it can go on in a run.
 */
static const struct {
	int (*send)(struct recovery *, struct db *, struct chan *);
	enum stage if_more, if_over;
	bool of_live; /* only of a job that has not ended */
} stages[] = {
	[JOBS] = { send_job, SESSIONS, CHILDREN, false },
	[SESSIONS] = { send_sessions, SESSIONS, CALLS, true },
	[CALLS] = { send_calls, CALLS, APPROVALS, true },
	[APPROVALS] = { send_approvals, APPROVALS, JOBS, true },
	[CHILDREN] = { send_children, CHILDREN, TOOLS, false },
	[TOOLS] = { send_tool, TOOLS, DONE, false },
};

int
recovery_turn(struct recovery *rc, struct db *d, struct chan *c)
{
	for (int i = 0; i < PAGE; i++) {
		enum stage was = rc->stage;
		int r;

		if (chan_queued(c) > QUERY_QUEUE_MOST)
			return 1;
		if (stages[was].of_live && !rc->live)
			r = 0;
		else
			r = stages[was].send(rc, d, c);
		if (r < 0)
			return r;
		rc->stage = r == 1 ? stages[was].if_more : stages[was].if_over;
		if (rc->stage != was)
			rc->after = 0;
		if (rc->stage == DONE) {
			chan_begin(c, WIRE_RECOVER_DONE);
			chan_end(c, NULL, 0, NULL, 0);
			return 0;
		}
	}
	return 1;
}
