/*
 * Sessions: opening one, closing it, and when it is over: its calls have ended
 * and its last process is dead and reaped (SESSION, Opening, running, ending).
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "supervisor/call_internal.h"
#include "supervisor/process.h"

struct session *
session_find(struct job *j, uint32_t number)
{
	struct session *ss;

	TAILQ_FOREACH(ss, &j->sessions, entry)
		if (ss->number == number)
			return ss;
	return NULL;
}

struct session *
session_new(struct job *j, uint32_t number)
{
	struct session *ss = mem_zalloc(sizeof(*ss));

	ss->job = j;
	ss->number = number;
	ss->state = SESSION_OPEN;
	ss->restartable = true;
	TAILQ_INIT(&ss->waiters);
	TAILQ_INSERT_TAIL(&j->sessions, ss, entry);
	return ss;
}

static void
free_words(char **words)
{
	for (size_t i = 0; words != NULL && words[i] != NULL; i++)
		free(words[i]);
	free(words);
}

void
session_free(struct supervisor *s, struct session *ss)
{
	session_processes_free(s, ss);
	TAILQ_REMOVE(&ss->job->sessions, ss, entry);
	free_words(ss->tools);
	free(ss->workspace);
	free(ss);
}

void
session_record(struct supervisor *s, struct session *ss,
    enum step_event event, const char *fmt, ...)
{
	struct record facts = { .type = REC_SESSION };
	struct step *st = step_new(s, event, ss->job->name);
	va_list ap;
	char *why;

	facts.u.session = (struct rec_session) { .job = ss->job->name,
		.run = ss->job->run,
		.session = ss->number,
		.state = (uint8_t)ss->state,
		.restartable = ss->restartable,
		.harness = ss->has_harness };
	jsonw_uint(step_json(st), "session", ss->number);
	jsonw_string(step_json(st), "state", session_state_name(ss->state));
	jsonw_bool(step_json(st), "restartable", ss->restartable);
	if (ss->job->state == JOB_RUNNING
	    && (event == STEP_SESSION_OPENED || ss->state == SESSION_CLOSING))
		step_asked(st);
	va_start(ap, fmt);
	why = mem_vprintf(fmt, ap);
	va_end(ap);
	step_text(st, "session %s/%" PRIu32 " %s", ss->job->name, ss->number,
	    why);
	free(why);
	step_commit_facts(st, &facts);
}

bool
session_has_tool(const struct session *ss, const char *tool)
{
	if (ss->tools == NULL)
		return true;
	for (size_t i = 0; ss->tools[i] != NULL; i++)
		if (strcmp(ss->tools[i], tool) == 0)
			return true;
	return false;
}

static bool
check_tools(
    struct supervisor *s, const struct session_open *p, struct fault *f)
{
	for (size_t i = 0; p->tools != NULL && p->tools[i] != NULL; i++)
		if (tool_find(s, p->tools[i]) == NULL)
			return fault_set(f, FAULT_UNKNOWN_TOOL,
			    "no tool %s is configured on node %s", p->tools[i],
			    s->conf->node);
	return true;
}

/* May session `number` be opened over what is known of it? */
static bool
check_known(struct job *j, const struct session_open *p,
    struct session **ret_old, struct fault *f)
{
	struct session *old = session_find(j, p->number);

	*ret_old = old;
	if (old == NULL || old->state == SESSION_CLOSED)
		return true;
	if (old->state != SESSION_LOST)
		return fault_set(f, FAULT_NOT_ALLOWED,
		    "session %" PRIu32 " of job %s is %s", p->number, j->name,
		    session_state_name(old->state));
	/* Only a harness makes its calls again by itself (L2.5); what else is
	 * called in a session is joined or made again call by call (L2.2). */
	if (old->has_harness && !old->restartable && !p->force)
		return fault_set(f, FAULT_NOT_ALLOWED,
		    "session %" PRIu32 " of job %s was lost after a call that "
		    "must not be made again; look at its trace, then open it "
		    "with force",
		    p->number, j->name);
	return true;
}

