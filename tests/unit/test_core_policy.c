/*
 * Policy, approvals and the kill switch, rule by rule, on the core alone.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "supervisor/call_internal.h"
#include "supervisor/call_table.h"
#include "supervisor/policy_gate.h"
#include "tests/unit/fake_node.h"

static struct fake_node *n;
static struct fault f;

static void
setup(void)
{
	n = fake_node_new();
	n->plugin_tool.approval_timeout = SPAN_S(3600);
	n->job_tool.approval_timeout = SPAN_S(3600);
}

static void
teardown(void)
{
	policy_free(n->s.policy_set);
	policy_free(n->conf.policy);
	fake_node_free(n);
}

static struct policy_rule *
rule(struct policy *p, const char *tenant, const char *tool,
    const char *function, enum policy_decision d)
{
	struct policy_rule *r = policy_add(p);

	r->tenant = mem_strdup(tenant);
	r->tool = mem_strdup(tool);
	r->function = mem_strdup(function);
	r->decision = d;
	return r;
}

static void
one_rule(const char *function, enum policy_decision d)
{
	struct policy *p = policy_new(false);

	rule(p, NULL, NULL, function, d);
	rule(p, NULL, NULL, NULL, POLICY_ALLOW);
	policy_set(&n->s, p);
}

static enum policy_decision
decide(const struct policy *p, const char *tenant, const char *function,
    const struct function *listed)
{
	struct policy_question q = { tenant, "shared", function, listed };
	struct policy_answer a;

	policy_ask(p, &q, &a);
	policy_answer_clear(&a);
	return a.decision;
}

START_TEST(L6_1_first_match_decides_and_none_refuses)
{
	struct policy *p = policy_new(false);

	ck_assert_int_eq(decide(p, "t", "x", NULL), POLICY_REFUSE);
	rule(p, "acme", NULL, "refund_*", POLICY_ASK);
	rule(p, "acme", "shared", NULL, POLICY_ALLOW);
	rule(p, "acme", NULL, NULL, POLICY_REFUSE);
	ck_assert_int_eq(decide(p, "acme", "refund_all", NULL), POLICY_ASK);
	ck_assert_int_eq(decide(p, "acme", "read", NULL), POLICY_ALLOW);
	ck_assert_int_eq(decide(p, "other", "read", NULL), POLICY_REFUSE);
	policy_free(p);
	p = policy_new(true);
	ck_assert_int_eq(decide(p, "t", "x", NULL), POLICY_ALLOW);
	policy_free(p);
}
END_TEST

START_TEST(L6_1_annotations_have_the_defaults_of_mcp)
{
	struct function silent = { .name = (char *)"f" };
	struct function reads = { .name = (char *)"f",
		.read_only = WIRE_HINT_TRUE,
		.destructive = WIRE_HINT_TRUE };
	struct function mild = { .name = (char *)"f",
		.destructive = WIRE_HINT_FALSE };
	struct policy *p = policy_new(false);

	rule(p, NULL, NULL, NULL, POLICY_REFUSE)->want[POLICY_DESTRUCTIVE] =
	    POLICY_TRUE;
	rule(p, NULL, NULL, NULL, POLICY_ALLOW);
	ck_assert_int_eq(decide(p, "t", "f", NULL), POLICY_LATER);
	ck_assert_int_eq(decide(p, "t", "f", &silent), POLICY_REFUSE);
	ck_assert_int_eq(decide(p, "t", "f", &reads), POLICY_ALLOW);
	ck_assert_int_eq(decide(p, "t", "f", &mild), POLICY_ALLOW);
	policy_free(p);
}
END_TEST

static struct call *
start(const char *activity, const char *function)
{
	struct job *j = job_find(&n->s, "j1");
	struct call *c;

	if (j == NULL)
		j = fake_job(n, "j1");
	if (n->plugin.state == SERVER_STOPPED)
		fake_ready(n, &n->plugin);
	c = fake_call(n, j, activity, function, "{}", &f);
	ck_assert_ptr_nonnull(c);
	return c;
}

START_TEST(L6_2_refused_at_admission)
{
	struct call *c;

	one_rule("once", POLICY_REFUSE);
	c = start("a", "shared.once");
	ck_assert_int_eq(c->state, CALL_REFUSED);
	ck_assert_int_eq(c->reason, REASON_REFUSED);
	ck_assert_int_eq(c->outcome, OUTCOME_NOT_MADE);
	ck_assert_uint_eq(fake_requests(c), 0);
	ck_assert_uint_eq(n->s.queued, 0);
}
END_TEST

START_TEST(L6_2_refused_when_it_leaves_the_queue)
{
	struct job *j = fake_job(n, "j1");
	struct call *c;

	one_rule("nothing", POLICY_REFUSE);
	c = fake_call(n, j, "a", "own.once", "{}", &f);
	ck_assert_int_eq(c->state, CALL_QUEUED);
	one_rule("once", POLICY_REFUSE);
	fake_ready(n, fake_job_server(j));
	ck_assert_int_eq(c->state, CALL_REFUSED);
	ck_assert_uint_eq(fake_requests(c), 0);
}
END_TEST

static struct call *
lost(const char *activity, const char *function)
{
	struct call *c = start(activity, function);

	ck_assert_int_eq(c->state, CALL_RUNNING);
	call_stop(&n->s, c, REASON_LOST);
	fake_pass(n, SPAN_S(3));
	ck_assert_int_eq(c->state, CALL_LOST);
	ck_assert_int_eq(c->outcome, OUTCOME_UNKNOWN);
	return c;
}

/* What the lost one may have made is not unmade by a refusal. */
START_TEST(L2_2_made_again_and_refused_is_not_called_not_made)
{
	struct call *c = lost("a", "shared.write"), *again;

	one_rule("write", POLICY_REFUSE);
	again = start("a", "shared.write");
	ck_assert_ptr_ne(again, c);
	ck_assert_str_eq(again->key, c->key);
	ck_assert_int_eq(again->state, CALL_REFUSED);
	ck_assert_int_eq(again->outcome, OUTCOME_UNKNOWN);
}
END_TEST

