/*
 * The gate before every attempt: the kill switch and the policy, asked when a
 * call is admitted, when it leaves the queue and before each further attempt
 * (LIFECYCLE L6.2), and the approvals that it may wait for (L6.3).
 */
#include "supervisor/policy_gate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "supervisor/call_internal.h"
#include "supervisor/process.h"

const struct policy *
policy_now(const struct supervisor *s)
{
	return s->policy_set != NULL ? s->policy_set : s->conf->policy;
}

static void
ask(struct supervisor *s, const struct call *c, struct policy_answer *ret)
{
	const struct policy *p = policy_now(s);
	struct listing *l = c->server->listing != NULL ? c->server->listing
						       : c->tool->listing;
	struct policy_question q = { .tenant = c->job->tenant,
		.tool = c->tool->name,
		.function = c->bare,
		.listed = l != NULL ? function_find(l, c->bare) : NULL };

	policy_ask(p, &q, ret);
}

/* L6.3: while the rule that asked stands unchanged. */
static bool
approved(const struct call *c, const struct policy_answer *a)
{
	return c->approved_rule != NULL &&
	    strcmp(c->approved_rule, a->rule) == 0;
}

static void
checked_text(const struct call *c, enum gate_at at,
    const struct policy_answer *a, bool absent, struct step *st)
{
	struct buf *b = step_words(st);

	if (at == GATE_ADMIT) {
		buf_puts(b, "policy asked at admission: ");
	} else {
		buf_puts(b, "policy asked before attempt ");
		buf_put_uint(b, c->attempts + 1);
		buf_puts(b, ": ");
	}
	if (absent) {
		buf_puts(b, "there is none, all is allowed");
		return;
	}
	if (a->number == 0) {
		buf_puts(b, "no rule matches, so ");
		buf_puts(b, policy_decision_name(a->decision));
		return;
	}
	buf_puts(b, "rule ");
	buf_put_uint(b, a->number);
	if (a->decision == POLICY_LATER) {
		buf_printf(b, " needs the annotations of %s, which are not "
			      "known before its server has started",
		    c->function);
		return;
	}
	buf_puts(b, " says ");
	buf_puts(b, policy_decision_name(a->decision));
	if (a->decision == POLICY_ASK && approved(c, a))
		buf_puts(b, ", and that was approved");
}

static void
record_checked(struct supervisor *s, const struct call *c, enum gate_at at,
    const struct policy_answer *a)
{
	struct step *st;

	/* Without a policy there is nothing to tell, but before a retry. */
	if (policy_now(s)->absent && at != GATE_AGAIN)
		return;
	st = step_new(s, STEP_POLICY_CHECKED, c->job->name);
	step_call(st, c);
	jsonw_string(
	    step_json(st), "decision", policy_decision_name(a->decision));
	if (a->number != 0)
		jsonw_uint(step_json(st), "rule", a->number);
	checked_text(c, at, a, policy_now(s)->absent, st);
	step_commit(st);
}

static void
refuse(struct supervisor *s, struct call *c, const struct policy_answer *a)
{
	char *why = a->number != 0
	    ? mem_printf("rule %zu of the policy refuses %s to the tenant %s",
		  a->number, c->function, c->job->tenant)
	    : mem_printf("no rule of the policy allows %s to the tenant %s",
		  c->function, c->job->tenant);

	call_end_idle(s, c, CALL_EV_REFUSE, REASON_REFUSED, why);
	free(why);
}

static void
note_rule(struct call *c, const struct policy_answer *a)
{
	free(c->asked_rule);
	c->asked_rule = mem_strdup(a->rule);
	c->asked_number = a->number;
}

static void
wait_for_approval(
    struct supervisor *s, struct call *c, const struct policy_answer *a)
{
	struct record facts;
	struct step *st;

