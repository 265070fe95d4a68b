/*
 * Calls that wait for room in the budget for messages (LIFECYCLE L9.6), and
 * that nothing on their connection waits behind them (L1.4a).
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "supervisor/control_internal.h"
#include "tests/unit/control_fake.h"

#define BUDGET ((size_t)1 << 20)
#define MESSAGE ((size_t)64 << 10)

static struct fake_node *n;
static size_t taken; /* of the budget, by nobody */

static void
setup(void)
{
	n = fake_new(NULL);
	n->s.conf->message_budget = BUDGET;
	n->s.conf->max_message = MESSAGE;
	ck_assert_int_eq(control_start(&n->s), 0);
	taken = 0;
}

static void
give_room(void)
{
	n->s.payload_bytes -= taken;
	taken = 0;
}

static void
take_room(void)
{
	taken = 2 * n->s.conf->message_budget;
	n->s.payload_bytes += taken;
	fake_turn(n);
	ck_assert(n->s.control->over);
}

static void
teardown(void)
{
	give_room();
	fake_free(n);
}

/* A client with a job. */
static void
open_with_job(struct client *c, const char *job)
{
	char line[200];

	client_open(n, c);
	snprintf(line, sizeof(line), REQ("0", "job/start", "{\"job\":\"%s\"}"),
	    job);
	client_ask_has(c, line, "RUNNING");
}

/* call/start without waiting; arguments are an object of so many bytes. */
static void
start(struct client *c, int id, const char *job, const char *function,
    size_t bytes)
{
	char *fill = mem_alloc(bytes + 1), *line;

	memset(fill, 'x', bytes);
	fill[bytes] = '\0';
	line = mem_printf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":"
			  "\"call/start\",\"params\":{\"job\":\"%s\","
			  "\"function\":\"shared.%s\",\"arguments\":"
			  "{\"a\":\"%s\"}}}\n",
	    id, job, function, fill);
	client_send(c, line);
	free(line);
	free(fill);
}

/* The next line answers this request, and has this part. */
static void
next_has(struct client *c, int id, const char *part)
{
	const char *got = client_line(c);
	char head[64];

	snprintf(head, sizeof(head), "{\"jsonrpc\":\"2.0\",\"id\":%d,", id);
	ck_assert_msg(got != NULL && strncmp(got, head, strlen(head)) == 0 &&
			  strstr(got, part) != NULL,
	    "not %d with %s, but %.300s", id, part, got);
}

/* c1 runs until somebody stops it. */
static void
run_first(struct client *c)
{
	start(c, 100, "j", "hold", 1);
	ck_assert(!client_quiet(c));
	ck_assert_int_eq(call_find(&n->s, "c1")->state, CALL_RUNNING);
}

#define CANCEL REQ("9", "call/cancel", "{\"call\":\"c1\",\"wait\":false}")

static void
cancel_works(struct client *c)
{
	client_ask_has(c, CANCEL, "\"state\":\"cancelling\"");
	ck_assert_int_eq(call_find(&n->s, "c1")->state, CALL_CANCELLING);
}

START_TEST(cancel_passes)
{
	struct client c;

	open_with_job(&c, "j");
	run_first(&c);
	take_room();
	for (int i = 1; i <= 3; i++)
		start(&c, i, "j", "echo", 10);
	cancel_works(&c);
	client_ask_has(
	    &c, REQ("8", "node/status", "{}"), "\"put_aside\":3");
	ck_assert_uint_eq(n->s.last_call, 1);
	give_room();
	for (int i = 1; i <= 3; i++)
		next_has(&c, i, "\"state\":\"completed\"");
	ck_assert_uint_eq(n->s.last_call, 4);
	ck_assert_uint_eq(n->s.control->naside, 0);
	ck_assert_uint_eq(n->s.control->aside, 0);
	client_close(&c);
}
END_TEST

/* Each connection's in their order, connections in turn. */
START_TEST(in_turn)
{
	static const char *const calls[2][4] = {
	    {"\"c1\"", "\"c3\"", "\"c5\"", "\"c6\""}, {"\"c2\"", "\"c4\""}};
	struct client c[2];

	open_with_job(&c[0], "j");
	client_open(n, &c[1]);
	take_room();
	for (int i = 0; i < 4; i++)
		start(&c[0], i, "j", "echo", 1);
	client_works(&c[0]);
	for (int i = 0; i < 2; i++)
		start(&c[1], i, "j", "echo", 1);
	client_works(&c[1]);
	give_room();
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < 4 && calls[k][i] != NULL; i++)
			next_has(&c[k], i, calls[k][i]);
	client_close(&c[0]);
	client_close(&c[1]);
}
END_TEST

