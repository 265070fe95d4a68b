/*
 * The methods of session/:  session/run brings three descriptors with its line
 * and is answered when the harness has been started, or why it was not; its
 * end comes as an event (INTERFACES).  Runs in oz0d; called by control_rpc.c.
 */
#include "supervisor/control_internal.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"

static void
answer_session(struct request *q, const struct session *ss)
{
	struct jsonw *w = request_answer(q);

	jsonw_object(w, NULL);
	jsonw_string(w, "job", ss->job->name);
	session_write(ss, w);
	jsonw_object_end(w);
	request_answered(q);
}

/* The job named in the request; answered with an error when there is none. */
static struct job *
find_job(struct supervisor *s, struct request *q, const struct params *p)
{
	CLEANUP_FREE char *name = params_string(p, "job");
	struct job *j = job_find(s, name);

	if (j == NULL)
		request_error(q, RPC_FAULT, "unknown_job",
		    "job %s has not been started on node %s: start it "
		    "first (oz0 job start)",
		    name, s->conf->node);
	return j;
}

static struct session *
find_session(struct supervisor *s, struct request *q, const struct params *p)
{
	uint32_t number = (uint32_t)params_uint(p, "session", 0);
	struct job *j = find_job(s, q, p);
	struct session *ss;
	struct fault f;

	if (j == NULL)
		return NULL;
	ss = session_find(j, number);
	if (ss == NULL) {
		fault_set(&f, FAULT_UNKNOWN_SESSION,
		    "session %" PRIu32 " of job %s is not open", number,
		    j->name);
		request_fault(q, &f, NULL);
	}
	return ss;
}

/* An open session, or the error that it has ended. */
static struct session *
find_open(struct supervisor *s, struct request *q, const struct params *p)
{
	struct session *ss = find_session(s, q, p);
	struct fault f;

	if (ss == NULL || ss->state == SESSION_OPEN ||
	    ss->state == SESSION_CLOSING)
		return ss;
	fault_set(&f, FAULT_ALREADY_ENDED,
	    "session %" PRIu32 " of job %s has ended: %s", ss->number,
	    ss->job->name, session_state_name(ss->state));
	request_fault(q, &f, session_state_name(ss->state));
	return NULL;
}

void
session_open_request(
    struct supervisor *s, struct request *q, const struct params *p)
{
	CLEANUP(cleanup_stringsp) char **tools = params_strings(p, "tools");
	CLEANUP_FREE char *workspace = params_string(p, "workspace");
	struct session_open open = {
	    .number = (uint32_t)params_uint(p, "session", 0),
	    .tools = tools,
	    .workspace = workspace,
	    .peer_uid = q->conn->peer.uid,
	    .peer_admin = q->conn->role == ROLE_ADMIN,
	    .force = params_bool(p, "force", false),
	};
	struct job *j = find_job(s, q, p);
	struct session *ss;
	struct fault f;

	if (j == NULL)
		return;
	if (session_open(s, j, &open, &ss, &f))
		answer_session(q, ss);
	else
		request_fault(q, &f, NULL);
}

/* ---- run ---- */

/* The session closed before its harness was seen to start. */
static void
on_closed_early(struct supervisor *s, struct waiter *w)
{
	struct request *q = w->arg;
	const struct harness_end *e = harness_last(q->on.session);

	if (e != NULL && e->started)
		answer_session(q, q->on.session);
	else
		request_error(q, RPC_FAULT, "internal",
		    "the harness was not started: %s",
		    e != NULL && e->message[0] != '\0'
			? e->message
			: "its session was closed");
}

static void
run_answer(struct request *q, bool started)
{
	const struct harness_end *e = harness_last(q->on.session);

	if (started || (e != NULL && e->started))
		answer_session(q, q->on.session);
	else
		request_error(q, RPC_FAULT, "internal",
		    "the harness was not started: %s",
		    e != NULL ? e->message : "see the trace");
}

void
session_run_event(struct control *c, const char *json, size_t len)
{
	struct json_want want[] = {
	    {.name = "event"}, {.name = "job"}, {.name = "session"}};
	struct request *q, *next;
	struct json_fault jf;
	uint64_t number;
	bool started;

	if (!json_object_pick(json, len, want, 3, &jf))
		return;
	started = json_string_is(want[0].value, "harness_started");
	if ((!started && !json_string_is(want[0].value, "harness_ended")) ||
	    !json_to_uint64(want[2].value, &number))
		return;
	TAILQ_FOREACH_SAFE(q, &c->starting, in_list, next)
	{
		const struct session *ss = q->on.session;

		if (ss->number == number &&
		    json_string_is(want[1].value, ss->job->name))
			run_answer(q, started);
	}
}

