/*
 * Recovery: what oz0-journal reads from the log at start becomes jobs,
 * sessions and calls again, and what had not ended is closed as lost
 * (LIFECYCLE L9.1), at once and for all to read.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "supervisor/call_internal.h"
#include "supervisor/process.h"

void
recover_ready(struct supervisor *s, uint64_t last_seq, uint64_t last_call,
    uint64_t last_attempt)
{
	record_start_at(s, last_seq);
	s->last_call = last_call;
	s->last_attempt = last_attempt;
}

static void
recover_job(struct supervisor *s, const struct rec_job *r)
{
	struct job *j = job_find(s, r->job);

	if (j == NULL)
		j = job_new(s, r->job, r->tenant);
	j->run = r->run;
	j->uid = r->uid;
	j->state = r->state;
}

static void
recover_session(struct supervisor *s, const struct rec_session *r)
{
	struct job *j = job_find(s, r->job);
	struct session *ss;

	if (j == NULL || r->run != j->run)
		return;
	ss = session_find(j, r->session);
	if (ss == NULL)
		ss = session_new(j, r->session);
	ss->state = r->state;
	ss->restartable = r->restartable;
	ss->has_harness = r->harness;
	ss->all_dead = true;
}

static void
recover_call(struct supervisor *s, const struct rec_call *r)
{
	struct job *j = job_find(s, r->job);
	struct call *c;

	if (j == NULL || strchr(r->function, '.') == NULL)
		return;
	c = call_new(r->call, r->activity, r->key, r->function);
	c->job = j;
	c->run = r->run;
	c->session = r->session;
	str_copy(c->digest, sizeof(c->digest), r->digest);
	c->repeatable = r->repeatable;
	c->timeout = c->call_timeout = SPAN_NONE;
	if (RB_INSERT(call_tree, &s->calls, c) != NULL) {
		free(c);
		return;
	}
	/* One that was lost and made again: the later one holds the name. */
	call_hold_activity(j, c);
	TAILQ_INSERT_TAIL(&j->calls, c, in_job);
	j->live++;
	s->queued++;
}

static void
recover_call_state(struct supervisor *s, const struct rec_call_state *r)
{
	struct call *c, key = { .number = r->call };

	c = RB_FIND(call_tree, &s->calls, &key);
	if (c == NULL || call_state_ended(c->state))
		return;
	c->attempts = r->attempts;
	c->outcome = r->outcome;
	c->has_progress = r->has_progress;
	c->has_total = r->has_total;
	c->progress = r->progress;
	c->total = r->total;
	c->repeatable = r->repeatable;
}

static void
recover_call_end(struct supervisor *s, const struct rec_call_end *r)
{
	struct call *c, key = { .number = r->call };

	c = RB_FIND(call_tree, &s->calls, &key);
	if (c == NULL || call_state_ended(c->state))
		return;
	c->state = r->state;
	c->outcome = r->outcome;
	c->stopped = r->stopped;
	c->attempts = r->attempts;
	c->evicted = r->evicted;
	if (r->answer_len != 0) {
		c->answer = mem_dup(r->answer, r->answer_len);
		c->answer_len = r->answer_len;
		answer_keep(s, c, c->state == CALL_COMPLETED);
	}
	c->job->live--;
	s->queued--;
}

static void
recover_tool(struct supervisor *s, const struct rec_tool *r)
{
	/* L1.9: over a start without its tool, too */
	tool_recorded(s, r->tool)->killed = r->killed;
}

static void
recover_approval(struct supervisor *s, const struct rec_approval *r)
{
	struct job *j = job_find(s, r->job);

	if (j != NULL)
		job_approval(j, r->key, r->rule);
}

bool
recover_record(struct supervisor *s, const char *p, size_t n)
{
	struct record r;

	if (record_get(p, n, &r) < 0)
		return false;
	switch (r.type) {
	case REC_JOB:
		recover_job(s, &r.u.job);
		break;
	case REC_SESSION:
		recover_session(s, &r.u.session);
		break;
	case REC_CALL:
		recover_call(s, &r.u.call);
		break;
	case REC_CALL_STATE:
		recover_call_state(s, &r.u.call_state);
		break;
	case REC_CALL_END:
		recover_call_end(s, &r.u.call_end);
		break;
	case REC_TOOL:
		recover_tool(s, &r.u.tool);
		break;
	case REC_APPROVAL:
		recover_approval(s, &r.u.approval);
		break;
	case REC_FORGET:
	case REC_NODE:
	case REC_STEP:
	case REC_CHILD:
		break;
	}
	record_clear(&r);
	return true;
}

/* L9.1: not_made when no attempt is recorded, or the last ended not made. */
static void
lose_call(struct supervisor *s, struct call *c)
{
	struct call_end e = { .ev = CALL_EV_LOSE,
		.reason = REASON_LOST,
		.message = "the node ended while the call was open" };

	e.outcome = c->attempts == 0 || c->outcome == OUTCOME_NOT_MADE
	    ? OUTCOME_NOT_MADE
	    : c->outcome == OUTCOME_MADE ? OUTCOME_MADE
					 : OUTCOME_UNKNOWN;
	call_end(s, c, &e);
}

static void
lose_job(struct supervisor *s, struct job *j)
{
	struct session *ss;
	struct call *c, *next;

	TAILQ_FOREACH_SAFE(c, &j->calls, in_job, next)
		if (!call_state_ended(c->state))
			lose_call(s, c);
	TAILQ_FOREACH(ss, &j->sessions, entry)
		if (ss->state == SESSION_OPEN || ss->state == SESSION_CLOSING) {
			ss->state = SESSION_LOST;
			session_record(s, ss, STEP_SESSION_LOST,
			    "was lost with its node; it may %sstart again by "
			    "itself",
			    ss->restartable ? "" : "not ");
		}
	if (j->state == JOB_RUNNING || j->state == JOB_CANCELLING)
		job_set(s, j, JOB_LOST, STEP_JOB_ENDED,
		    "its node ended before it did");
}

void
recover_finish(struct supervisor *s)
{
	struct job *j;
	unsigned lost = 0;

	RB_FOREACH(j, job_tree, &s->jobs) {
		if (job_state_ended(j->state))
			continue;
		if (j->state != JOB_LOST)
			lost++;
		lose_job(s, j);
	}
	if (lost != 0)
		log_notice("%u job%s of the last node %s lost", lost,
		    lost == 1 ? "" : "s", lost == 1 ? "is" : "are");
}
