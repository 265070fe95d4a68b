/*
 * How calls are stopped: late answers, stops that nobody confirmed, and which
 * of several causes ends a call.  On the core alone (fake_node.h).
 */
#include <check.h>

#include "supervisor/policy_gate.h"
#include "tests/unit/fake_node.h"

static struct fake_node *n;
static struct fault f;

static void
setup(void)
{
	n = fake_node_new();
}

static void
teardown(void)
{
	fake_node_free(n);
}

START_TEST(L1_5_late_answer_is_dropped_and_makes_it_made)
{
	struct call *c = fake_running(n, "a", "shared.once");

	ck_assert(call_cancel(&n->s, c, &f));
	fake_turn(n);
	ck_assert_int_eq(c->state, CALL_CANCELLING);
	ck_assert(call_cancel(&n->s, c, &f)); /* L1.6: harmless */
	ck_assert_uint_eq(fake_cancels(c), 1);
	fake_answer(n, c, "{\"content\":[]}");
	ck_assert_int_eq(c->state, CALL_CANCELED);
	ck_assert_int_eq(c->stopped, STOPPED_ANSWERED);
	ck_assert_int_eq(c->outcome, OUTCOME_MADE);
	fake_answer_has(c, "\"error\":{\"reason\":\"canceled\"");
	ck_assert_uint_eq(fake_events("late_answer"), 1);
	ck_assert(!call_cancel(&n->s, c, &f));
	ck_assert_int_eq(f.reason, FAULT_ALREADY_ENDED);
	ck_assert_str_eq(f.state, "canceled");
}
END_TEST

/* A call whose stop was not confirmed, and what its answer would be. */
static struct call *
given_up(struct attempt_late *ret)
{
	struct call *c = fake_running(n, "a", "shared.once");

	*ret = (struct attempt_late) { "j1", c->number, 1 };
	ck_assert(call_cancel(&n->s, c, &f));
	ck_assert(!fake_given_up(c));
	fake_pass(n, SPAN_S(3));
	ck_assert_int_eq(c->stopped, STOPPED_NOT_CONFIRMED);
	ck_assert(fake_given_up(c));
	return c;
}

static const struct attempt_end late_result = { .how = WIRE_END_RESULT,
	.sent = true,
	.after_cancel = true,
	.retry_after = -1,
	.payload = "{}",
	.payload_len = 2 };

START_TEST(L1_5_answer_after_an_unconfirmed_stop_is_traced)
{
	struct attempt_late l;
	struct call *c = given_up(&l);

	attempt_answered_late(&n->s, &l, &late_result);
	fake_turn(n);
	ck_assert_uint_eq(fake_events("late_answer"), 1);
	ck_assert_uint_eq(fake_events("its effect stands"), 1);
	ck_assert_int_eq(c->state, CALL_CANCELED);
	ck_assert_int_eq(c->outcome, OUTCOME_UNKNOWN); /* recorded already */
	fake_answer_has(c, "\"error\":{\"reason\":\"canceled\"");
}
END_TEST

/* The server ended, or the worker: that is no answer. */
START_TEST(L1_5_no_answer_after_an_unconfirmed_stop)
{
	struct attempt_end e = { .how = WIRE_END_SERVER, .retry_after = -1 };
	struct attempt_late l;

	given_up(&l);
	attempt_answered_late(&n->s, &l, &e);
	e.how = WIRE_END_CANCELED;
	attempt_answered_late(&n->s, &l, &e);
	ck_assert_uint_eq(fake_events("late_answer"), 0);
}
END_TEST

START_TEST(L1_5_late_answer_of_an_ended_job)
{
	struct attempt_late l;
	struct call *c = given_up(&l);

	ck_assert(job_cancel(&n->s, c->job, &f));
	fake_turn(n);
	ck_assert_int_eq(job_find(&n->s, "j1")->state, JOB_CANCELED);
	attempt_answered_late(&n->s, &l, &late_result);
	ck_assert_uint_eq(fake_events("late_answer"), 1);
}
END_TEST

/* A job that is forgotten has no trace; nor has another of its name this. */
START_TEST(L1_5_late_answer_of_a_forgotten_job)
{
	struct attempt_late l;
	struct call *c = given_up(&l);

	ck_assert(job_cancel(&n->s, c->job, &f));
	fake_turn(n);
	ck_assert(job_forget(&n->s, "j1", &f));
	attempt_answered_late(&n->s, &l, &late_result);
	fake_job(n, "j1");
	attempt_answered_late(&n->s, &l, &late_result);
	ck_assert_uint_eq(fake_events("late_answer"), 0);
	/* its own calls come later */
	l.call = ++n->s.last_call;
	attempt_answered_late(&n->s, &l, &late_result);
	ck_assert_uint_eq(fake_events("late_answer"), 1);
}
END_TEST

