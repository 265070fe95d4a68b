/*
 * Jobs: starting and joining them, cancelling and ending them, and finding out
 * when one has really come to its end: its calls have ended and every process
 * of it is dead and reaped (LIFECYCLE L1.3).
 */
#include "supervisor/job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "supervisor/call_internal.h"
#include "supervisor/process.h"

#define MADE_UP_KEPT 256

int
job_compare(const struct job *a, const struct job *b)
{
	return strcmp(a->name, b->name);
}
RB_GENERATE(job_tree, job, by_name, job_compare);

struct job *
job_find(struct supervisor *s, const char *name)
{
	struct job key;

	key.name = (char *)(uintptr_t)name;
	return RB_FIND(job_tree, &s->jobs, &key);
}

static void
record_job(struct supervisor *s, struct job *j, enum step_event event,
    const char *why)
{
	struct record facts = { .type = REC_JOB };
	struct step *st = step_new(s, event, j->name);

	facts.u.job = (struct rec_job) { .job = j->name,
		.tenant = j->tenant,
		.run = j->run,
		.uid = (uint32_t)j->uid,
		.state = (uint8_t)j->state };
	jsonw_string(step_json(st), "state", job_state_name(j->state));
	jsonw_uint(step_json(st), "run", j->run);
	jsonw_string(step_json(st), "tenant", j->tenant);
	if (event == STEP_JOB_STARTED || event == STEP_JOB_CANCELLING)
		step_asked(st);
	step_text(st, "job %s is %s: %s", j->name, job_state_name(j->state),
	    why);
	step_commit_facts(st, &facts);
	if (event == STEP_JOB_STARTED)
		j->started = facts.seq;
}

void
job_set(struct supervisor *s, struct job *j, enum job_state state,
    enum step_event event, const char *why)
{
	log_debug("job %s: %s -> %s, %s", j->name, job_state_name(j->state),
	    job_state_name(state), why);
	j->state = state;
	record_job(s, j, event, why);
}

struct job *
job_new(struct supervisor *s, const char *name, const char *tenant)
{
	struct job *j = mem_zalloc(sizeof(*j));

	j->name = mem_strdup(name);
	j->tenant = mem_strdup(tenant);
	j->state = JOB_RUNNING;
	j->after_call = s->last_call;
	RB_INIT(&j->activities);
	TAILQ_INIT(&j->calls);
	TAILQ_INIT(&j->made_up);
	TAILQ_INIT(&j->ready);
	TAILQ_INIT(&j->sessions);
	TAILQ_INIT(&j->approvals);
	TAILQ_INIT(&j->waiters);
	RB_INSERT(job_tree, &s->jobs, j);
	return j;
}

/* What an ended job needs no more: its calls and sessions. */
static void
job_strip(struct supervisor *s, struct job *j)
{
	struct approval *a;
	struct call *c;
	struct session *ss;

	while ((c = TAILQ_FIRST(&j->calls)) != NULL)
		call_free(s, c);
	while ((ss = TAILQ_FIRST(&j->sessions)) != NULL)
		session_free(s, ss);
	while ((a = TAILQ_FIRST(&j->approvals)) != NULL) {
		TAILQ_REMOVE(&j->approvals, a, entry);
		free(a->key);
		free(a->rule);
		free(a);
	}
}

void
job_approval(struct job *j, const char *key, const char *rule)
{
	struct approval *a;

	TAILQ_FOREACH(a, &j->approvals, entry)
		if (strcmp(a->key, key) == 0)
			break;
	if (a == NULL) {
		a = mem_zalloc(sizeof(*a));
		a->key = mem_strdup(key);
		TAILQ_INSERT_TAIL(&j->approvals, a, entry);
	}
	free(a->rule);
	a->rule = mem_strdup(rule);
}

const char *
job_approved(const struct job *j, const char *key)
{
	const struct approval *a;

	TAILQ_FOREACH(a, &j->approvals, entry)
		if (strcmp(a->key, key) == 0)
			return a->rule;
	return NULL;
}

void
job_free(struct supervisor *s, struct job *j)
{
	job_strip(s, j);
	if (j->in_settling)
		TAILQ_REMOVE(&s->settling, j, settle);
	if (j->in_ring)
		TAILQ_REMOVE(&s->ready, j, ring);
	RB_REMOVE(job_tree, &s->jobs, j);
	free(j->name);
	free(j->tenant);
	free(j);
}

/* ---- starting ---- */

static bool
ended_fault(const struct job *j, struct fault *f)
{
	fault_set(f, FAULT_ALREADY_ENDED, "job %s is %s; only a higher run "
		  "than %" PRIu32 " continues it as new",
	    j->name, job_state_name(j->state), j->run);
	str_copy(f->state, sizeof(f->state), job_state_name(j->state));
	return false;
}

static bool
start_known(struct supervisor *s, struct job *j, const struct job_start *p,
    struct fault *f)
{
	uint32_t run = p->has_run ? p->run : j->run;