/* It was asked for before its job's end: the end lets it end first. */
START_TEST(job_end_keeps_its_place)
{
	struct client c;

	open_with_job(&c, "j");
	take_room();
	start(&c, 1, "j", "echo", 1);
	client_send(&c, REQ("2", "job/end", "{\"job\":\"j\"}") "\n");
	client_works(&c);
	ck_assert_uint_eq(n->s.control->naside, 2);
	give_room();
	next_has(&c, 1, "\"state\":\"completed\"");
	next_has(&c, 2, "\"state\":\"COMPLETED\"");
	client_close(&c);
}
END_TEST

START_TEST(job_cancel_passes)
{
	struct client c;

	open_with_job(&c, "j");
	take_room();
	start(&c, 1, "j", "echo", 1);
	client_ask_has(
	    &c, REQ("2", "job/cancel", "{\"job\":\"j\"}"), "CANCELED");
	give_room();
	next_has(&c, 1, "already_ended");
	ck_assert_uint_eq(n->s.last_call, 0);
	client_close(&c);
}
END_TEST

/* What was asked for before a cancel is no part of the run that follows. */
START_TEST(job_started_again)
{
	struct client c;

	open_with_job(&c, "j");
	take_room();
	start(&c, 1, "j", "echo", 1);
	client_send(&c, REQ("2", "job/end", "{\"job\":\"j\"}") "\n");
	client_ask_has(
	    &c, REQ("3", "job/cancel", "{\"job\":\"j\"}"), "CANCELED");
	client_ask_has(&c,
	    REQ("4", "job/start", "{\"job\":\"j\",\"run\":1}"), "RUNNING");
	give_room();
	next_has(&c, 1, "not_allowed");
	next_has(&c, 2, "not_allowed");
	ck_assert_uint_eq(n->s.last_call, 0);
	client_ask_has(
	    &c, REQ("5", "job/status", "{\"job\":\"j\"}"), "RUNNING");
	client_close(&c);
}
END_TEST

/* Over the bound a call is refused at once; no other request ever is. */
START_TEST(bounded)
{
	enum { COUNT = 64 };
	struct control *k = n->s.control;
	struct client c;
	int full = 0;

	open_with_job(&c, "j");
	run_first(&c);
	take_room();
	for (int i = 1; i <= COUNT; i++)
		start(&c, i, "j", "echo", 60 << 10);
	client_send(&c, CANCEL "\n");
	while (strstr(client_line(&c), "node_full") != NULL)
		full++;
	ck_assert_int_eq(call_find(&n->s, "c1")->state, CALL_CANCELLING);
	ck_assert_uint_le(k->aside, MESSAGE + CONN_LINE_SLACK);
	ck_assert_int_eq(full, COUNT - 2);
	ck_assert_uint_eq(k->naside, 2);
	give_room();
	for (int i = 1; i <= 2; i++)
		next_has(&c, i, "\"state\":\"completed\"");
	client_close(&c);
}
END_TEST

/* The same, seen from the refused: which limit, and what to do. */
START_TEST(node_full_words)
{
	struct client c;
	const char *got;

	open_with_job(&c, "j");
	take_room();
	for (int i = 1; i <= 2; i++)
		start(&c, i, "j", "echo", 60 << 10);
	ck_assert(!client_quiet(&c));
	start(&c, 3, "j", "echo", 60 << 10);
	got = client_line(&c);
	ck_assert_ptr_nonnull(strstr(got, "\"id\":3,"));
	ck_assert_ptr_nonnull(strstr(got, "\"reason\":\"node_full\""));
	ck_assert_ptr_nonnull(strstr(got, "`message_budget` of 1048576"));
	ck_assert_ptr_nonnull(strstr(got, "call again later, or raise it"));
	client_close(&c);
}
END_TEST

/* Many large ones take no room from another connection's small ones. */
START_TEST(small_ones_have_room)
{
	enum { COUNT = 6 };
	struct client c[COUNT], late;
	struct control *k = n->s.control;

	open_with_job(&c[0], "j");
	for (int i = 1; i < COUNT; i++)
		client_open(n, &c[i]);
	client_open(n, &late);
	take_room();
	for (int i = 0; i < COUNT; i++)
		for (int m = 0; m < 4; m++)
			start(&c[i], m, "j", "echo", 60 << 10);
	for (int i = 0; i < COUNT; i++)
		client_quiet(&c[i]);
	/* all may have a quarter of it, and each one request of 64 KiB */
	ck_assert_uint_le(k->aside, BUDGET / 4 + COUNT * CONN_LONG_LINE);
	start(&late, 1, "j", "echo", 1000);
	ck_assert(!client_quiet(&late));
	give_room();
	next_has(&late, 1, "\"state\":\"completed\"");
	for (int i = 0; i < COUNT; i++)
		client_close(&c[i]);
	client_close(&late);
}
END_TEST