static char **
copy_words(char *const *words)
{
	size_t n = 0;
	char **copy;

	if (words == NULL)
		return NULL;
	while (words[n] != NULL)
		n++;
	copy = mem_array(n + 1, sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		copy[i] = mem_strdup(words[i]);
	return copy;
}

bool
session_open(struct supervisor *s, struct job *j, const struct session_open *p,
    struct session **ret, struct fault *f)
{
	const char *refused = record_refuses(s);
	struct session *ss, *old;

	if (s->state == NODE_DRAINING || s->state == NODE_STOPPING)
		return fault_set(
		    f, FAULT_DRAINING, "node %s is draining", s->conf->node);
	if (j->state != JOB_RUNNING || j->ending != 0)
		return fault_set(f, FAULT_ALREADY_ENDED,
		    "job %s takes no session: it is %s", j->name,
		    j->ending != 0 ? "ending" : job_state_name(j->state));
	if (p->number == 0)
		return fault_set(
		    f, FAULT_PARAMS, "session: sessions count from 1");
	if (s->degraded != NULL)
		return fault_set(f, FAULT_NODE_FULL,
		    "node %s is degraded and takes no new session: %s",
		    s->conf->node, s->degraded);
	if (refused != NULL)
		return fault_set(f, FAULT_NODE_FULL, "%s", refused);
	if (!check_known(j, p, &old, f) || !check_tools(s, p, f))
		return false;
	ss = session_new(j, p->number);
	ss->tools = copy_words(p->tools);
	ss->workspace = mem_strdup(p->workspace);
	if (!session_processes_start(s, ss, p, f)) {
		session_free(s, ss);
		return false;
	}
	if (old != NULL)
		session_free(s, old);
	session_record(s, ss, STEP_SESSION_OPENED, "is open");
	*ret = ss;
	return true;
}

void
session_close(struct supervisor *s, struct session *ss,
    enum session_state ending, const char *why)
{
	enum call_reason reason = s->state == NODE_STOPPING ? REASON_LOST
							    : REASON_CANCELED;
	struct call *c, *next;

	if (ss->state != SESSION_OPEN)
		return;
	ss->state = SESSION_CLOSING;
	ss->ending = ending;
	session_record(s, ss,
	    ending == SESSION_LOST ? STEP_SESSION_LOST : STEP_SESSION_CLOSED,
	    "is closing: %s", why);
	TAILQ_FOREACH_SAFE(c, &ss->job->calls, in_job, next)
		if (c->session == ss->number && c->run == ss->job->run)
			call_stop(s, c, reason);
	session_processes_stop(s, ss, SPAN_NONE);
	job_touch(s, ss->job);
}

void
session_all_dead(struct supervisor *s, struct session *ss)
{
	ss->all_dead = true;
	job_touch(s, ss->job);
}

static bool
has_live_call(const struct session *ss)
{
	const struct call *c;

	if (ss->job->live == 0)
		return false;
	TAILQ_FOREACH(c, &ss->job->calls, in_job)
		if (c->session == ss->number && !call_state_ended(c->state))
			return true;
	return false;
}

void
session_settle(struct supervisor *s, struct session *ss)
{
	if (ss->state != SESSION_CLOSING || !ss->all_dead || has_live_call(ss))
		return;
	ss->state = ss->ending;
	session_record(s, ss,
	    ss->state == SESSION_LOST ? STEP_SESSION_LOST
				      : STEP_SESSION_CLOSED,
	    "is %s: no process of it runs", session_state_name(ss->state));
	waiters_tell(s, &ss->waiters);
}

/* L2.5: recorded before the request that causes it is written. */
void
session_note_call(
    struct supervisor *s, struct session *ss, const struct call *c)
{
	if (!ss->restartable || c->repeatable)
		return;
	ss->restartable = false;
	session_record(s, ss, STEP_SESSION_RESTARTABLE,
	    "may not start again by itself: %s is sent once", c->function);
}

void
session_write(const struct session *ss, struct jsonw *w)
{
	jsonw_uint(w, "session", ss->number);
	jsonw_string(w, "state", session_state_name(ss->state));
	jsonw_bool(w, "restartable", ss->restartable);
	jsonw_bool(w, "harness", ss->has_harness);
	jsonw_string(w, "workspace", ss->workspace);
}