	if (p->tenant != NULL && strcmp(p->tenant, j->tenant) != 0)
		return fault_set(f, FAULT_NOT_ALLOWED,
		    "job %s belongs to the tenant %s", j->name, j->tenant);
	switch (j->state) {
	case JOB_RUNNING:
		if (run == j->run && j->ending == 0)
			return true;
		return fault_set(f, FAULT_NOT_ALLOWED,
		    j->ending != 0 ? "job %s is ending"
				   : "job %s is RUNNING with run %" PRIu32,
		    j->name, j->run);
	case JOB_LOST:
		if (run != j->run)
			return fault_set(f, FAULT_NOT_ALLOWED,
			    "job %s is LOST with run %" PRIu32
			    "; it goes on with that run, or is cancelled",
			    j->name, j->run);
		j->uid = p->uid;
		job_set(s, j, JOB_RUNNING, STEP_JOB_STARTED,
		    "it goes on after it was lost");
		return true;
	case JOB_CANCELLING:
		return fault_set(
		    f, FAULT_NOT_ALLOWED, "job %s is cancelling", j->name);
	case JOB_CANCELED:
	case JOB_COMPLETED:
	case JOB_FAILED:
		break;
	}
	if (run <= j->run)
		return ended_fault(j, f);
	j->run = run;
	j->uid = p->uid;
	j->ending = 0;
	j->internal = p->internal;
	job_set(s, j, JOB_RUNNING, STEP_JOB_STARTED, "it continues as new");
	return true;
}

bool
job_start(struct supervisor *s, const struct job_start *p, struct job **ret,
    struct fault *f)
{
	const char *tenant = p->tenant != NULL ? p->tenant : "default";
	const char *refused = record_refuses(s);
	struct job *j;

	if (!str_is_name(p->job))
		return fault_set(f, FAULT_PARAMS,
		    "job: a name has 1 to 128 characters of A-Z a-z 0-9 . _ -");
	if (str_is_call_name(p->job, NULL))
		return fault_set(f, FAULT_PARAMS,
		    "job: %s is the name of a call (c and digits)", p->job);
	if (!str_is_name(tenant))
		return fault_set(f, FAULT_PARAMS,
		    "tenant: a name has 1 to 128 characters of A-Z a-z 0-9 . "
		    "_ -");
	if (s->state == NODE_DRAINING || s->state == NODE_STOPPING)
		return fault_set(
		    f, FAULT_DRAINING, "node %s is draining", s->conf->node);
	j = job_find(s, p->job);
	if (j != NULL) {
		*ret = j;
		return start_known(s, j, p, f);
	}
	if (refused != NULL)
		return fault_set(f, FAULT_NODE_FULL, "%s", refused);
	if (mem_low() && !mem_recover())
		return fault_set(f, FAULT_NODE_FULL, "node %s is out of memory",
		    s->conf->node);
	j = job_new(s, p->job, tenant);
	j->run = p->has_run ? p->run : 0;
	j->uid = p->uid;
	j->internal = p->internal;
	record_job(s, j, STEP_JOB_STARTED, "started");
	*ret = j;
	return true;
}

/* ---- cancelling and ending ---- */

static void
close_sessions(struct supervisor *s, struct job *j, enum session_state ending,
    const char *why)
{
	struct session *ss, *next;

	TAILQ_FOREACH_SAFE(ss, &j->sessions, entry, next)
		if (ss->state == SESSION_OPEN)
			session_close(s, ss, ending, why);
}

static void
stop_calls(struct supervisor *s, struct job *j, enum call_reason reason)
{
	struct call *c, *next;

	/* Ended calls stay in the list until the job ends. */
	if (j->live == 0)
		return;
	TAILQ_FOREACH_SAFE(c, &j->calls, in_job, next)
		call_stop(s, c, reason);
}

bool
job_cancel(struct supervisor *s, struct job *j, struct fault *f)
{
	if (job_state_ended(j->state)) {
		fault_set(f, FAULT_ALREADY_ENDED, "job %s has ended: %s",
		    j->name, job_state_name(j->state));
		str_copy(f->state, sizeof(f->state), job_state_name(j->state));
		return false;
	}
	if (j->state == JOB_CANCELLING)
		return true; /* L1.6 */
	job_set(s, j, JOB_CANCELLING, STEP_JOB_CANCELLING,
	    "its calls and processes are being stopped");
	stop_calls(s, j, REASON_CANCELED);
	close_sessions(s, j, SESSION_CLOSED, "its job was cancelled");
	job_touch(s, j);
	return true;
}

bool
job_end(struct supervisor *s, struct job *j, bool failed, struct fault *f)
{
	if (j->state != JOB_RUNNING) {
		if (j->state == JOB_CANCELLING || j->state == JOB_LOST)
			return fault_set(f, FAULT_NOT_ALLOWED, "job %s is %s",
			    j->name, job_state_name(j->state));
		return ended_fault(j, f);
	}
	j->ending = failed ? JOB_FAILED : JOB_COMPLETED;
	job_touch(s, j);
	return true;
}