	note_rule(c, a);
	queue_take(s, c);
	call_set(c, CALL_EV_ASK, "the policy wants an approval");
	call_state_facts(c, &facts);
	st = step_new(s, STEP_CALL_WAITING_APPROVAL, c->job->name);
	step_call(st, c);
	jsonw_string(step_json(st), "function", c->function);
	jsonw_string(step_json(st), "tenant", c->job->tenant);
	jsonw_uint(step_json(st), "rule", a->number);
	jsonw_span(step_json(st), "timeout", c->conf->approval_timeout);
	step_text(st, "call c%" PRIu64 " of %s waits for an approval (rule "
		      "%zu): oz0 approve c%" PRIu64 ", or deny",
	    c->number, c->function, a->number, c->number);
	step_commit_facts(st, &facts);
	deadline_after(s, &c->retry, c->conf->approval_timeout);
}

static enum gate
asked(struct supervisor *s, struct call *c, enum gate_at at,
    const struct policy_answer *a)
{
	if (approved(c, a))
		return GATE_GO;
	if (at != GATE_AGAIN) {
		wait_for_approval(s, c, a);
		return GATE_WAIT;
	}
	call_end_idle(s, c, CALL_EV_REFUSE, REASON_APPROVAL_NEEDED,
	    "the policy now wants an approval before the next attempt");
	return GATE_ENDED;
}

enum gate
gate_ask(struct supervisor *s, struct call *c, enum gate_at at)
{
	struct policy_answer a;
	enum gate g = GATE_GO;

	if (c->tool->killed) {
		call_end_idle(s, c, CALL_EV_REFUSE, REASON_KILLED,
		    "the kill switch of its tool is on (oz0 unkill)");
		return GATE_ENDED;
	}
	if (policy_now(s) == NULL)
		return GATE_GO;
	ask(s, c, &a);
	record_checked(s, c, at, &a);
	switch (a.decision) {
	case POLICY_ALLOW:
	case POLICY_LATER: /* asked again once its server has listed it */
		break;
	case POLICY_ASK:
		g = asked(s, c, at, &a);
		break;
	case POLICY_REFUSE:
		refuse(s, c, &a);
		g = GATE_ENDED;
		break;
	}
	policy_answer_clear(&a);
	return g;
}

void
gate_timeout(struct supervisor *s, struct call *c)
{
	struct call_end e = { .ev = CALL_EV_REFUSE,
		.reason = REASON_APPROVAL_NEEDED,
		.message = "nobody approved it in time",
		.outcome = c->attempts == 0 ? OUTCOME_NOT_MADE : c->outcome,
		.limit = "approval_timeout",
		.limit_value = span_seconds(c->conf->approval_timeout) };

	call_end(s, c, &e);
}

/* ---- the operator's word ---- */

static bool
waits(const struct call *c, struct fault *f)
{
	if (c->state == CALL_WAITING_APPROVAL)
		return true;
	if (call_state_ended(c->state)) {
		fault_set(f, FAULT_ALREADY_ENDED, "call c%" PRIu64
			  " has ended: %s",
		    c->number, call_state_name(c->state));
		memcpy(f->state, call_state_name(c->state),
		    strlen(call_state_name(c->state)) + 1);
		return false;
	}
	return fault_set(f, FAULT_NOT_ALLOWED,
	    "call c%" PRIu64 " is %s and waits for no approval", c->number,
	    call_state_name(c->state));
}

static void
go_on(struct supervisor *s, struct call *c, const char *why)
{
	deadline_clear(s, &c->retry);
	call_set(c, CALL_EV_APPROVE, why);
	queue_put(s, c);
}

bool
call_approve(struct supervisor *s, struct call *c, struct fault *f)
{
	struct record facts = { .type = REC_APPROVAL };
	struct step *st;

	if (!waits(c, f))
		return false;
	free(c->approved_rule);
	c->approved_rule = mem_strdup(c->asked_rule);
	facts.u.approval = (struct rec_approval) {
		.job = c->job->name, .key = c->key, .rule = c->approved_rule
	};
	job_approval(c->job, c->key, c->approved_rule);
	st = step_new(s, STEP_CALL_APPROVED, c->job->name);
	step_call(st, c);
	step_asked(st);
	step_text(st, "call c%" PRIu64 " was approved", c->number);
	step_commit_facts(st, &facts);
	go_on(s, c, "approved");
	return true;
}

