/*
 * How an attempt ends and whether there is another: its limits, the errors of
 * servers and workers, busy results.  On the core alone (fake_node.h).
 */
#include <check.h>

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

static const struct attempt_end server_ended = { .how = WIRE_END_SERVER,
	.sent = true,
	.retry_after = -1,
	.message = "it ended" };

START_TEST(L3_1_once_is_sent_once)
{
	struct call *c = fake_running(n, "a", "shared.once");

	fake_end(n, c, &server_ended);
	ck_assert_int_eq(c->state, CALL_FAILED);
	ck_assert_int_eq(c->outcome, OUTCOME_UNKNOWN);
	ck_assert_uint_eq(c->attempts, 1);
	fake_answer_has(c, "\"error\":{\"reason\":\"server_ended\"");
	fake_pass(n, SPAN_S(100));
	ck_assert_uint_eq(fake_requests(c), 1);
}
END_TEST

/* A call with a result and one that fails by the server's own words. */
static void
with_payloads(void)
{
	static const struct attempt_end error = { .how = WIRE_END_RPC_ERROR,
		.sent = true,
		.retry_after = -1,
		.code = -32602,
		.message = "word-of-server" };
	struct job *j = fake_job(n, "j1");
	struct call *c;

	fake_ready(n, &n->plugin);
	c = fake_call(n, j, "a", "shared.once", "{\"x\":\"argument\"}", &f);
	fake_answer(n, c, "{\"content\":[\"result-of-a\"]}");
	fake_answer_has(c, "result-of-a");
	c = fake_call(n, j, "b", "shared.once", "{\"x\":\"argument\"}", &f);
	fake_end(n, c, &error);
	fake_answer_has(c, "word-of-server");
	ck_assert_uint_eq(fake_events("JSON-RPC error -32602"), 2);
}

START_TEST(L8_2_payload_is_not_traced)
{
	with_payloads();
	ck_assert_uint_eq(fake_events("argument"), 0);
	ck_assert_uint_eq(fake_events("result-of-a"), 0);
	ck_assert_uint_eq(fake_events("word-of-server"), 0);
}
END_TEST

START_TEST(L8_2_payload_is_traced_where_the_operator_says_so)
{
	n->plugin_tool.trace_payload = true;
	with_payloads();
	ck_assert_uint_eq(fake_events("\"arguments\":{\"x\":\"argument\"}"), 2);
	ck_assert_uint_eq(
	    fake_events("\"result\":{\"content\":[\"result-of-a\"]}"), 1);
	ck_assert_uint_eq(fake_events("word-of-server"), 2);
}
END_TEST

START_TEST(L3_2_repeatable_is_sent_max_attempts_times)
{
	struct call *c = fake_running(n, "a", "shared.write");

	for (unsigned i = 1; i < 3; i++) {
		fake_end(n, c, &server_ended);
		ck_assert_int_eq(c->state, CALL_WAITING_RETRY);
		ck_assert_ptr_null(c->attempt); /* L3.9: no slot */
		ck_assert_uint_eq(n->s.running, 0);
		ck_assert_uint_eq(n->s.queued, 1);
		fake_pass(n, SPAN_S(30));
		ck_assert_int_eq(c->state, CALL_RUNNING);
		ck_assert_uint_eq(fake_requests(c), i + 1);
	}
	fake_end(n, c, &server_ended);
	ck_assert_int_eq(c->state, CALL_FAILED);
	ck_assert_uint_eq(c->attempts, 3);
	ck_assert_uint_eq(fake_events("started over: not a remote server"), 2);
}
END_TEST

START_TEST(L3_5_attempt_stops_before_its_limit)
{
	struct call *c = fake_running(n, "a", "shared.once");

	fake_pass(n, SPAN_MS(57999));
	ck_assert_int_eq(c->state, CALL_RUNNING);
	fake_pass(n, SPAN_MS(1));
	ck_assert_int_eq(c->state, CALL_CANCELLING);
	ck_assert_uint_eq(fake_cancels(c), 1);
	fake_pass(n, SPAN_MS(1999));
	ck_assert_int_eq(c->state, CALL_CANCELLING);
	fake_pass(n, SPAN_MS(1));
	ck_assert_int_eq(c->state, CALL_FAILED);
	ck_assert_int_eq(c->stopped, STOPPED_NOT_CONFIRMED);
	fake_answer_has(c, "\"limit\":\"timeout\",\"limit_s\":60");
}
END_TEST

START_TEST(L3_5_margin_of_a_short_limit_is_a_tenth)
{
	struct call *c;

	n->plugin_tool.timeout = SPAN_S(10);
	c = fake_running(n, "a", "shared.once");
	fake_pass(n, SPAN_MS(8999));
	ck_assert_int_eq(c->state, CALL_RUNNING);
	fake_pass(n, SPAN_MS(1));
	ck_assert_int_eq(c->state, CALL_CANCELLING);
	fake_pass(n, SPAN_S(1));
	ck_assert_int_eq(c->state, CALL_FAILED);
}
END_TEST