/* An activity stays taken when making it again is not admitted. */
START_TEST(L2_2_activity_stays_taken_where_the_node_is_full)
{
	struct call *c = lost("a", "shared.write");

	n->conf.queue = 0;
	ck_assert_ptr_null(
	    fake_call(n, c->job, "a", "shared.write", "{}", &f));
	ck_assert_int_eq(f.reason, FAULT_NODE_FULL);
	n->conf.queue = 10;
	ck_assert_ptr_null(
	    fake_call(n, c->job, "a", "shared.write", "{\"x\":1}", &f));
	ck_assert_int_eq(f.reason, FAULT_BUSY_ACTIVITY);
}
END_TEST

/* The room that a refused call came for is the next one's (L1.7). */
START_TEST(L6_2_a_refused_call_leaves_its_room_to_the_next)
{
	struct call *first, *refused, *last;

	n->plugin_tool.max_running = 1;
	first = start("a", "shared.once");
	refused = start("b", "shared.write");
	last = start("c", "shared.once");
	ck_assert_int_eq(first->state, CALL_RUNNING);
	ck_assert_int_eq(last->state, CALL_QUEUED);
	one_rule("write", POLICY_REFUSE);
	fake_answer(n, first, "{}");
	ck_assert_int_eq(refused->state, CALL_REFUSED);
	ck_assert_int_eq(last->state, CALL_RUNNING);
}
END_TEST

/* A rule on annotations cannot decide before the server has listed them. */
START_TEST(L6_2_annotations_decide_once_they_are_known)
{
	struct job *j = fake_job(n, "j1");
	struct policy *p = policy_new(false);
	struct call *c;

	rule(p, NULL, NULL, NULL, POLICY_REFUSE)->want[POLICY_READ_ONLY] =
	    POLICY_FALSE;
	rule(p, NULL, NULL, NULL, POLICY_ALLOW);
	policy_set(&n->s, p);
	c = fake_call(n, j, "a", "own.once", "{}", &f);
	ck_assert_int_eq(c->state, CALL_QUEUED);
	fake_ready(n, fake_job_server(j));
	ck_assert_int_eq(c->state, CALL_REFUSED);
}
END_TEST

