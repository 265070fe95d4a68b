/*
 * The life of a call, rule by rule, on the core alone (fake_node.h).
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "supervisor/call_table.h"
#include "tests/unit/fake_node.h"
#include "wire/log.h"

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

static char *
answer_of(const struct call *c)
{
	struct buf b = { 0 };
	struct jsonw w;

	jsonw_init(&w, &b);
	call_write_answer(c, &w);
	return buf_steal(&b, NULL);
}

static void
expect_answer(const struct call *c, const char *part)
{
	char *text = answer_of(c);
	struct json_fault jf;

	ck_assert_msg(json_check(text, strlen(text), NULL, &jf), "%s: %s",
	    jf.why, text);
	ck_assert_msg(strstr(text, part) != NULL, "%s not in %s", part, text);
	free(text);
}

static const struct attempt_end server_ended = { .how = WIRE_END_SERVER,
	.sent = true,
	.retry_after = -1,
	.message = "it ended" };

/* A plugin call that runs. */
static struct call *
running(const char *activity, const char *function)
{
	struct job *j = job_find(&n->s, "j1");
	struct call *c;

	if (j == NULL)
		j = fake_job(n, "j1");
	if (n->plugin.state != SERVER_READY)
		fake_ready(n, &n->plugin);
	c = fake_call(n, j, activity, function, "{}", &f);
	ck_assert_ptr_nonnull(c);
	ck_assert_int_eq(c->state, CALL_RUNNING);
	return c;
}

START_TEST(L3_7_result_passes_byte_for_byte)
{
	struct call *c = running("a", "shared.once");

	ck_assert_uint_eq(fake_requests(c), 1);
	ck_assert_str_eq(c->key, "j1/a");
	fake_answer(n, c, "{\"content\":[],\"x\":1.10,\"x\":2}");
	ck_assert_int_eq(c->state, CALL_COMPLETED);
	ck_assert_int_eq(c->outcome, OUTCOME_MADE);
	expect_answer(c, "\"result\":{\"content\":[],\"x\":1.10,\"x\":2}}");
	ck_assert_uint_eq(n->s.running, 0);
	ck_assert_uint_eq(n->s.queued, 0);
}
END_TEST

START_TEST(L3_1_once_is_sent_once)
{
	struct call *c = running("a", "shared.once");

	fake_end(n, c, &server_ended);
	ck_assert_int_eq(c->state, CALL_FAILED);
	ck_assert_int_eq(c->outcome, OUTCOME_UNKNOWN);
	ck_assert_uint_eq(c->attempts, 1);
	expect_answer(c, "\"error\":{\"reason\":\"server_ended\"");
	fake_pass(n, SPAN_S(100));
	ck_assert_uint_eq(fake_requests(c), 1);
}
END_TEST

START_TEST(L3_2_repeatable_is_sent_max_attempts_times)
{
	struct call *c = running("a", "shared.write");

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
	struct call *c = running("a", "shared.once");

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
	expect_answer(c, "\"limit\":\"timeout\",\"limit_s\":60");
}
END_TEST

START_TEST(L3_5_margin_of_a_short_limit_is_a_tenth)
{
	struct call *c;

	n->plugin_tool.timeout = SPAN_S(10);
	c = running("a", "shared.once");
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
	struct call *c = running("a", "shared.once");

	fake_pass(n, SPAN_S(50));
	attempts_credit(&n->s, SPAN_S(30));
	fake_pass(n, SPAN_S(37));
	ck_assert_int_eq(c->state, CALL_RUNNING);
	fake_pass(n, SPAN_S(1));
	ck_assert_int_eq(c->state, CALL_CANCELLING);
}
END_TEST

START_TEST(L3_7_time_limit_is_followed_by_the_next_attempt)
{
	struct call *c = running("a", "shared.read");

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
	c = running("a", "shared.read");
	fake_pass(n, SPAN_S(60)); /* first attempt: its own limit */
	fake_pass(n, SPAN_S(10));
	ck_assert_int_eq(c->state, CALL_FAILED);
	ck_assert_int_eq(c->reason, REASON_CALL_TIMEOUT);
	expect_answer(c, "\"limit\":\"call_timeout\",\"limit_s\":70");
}
END_TEST

START_TEST(L1_5_late_answer_is_dropped_and_makes_it_made)
{
	struct call *c = running("a", "shared.once");

	ck_assert(call_cancel(&n->s, c, &f));
	fake_turn(n);
	ck_assert_int_eq(c->state, CALL_CANCELLING);
	ck_assert(call_cancel(&n->s, c, &f)); /* L1.6: harmless */
	ck_assert_uint_eq(fake_cancels(c), 1);
	fake_answer(n, c, "{\"content\":[]}");
	ck_assert_int_eq(c->state, CALL_CANCELED);
	ck_assert_int_eq(c->stopped, STOPPED_ANSWERED);
	ck_assert_int_eq(c->outcome, OUTCOME_MADE);
	expect_answer(c, "\"error\":{\"reason\":\"canceled\"");
	ck_assert_uint_eq(fake_events("late_answer"), 1);
	ck_assert(!call_cancel(&n->s, c, &f));
	ck_assert_int_eq(f.reason, FAULT_ALREADY_ENDED);
	ck_assert_str_eq(f.state, "canceled");
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
	struct call *c = running("a", "shared.once");

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
	struct call *c = running("a", "shared.once");
	char big[200] = "{\"content\":\"";

	memset(big + strlen(big), 'x', 100);
	strcpy(big + 112, "\"}");
	fake_answer(n, c, big);
	expect_answer(c, "\"evicted\":true");
	ck_assert_uint_eq(n->s.payload_bytes, 0);
}
END_TEST

