/*
 * The life of a call, rule by rule, on the core alone (fake_node.h).
 */
#include <check.h>
#include <string.h>

#include "supervisor/call_table.h"
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

START_TEST(L3_7_result_passes_byte_for_byte)
{
	struct call *c = fake_running(n, "a", "shared.once");

	ck_assert_uint_eq(fake_requests(c), 1);
	ck_assert_str_eq(c->key, "j1/a");
	fake_answer(n, c, "{\"content\":[],\"x\":1.10,\"x\":2}");
	ck_assert_int_eq(c->state, CALL_COMPLETED);
	ck_assert_int_eq(c->outcome, OUTCOME_MADE);
	fake_answer_has(c, "\"result\":{\"content\":[],\"x\":1.10,\"x\":2}}");
	ck_assert_uint_eq(n->s.running, 0);
	ck_assert_uint_eq(n->s.queued, 0);
}
END_TEST

START_TEST(L1_4_job_server_counts_only_when_it_is_dead)
{
	struct job *j = fake_job(n, "j1");
	struct call *c = fake_call(n, j, "a", "own.read", NULL, &f);
	struct server *sv = fake_job_server(j);

	ck_assert(fake_wanted(sv));
	ck_assert_int_eq(c->state, CALL_QUEUED);
	fake_ready(n, sv);
	ck_assert_int_eq(c->state, CALL_RUNNING);
	ck_assert(call_cancel(&n->s, c, &f));
	ck_assert(fake_stopping(sv));
	fake_answer(n, c, "{\"content\":[]}");
	ck_assert_int_eq(c->state, CALL_CANCELLING);
	fake_pass(n, SPAN_S(3600));
	ck_assert_int_eq(c->state, CALL_CANCELLING);
	fake_gone(n, sv);
	ck_assert_int_eq(c->state, CALL_CANCELED);
	ck_assert_int_eq(c->stopped, STOPPED_SERVER_GONE);
	ck_assert_int_eq(c->outcome, OUTCOME_MADE);
}
END_TEST

START_TEST(L1_7_others_on_a_stopped_server_fail_unknown)
{
	struct job *j = fake_job(n, "j1");
	struct call *a = fake_call(n, j, "a", "own.once", NULL, &f);
	struct call *b = fake_call(n, j, "b", "own.once", NULL, &f);
	struct call *r = fake_call(n, j, "r", "own.read", NULL, &f);
	struct server *sv = fake_job_server(j);

	fake_ready(n, sv);
	ck_assert(call_cancel(&n->s, a, &f));
	fake_gone(n, sv);
	ck_assert_int_eq(a->state, CALL_CANCELED);
	ck_assert_int_eq(b->state, CALL_FAILED);
	ck_assert_int_eq(b->reason, REASON_SERVER_ENDED);
	ck_assert_int_eq(b->outcome, OUTCOME_UNKNOWN);
	ck_assert_int_eq(r->state, CALL_WAITING_RETRY);
	fake_pass(n, SPAN_S(30)); /* L1.8: it starts afresh */
	ck_assert(fake_wanted(sv));
}
END_TEST

START_TEST(L1_3_job_is_cancelling_until_all_is_dead)
{
	struct job *j = fake_job(n, "j1");
	struct call *a = fake_call(n, j, "a", "own.once", NULL, &f);
	struct server *sv = fake_job_server(j);
	struct call *q, *p;

	fake_ready(n, sv);
	fake_ready(n, &n->plugin);
	p = fake_call(n, j, "p", "shared.once", NULL, &f);
	for (int i = 0; i < 2; i++)
		fake_call(n, j, NULL, "shared.once", NULL, &f);
	q = fake_call(n, j, "q", "shared.once", NULL, &f);
	ck_assert_int_eq(q->state, CALL_QUEUED); /* 4 slots */
	ck_assert(job_cancel(&n->s, j, &f));
	fake_turn(n);
	ck_assert_int_eq(j->state, JOB_CANCELLING);
	ck_assert_int_eq(q->state, CALL_CANCELED); /* at once */
	ck_assert_int_eq(q->outcome, OUTCOME_NOT_MADE);
	ck_assert_ptr_null(fake_call(n, j, "z", "own.read", NULL, &f));
	ck_assert_int_eq(f.reason, FAULT_ALREADY_ENDED);
	ck_assert(job_cancel(&n->s, j, &f)); /* L1.6 */
	fake_gone(n, sv);
	ck_assert_int_eq(a->state, CALL_CANCELED);
	ck_assert_int_eq(p->state, CALL_CANCELLING);
	ck_assert_int_eq(j->state, JOB_CANCELLING);
	fake_pass(n, SPAN_S(2)); /* the plugin does not confirm */
	ck_assert_int_eq(j->state, JOB_CANCELED);
	ck_assert_uint_eq(n->s.running, 0);
	ck_assert_uint_eq(n->s.queued, 0);
	ck_assert_uint_eq(n->plugin.not_confirmed, 3);
	ck_assert_uint_eq(fake_events("\"event\":\"job_canceled\""), 1);
}
END_TEST

