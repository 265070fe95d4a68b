/*
 * The methods of job/:  What is in memory is answered from there, what has
 * ended by oz0-journal.  Runs in oz0d; called by control_rpc.c.
 */
#include "supervisor/control_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define LIST_LIMIT 1000
#define TRACE_LIMIT 500
#define LIMIT_MAX 10000

static void
unknown_job(struct supervisor *s, struct request *q, const char *job)
{
	request_error(q, RPC_FAULT, "unknown_job",
	    "no job %s is known on node %s", job, s->conf->node);
}

/* {"job":...,"tenant":...,"run":...,"state":...} */
static void
write_short(const struct job *j, struct jsonw *w)
{
	jsonw_object(w, NULL);
	jsonw_string(w, "job", j->name);
	jsonw_string(w, "tenant", j->tenant);
	jsonw_uint(w, "run", j->run);
	jsonw_string(w, "state", job_state_name(j->state));
	jsonw_object_end(w);
}

static void
answer_short(struct request *q, const struct job *j)
{
	write_short(j, request_answer(q));
	request_answered(q);
}

void
job_start_request(
    struct supervisor *s, struct request *q, const struct params *p)
{
	CLEANUP_FREE char *name = params_string(p, "job");
	CLEANUP_FREE char *tenant = params_string(p, "tenant");
	struct job_start start = {.job = name,
	    .tenant = tenant,
	    .has_run = params_has(p, "run"),
	    .run = (uint32_t)params_uint(p, "run", 0),
	    .uid = q->conn->peer.uid};
	struct fault f;
	struct job *j;

	if (job_start(s, &start, &j, &f))
		answer_short(q, j);
	else
		request_fault(q, &f, NULL);
}

/* ---- cancel and end ---- */

static void
on_job_over(struct supervisor *s, struct waiter *w)
{
	struct request *q = w->arg;

	answer_short(q, q->on.job);
}

static void
wait_for(struct request *q, struct job *j, const struct params *p)
{
	if (!params_bool(p, "wait", true) || job_state_ended(j->state)) {
		answer_short(q, j);
		return;
	}
	q->on.job = j;
	request_wait(q, &j->waiters, on_job_over);
}

/* A job that is past: it has ended, and the row says how (L1.6). */
static void
on_past_ended(struct supervisor *s, struct query *u, const char *error)
{
	struct request *q = u->q;
	char state[32] = "";
	struct json_value row;
	struct json_fault jf;
	struct fault f;

	if (error != NULL) {
		request_error(q, RPC_FAULT, "internal", "%s", error);
		return;
	}
	if (u->count == 0 ||
	    !json_check(buf_at(&u->rows), buf_len(&u->rows), &row, &jf)) {
		unknown_job(s, q, u->name);
		return;
	}
	json_to_string(json_member(row, "state"), state, sizeof(state));
	fault_set(
	    &f, FAULT_ALREADY_ENDED, "job %s has ended: %s", u->name, state);
	request_fault(q, &f, state);
}

void
job_cancel_request(
    struct supervisor *s, struct request *q, const struct params *p)
{
	CLEANUP_FREE char *name = params_string(p, "job");
	struct job *j = job_find(s, name);
	struct fault f;

	if (j == NULL)
		past_ask(s, q, WIRE_QUERY_JOB, name, 0, 1, on_past_ended);
	else if (!job_cancel(s, j, &f))
		request_fault(q, &f, NULL);
	else
		wait_for(q, j, p);
}

void
job_end_request(struct supervisor *s, struct request *q, const struct params *p)
{
	CLEANUP_FREE char *name = params_string(p, "job");
	struct job *j = job_find(s, name);
	struct fault f;

	if (j == NULL)
		past_ask(s, q, WIRE_QUERY_JOB, name, 0, 1, on_past_ended);
	else if (!job_end(s, j, params_bool(p, "failed", false), &f))
		request_fault(q, &f, NULL);
	else
		wait_for(q, j, p);
}

/* ---- forget ---- */

static void
forget(struct supervisor *s, struct request *q, const char *name)
{
	struct fault f;

	if (job_forget(s, name, &f))
		request_done(q);
	else
		request_fault(q, &f, NULL);
}

static void
on_past_forget(struct supervisor *s, struct query *u, const char *error)
{
	if (error != NULL)
		request_error(u->q, RPC_FAULT, "internal", "%s", error);
	else if (u->count == 0)
		unknown_job(s, u->q, u->name);
	else
		forget(s, u->q, u->name);
}