START_TEST(L2_2_lost_and_made_again_under_its_key)
{
	struct call *a = running("a", "shared.read"), *b, *c;

	b = running("b", "shared.once");
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
	struct call *c = running("a", "shared.once");

	fake_end(n, c, &busy);
	ck_assert_int_eq(c->state, CALL_COMPLETED);
	ck_assert_int_eq(c->outcome, OUTCOME_NOT_MADE);
	expect_answer(c, "\"result\":{\"isError\":true}");

	c = running("b", "shared.write");
	fake_end(n, c, &busy);
	ck_assert_int_eq(c->state, CALL_WAITING_RETRY);
	fake_pass(n, SPAN_MS(59999));
	ck_assert_int_eq(c->state, CALL_WAITING_RETRY);
	fake_pass(n, SPAN_MS(1));
	ck_assert_int_eq(c->state, CALL_RUNNING);
	busy.retry_after = 60.001;
	fake_end(n, c, &busy);
	ck_assert_int_eq(c->state, CALL_COMPLETED);

	c = running("c", "shared.write");
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
		struct call *c = running(NULL, "shared.read");

		fake_end(n, c, &e);
		ck_assert_int_eq(c->outcome, rows[i].outcome);
		ck_assert_int_eq(c->state,
		    rows[i].next ? CALL_WAITING_RETRY : CALL_FAILED);
		if (rows[i].next)
			ck_assert(call_cancel(&n->s, c, &f));
		c = running(NULL, "shared.once");
		fake_end(n, c, &e);
		ck_assert_int_eq(c->state, CALL_FAILED);
		ck_assert_int_eq(c->outcome, rows[i].outcome);
		expect_answer(c, "\"code\":");
	}
}
END_TEST