START_TEST(L3_6_asked_again_before_each_retry)
{
	struct attempt_end end = { .how = WIRE_END_SERVER, .sent = true,
		.retry_after = -1 };
	struct call *a, *b;

	one_rule("nothing", POLICY_REFUSE);
	a = start("a", "shared.write");
	fake_end(n, a, &end);
	ck_assert_int_eq(a->state, CALL_WAITING_RETRY);
	one_rule("write", POLICY_REFUSE);
	fake_pass(n, SPAN_S(30));
	ck_assert_int_eq(a->state, CALL_REFUSED);
	ck_assert_int_eq(a->reason, REASON_REFUSED);
	ck_assert_int_eq(a->outcome, OUTCOME_UNKNOWN); /* of its last attempt */
	ck_assert_uint_eq(fake_requests(a), 1);

	one_rule("nothing", POLICY_REFUSE);
	b = start("b", "shared.write");
	fake_end(n, b, &end);
	one_rule("write", POLICY_ASK);
	fake_pass(n, SPAN_S(30));
	ck_assert_int_eq(b->state, CALL_REFUSED);
	ck_assert_int_eq(b->reason, REASON_APPROVAL_NEEDED);
}
END_TEST

START_TEST(L6_3_waits_without_a_slot_until_approved)
{
	struct call *c;

	one_rule("write", POLICY_ASK);
	c = start("a", "shared.write");
	ck_assert_int_eq(c->state, CALL_WAITING_APPROVAL);
	ck_assert_uint_eq(n->s.running, 0);
	fake_pass(n, SPAN_S(3599));
	ck_assert_int_eq(c->state, CALL_WAITING_APPROVAL);
	ck_assert(call_approve(&n->s, c, &f));
	fake_turn(n);
	ck_assert_int_eq(c->state, CALL_RUNNING);
	ck_assert(!call_approve(&n->s, c, &f));
	ck_assert_int_eq(f.reason, FAULT_NOT_ALLOWED);
	/* It holds for a retry while the rule stands. */
	fake_end(n, c, &(struct attempt_end) { .how = WIRE_END_SERVER,
		       .sent = true, .retry_after = -1 });
	fake_pass(n, SPAN_S(30));
	ck_assert_int_eq(c->state, CALL_RUNNING);
	fake_answer(n, c, "{}");
	ck_assert_int_eq(c->state, CALL_COMPLETED);
}
END_TEST

START_TEST(L6_3_denied_or_nobody_answers)
{
	struct call *a, *b;

	one_rule("write", POLICY_ASK);
	a = start("a", "shared.write");
	b = start("b", "shared.write");
	ck_assert(call_deny(&n->s, a, &f));
	ck_assert_int_eq(a->state, CALL_REFUSED);
	ck_assert_int_eq(a->reason, REASON_DENIED);
	fake_pass(n, SPAN_S(3600));
	ck_assert_int_eq(b->state, CALL_REFUSED);
	ck_assert_int_eq(b->reason, REASON_APPROVAL_NEEDED);
	ck_assert_uint_eq(n->s.queued, 0);
	ck_assert(!call_deny(&n->s, b, &f));
	ck_assert_int_eq(f.reason, FAULT_ALREADY_ENDED);
}
END_TEST

START_TEST(L6_3_an_approval_lapses_when_its_rule_changes)
{
	struct policy *p;
	struct call *c;

	one_rule("write", POLICY_ASK);
	c = start("a", "shared.write");
	ck_assert(call_approve(&n->s, c, &f));
	fake_turn(n);
	fake_end(n, c, &(struct attempt_end) { .how = WIRE_END_SERVER,
		       .sent = true, .retry_after = -1 });
	p = policy_new(false);
	rule(p, NULL, "shared", "write", POLICY_ASK);
	policy_set(&n->s, p);
	fake_pass(n, SPAN_S(30));
	ck_assert_int_eq(c->state, CALL_REFUSED);
	ck_assert_int_eq(c->reason, REASON_APPROVAL_NEEDED);
}
END_TEST