static void
run(struct supervisor *s, struct request *q, struct session *ss,
    struct harness_run *r)
{
	struct fault f;

	q->on.session = ss;
	request_wait(q, &ss->waiters, on_closed_early);
	request_listed(q, &q->conn->c->starting);
	if (!harness_start(s, ss, r, &f))
		request_fault(q, &f, NULL);
}

void
session_run(struct supervisor *s, struct request *q, const struct params *p)
{
	CLEANUP(cleanup_stringsp) char **args = params_strings(p, "args");
	CLEANUP(cleanup_stringsp) char **env = params_map(p, "env");
	CLEANUP_FREE char *command = params_string(p, "command");
	CLEANUP_FREE char *cwd = params_string(p, "cwd");
	char *none[] = {NULL};
	struct harness_run r = {.command = command,
	    .args = args != NULL ? args : none,
	    .env = env != NULL ? env : none,
	    .cwd = cwd,
	    .tty = params_bool(p, "tty", false),
	    .std = {-1, -1, -1}};
	struct fd_group g = {.count = 0};
	struct session *ss;

	conn_take_fds(q->conn, p->line_begin, p->line_end, &g);
	ss = find_open(s, q, p);
	if (ss != NULL && (g.count != CONN_GROUP_FDS || g.cut)) {
		request_error(q, RPC_PARAMS, NULL,
		    "stdin, stdout and stderr must come with the line as "
		    "three descriptors (SCM_RIGHTS)%s",
		    g.cut ? "; more came, or oz0d could not take them" : "");
		ss = NULL;
	}
	for (unsigned i = 0; i < g.count; i++)
		r.std[i] = g.fds[i];
	if (ss != NULL)
		run(s, q, ss, &r);
	/* harness_start() takes over what it takes, and sets it to -1 */
	for (int i = 0; i < CONN_GROUP_FDS; i++)
		fd_close(&r.std[i]);
}

/* ---- signal, resize and close ---- */

void
session_signal(struct supervisor *s, struct request *q, const struct params *p)
{
	uint64_t signo = params_uint(p, "signal", 0);
	struct session *ss;
	struct fault f;

	if (signo < 1 || signo > (uint64_t)SIGRTMAX) {
		request_error(q, RPC_PARAMS, NULL,
		    "\"signal\" must be a number from 1 to %d", SIGRTMAX);
		return;
	}
	ss = find_open(s, q, p);
	if (ss == NULL)
		return;
	if (harness_signal(s, ss, (int)signo, &f))
		request_done(q);
	else
		request_fault(q, &f, NULL);
}

void
session_resize(struct supervisor *s, struct request *q, const struct params *p)
{
	uint64_t rows = params_uint(p, "rows", 0);
	uint64_t cols = params_uint(p, "cols", 0);
	struct session *ss;
	struct fault f;

	if (rows < 1 || rows > UINT16_MAX || cols < 1 || cols > UINT16_MAX) {
		request_error(q, RPC_PARAMS, NULL,
		    "\"rows\" and \"cols\" must be numbers from 1 to %d",
		    UINT16_MAX);
		return;
	}
	ss = find_open(s, q, p);
	if (ss == NULL)
		return;
	if (harness_resize(s, ss, (unsigned)rows, (unsigned)cols, &f))
		request_done(q);
	else
		request_fault(q, &f, NULL);
}

static void
on_session_over(struct supervisor *s, struct waiter *w)
{
	struct request *q = w->arg;

	answer_session(q, q->on.session);
}

void
session_close_request(
    struct supervisor *s, struct request *q, const struct params *p)
{
	struct session *ss = find_open(s, q, p);

	if (ss == NULL)
		return;
	if (ss->state == SESSION_OPEN)
		session_close(s, ss, SESSION_CLOSED, "its scheduler closed it");
	if (!params_bool(p, "wait", true) || ss->state == SESSION_CLOSED ||
	    ss->state == SESSION_LOST) {
		answer_session(q, ss);
		return;
	}
	q->on.session = ss;
	request_wait(q, &ss->waiters, on_session_over);
}