START_TEST(L9_2_worker_that_died)
{
	struct call *a = running("a", "shared.once");
	struct call *b = running("b", "shared.read");
	struct call *c = running("c", "shared.once");

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

START_TEST(drain_loses_what_waits_and_lets_run)
{
	struct call *run = running("a", "shared.once");
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

/*
 * Many random lives with one rule checker over the record: attempts of a call
 * never overlap, one end per call, CANCELED never before its calls have ended,
 * and the counters come back to nothing.
 */
struct seen {
	unsigned attempts_open, ends;
};

static void
check_log(struct seen *seen, size_t nseen)
{
	char *log = mem_alloc(LOG_SEGMENT_SIZE);
	size_t at = LOG_HEADER, size;
	struct record r;
	uint64_t last = 0;

	ck_assert_int_eq(pread(n->log_fd, log, LOG_SEGMENT_SIZE, 0),
	    (ssize_t)LOG_SEGMENT_SIZE);
	while (log_record_read(log + at, LOG_SEGMENT_SIZE - at, &r, &size) ==
	    LOG_READ_RECORD) {
		ck_assert_uint_eq(r.seq, last + 1);
		last = r.seq;
		if (r.call != 0 && r.call < nseen) {
			char *step = mem_strndup(r.step, r.step_len);
			struct seen *c = &seen[r.call];

			ck_assert_uint_eq(c->ends, 0); /* nothing after */
			if (strstr(step, "\"attempt_started\""))
				ck_assert_uint_eq(c->attempts_open++, 0);
			if ((strstr(step, "\"attempt_ended\"") ||
				strstr(step, "\"attempt_stopped\"")) &&
			    !strstr(step, "could not be started"))
				ck_assert_uint_eq(c->attempts_open--, 1);
			if (strstr(step, "\"call_ended\"")) {
				c->ends++;
				ck_assert_uint_eq(c->attempts_open, 0);
			}
			free(step);
		}
		at += size;
		record_clear(&r);
	}
	ck_assert_uint_eq(last, record_last_seq(&n->s));
	free(log);
}

static void
random_event(struct call *c, struct job *j)
{
	static const struct attempt_end ends[] = {
		{ .how = WIRE_END_RESULT, .sent = true, .retry_after = -1,
		    .payload = "{}", .payload_len = 2 },
		{ .how = WIRE_END_RPC_ERROR, .sent = true, .retry_after = -1,
		    .code = -32603 },
		{ .how = WIRE_END_SERVER, .sent = true, .retry_after = -1 },
		{ .how = WIRE_END_RESULT, .sent = true, .is_error = true,
		    .busy = WIRE_BUSY_YES, .retry_after = 0.25,
		    .payload = "{}", .payload_len = 2 },
		{ .how = WIRE_END_TOO_LARGE, .sent = true, .retry_after = -1 },
	};
	struct server *sv = fake_job_server(j);

	switch (rand() % 7) {
	case 0:
		call_cancel(&n->s, c, &f);
		break;
	case 1:
		fake_pass(n, SPAN_MS(rand() % 20000));
		break;
	case 2:
		if (sv != NULL && sv->state != SERVER_STOPPED)
			fake_gone(n, sv);
		break;
	case 3:
		if (sv != NULL && sv->state == SERVER_STARTING)
			fake_ready(n, sv);
		break;
	case 4:
		if (sv != NULL && sv->state == SERVER_READY) {
			calls_worker_gone(&n->s, sv);
			server_stop(&n->s, sv, SPAN_S(2), "worker gone");
		}
		break;
	default:
		if (c->attempt != NULL)
			fake_end(n, c, &ends[rand() % 5]);
	}
	fake_turn(n);
}

START_TEST(random_lives_keep_the_rules)
{
	static const char *const functions[] = { "own.read", "own.write",
		"own.once", "shared.read", "shared.write", "shared.once" };
	struct job *j = fake_job(n, "j1");
	struct call *calls[300];
	struct seen seen[400] = { 0 };
	size_t count = 0;

	srand((unsigned)_i + 1);
	n->conf.queue = 1000;
	n->tools[rand() % 2].conf->max_running = (unsigned)(rand() % 3);
	fake_ready(n, &n->plugin);
	for (int step = 0; step < 2000; step++) {
		if (count < 300 && rand() % 4 == 0)
			calls[count++] = fake_call(n, j, NULL,
			    functions[rand() % 6], "{}", &f);
		if (count > 0)
			random_event(calls[rand() % count], j);
	}
	ck_assert(job_cancel(&n->s, j, &f));
	fake_turn(n);
	for (int i = 0; i < 100 && j->state != JOB_CANCELED; i++) {
		struct server *sv = fake_job_server(j);

		if (sv != NULL && sv->state == SERVER_STOPPING)
			fake_gone(n, sv);
		fake_pass(n, SPAN_S(3));
	}
	ck_assert_int_eq(j->state, JOB_CANCELED);
	ck_assert_uint_eq(n->s.running, 0);
	ck_assert_uint_eq(n->s.queued, 0);
	ck_assert_uint_eq(n->s.payload_bytes, 0);
	ck_assert(RB_EMPTY(&n->s.attempts));
	ck_assert(RB_EMPTY(&n->s.calls));
	ck_assert(RB_EMPTY(&n->s.deadlines));
	check_log(seen, 400);
	for (size_t i = 1; i <= count; i++)
		ck_assert_uint_eq(seen[i].ends, 1);
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
	tcase_add_test(t, L3_1_once_is_sent_once);
	tcase_add_test(t, L3_2_repeatable_is_sent_max_attempts_times);
	tcase_add_test(t, L3_5_attempt_stops_before_its_limit);
	tcase_add_test(t, L3_5_margin_of_a_short_limit_is_a_tenth);
	tcase_add_test(t, L3_5_held_time_is_credited);
	tcase_add_test(t, L3_7_time_limit_is_followed_by_the_next_attempt);
	tcase_add_test(t, L3_8a_call_timeout_bounds_attempts_and_waits);
	tcase_add_test(t, L1_5_late_answer_is_dropped_and_makes_it_made);
	tcase_add_test(t, L1_4_job_server_counts_only_when_it_is_dead);
	tcase_add_test(t, L1_7_others_on_a_stopped_server_fail_unknown);
	tcase_add_test(t, L1_3_job_is_cancelling_until_all_is_dead);
	tcase_add_test(t, L2_2_a_used_activity_joins_or_is_refused);
	tcase_add_test(t, L2_2_an_evicted_result_says_so);
	tcase_add_test(t, L2_2_lost_and_made_again_under_its_key);
	tcase_add_test(t, L2_2_key_of_a_job_that_continued_as_new);
	tcase_add_test(t, L3_9_jobs_take_turns);
	tcase_add_test(t, L1_7_max_running_bounds_a_server);
	tcase_add_test(t, node_full_when_the_queue_is);
	tcase_add_test(t, unknown_function_is_a_result);
	tcase_add_test(t, L3_7_server_that_does_not_start);
	tcase_add_test(t, L4_2_busy);
	tcase_add_test(t, L3_7_rpc_errors);
	tcase_add_test(t, L9_2_worker_that_died);
	tcase_add_test(t, drain_loses_what_waits_and_lets_run);
	tcase_add_test(t, L2_5_restartable_is_recorded_before_the_attempt);
	tcase_add_test(t, table_has_no_way_out_of_an_end);
	tcase_add_loop_test(t, random_lives_keep_the_rules, 0, 40);
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