START_TEST(L2_2_a_used_activity_joins_or_is_refused)
{
	struct call *c = fake_running(n, "a", "shared.once");

	ck_assert_ptr_eq(
	    fake_call(n, c->job, "a", "shared.once", "{ }", &f), c);
	ck_assert_ptr_null(
	    fake_call(n, c->job, "a", "shared.once", "{\"x\":1}", &f));
	ck_assert_int_eq(f.reason, FAULT_BUSY_ACTIVITY);
	ck_assert_ptr_null(fake_call(n, c->job, "a", "shared.read", "{}", &f));
	ck_assert_int_eq(f.reason, FAULT_BUSY_ACTIVITY);
	fake_answer(n, c, "{\"content\":[]}");
	ck_assert_ptr_eq(fake_call(n, c->job, "a", "shared.once", NULL, &f), c);
	ck_assert_uint_eq(fake_requests(c), 1);
}
END_TEST

START_TEST(L2_2_an_evicted_result_says_so)
{
	struct call *c = fake_running(n, "a", "shared.once");
	char big[200] = "{\"content\":\"";

	memset(big + strlen(big), 'x', 100);
	strcpy(big + 112, "\"}");
	fake_answer(n, c, big);
	fake_answer_has(c, "\"evicted\":true");
	ck_assert_uint_eq(n->s.payload_bytes, 0);
}
END_TEST

START_TEST(L2_2_lost_and_made_again_under_its_key)
{
	struct call *a = fake_running(n, "a", "shared.read"), *b, *c;

	b = fake_running(n, "b", "shared.once");
	n->s.state = NODE_STOPPING;
	jobs_stop(&n->s);
	fake_pass(n, SPAN_S(2));
	ck_assert_int_eq(a->state, CALL_LOST);
	ck_assert_int_eq(b->state, CALL_LOST);
	ck_assert_int_eq(a->job->state, JOB_LOST);
	ck_assert(jobs_idle(&n->s));
	n->s.state = NODE_READY;
	ck_assert_ptr_null(fake_call(n, a->job, "a", "shared.read", "{}", &f) ==
		    NULL
		? NULL
		: a);
	fake_job(n, "j1"); /* it goes on */
	c = fake_call(n, a->job, "a", "shared.read", "{}", &f);
	ck_assert_ptr_nonnull(c);
	ck_assert_ptr_ne(c, a);
	ck_assert_str_eq(c->key, a->key);
	ck_assert_ptr_eq(fake_call(n, a->job, "b", "shared.once", "{}", &f), b);
}
END_TEST

START_TEST(L2_2_key_of_a_job_that_continued_as_new)
{
	struct job *j = fake_job(n, "j1");
	struct job_start again = { .job = "j1", .has_run = true, .run = 2 };
	struct call *c;

	ck_assert(!job_start(&n->s, &again, &j, &f));
	ck_assert(job_end(&n->s, j, false, &f));
	fake_turn(n);
	ck_assert_int_eq(j->state, JOB_COMPLETED);
	ck_assert(job_start(&n->s, &again, &j, &f));
	fake_ready(n, &n->plugin);
	c = fake_call(n, j, "a", "shared.once", NULL, &f);
	ck_assert_str_eq(c->key, "j1/anr2/a");
	ck_assert(!job_start(&n->s,
	    &(struct job_start) { .job = "j1", .tenant = "other" }, &j, &f));
	ck_assert_int_eq(f.reason, FAULT_NOT_ALLOWED);
}
END_TEST

