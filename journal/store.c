/*
 * What each type of record does to the database of oz0-journal, in one table.
 * A record whose job, session or call is unknown (its beginning was in a
 * database that had to be set aside) changes what it can and is no error.
 */
#include "journal/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/time.h"
#include "journal/sql.h"

/* One record on its way in. */
struct intake {
	struct db *db;
	struct batch *batch;
	struct store_meta *meta;
	const struct record *r;
	int64_t at; /* microseconds since 1970, where they are needed */
};

int
store_load(struct db *d, struct store_meta *ret)
{
	struct sqlite3_stmt *q;
	int r = db_find(d, &q, SQL_META_GET, "");

	if (r <= 0)
		return r < 0 ? r : -EUCLEAN;
	ret->last_seq = (uint64_t)db_int(q, 0);
	ret->last_call = (uint64_t)db_int(q, 1);
	ret->last_attempt = (uint64_t)db_int(q, 2);
	ret->segment = (uint64_t)db_int(q, 3);
	ret->offset = (uint64_t)db_int(q, 4);
	db_done(q);
	return 0;
}

int
store_save(struct db *d, struct batch *b, const struct store_meta *m)
{
	int r = batch_flush(b, d);

	if (r < 0)
		return r;
	return db_run(d, SQL_META_SET, "iiiii", (int64_t)m->last_seq,
	    (int64_t)m->last_call, (int64_t)m->last_attempt,
	    (int64_t)m->segment, (int64_t)m->offset);
}

/* "2026-12-01T08:40:34.123456Z", as wall_format() writes it. */
static bool
parse_time(const char *s, int64_t *ret)
{
	struct tm tm;
	int us, end = 0;

	memset(&tm, 0, sizeof(tm));
	if (sscanf(s, "%4d-%2d-%2dT%2d:%2d:%2d.%6dZ%n", &tm.tm_year,
		&tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec,
		&us, &end) != 7
	    || s[end] != '\0' || end == 0)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	*ret = (int64_t)timegm(&tm) * 1000000 + us;
	return true;
}

/* When the step says it was; now when it says nothing. */
static int64_t
step_time(const struct record *r)
{
	struct json_want want = { .name = "time" };
	struct json_fault fault;
	char text[64];
	int64_t at;

	if (r->step_len != 0
	    && json_object_pick(r->step, r->step_len, &want, 1, &fault)
	    && json_to_string(want.value, text, sizeof(text))
	    && parse_time(text, &at))
		return at;
	return time_wall().us;
}

static int
job_of(struct intake *in, const char *name, struct batch_job **ret)
{
	struct sqlite3_stmt *q;
	int r;

	*ret = batch_job_find(in->batch, name);
	if (*ret != NULL)
		return 0;
	r = db_find(in->db, &q, SQL_JOB_ID, "t", name);
	if (r == 0) {
		if (in->at == 0)
			in->at = step_time(in->r);
		r = db_find(in->db, &q, SQL_JOB_ADD, "tii", name,
		    (int64_t)in->r->seq, in->at);
	}
	if (r < 0)
		return r;
	*ret = batch_job_put(in->batch, name, db_int(q, 0));
	db_done(q);
	return 0;
}

static int
job_id(struct intake *in, const char *name, int64_t *ret)
{
	struct batch_job *j;
	int r = job_of(in, name, &j);

	if (r == 0)
		*ret = batch_job_id(j);
	return r;
}

/* ---- by type ---- */

static int
take_node(struct intake *in)
{
	/* The machine was started anew: nothing born before lives. */
	return db_run(in->db, SQL_CHILD_OTHER_BOOTS, "t",
	    in->r->u.node.boot_id);
}

static int
take_job(struct intake *in)
{
	const struct rec_job *j = &in->r->u.job;
	int64_t id;
	int r = job_id(in, j->job, &id);

	if (r == 0)
		r = db_run(in->db, SQL_APPROVALS_LAPSE, "iii", id,
		    (int64_t)job_state_ended(j->state), (int64_t)j->run);
	if (r == 0)
		r = db_run(in->db, SQL_JOB_SET, "itiiiii", id, j->tenant,
		    (int64_t)j->run, (int64_t)j->uid, (int64_t)j->state,
		    (int64_t)in->r->seq, in->at);
	/* Nobody can join its calls again: their answers need not stay. */
	if (r == 0 && job_state_ended(j->state))
		r = db_run(in->db, SQL_SWEEP_ADD, "iii", id,
		    (int64_t)STORE_SWEEP_ANSWERS, (int64_t)in->r->seq);
	if (job_state_ended(j->state))
		batch_job_close(in->batch, j->job);
	return r;
}