/* One that closes takes what it has put aside with it. */
START_TEST(closed)
{
	struct client c, other;

	open_with_job(&c, "j");
	client_open(n, &other);
	take_room();
	start(&c, 1, "j", "echo", 1000);
	client_works(&c);
	start(&other, 2, "j", "echo", 1000);
	client_works(&other);
	ck_assert_uint_eq(n->s.control->naside, 2);
	client_close(&c);
	while (n->s.control->nconns > 1)
		fake_turn(n);
	ck_assert_uint_eq(n->s.control->naside, 1);
	give_room();
	next_has(&other, 2, "\"call\":\"c1\"");
	ck_assert_uint_eq(n->s.last_call, 1);
	client_close(&other);
}
END_TEST

/* Of a batch only its calls wait, and its answer with them. */
START_TEST(batch)
{
	struct client c;
	const char *got;

	open_with_job(&c, "j");
	run_first(&c);
	take_room();
	client_send(&c,
	    "[" REQ("1", "call/start",
		"{\"job\":\"j\",\"function\":\"shared.echo\"}") "," CANCEL
	    "]\n");
	ck_assert(!client_quiet(&c));
	ck_assert_int_eq(call_find(&n->s, "c1")->state, CALL_CANCELLING);
	ck_assert_uint_gt(n->s.control->bytes, 0);
	give_room();
	got = client_line(&c);
	ck_assert_ptr_nonnull(strstr(got, "\"id\":1,\"result\""));
	ck_assert_ptr_nonnull(strstr(got, "\"id\":9,\"result\""));
	fake_turn(n);
	ck_assert_uint_eq(n->s.control->bytes, 0);
	client_close(&c);
}
END_TEST

/* It is the requests that wait which use it up: then some of them begin. */
START_TEST(not_by_calls)
{
	struct client c;

	open_with_job(&c, "j");
	n->s.control->bytes += 2 * BUDGET;
	fake_turn(n);
	ck_assert(n->s.control->over);
	start(&c, 1, "j", "echo", 10);
	next_has(&c, 1, "\"state\":\"completed\"");
	ck_assert(n->s.control->over);
	n->s.control->bytes -= 2 * BUDGET;
	client_close(&c);
}
END_TEST

/* Others that put aside all there is room for. */
static struct client others[2];

static void
fill_aside(void)
{
	n->s.conf->message_budget = 4 * BUDGET;
	n->s.conf->max_message = 8 * MESSAGE;
	take_room();
	for (int i = 0; i < 2; i++) {
		client_open(n, &others[i]);
		for (int m = 0; m < 8; m++)
			start(&others[i], m, "j", "echo", 60 << 10);
		ck_assert(!client_quiet(&others[i]));
	}
}

static void
close_others(void)
{
	for (int i = 0; i < 2; i++)
		client_close(&others[i]);
}

/* No room for a long line: its request is refused, what follows it is not. */
static void
long_line(const char *id, const char *head, const char *tail)
{
	struct client c;
	size_t len = 8 * MESSAGE;
	char *line = mem_alloc(len + 1), part[64];
	const char *got;

	open_with_job(&c, "j");
	run_first(&c);
	fill_aside();
	memset(line, 'x', len);
	line[len] = '\0';
	client_send(&c, head);
	client_send(&c, line);
	client_send(&c, tail);
	client_send(&c, "\n");
	got = client_line(&c);
	snprintf(part, sizeof(part), "{\"jsonrpc\":\"2.0\",\"id\":%s,", id);
	ck_assert_msg(
	    strncmp(got, part, strlen(part)) == 0, "%.300s", got);
	ck_assert_ptr_nonnull(strstr(got, "\"reason\":\"node_full\""));
	cancel_works(&c);
	ck_assert_uint_eq(n->s.last_call, 1);
	close_others();
	client_close(&c);
	free(line);
}

START_TEST(long_line_refused)
{
	long_line("\"}]\\\"\"",
	    "{\"jsonrpc\":\"2.0\",\"method\":\"call/start\",\"params\":"
	    "{\"job\":\"j\",\"function\":\"shared.echo\",\"arguments\":"
	    "{\"id\":[1,{\"b\":\"}\\\"\\\\",
	    "\"}]}},\"id\":\"}]\\\"\"}");
}
END_TEST

START_TEST(long_line_of_a_batch)
{
	long_line("null",
	    "[{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"node/hello\","
	    "\"params\":{\"a\":\"",
	    "\"}}]");
}
END_TEST