void
job_forget_request(
    struct supervisor *s, struct request *q, const struct params *p)
{
	CLEANUP_FREE char *name = params_string(p, "job");

	if (job_find(s, name) != NULL)
		forget(s, q, name);
	else
		past_ask(s, q, WIRE_QUERY_JOB, name, 0, 1, on_past_forget);
}

/* ---- list and status ---- */

/* Those in memory are listed from there. */
static bool
keep_past_job(struct query *u, struct json_value row)
{
	char name[129];

	return json_to_string(json_member(row, "job"), name, sizeof(name)) &&
	       job_find(u->q->conn->c->s, name) == NULL;
}

static void
on_past_jobs(struct supervisor *s, struct query *u, const char *error)
{
	struct request *q = u->q;
	struct jsonw *w;
	struct job *j;

	if (error != NULL) {
		request_error(q, RPC_FAULT, "internal", "%s", error);
		return;
	}
	w = request_answer(q);
	jsonw_object(w, NULL);
	jsonw_array(w, "jobs");
	jsonw_raw(w, NULL, buf_at(&u->rows), buf_len(&u->rows));
	RB_FOREACH(j, job_tree, &s->jobs)
	write_short(j, w);
	jsonw_array_end(w);
	if (u->more)
		jsonw_bool(w, "more", true);
	jsonw_object_end(w);
	request_answered(q);
}

static uint32_t
limit_of(const struct params *p, uint32_t absent)
{
	uint64_t n = params_uint(p, "limit", absent);

	return n < 1 ? 1 : n > LIMIT_MAX ? LIMIT_MAX : (uint32_t)n;
}

void
job_list(struct supervisor *s, struct request *q, const struct params *p)
{
	struct query *u = past_ask(s, q, WIRE_QUERY_JOBS, "", 0,
	    limit_of(p, LIST_LIMIT), on_past_jobs);

	u->keep = keep_past_job;
}

static void
answer_whole(struct request *q, const struct job *j)
{
	struct jsonw *w = request_answer(q);

	jsonw_object(w, NULL);
	job_write(j, w);
	jsonw_object_end(w);
	request_answered(q);
}

static void
on_past_job(struct supervisor *s, struct query *u, const char *error)
{
	struct job *j = job_find(s, u->name);

	if (error == NULL && u->count > 0)
		request_result_raw(u->q, buf_at(&u->rows), buf_len(&u->rows));
	else if (j != NULL)
		answer_whole(u->q, j);
	else if (error != NULL)
		request_error(u->q, RPC_FAULT, "internal", "%s", error);
	else
		unknown_job(s, u->q, u->name);
}

/* An ended job keeps nothing in memory but its state. */
void
job_status(struct supervisor *s, struct request *q, const struct params *p)
{
	CLEANUP_FREE char *name = params_string(p, "job");
	struct job *j = job_find(s, name);

	if (j != NULL && !job_state_ended(j->state))
		answer_whole(q, j);
	else
		past_ask(s, q, WIRE_QUERY_JOB, name, 0, 1, on_past_job);
}

/* ---- trace ---- */

static bool
keep_step(struct query *u, struct json_value row)
{
	uint64_t seq;

	if (!json_to_uint64(json_member(row, "seq"), &seq) || seq <= u->since)
		return false;
	if (u->count + 1 == u->limit)
		u->more = true; /* asked for one more, to know that */
	return u->count + 1 < u->limit;
}

static void
on_steps(struct supervisor *s, struct query *u, const char *error)
{
	struct request *q = u->q;
	struct jsonw *w;

	if (error != NULL) {
		request_error(q, RPC_FAULT, "internal", "%s", error);
		return;
	}
	if (u->reader.error == ENOENT && job_find(s, u->name) == NULL) {
		unknown_job(s, q, u->name);
		return;
	}
	w = request_answer(q);
	jsonw_object(w, NULL);
	jsonw_string(w, "job", u->name);
	jsonw_array(w, "steps");
	jsonw_raw(w, NULL, buf_at(&u->rows), buf_len(&u->rows));
	jsonw_array_end(w);
	if (u->more)
		jsonw_bool(w, "more", true);
	jsonw_object_end(w);
	request_answered(q);
}

/* since: the last step that the client has. */
void
job_trace(struct supervisor *s, struct request *q, const struct params *p)
{
	CLEANUP_FREE char *name = params_string(p, "job");
	struct query *u = past_ask(s, q, WIRE_QUERY_TRACE, name,
	    params_uint(p, "since", 0), limit_of(p, TRACE_LIMIT) + 1, on_steps);

	u->keep = keep_step;
}