/* L1.10: while the call waits for its next attempt it is known to be made. */
START_TEST(L1_10_late_result_before_the_next_attempt)
{
	struct call *c = fake_running(n, "a", "shared.read");
	struct attempt_late l = { "j1", c->number, 1 };
	struct attempt_end e = late_result;

	fake_pass(n, SPAN_S(60));
	ck_assert(fake_given_up(c));
	ck_assert_int_eq(c->state, CALL_WAITING_RETRY);
	e.busy = WIRE_BUSY_YES;
	e.is_error = true;
	attempt_answered_late(&n->s, &l, &e);
	ck_assert_int_eq(c->outcome, OUTCOME_UNKNOWN);
	attempt_answered_late(&n->s, &l, &late_result);
	ck_assert_int_eq(c->outcome, OUTCOME_MADE);
	ck_assert_int_eq(c->state, CALL_WAITING_RETRY);
	fake_pass(n, SPAN_S(1)); /* the second one is made all the same */
	ck_assert_uint_eq(fake_requests(c), 2);
	ck_assert_int_eq(c->state, CALL_RUNNING);
	attempt_answered_late(&n->s, &l, &late_result);
	ck_assert_int_eq(c->state, CALL_RUNNING);
	ck_assert_uint_eq(fake_events("late_answer"), 3);
}
END_TEST

/* A worker that hangs says nothing of what it has written. */
START_TEST(L1_10_not_confirmed_is_never_not_made)
{
	struct call *c = fake_running(n, "a", "shared.once");

	c->attempt->sent = false;
	ck_assert(call_cancel(&n->s, c, &f));
	fake_pass(n, SPAN_S(3));
	ck_assert_int_eq(c->state, CALL_CANCELED);
	ck_assert_int_eq(c->stopped, STOPPED_NOT_CONFIRMED);
	ck_assert_int_eq(c->outcome, OUTCOME_UNKNOWN);
}
END_TEST

/* The first cause stands, but for a stronger one, and the trace has each. */
START_TEST(L1_10_of_two_causes)
{
	struct call *c = fake_running(n, "a", "shared.read");

	fake_pass(n, SPAN_S(59));
	ck_assert_int_eq(c->stop_reason, REASON_TIMEOUT);
	ck_assert_uint_eq(fake_events("\"event\":\"call_cancelling\""), 1);
	ck_assert(call_cancel(&n->s, c, &f));
	ck_assert(call_cancel(&n->s, c, &f));
	ck_assert_uint_eq(fake_events("\"event\":\"call_cancelling\""), 2);
	tool_kill(&n->s, &n->tools[1], false);
	ck_assert_uint_eq(fake_events("\"event\":\"call_cancelling\""), 2);
	fake_pass(n, SPAN_S(1));
	ck_assert_int_eq(c->state, CALL_CANCELED);
	ck_assert_int_eq(c->reason, REASON_CANCELED);
}
END_TEST

START_TEST(L1_10_canceled_after_the_kill_switch)
{
	struct call *a = fake_running(n, "a", "shared.read"), *b;

	b = fake_call(n, a->job, "b", "shared.read", NULL, &f);
	ck_assert_int_eq(b->state, CALL_RUNNING);
	tool_kill(&n->s, &n->tools[1], false);
	ck_assert(call_cancel(&n->s, a, &f));
	ck_assert_int_eq(a->stop_reason, REASON_KILLED);
	fake_pass(n, SPAN_S(2));
	ck_assert_int_eq(a->state, CALL_CANCELED);
	ck_assert_int_eq(a->reason, REASON_KILLED);

	a = fake_call(n, b->job, "c", "shared.read", NULL, &f);
	ck_assert_int_eq(a->state, CALL_REFUSED);
}
END_TEST

START_TEST(L1_9_the_node_stops_while_a_call_is_being_stopped)
{
	struct call *c = fake_running(n, "a", "shared.read");

	ck_assert(call_cancel(&n->s, c, &f));
	n->s.state = NODE_STOPPING;
	jobs_stop(&n->s);
	ck_assert_uint_eq(fake_events("\"event\":\"call_cancelling\""), 2);
	fake_pass(n, SPAN_S(2));
	ck_assert_int_eq(c->state, CALL_LOST);
	ck_assert_int_eq(c->reason, REASON_LOST);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("core stop");
	TCase *t = tcase_create("stop");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 0);
	tcase_add_test(t, L1_5_late_answer_is_dropped_and_makes_it_made);
	tcase_add_test(t, L1_5_answer_after_an_unconfirmed_stop_is_traced);
	tcase_add_test(t, L1_5_no_answer_after_an_unconfirmed_stop);
	tcase_add_test(t, L1_5_late_answer_of_an_ended_job);
	tcase_add_test(t, L1_5_late_answer_of_a_forgotten_job);
	tcase_add_test(t, L1_10_late_result_before_the_next_attempt);
	tcase_add_test(t, L1_10_not_confirmed_is_never_not_made);
	tcase_add_test(t, L1_10_of_two_causes);
	tcase_add_test(t, L1_10_canceled_after_the_kill_switch);
	tcase_add_test(t, L1_9_the_node_stops_while_a_call_is_being_stopped);
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