bool
job_forget(struct supervisor *s, const char *name, struct fault *f)
{
	struct record facts = { .type = REC_FORGET };
	struct job *j = job_find(s, name);

	if (j != NULL && (j->state == JOB_RUNNING ||
			     j->state == JOB_CANCELLING))
		return fault_set(f, FAULT_NOT_ALLOWED,
		    "job %s is %s; cancel or end it first", name,
		    job_state_name(j->state));
	facts.u.forget = (struct rec_forget) { .job = (char *)(uintptr_t)name };
	record_facts(s, &facts);
	if (j != NULL)
		job_free(s, j); /* name may be its own */
	return true;
}

/* ---- coming to an end ---- */

void
job_touch(struct supervisor *s, struct job *j)
{
	if (j->in_settling)
		return;
	TAILQ_INSERT_TAIL(&s->settling, j, settle);
	j->in_settling = true;
}

static bool
sessions_over(const struct job *j)
{
	const struct session *ss;

	TAILQ_FOREACH(ss, &j->sessions, entry)
		if (ss->state == SESSION_OPEN || ss->state == SESSION_CLOSING)
			return false;
	return true;
}

static void
job_over(struct supervisor *s, struct job *j, enum job_state state,
    enum step_event event, const char *why)
{
	j->ending = 0;
	job_set(s, j, state, event, why);
	waiters_tell(s, &j->waiters);
	if (state != JOB_LOST)
		job_strip(s, j);
}

/*
 * A call whose activity the node made up cannot be rejoined; once it has ended
 * the last few stay for `status`, older ones are with oz0-journal alone.
 */
static void
forget_made_up(struct supervisor *s, struct job *j)
{
	while (j->nmade_up > MADE_UP_KEPT)
		call_free(s, TAILQ_FIRST(&j->made_up));
}

static void
settle(struct supervisor *s, struct job *j)
{
	bool stopping = s->state == NODE_DRAINING || s->state == NODE_STOPPING;
	struct session *ss, *next;

	forget_made_up(s, j);
	TAILQ_FOREACH_SAFE(ss, &j->sessions, entry, next)
		session_settle(s, ss);
	if (j->live != 0)
		return;
	if (j->state == JOB_CANCELLING) {
		if (sessions_over(j))
			job_over(s, j, JOB_CANCELED, STEP_JOB_CANCELED,
			    "every call of it has stopped and no process of "
			    "it runs");
	} else if (j->state == JOB_RUNNING && j->ending != 0) {
		close_sessions(s, j, SESSION_CLOSED, "its job has ended");
		if (sessions_over(j))
			job_over(s, j, j->ending, STEP_JOB_ENDED, "ended");
	} else if (j->state == JOB_RUNNING && stopping) {
		close_sessions(s, j, SESSION_LOST, "the node stops");
		if (sessions_over(j))
			job_over(s, j, JOB_LOST, STEP_JOB_ENDED,
			    "the node stopped before it ended");
	}
}

void
jobs_settle(struct supervisor *s)
{
	struct job *j;

	while ((j = TAILQ_FIRST(&s->settling)) != NULL) {
		TAILQ_REMOVE(&s->settling, j, settle);
		j->in_settling = false;
		settle(s, j);
	}
}

/* ---- the node as a whole ---- */

void
jobs_drain(struct supervisor *s)
{
	struct job *j;

	RB_FOREACH(j, job_tree, &s->jobs) {
		struct call *c, *next;

		if (j->live != 0)
			TAILQ_FOREACH_SAFE(c, &j->calls, in_job, next)
				if (!call_state_ended(c->state) &&
				    c->attempt == NULL)
					call_stop(s, c, REASON_LOST);
		job_touch(s, j);
	}
}

void
jobs_stop(struct supervisor *s)
{
	struct job *j;

	RB_FOREACH(j, job_tree, &s->jobs) {
		stop_calls(s, j, REASON_LOST);
		close_sessions(s, j, SESSION_LOST, "the node stops");
		job_touch(s, j);
	}
}

bool
jobs_idle(const struct supervisor *s)
{
	struct job *j;

	RB_FOREACH(j, job_tree, (struct job_tree *)(uintptr_t)&s->jobs)
		if (j->state == JOB_RUNNING || j->state == JOB_CANCELLING)
			return false;
	return true;
}

void
jobs_free(struct supervisor *s)
{
	struct job *j;

	while ((j = RB_MIN(job_tree, &s->jobs)) != NULL)
		job_free(s, j);
}

/* ---- showing ---- */

void
job_write(const struct job *j, struct jsonw *w)
{
	const struct session *ss;
	const struct call *c;

	jsonw_string(w, "job", j->name);
	jsonw_string(w, "tenant", j->tenant);
	jsonw_uint(w, "run", j->run);
	jsonw_string(w, "state", job_state_name(j->state));
	jsonw_array(w, "sessions");
	TAILQ_FOREACH(ss, &j->sessions, entry) {
		jsonw_object(w, NULL);
		session_write(ss, w);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
	jsonw_array(w, "calls");
	TAILQ_FOREACH(c, &j->calls, in_job) {
		jsonw_object(w, NULL);
		call_write(c, w);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
}