static int
take_session(struct intake *in)
{
	const struct rec_session *s = &in->r->u.session;
	int64_t id;
	int r = job_id(in, s->job, &id);

	if (r == 0)
		r = db_run(in->db, SQL_SESSION_SET, "iiiiiii", id,
		    (int64_t)s->run, (int64_t)s->session, (int64_t)s->state,
		    (int64_t)s->restartable, (int64_t)s->harness,
		    (int64_t)in->r->seq);
	return r;
}

static int
take_call(struct intake *in)
{
	const struct rec_call *c = &in->r->u.call;
	struct batch_job *j;
	int r = job_of(in, c->job, &j);

	if (c->call > in->meta->last_call)
		in->meta->last_call = c->call;
	if (r == 0)
		batch_call_begin(in->batch, j, in->r);
	return r;
}

static int
take_call_state(struct intake *in)
{
	return batch_call_state(
	    in->batch, in->db, in->r, &in->meta->last_attempt);
}

static int
take_call_end(struct intake *in)
{
	struct batch_job *j = NULL;
	int r = 0;

	if (in->r->job != NULL)
		r = job_of(in, in->r->job, &j);
	if (r == 0)
		r = batch_call_end(in->batch, in->db, j, in->r,
		    &in->meta->last_attempt);
	return r;
}

static int
take_child(struct intake *in)
{
	const struct rec_child *c = &in->r->u.child;

	if (!c->born)
		return db_run(in->db, SQL_CHILD_DROP, "tii", c->boot_id,
		    (int64_t)c->pid, (int64_t)c->start_time);
	return db_run(in->db, SQL_CHILD_ADD, "tiiti", c->boot_id,
	    (int64_t)c->pid, (int64_t)c->start_time, c->role,
	    (int64_t)in->r->seq);
}

static int
take_tool(struct intake *in)
{
	return db_run(in->db, SQL_TOOL_SET, "tii", in->r->u.tool.tool,
	    (int64_t)in->r->u.tool.killed, (int64_t)in->r->seq);
}

static int
take_approval(struct intake *in)
{
	const struct rec_approval *a = &in->r->u.approval;
	int64_t id;
	int r = job_id(in, a->job, &id);

	if (r == 0)
		r = db_run(in->db, SQL_APPROVAL_SET, "itti", id, a->key,
		    a->rule, (int64_t)in->r->seq);
	return r;
}

/* The name goes at once, the rows bit by bit (retain.h). */
static int
take_forget(struct intake *in)
{
	struct sqlite3_stmt *q;
	int64_t id;
	int r = db_find(in->db, &q, SQL_JOB_ID, "t", in->r->u.forget.job);

	if (r <= 0)
		return r;
	id = db_int(q, 0);
	db_done(q);
	batch_job_close(in->batch, in->r->u.forget.job);
	r = db_run(in->db, SQL_JOB_UNNAME, "i", id);
	if (r == 0)
		r = db_run(in->db, SQL_SWEEP_ADD, "iii", id,
		    (int64_t)STORE_SWEEP_JOB, (int64_t)0);
	return r;
}

static int (*const takers[])(struct intake *) = {
	[REC_NODE] = take_node,
	[REC_STEP] = NULL,
	[REC_JOB] = take_job,
	[REC_SESSION] = take_session,
	[REC_CALL] = take_call,
	[REC_CALL_STATE] = take_call_state,
	[REC_CALL_END] = take_call_end,
	[REC_CHILD] = take_child,
	[REC_TOOL] = take_tool,
	[REC_APPROVAL] = take_approval,
	[REC_FORGET] = take_forget,
};

static int
take_step(struct intake *in)
{
	const struct record *r = in->r;
	struct batch_job *j;
	int e = 0;

	if (r->step_len == 0)
		return 0;
	/* The job of a REC_FORGET is unknown from here on. */
	if (r->job != NULL && r->type != REC_FORGET) {
		e = job_of(in, r->job, &j);
		return e < 0 ? e : batch_step(in->batch, in->db, j, r, 0);
	}
	j = batch_job_find(in->batch, "");
	if (j == NULL)
		j = batch_job_put(in->batch, "", 0);
	return batch_step(in->batch, in->db, j, r,
	    in->at != 0 ? in->at : step_time(r));
}

int
store_record(struct db *d, struct batch *b, struct store_meta *m,
    const struct record *r)
{
	struct intake in = { .db = d, .batch = b, .meta = m, .r = r };
	int e = 0;

	if (r->seq <= m->last_seq)
		return 0;
	if (r->type == REC_JOB)
		in.at = step_time(r);
	if (takers[r->type] != NULL)
		e = takers[r->type](&in);
	if (e == 0)
		e = take_step(&in);
	if (e == 0)
		m->last_seq = r->seq;
	return e;
}