START_TEST(L3_5_held_time_is_credited)
{
	struct call *c = fake_running(n, "a", "shared.once");

	fake_pass(n, SPAN_S(50));
	attempts_credit(&n->s, SPAN_S(30));
	fake_pass(n, SPAN_S(37));
	ck_assert_int_eq(c->state, CALL_RUNNING);
	fake_pass(n, SPAN_S(1));
	ck_assert_int_eq(c->state, CALL_CANCELLING);
}
END_TEST

START_TEST(L3_5_held_time_is_credited_to_the_call_timeout)
{
	struct call *c;

	n->plugin_tool.call_timeout = SPAN_S(70);
	c = fake_running(n, "a", "shared.read");
	fake_pass(n, SPAN_S(59));
	ck_assert_int_eq(c->state, CALL_CANCELLING);
	attempts_credit(&n->s, SPAN_S(20));
	fake_pass(n, SPAN_S(1)); /* stopping goes on while the node holds */
	ck_assert_int_eq(c->state, CALL_WAITING_RETRY);
	attempts_credit(&n->s, SPAN_S(10));
	fake_pass(n, SPAN_S(37)); /* of 100 s, and the margin is 2 s */
	ck_assert_int_eq(c->state, CALL_RUNNING);
	ck_assert_uint_eq(c->attempts, 2);
	fake_pass(n, SPAN_S(1));
	ck_assert_int_eq(c->state, CALL_CANCELLING);
	fake_pass(n, SPAN_S(2));
	ck_assert_int_eq(c->state, CALL_FAILED);
	ck_assert_int_eq(c->reason, REASON_CALL_TIMEOUT);
}
END_TEST

/* A stop that takes longer than the call had left is its last. */
START_TEST(L3_8a_call_timeout_over_in_a_stop)
{
	struct job *j = fake_job(n, "j1");
	struct call *c;

	n->job_tool.call_timeout = SPAN_S(70);
	c = fake_call(n, j, NULL, "own.read", NULL, &f);
	fake_ready(n, fake_job_server(j));
	fake_pass(n, SPAN_S(80));
	ck_assert_int_eq(c->state, CALL_CANCELLING);
	fake_gone(n, fake_job_server(j));
	ck_assert_int_eq(c->state, CALL_FAILED);
	ck_assert_int_eq(c->reason, REASON_CALL_TIMEOUT);
	ck_assert_uint_eq(c->attempts, 1);
}
END_TEST

START_TEST(L3_7_time_limit_is_followed_by_the_next_attempt)
{
	struct call *c = fake_running(n, "a", "shared.read");

	fake_pass(n, SPAN_S(60));
	ck_assert_int_eq(c->state, CALL_WAITING_RETRY);
	ck_assert_int_eq(c->outcome, OUTCOME_UNKNOWN);
	fake_pass(n, SPAN_S(30));
	ck_assert_uint_eq(fake_requests(c), 2);
}
END_TEST

START_TEST(L3_8a_call_timeout_bounds_attempts_and_waits)
{
	struct call *c;

	n->plugin_tool.call_timeout = SPAN_S(70);
	c = fake_running(n, "a", "shared.read");
	fake_pass(n, SPAN_S(60)); /* first attempt: its own limit */
	fake_pass(n, SPAN_S(10));
	ck_assert_int_eq(c->state, CALL_FAILED);
	ck_assert_int_eq(c->reason, REASON_CALL_TIMEOUT);
	fake_answer_has(c, "\"limit\":\"call_timeout\",\"limit_s\":70");
}
END_TEST

START_TEST(L3_7_server_that_does_not_start)
{
	struct job *j = fake_job(n, "j1");
	struct call *c = fake_call(n, j, NULL, "own.once", NULL, &f);
	struct server *sv = fake_job_server(j);

	for (int i = 0; i < 3; i++) {
		ck_assert(fake_wanted(sv));
		fake_start_failed(n, sv);
		fake_pass(n, SPAN_S(30));
	}
	ck_assert_int_eq(c->state, CALL_FAILED);
	ck_assert_int_eq(c->outcome, OUTCOME_NOT_MADE);
	ck_assert_int_eq(c->reason, REASON_SERVER_START);
	ck_assert_uint_eq(c->attempts, 3);
	ck_assert_uint_eq(fake_requests(c), 0);
	ck_assert_uint_eq(n->s.queued, 0);
}
END_TEST