START_TEST(L3_9_jobs_take_turns)
{
	struct job *a = fake_job(n, "many"), *b = fake_job(n, "one");
	struct call *last, *first;

	fake_ready(n, &n->plugin);
	n->s.state = NODE_HOLDING;
	first = fake_call(n, a, NULL, "shared.once", NULL, &f);
	for (int i = 0; i < 50; i++)
		fake_call(n, a, NULL, "shared.once", NULL, &f);
	last = fake_call(n, b, NULL, "shared.once", NULL, &f);
	ck_assert_int_eq(first->state, CALL_QUEUED);
	n->s.state = NODE_READY;
	fake_turn(n);
	ck_assert_int_eq(first->state, CALL_RUNNING);
	ck_assert_int_eq(last->state, CALL_RUNNING);
	ck_assert_uint_eq(n->s.running, 4);
}
END_TEST

START_TEST(L1_7_max_running_bounds_a_server)
{
	struct call *c[3];
	struct job *j = fake_job(n, "j1");

	n->plugin_tool.max_running = 1;
	fake_ready(n, &n->plugin);
	for (int i = 0; i < 3; i++)
		c[i] = fake_call(n, j, NULL, "shared.once", NULL, &f);
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(n->s.running, 1);
		ck_assert_int_eq(c[i]->state, CALL_RUNNING);
		fake_answer(n, c[i], "{}");
	}
}
END_TEST

/* Nor does one that is cancelled on its way take the room with it. */
START_TEST(L1_7_a_canceled_call_leaves_its_room_to_the_next)
{
	struct call *c[3];
	struct job *j = fake_job(n, "j1");
	struct attempt_end e = { .how = WIRE_END_RESULT,
		.sent = true,
		.retry_after = -1,
		.payload = "{}",
		.payload_len = 2 };

	n->plugin_tool.max_running = 1;
	fake_ready(n, &n->plugin);
	for (int i = 0; i < 3; i++)
		c[i] = fake_call(n, j, NULL, "shared.once", NULL, &f);
	attempt_ended(&n->s, c[0]->attempt, &e);
	ck_assert(call_cancel(&n->s, c[1], &f)); /* in the same turn */
	fake_turn(n);
	ck_assert_int_eq(c[1]->state, CALL_CANCELED);
	ck_assert_int_eq(c[2]->state, CALL_RUNNING);
}
END_TEST

START_TEST(node_full_when_the_queue_is)
{
	struct job *j = fake_job(n, "j1");

	n->conf.queue = 2;
	ck_assert_ptr_nonnull(fake_call(n, j, NULL, "own.read", NULL, &f));
	ck_assert_ptr_nonnull(fake_call(n, j, NULL, "own.read", NULL, &f));
	ck_assert_ptr_null(fake_call(n, j, NULL, "own.read", NULL, &f));
	ck_assert_int_eq(f.reason, FAULT_NODE_FULL);
}
END_TEST

START_TEST(unknown_function_is_a_result)
{
	struct call *c;

	fake_ready(n, &n->plugin);
	c = fake_call(n, fake_job(n, "j1"), NULL, "shared.nope", NULL, &f);
	ck_assert_int_eq(c->state, CALL_FAILED);
	ck_assert_int_eq(c->outcome, OUTCOME_NOT_MADE);
	ck_assert_int_eq(c->reason, REASON_UNKNOWN_FUNCTION);
	ck_assert_ptr_null(
	    fake_call(n, c->job, NULL, "nope.read", NULL, &f));
	ck_assert_int_eq(f.reason, FAULT_UNKNOWN_TOOL);
}
END_TEST

START_TEST(drain_loses_what_waits_and_lets_run)
{
	struct call *run = fake_running(n, "a", "shared.once");
	struct job *j = run->job;
	struct call *own = fake_call(n, j, "w", "own.once", NULL, &f);

	n->s.state = NODE_DRAINING;
	jobs_drain(&n->s);
	fake_turn(n);
	ck_assert_int_eq(own->state, CALL_LOST);
	ck_assert_int_eq(own->outcome, OUTCOME_NOT_MADE);
	ck_assert_int_eq(run->state, CALL_RUNNING);
	ck_assert(!jobs_idle(&n->s));
	fake_answer(n, run, "{}");
	ck_assert_int_eq(run->state, CALL_COMPLETED);
	fake_gone(n, fake_job_server(j));
	ck_assert_int_eq(j->state, JOB_LOST);
	ck_assert(jobs_idle(&n->s));
}
END_TEST