START_TEST(L6_3_a_new_policy_is_seen_by_those_that_wait)
{
	struct call *a, *b;

	one_rule("write", POLICY_ASK);
	a = start("a", "shared.write");
	one_rule("nothing", POLICY_ASK);
	fake_turn(n);
	ck_assert_int_eq(a->state, CALL_RUNNING);
	one_rule("write", POLICY_ASK);
	b = start("b", "shared.write");
	one_rule("write", POLICY_REFUSE);
	ck_assert_int_eq(b->state, CALL_REFUSED);
}
END_TEST

/* Issue: it holds over a restart for the call started again under its key. */
START_TEST(L6_3_an_approval_holds_for_the_key)
{
	struct call *a, *b;

	one_rule("write", POLICY_ASK);
	a = start("a", "shared.write");
	ck_assert(call_approve(&n->s, a, &f));
	fake_turn(n);
	n->s.state = NODE_STOPPING;
	jobs_stop(&n->s);
	fake_pass(n, SPAN_S(2));
	ck_assert_int_eq(a->state, CALL_LOST);
	n->s.state = NODE_READY;
	fake_job(n, "j1");
	b = start("a", "shared.write");
	ck_assert_ptr_ne(a, b);
	ck_assert_int_eq(b->state, CALL_RUNNING);
}
END_TEST

START_TEST(L1_9_kill_switch)
{
	struct call *running = start("a", "shared.write"), *waiting, *fresh;
	struct tool *t = tool_find(&n->s, "shared");

	waiting = start("b", "shared.write");
	fake_end(n, waiting, &(struct attempt_end) { .how = WIRE_END_SERVER,
		       .sent = true, .retry_after = -1 });
	tool_kill(&n->s, t, false);
	fake_turn(n);
	ck_assert_int_eq(waiting->state, CALL_REFUSED); /* L1.10: at once */
	ck_assert_int_eq(waiting->reason, REASON_KILLED);
	ck_assert_int_eq(waiting->outcome, OUTCOME_UNKNOWN);
	ck_assert_int_eq(running->state, CALL_CANCELLING);
	fake_pass(n, SPAN_S(2));
	ck_assert_int_eq(running->state, CALL_CANCELED);
	ck_assert_int_eq(running->reason, REASON_KILLED);
	fresh = start("c", "shared.read");
	ck_assert_int_eq(fresh->state, CALL_REFUSED);
	ck_assert_int_eq(fresh->reason, REASON_KILLED);
	ck_assert(!fake_stopping(&n->plugin));
	tool_kill(&n->s, t, true);
	ck_assert(fake_stopping(&n->plugin));
	fake_gone(n, &n->plugin);
	tool_unkill(&n->s, t);
	fake_ready(n, &n->plugin);
	ck_assert_int_eq(start("d", "shared.read")->state, CALL_RUNNING);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("policy");
	TCase *t = tcase_create("policy");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 0);
	tcase_add_test(t, L6_1_first_match_decides_and_none_refuses);
	tcase_add_test(t, L6_1_annotations_have_the_defaults_of_mcp);
	tcase_add_test(t, L6_2_refused_at_admission);
	tcase_add_test(t, L6_2_refused_when_it_leaves_the_queue);
	tcase_add_test(t, L2_2_made_again_and_refused_is_not_called_not_made);
	tcase_add_test(t, L2_2_activity_stays_taken_where_the_node_is_full);
	tcase_add_test(t, L6_2_a_refused_call_leaves_its_room_to_the_next);
	tcase_add_test(t, L6_2_annotations_decide_once_they_are_known);
	tcase_add_test(t, L3_6_asked_again_before_each_retry);
	tcase_add_test(t, L6_3_waits_without_a_slot_until_approved);
	tcase_add_test(t, L6_3_denied_or_nobody_answers);
	tcase_add_test(t, L6_3_an_approval_lapses_when_its_rule_changes);
	tcase_add_test(t, L6_3_a_new_policy_is_seen_by_those_that_wait);
	tcase_add_test(t, L6_3_an_approval_holds_for_the_key);
	tcase_add_test(t, L1_9_kill_switch);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