bool
call_deny(struct supervisor *s, struct call *c, struct fault *f)
{
	struct step *st;

	if (!waits(c, f))
		return false;
	st = step_new(s, STEP_CALL_DENIED, c->job->name);
	step_call(st, c);
	step_asked(st);
	step_text(st, "call c%" PRIu64 " was denied", c->number);
	step_commit(st);
	call_end_idle(s, c, CALL_EV_REFUSE, REASON_DENIED,
	    "an operator denied it");
	return true;
}

/* ---- changes ---- */

/* A call that waits under a policy that has changed. */
static void
look_again(struct supervisor *s, struct call *c)
{
	struct policy_answer a;

	ask(s, c, &a);
	if (a.decision == POLICY_REFUSE) {
		refuse(s, c, &a);
	} else if (a.decision != POLICY_ASK || approved(c, &a)) {
		go_on(s, c, "the policy changed");
	} else if (strcmp(a.rule, c->asked_rule) != 0) {
		struct step *st =
		    step_new(s, STEP_CALL_WAITING_APPROVAL, c->job->name);

		note_rule(c, &a);
		step_call(st, c);
		jsonw_uint(step_json(st), "rule", a.number);
		step_text(st, "call c%" PRIu64 " waits for an approval under "
			      "rule %zu, as the policy changed",
		    c->number, a.number);
		step_commit(st);
	}
	policy_answer_clear(&a);
}

void
policy_changed(struct supervisor *s, const char *from)
{
	struct step *st = step_new(s, STEP_POLICY_CHANGED, NULL);
	const struct policy *p = policy_now(s);
	struct call *c, *next;

	jsonw_uint(step_json(st), "rules", p->nrules);
	step_asked(st);
	if (p->absent)
		step_text(st, "the policy is %s: none, all is allowed", from);
	else
		step_text(st, "the policy is %s: %zu rule%s", from, p->nrules,
		    p->nrules == 1 ? "" : "s");
	step_commit(st);
	RB_FOREACH_SAFE(c, call_tree, &s->calls, next)
		if (c->state == CALL_WAITING_APPROVAL)
			look_again(s, c);
}

void
policy_set(struct supervisor *s, struct policy *p)
{
	policy_free(s->policy_set);
	s->policy_set = p;
	policy_changed(s,
	    p != NULL ? "what was set over the control socket"
		      : "the configuration's");
}

/* ---- the kill switch ---- */

static void
record_switch(struct supervisor *s, struct tool *t, const char *text)
{
	struct record facts = { .type = REC_TOOL };
	struct step *st = step_new(
	    s, t->killed ? STEP_TOOL_KILLED : STEP_TOOL_UNKILLED, NULL);

	facts.u.tool =
	    (struct rec_tool) { .tool = t->name, .killed = t->killed };
	jsonw_string(step_json(st), "tool", t->name);
	step_asked(st);
	step_text(st, "tool %s: %s", t->name, text);
	step_commit_facts(st, &facts);
}

void
tool_kill(struct supervisor *s, struct tool *t, bool with_server)
{
	struct call *c, *next;

	if (!t->killed) {
		t->killed = true;
		record_switch(s, t, "the kill switch is on");
	}
	RB_FOREACH_SAFE(c, call_tree, &s->calls, next)
		if (c->tool == t)
			call_stop(s, c, REASON_KILLED);
	if (with_server && t->plugin != NULL)
		server_stop(s, t->plugin, t->conf->stop_timeout,
		    "the kill switch of its tool");
}

void
tool_unkill(struct supervisor *s, struct tool *t)
{
	if (!t->killed)
		return;
	t->killed = false;
	record_switch(s, t, "the kill switch is off");
}
