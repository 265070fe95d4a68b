/*
 * The methods around the policy: approving and denying a call, the kill switch
 * of a tool, showing the policy and setting another.  Runs in oz0d; called by
 * control_rpc.c.
 */
#include "supervisor/control_policy.h"

#include <string.h>

#include "base/cleanup.h"
#include "supervisor/call.h"
#include "supervisor/policy_gate.h"

/* SESSION: a scheduler decides for the tenants of its uid's jobs. */
static bool
may_decide(struct supervisor *s, const struct request *q, const struct call *c)
{
	struct job *j;

	if (q->conn->role == ROLE_ADMIN || c->job->uid == q->conn->peer.uid)
		return true;
	RB_FOREACH(j, job_tree, &s->jobs)
		if (j->uid == q->conn->peer.uid
		    && strcmp(j->tenant, c->job->tenant) == 0)
			return true;
	return false;
}

static void
decide(struct supervisor *s, struct request *q, const struct params *p,
    bool (*fn)(struct supervisor *, struct call *, struct fault *))
{
	CLEANUP_FREE char *name = params_string(p, "call");
	struct call *c = call_find(s, name);
	struct jsonw *w;
	struct fault f;

	if (c == NULL) {
		request_error(q, RPC_FAULT, "unknown_call",
		    "no call %s waits on node %s", name, s->conf->node);
		return;
	}
	if (!may_decide(s, q, c)) {
		request_error(q, RPC_FAULT, "not_allowed",
		    "no job of yours belongs to the tenant %s",
		    c->job->tenant);
		return;
	}
	if (!fn(s, c, &f)) {
		request_fault(q, &f, f.state);
		return;
	}
	w = request_answer(q);
	jsonw_object(w, NULL);
	jsonw_string(w, "call", name);
	jsonw_string(w, "state", call_state_name(c->state));
	jsonw_object_end(w);
	request_answered(q);
}

void
call_approve_request(
    struct supervisor *s, struct request *q, const struct params *p)
{
	decide(s, q, p, call_approve);
}

void
call_deny_request(
    struct supervisor *s, struct request *q, const struct params *p)
{
	decide(s, q, p, call_deny);
}

static void
answer_switch(struct request *q, const struct tool *t)
{
	struct jsonw *w = request_answer(q);

	jsonw_object(w, NULL);
	jsonw_string(w, "tool", t->name);
	jsonw_bool(w, "killed", t->killed);
	jsonw_object_end(w);
	request_answered(q);
}

void
tool_kill_request(
    struct supervisor *s, struct request *q, const struct params *p)
{
	struct tool *t = tool_named(s, q, p);

	if (t == NULL)
		return;
	tool_kill(s, t, params_bool(p, "server", false));
	answer_switch(q, t);
}

void
tool_unkill_request(
    struct supervisor *s, struct request *q, const struct params *p)
{
	struct tool *t = tool_named(s, q, p);

	if (t == NULL)
		return;
	tool_unkill(s, t);
	answer_switch(q, t);
}

void
policy_show(struct supervisor *s, struct request *q, const struct params *p)
{
	const struct policy *now = policy_now(s);
	struct jsonw *w = request_answer(q);

	jsonw_object(w, NULL);
	jsonw_string(w, "from",
	    s->policy_set != NULL ? "policy/set"
		: now->absent	  ? "none: all calls are allowed"
				  : "the configuration");
	if (!now->absent) {
		jsonw_array(w, "policy");
		policy_write(now, w);
		jsonw_array_end(w);
	}
	jsonw_object_end(w);
	request_answered(q);
}

/* L6.2: a bad policy changes nothing and is reported. */
void
policy_set_request(
    struct supervisor *s, struct request *q, const struct params *p)
{
	struct json_value list = params_value(p, "policy");
	struct policy *policy;
	struct conf_error e;
	struct jsonw *w;

	if (conf_parse_policy(list.p, list.len, &policy, &e) < 0) {
		request_error(q, RPC_PARAMS, NULL, "%s", e.text);
		return;
	}
	w = request_answer(q);
	jsonw_object(w, NULL);
	jsonw_uint(w, "rules", policy->nrules);
	jsonw_object_end(w);
	request_answered(q);
	if (params_bool(p, "check", false))
		policy_free(policy);
	else
		policy_set(s, policy);
}