/* L2.5: a harness would make its calls again, nobody else would. */
START_TEST(L2_5_a_lost_session_opens_again)
{
	struct job *j = fake_job(n, "j1");
	struct session_open p = { .number = 1 };
	struct session *ss;

	fake_call(n, j, "a", "own.once", NULL, &f);
	fake_ready(n, fake_job_server(j));
	ss = session_find(j, 1);
	ck_assert(!ss->restartable);
	ss->has_harness = true;
	session_close(&n->s, ss, SESSION_LOST, "its worker died");
	fake_gone(n, fake_job_server(j));
	session_all_dead(&n->s, ss);
	fake_turn(n);
	ck_assert_int_eq(ss->state, SESSION_LOST);
	ck_assert(!session_open(&n->s, j, &p, &ss, &f));
	ck_assert_int_eq(f.reason, FAULT_NOT_ALLOWED);
	session_find(j, 1)->has_harness = false;
	ck_assert(session_open(&n->s, j, &p, &ss, &f));
	session_close(&n->s, ss, SESSION_LOST, "its worker died");
	fake_turn(n);
	ss->has_harness = true;
	ss->restartable = false;
	p.force = true;
	ck_assert(session_open(&n->s, j, &p, &ss, &f));
}
END_TEST

/* L2.5 and DESIGN: restartable turns false before the request is written. */
START_TEST(L2_5_restartable_is_recorded_before_the_attempt)
{
	struct job *j = fake_job(n, "j1");
	struct call *c = fake_call(n, j, "a", "own.write", NULL, &f);
	struct session *ss = session_find(j, 1);

	fake_ready(n, fake_job_server(j));
	ck_assert_int_eq(c->state, CALL_RUNNING);
	ck_assert(ss->restartable);
	fake_call(n, j, "b", "own.once", NULL, &f);
	ck_assert(!ss->restartable);
	ck_assert_uint_eq(fake_events("session_restartable"), 1);
}
END_TEST

/* Every state takes every event of the table or none, and no ended one any. */
START_TEST(table_has_no_way_out_of_an_end)
{
	const char *rule;

	for (int st = CALL_QUEUED; st <= CALL_LOST; st++)
		for (int ev = 0; ev < CALL_EV_COUNT; ev++) {
			enum call_state next = call_table_next(
			    (enum call_state)st, (enum call_event)ev, &rule);

			if (call_state_ended((enum call_state)st))
				ck_assert_int_eq(next, 0);
			if (next != 0)
				ck_assert_str_ne(rule, "");
			/* L1.5: never completed once it is being stopped */
			if (st == CALL_CANCELLING)
				ck_assert_int_ne(next, CALL_COMPLETED);
		}
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("core");
	TCase *t = tcase_create("life");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 0);
	tcase_add_test(t, L3_7_result_passes_byte_for_byte);
	tcase_add_test(t, L1_4_job_server_counts_only_when_it_is_dead);
	tcase_add_test(t, L1_7_others_on_a_stopped_server_fail_unknown);
	tcase_add_test(t, L1_3_job_is_cancelling_until_all_is_dead);
	tcase_add_test(t, L2_2_a_used_activity_joins_or_is_refused);
	tcase_add_test(t, L2_2_an_evicted_result_says_so);
	tcase_add_test(t, L2_2_lost_and_made_again_under_its_key);
	tcase_add_test(t, L2_2_key_of_a_job_that_continued_as_new);
	tcase_add_test(t, L3_9_jobs_take_turns);
	tcase_add_test(t, L1_7_max_running_bounds_a_server);
	tcase_add_test(t, L1_7_a_canceled_call_leaves_its_room_to_the_next);
	tcase_add_test(t, node_full_when_the_queue_is);
	tcase_add_test(t, unknown_function_is_a_result);
	tcase_add_test(t, drain_loses_what_waits_and_lets_run);
	tcase_add_test(t, L2_5_a_lost_session_opens_again);
	tcase_add_test(t, L2_5_restartable_is_recorded_before_the_attempt);
	tcase_add_test(t, table_has_no_way_out_of_an_end);
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