/* A line over max_message is an error whether it is kept or not. */
START_TEST(long_line_too_long)
{
	size_t len = 8 * MESSAGE + CONN_LINE_SLACK + 65536;
	char *line = mem_alloc(len + 1);
	struct client c;

	open_with_job(&c, "j");
	fill_aside();
	memset(line, '[', len);
	line[len] = '\0';
	client_send(&c, line);
	ck_assert_ptr_nonnull(strstr(client_line(&c), "-32600"));
	ck_assert_ptr_null(client_line(&c));
	close_others();
	client_close(&c);
	free(line);
}
END_TEST

/* Much waits to be read by a client: its cancel is carried out. */
START_TEST(answers_not_read)
{
	struct client c;

	n->s.conf->message_budget = 64 << 20;
	n->s.conf->max_message = 8 << 20;
	open_with_job(&c, "j");
	run_first(&c);
	start(&c, 1, "j", "echo", 3 << 20);
	while (n->s.last_call != 2 ||
	       !call_state_ended(call_find(&n->s, "c2")->state))
		fake_turn(n);
	ck_assert_uint_gt(n->s.control->bytes, CONN_OUT_PAUSE);
	client_send(&c, CANCEL "\n");
	for (int i = 0; i < 5; i++)
		fake_turn(n);
	ck_assert_int_eq(call_find(&n->s, "c1")->state, CALL_CANCELLING);
	next_has(&c, 1, "\"state\":\"completed\"");
	next_has(&c, 9, "\"state\":\"cancelling\"");
	client_close(&c);
}
END_TEST

/* A client that is dropped amid its batch, for it reads no events: what stands
 * behind in the batch is not begun, and nothing of it is put aside. */
START_TEST(dropped_amid_a_batch)
{
	struct client c, other;
	struct conn *k;

	open_with_job(&c, "j");
	client_open(n, &other);
	client_ask_has(&c, REQ("1", "events/subscribe", "{}"), "\"seq\"");
	k = TAILQ_FIRST(&n->s.control->subscribers);
	take_room();
	while (buf_len(&k->events) + 400 < CONN_EVENTS_MAX) {
		while (buf_len(&k->events) + 400 < CONN_EVENTS_MAX)
			fake_steps(n, 1);
		fake_turn(n); /* what the socket still takes */
	}
	client_send(&c,
	    "[" REQ("2", "job/start", "{\"job\":\"a\"}") ","
	    REQ("3", "job/start", "{\"job\":\"b\"}") ","
	    REQ("4", "job/start", "{\"job\":\"d\"}") ","
	    REQ("5", "job/start", "{\"job\":\"e\"}") ","
	    REQ("6", "job/start", "{\"job\":\"f\"}") ","
	    REQ("7", "call/start",
		"{\"job\":\"j\",\"function\":\"shared.echo\"}") ","
	    REQ("8", "job/start", "{\"job\":\"late\"}") "]\n");
	while (n->s.control->nconns > 1)
		fake_turn(n);
	ck_assert(job_find(&n->s, "a") != NULL);
	ck_assert(job_find(&n->s, "late") == NULL);
	ck_assert(TAILQ_EMPTY(&n->s.control->waiting));
	ck_assert_uint_eq(n->s.control->naside, 0);
	give_room();
	start(&other, 1, "j", "echo", 1);
	next_has(&other, 1, "\"state\":\"completed\"");
	client_close(&c);
	client_close(&other);
}
END_TEST

static Suite *
suite(void)
{
	const struct {
		const char *name;
		const TTest *test;
	} tests[] = {{"cancel passes", cancel_passes}, {"in turn", in_turn},
	    {"job/end keeps its place", job_end_keeps_its_place},
	    {"job/cancel passes", job_cancel_passes},
	    {"job started again", job_started_again}, {"bounded", bounded},
	    {"node_full, words", node_full_words},
	    {"small ones have room", small_ones_have_room},
	    {"closed", closed}, {"batch", batch},
	    {"not by calls", not_by_calls},
	    {"long line refused", long_line_refused},
	    {"long line of a batch", long_line_of_a_batch},
	    {"long line too long", long_line_too_long},
	    {"answers not read", answers_not_read},
	    {"dropped amid a batch", dropped_amid_a_batch}};
	Suite *s = suite_create("control aside");

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		TCase *t = tcase_create(tests[i].name);

		tcase_add_checked_fixture(t, setup, teardown);
		tcase_set_timeout(t, 30);
		tcase_add_test(t, tests[i].test);
		suite_add_tcase(s, t);
	}
	return s;
}

int
main(void)
{
	SRunner *r = srunner_create(suite());
	int failed;

	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? 0 : 1;
}