/* L4.2, cell by cell: who asks, which wait, attempts left. */
START_TEST(L4_2_busy)
{
	struct attempt_end busy = { .how = WIRE_END_RESULT,
		.sent = true,
		.is_error = true,
		.busy = WIRE_BUSY_YES,
		.retry_after = 60,
		.payload = "{\"isError\":true}",
		.payload_len = 16 };
	struct call *c = fake_running(n, "a", "shared.once");

	fake_end(n, c, &busy);
	ck_assert_int_eq(c->state, CALL_COMPLETED);
	ck_assert_int_eq(c->outcome, OUTCOME_NOT_MADE);
	fake_answer_has(c, "\"result\":{\"isError\":true}");

	c = fake_running(n, "b", "shared.write");
	fake_end(n, c, &busy);
	ck_assert_int_eq(c->state, CALL_WAITING_RETRY);
	fake_pass(n, SPAN_MS(59999));
	ck_assert_int_eq(c->state, CALL_WAITING_RETRY);
	fake_pass(n, SPAN_MS(1));
	ck_assert_int_eq(c->state, CALL_RUNNING);
	busy.retry_after = 60.001;
	fake_end(n, c, &busy);
	ck_assert_int_eq(c->state, CALL_COMPLETED);

	c = fake_running(n, "c", "shared.write");
	busy.retry_after = -1;
	busy.busy = WIRE_BUSY_BAD_WAIT;
	for (int i = 0; i < 2; i++) {
		fake_end(n, c, &busy);
		ck_assert_int_eq(c->state, CALL_WAITING_RETRY);
		fake_pass(n, SPAN_S(30));
	}
	fake_end(n, c, &busy);
	ck_assert_int_eq(c->state, CALL_COMPLETED);
	ck_assert_uint_eq(c->attempts, 3);
	ck_assert_uint_eq(fake_events("\"event\":\"fault\""), 3);
}
END_TEST

/* L3.7: codes of JSON-RPC. */
START_TEST(L3_7_rpc_errors)
{
	static const struct {
		int64_t code;
		enum call_outcome outcome;
		bool next;
	} rows[] = { { -32700, OUTCOME_NOT_MADE, false },
		{ -32601, OUTCOME_NOT_MADE, false },
		{ -32020, OUTCOME_NOT_MADE, false },
		{ -32021, OUTCOME_NOT_MADE, false },
		{ -32022, OUTCOME_NOT_MADE, false },
		{ -32600, OUTCOME_UNKNOWN, false },
		{ -32602, OUTCOME_UNKNOWN, false },
		{ -32603, OUTCOME_UNKNOWN, true },
		{ 0, OUTCOME_UNKNOWN, true }, { 7, OUTCOME_UNKNOWN, true } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct attempt_end e = { .how = WIRE_END_RPC_ERROR,
			.sent = true,
			.retry_after = -1,
			.code = rows[i].code };
		struct call *c = fake_running(n, NULL, "shared.read");

		fake_end(n, c, &e);
		ck_assert_int_eq(c->outcome, rows[i].outcome);
		ck_assert_int_eq(c->state,
		    rows[i].next ? CALL_WAITING_RETRY : CALL_FAILED);
		if (rows[i].next)
			ck_assert(call_cancel(&n->s, c, &f));
		c = fake_running(n, NULL, "shared.once");
		fake_end(n, c, &e);
		ck_assert_int_eq(c->state, CALL_FAILED);
		ck_assert_int_eq(c->outcome, rows[i].outcome);
		fake_answer_has(c, "\"code\":");
	}
}
END_TEST

START_TEST(L9_2_worker_that_died)
{
	struct call *a = fake_running(n, "a", "shared.once");
	struct call *b = fake_running(n, "b", "shared.read");
	struct call *c = fake_running(n, "c", "shared.once");

	ck_assert(call_cancel(&n->s, c, &f));
	n->plugin.state = SERVER_STOPPING;
	calls_worker_gone(&n->s, &n->plugin);
	fake_turn(n);
	ck_assert_int_eq(a->state, CALL_FAILED);
	ck_assert_int_eq(a->reason, REASON_WORKER_ENDED);
	ck_assert_int_eq(b->state, CALL_WAITING_RETRY);
	ck_assert_int_eq(c->state, CALL_CANCELLING);
	fake_gone(n, &n->plugin);
	ck_assert_int_eq(c->state, CALL_CANCELED);
	ck_assert_int_eq(c->stopped, STOPPED_SERVER_GONE);
	ck_assert_int_eq(c->outcome, OUTCOME_UNKNOWN);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("core retry");
	TCase *t = tcase_create("retry");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 0);
	tcase_add_test(t, L3_1_once_is_sent_once);
	tcase_add_test(t, L8_2_payload_is_not_traced);
	tcase_add_test(
	    t, L8_2_payload_is_traced_where_the_operator_says_so);
	tcase_add_test(t, L3_2_repeatable_is_sent_max_attempts_times);
	tcase_add_test(t, L3_5_attempt_stops_before_its_limit);
	tcase_add_test(t, L3_5_margin_of_a_short_limit_is_a_tenth);
	tcase_add_test(t, L3_5_held_time_is_credited);
	tcase_add_test(t, L3_5_held_time_is_credited_to_the_call_timeout);
	tcase_add_test(t, L3_8a_call_timeout_over_in_a_stop);
	tcase_add_test(t, L3_7_time_limit_is_followed_by_the_next_attempt);
	tcase_add_test(t, L3_8a_call_timeout_bounds_attempts_and_waits);
	tcase_add_test(t, L3_7_server_that_does_not_start);
	tcase_add_test(t, L4_2_busy);
	tcase_add_test(t, L3_7_rpc_errors);
	tcase_add_test(t, L9_2_worker_that_died);
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
