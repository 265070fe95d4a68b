/*
 * The state of the node as JSON: what `oz0 --json status` prints and what
 * SIGUSR1 writes to the log (INTERFACES, Names in JSON).  Runs in oz0d.
 */
#include "supervisor/control_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "supervisor/call.h"
#include "supervisor/policy_gate.h"
#include "supervisor/record.h"

#define APPROVALS_MAX 100 /* shown; of the others the number */

const char *
node_state_word(const struct supervisor *s)
{
	static const char *const words[] = {
	    [NODE_STARTING] = "starting",
	    [NODE_READY] = "ready",
	    [NODE_HOLDING] = "holding",
	    [NODE_DRAINING] = "draining",
	    [NODE_STOPPING] = "draining",
	};

	if (s->degraded != NULL && s->state == NODE_READY)
		return "degraded";
	return words[s->state];
}

const char *
tool_kind_word(enum conf_kind kind)
{
	return kind == CONF_PLUGIN   ? "plugin"
	       : kind == CONF_REMOTE ? "remote"
				     : "job";
}

static void
write_server(void *arg, struct server *sv)
{
	struct jsonw *w = arg;

	jsonw_object(w, NULL);
	jsonw_string(w, "tool", sv->tool->name);
	jsonw_string(w, "kind", tool_kind_word(sv->tool->conf->kind));
	jsonw_string(w, "state", server_state_name(sv->state));
	if (sv->session != NULL) {
		jsonw_string(w, "job", sv->session->job->name);
		jsonw_uint(w, "session", sv->session->number);
	}
	if (sv->pid > 0)
		jsonw_int(w, "pid", sv->pid);
	jsonw_uint(w, "restarts", sv->restarts);
	jsonw_uint(w, "running", sv->running);
	jsonw_string(w, "era", sv->era[0] != '\0' ? sv->era : NULL);
	jsonw_string(w, "reason", server_broken(sv));
	jsonw_object_end(w);
}

static void
write_worker(void *arg, const struct process_info *p)
{
	struct jsonw *w = arg;

	if (strcmp(p->role, "worker") != 0)
		return;
	jsonw_object(w, NULL);
	jsonw_string(w, "name", p->name);
	jsonw_int(w, "pid", p->pid);
	jsonw_wall(w, "started", p->started);
	jsonw_object_end(w);
}

static void
write_limit(struct jsonw *w, const char *tool, const char *limit, double asked,
    bool given)
{
	if (asked == 0)
		return;
	jsonw_object(w, NULL);
	jsonw_string(w, "tool", tool);
	jsonw_string(w, "limit", limit);
	jsonw_double(w, "asked", asked);
	jsonw_bool(w, "given", given);
	jsonw_object_end(w);
}

/* Limits are best effort: each is shown as given or not (SESSION). */
static void
write_limits(const struct conf *c, struct jsonw *w)
{
	jsonw_array(w, "limits");
	for (size_t i = 0; i < c->ntools; i++) {
		const struct conf_tool *t = c->tools[i];
		const struct conf_sandbox *x = &t->sandbox;

		write_limit(w, t->name, "memory", (double)x->memory, false);
		write_limit(w, t->name, "pids", (double)x->pids, false);
		write_limit(w, t->name, "cpu", x->cpu, false);
		write_limit(w, t->name, "nofile", (double)x->nofile, true);
		write_limit(w, t->name, "tmp", (double)x->tmp, true);
	}
	jsonw_array_end(w);
}

static void
count_work(struct supervisor *s, unsigned *ret_jobs, unsigned *ret_sessions)
{
	struct session *ss;
	struct job *j;

	*ret_jobs = *ret_sessions = 0;
	RB_FOREACH(j, job_tree, &s->jobs)
	{
		if (job_state_ended(j->state) || j->state == JOB_LOST)
			continue;
		++*ret_jobs;
		TAILQ_FOREACH(ss, &j->sessions, entry)
		*ret_sessions +=
		    ss->state == SESSION_OPEN || ss->state == SESSION_CLOSING;
	}
}

/* L6.1: a configuration without the key allows all, and says so */
static void
write_policy(const struct supervisor *s, struct jsonw *w)
{
	const struct policy *p = policy_now(s);

	if (p->absent)
		jsonw_string(w, "policy", "none: all calls are allowed");
	else
		jsonw_stringf(w, "policy", "%zu rule%s, %s", p->nrules,
		    p->nrules == 1 ? "" : "s",
		    s->policy_set != NULL ? "set over the control socket"
					  : "of the configuration");
}

/* The kill switches that are on (L1.9). */
static void
write_killed(struct supervisor *s, struct jsonw *w)
{
	struct tool *t;

	jsonw_array(w, "killed");
	TAILQ_FOREACH(t, &s->tools, entry)
	if (t->killed)
		jsonw_string(w, NULL, t->name);
	jsonw_array_end(w);
}

/* What waits for an operator (L6.3), oldest first. */
static void
write_approvals(struct supervisor *s, struct jsonw *w)
{
	unsigned given = 0, left = 0;
	struct call *c;

	jsonw_array(w, "approvals");
	RB_FOREACH(c, call_tree, &s->calls)
	{
		if (c->state != CALL_WAITING_APPROVAL)
			continue;
		if (given == APPROVALS_MAX) {
			left++;
			continue;
		}
		given++;
		jsonw_object(w, NULL);
		jsonw_stringf(w, "call", "c%" PRIu64, c->number);
		jsonw_string(w, "function", c->function);
		jsonw_string(w, "job", c->job->name);
		jsonw_string(w, "tenant", c->job->tenant);
		jsonw_uint(w, "rule", c->asked_number);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
	if (left > 0)
		jsonw_uint(w, "approvals_left_out", left);
}

static void
write_head(struct supervisor *s, struct jsonw *w)
{
	unsigned jobs, sessions;

	count_work(s, &jobs, &sessions);
	jsonw_string(w, "node", s->conf->node);
	jsonw_string(w, "version", PACKAGE_VERSION);
	jsonw_string(w, "state", node_state_word(s));
	jsonw_string(w, "degraded", s->degraded);
	jsonw_string(w, "refuses", record_refuses(s));
	jsonw_wall(w, "started", s->started);
	jsonw_uint(w, "slots", s->conf->slots);
	jsonw_uint(w, "running", s->running);
	jsonw_uint(w, "queued", s->queued);
	jsonw_uint(w, "jobs", jobs);
	jsonw_uint(w, "sessions", sessions);
	jsonw_uint(w, "seq", record_last_seq(s));
	write_policy(s, w);
	jsonw_string(w, "isolation", s->conf->best ? "best" : "required");
	jsonw_uint(w, "payload_bytes", s->payload_bytes);
	jsonw_uint(w, "clients", s->control != NULL ? s->control->nconns : 0);
	jsonw_uint(
	    w, "client_bytes", s->control != NULL ? s->control->bytes : 0);
	jsonw_uint(
	    w, "put_aside", s->control != NULL ? s->control->naside : 0);
}

void
status_write(struct supervisor *s, struct buf *out)
{
	struct jsonw w;

	jsonw_init(&w, out);
	jsonw_object(&w, NULL);
	write_head(s, &w);
	jsonw_array(&w, "servers");
	server_each(s, write_server, &w);
	jsonw_array_end(&w);
	jsonw_array(&w, "workers");
	process_each(s, write_worker, &w);
	jsonw_array_end(&w);
	write_limits(s->conf, &w);
	write_killed(s, &w);
	write_approvals(s, &w);
	jsonw_object_end(&w);
}
