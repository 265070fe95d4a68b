/*
 * Jobs, calls and sessions by way of the control socket: what is relayed, what
 * a cancel waits for, traces by pages, a harness with its descriptors.  Over a
 * real socket, with the real core behind it (control_fake.h).
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "tests/unit/control_fake.h"

static struct fake_node *n;
static struct client c;

static void
setup(void)
{
	n = fake_new(NULL);
	ck_assert_int_eq(control_start(&n->s), 0);
	client_open(n, &c);
}

static void
teardown(void)
{
	client_close(&c);
	fake_free(n);
}

static void
ask_has(const char *line, const char *part)
{
	client_ask_has(&c, line, part);
}

static void
ask_error(const char *line, int code, const char *id)
{
	client_ask_error(&c, line, code, id);
}

/* What a caller sends arrives byte for byte, CR between tokens excepted. */
START_TEST(call_is_relayed)
{
	ask_has(REQ("1", "job/start", "{\"job\":\"j1\",\"tenant\":\"t\"}"),
	    "{\"job\":\"j1\",\"tenant\":\"t\",\"run\":0,\"state\":"
	    "\"RUNNING\"}");
	ask_has(REQ("\"x\"", "call/start",
		    "{\"job\":\"j1\",\"activity\":\"a\",\"function\":"
		    "\"shared.echo\",\"arguments\":"
		    "{\"n\":1.10,\"n\":18446744073709551617,\r \"s\":"
		    "\"\\u0000\\ud800\"}}"),
	    "\"result\":{\"n\":1.10,\"n\":18446744073709551617,  \"s\":"
	    "\"\\u0000\\ud800\"}");
	/* the same activity joins, with other arguments it is refused */
	ask_has(REQ("1", "call/start",
		    "{\"job\":\"j1\",\"activity\":\"a\",\"function\":"
		    "\"shared.echo\",\"arguments\":{}}"),
	    "\"reason\":\"busy_activity\"");
	ask_has(REQ("1", "call/start",
		    "{\"job\":\"j1\",\"tenant\":\"u\",\"function\":"
		    "\"shared.echo\"}"),
	    "\"reason\":\"not_allowed\"");
	ask_has(REQ("1", "call/start",
		    "{\"job\":\"j1\",\"run\":1,\"function\":\"shared.echo\"}"),
	    "\"reason\":\"not_allowed\"");
	ask_has(REQ("1", "call/start",
		    "{\"job\":\"j2\",\"function\":\"shared.echo\"}"),
	    "\"reason\":\"unknown_job\"");
	ask_has(REQ("1", "call/start",
		    "{\"job\":\"j1\",\"function\":\"nothing.echo\"}"),
	    "\"reason\":\"unknown_tool\"");
}
END_TEST

/* A large result is one in memory, and the same bytes wherever it goes. */
START_TEST(large_result)
{
	enum { LEN = 300000 };
	char *fill = mem_alloc(LEN + 1), *line, *want;
	struct client other;

	memset(fill, 'y', LEN);
	fill[LEN] = '\0';
	client_open(n, &other);
	ask_has(REQ("1", "job/start", "{\"job\":\"j1\"}"), "RUNNING");
	line = mem_printf("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
			  "\"call/start\",\"params\":{\"job\":\"j1\","
			  "\"activity\":\"a\",\"function\":\"shared.echo\","
			  "\"arguments\":{\"a\":\"%s\"}}}",
	    fill);
	want = mem_printf("\"result\":{\"a\":\"%s\"}}}", fill);
	/* asked for by two, then again when it is kept, last in a batch */
	client_send(&other, line);
	client_send(&other, "\n");
	client_ask_has(&c, line, want);
	ck_assert_ptr_nonnull(
	    strstr(client_line(&other), want));
	client_ask_has(&c, line, want);
	client_send(&c, "[");
	client_send(&c, line);
	client_send(&c, ",");
	client_ask_has(&c, HELLO "]", want);
	ck_assert_uint_eq(n->s.last_call, 1);
	ck_assert_uint_eq(n->s.kept_bytes, LEN + strlen("\"result\":") + 8);
	ck_assert_uint_eq(n->s.payload_bytes, 0);
	fake_turn(n);
	ck_assert_uint_eq(control_bytes(&n->s), 0);
	client_close(&other);
	free(want);
	free(line);
	free(fill);
}
END_TEST

/* Without a job a call has one of its own, which ends with it. */
START_TEST(call_without_job)
{
	struct job *j;

	ask_has(REQ("1", "call/start", "{\"function\":\"shared.echo\"}"),
	    "\"job\":\"cli-");
	fake_turn(n);
	j = RB_MIN(job_tree, &n->s.jobs);
	ck_assert_int_eq(j->state, JOB_COMPLETED);
	ask_has(REQ("1", "call/start", "{\"function\":\"nothing.echo\"}"),
	    "\"reason\":\"unknown_tool\"");
	fake_turn(n);
	RB_FOREACH(j, job_tree, &n->s.jobs)
	ck_assert_int_ne(j->state, JOB_RUNNING);
}
END_TEST

/* L1.3: a cancel is answered once nothing runs any more. */
START_TEST(cancel_job)
{
	const char *got;

	client_ask(&c, REQ("1", "job/start", "{\"job\":\"j1\"}"));
	client_send(&c, REQ("2", "call/start",
			    "{\"job\":\"j1\",\"function\":\"own.hold\"}") "\n");
	ck_assert(!client_quiet(&c));
	n->hold_ends = true;
	ask_has(REQ("3", "job/cancel", "{\"job\":\"j1\",\"wait\":false}"),
	    "\"state\":\"cancelling\"");
	client_send(&c, REQ("4", "job/cancel", "{\"job\":\"j1\"}") "\n");
	ck_assert(!client_quiet(&c));
	n->hold_ends = false;
	got = client_line(&c);
	ck_assert_ptr_nonnull(strstr(got, "\"id\":2,"));
	ck_assert_ptr_nonnull(strstr(got, "\"state\":\"canceled\""));
	ck_assert_ptr_nonnull(strstr(got, "\"stopped\":\"server_gone\""));
	got = client_line(&c);
	ck_assert_ptr_nonnull(strstr(got, "\"id\":4,"));
	ck_assert_ptr_nonnull(strstr(got, "\"state\":\"CANCELED\""));
	/* L1.6 */
	ask_has(REQ("5", "job/cancel", "{\"job\":\"j1\"}"),
	    "\"data\":{\"reason\":\"already_ended\",\"state\":\"CANCELED\"}");
	ask_has(REQ("6", "job/cancel", "{\"job\":\"past\"}"),
	    "\"data\":{\"reason\":\"already_ended\",\"state\":\"COMPLETED\"}");
	ask_has(REQ("7", "job/cancel", "{\"job\":\"never\"}"),
	    "\"reason\":\"unknown_job\"");
	ask_has(REQ("8", "job/forget", "{\"job\":\"never\"}"),
	    "\"reason\":\"unknown_job\"");
	ask_has(REQ("8", "job/end", "{\"job\":\"never\"}"),
	    "\"reason\":\"unknown_job\"");
	ask_has(REQ("8", "job/status", "{\"job\":\"never\"}"),
	    "\"reason\":\"unknown_job\"");
	ask_has(REQ("8", "job/trace", "{\"job\":\"never\",\"since\":7}"),
	    "\"reason\":\"unknown_job\"");
	ask_has(REQ("9", "job/forget", "{\"job\":\"j1\"}"), "\"result\":{}");
}
END_TEST

START_TEST(cancel_call)
{
	client_ask(&c, REQ("1", "job/start", "{\"job\":\"j1\"}"));
	client_send(&c, REQ("2", "call/start",
			    "{\"job\":\"j1\",\"function\":\"own.hold\"}") "\n");
	ck_assert(!client_quiet(&c));
	ask_has(REQ("3", "call/status", "{\"call\":\"c1\"}"),
	    "\"state\":\"running\"");
	client_send(&c, REQ("4", "call/cancel", "{\"call\":\"c1\"}") "\n");
	ck_assert_ptr_nonnull(strstr(client_line(&c), "\"id\":2,"));
	ck_assert_ptr_nonnull(
	    strstr(client_line(&c), "\"state\":\"canceled\""));
	ask_has(REQ("5", "call/cancel", "{\"call\":\"c1\"}"),
	    "\"state\":\"canceled\"");
	ask_has(REQ("6", "call/cancel", "{\"call\":\"c999\"}"),
	    "\"data\":{\"reason\":\"already_ended\",\"state\":\"failed\"}");
	ask_has(REQ("7", "call/status", "{\"call\":\"c999\"}"),
	    "\"result\":{\"call\":\"c999\",\"state\":\"failed\"}");
	ask_has(REQ("8", "call/cancel", "{\"call\":\"c998\"}"),
	    "\"reason\":\"unknown_call\"");
	ask_has(REQ("8", "call/status", "{\"call\":\"c998\"}"),
	    "\"reason\":\"unknown_call\"");
	ask_error(REQ("9", "call/status", "{\"call\":\"x\"}"), -32602, "9");
}
END_TEST

START_TEST(end_of_a_job)
{
	client_ask(&c, REQ("1", "job/start", "{\"job\":\"j1\"}"));
	client_send(
	    &c, REQ("2", "call/start",
		    "{\"job\":\"j1\",\"function\":\"own.hold\"}") "\n" REQ("3",
		    "job/end", "{\"job\":\"j1\"}") "\n");
	ck_assert(!client_quiet(&c));
	fake_release(n);
	ck_assert_ptr_nonnull(strstr(client_line(&c), "\"id\":2,"));
	ck_assert_ptr_nonnull(
	    strstr(client_line(&c), "\"state\":\"COMPLETED\""));
	ask_has(REQ("4", "job/status", "{\"job\":\"j1\"}"),
	    "\"state\":\"COMPLETED\"");
	ask_has(REQ("5", "job/status", "{\"job\":\"past\"}"),
	    "\"result\":{\"job\":\"past\",\"run\":0,\"state\":\"COMPLETED\"}");
	ask_has(REQ("6", "job/list", "{}"),
	    "\"jobs\":[{\"job\":\"past\",\"run\":0,\"state\":\"COMPLETED\"},"
	    "{\"job\":\"j1\",");
	n->journal_broken = true;
	ask_has(REQ("7", "job/list", "{}"), "\"reason\":\"internal\"");
	ask_has(REQ("8", "job/status", "{\"job\":\"j1\"}"),
	    "\"state\":\"COMPLETED\"");
}
END_TEST

static uint64_t
last_seq_of(const char *line, unsigned *ret_count, bool *ret_more)
{
	struct json_value v, result, key, step;
	struct json_fault f;
	struct json_iter it;
	uint64_t seq = 0, next;

	ck_assert(json_check(line, strlen(line), &v, &f));
	result = json_member(v, "result");
	*ret_more = json_member(result, "more").type == JSON_TRUE;
	*ret_count = 0;
	json_iter_init(&it, json_member(result, "steps"));
	while (json_iter_next(&it, &key, &step)) {
		ck_assert(json_to_uint64(json_member(step, "seq"), &next));
		ck_assert_uint_gt(next, seq);
		seq = next;
		++*ret_count;
	}
	return seq;
}

START_TEST(trace_by_pages)
{
	unsigned total = 0, count, pages = 0;
	uint64_t since = 0, seq;
	char line[200];
	bool more = true;

	client_ask(&c, REQ("1", "job/start", "{\"job\":\"j1\"}"));
	for (int i = 0; i < 5; i++)
		client_ask(&c, REQ("2", "call/start",
				   "{\"job\":\"j1\",\"function\":"
				   "\"shared.echo\"}"));
	while (more) {
		snprintf(line, sizeof(line),
		    REQ("3", "job/trace",
			"{\"job\":\"j1\",\"since\":%llu,\"limit\":3}"),
		    (unsigned long long)since);
		seq = last_seq_of(client_ask(&c, line), &count, &more);
		if (count > 0) {
			ck_assert_uint_gt(seq, since);
			since = seq;
		}
		total += count;
		pages++;
	}
	last_seq_of(client_ask(&c, REQ("4", "job/trace", "{\"job\":\"j1\"}")),
	    &count, &more);
	ck_assert_uint_eq(count, total);
	ck_assert_uint_ge(pages, count / 3);
	ck_assert_uint_gt(count, 10);
	ask_has(REQ("5", "job/trace", "{\"job\":\"never\"}"),
	    "\"reason\":\"unknown_job\"");
}
END_TEST

static void
send_with_fds(const char *line, const int *fds, size_t nfds)
{
	union {
		char space[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec iov = {(char *)(uintptr_t)line, strlen(line)};
	struct msghdr m = {.msg_iov = &iov,
	    .msg_iovlen = 1,
	    .msg_control = control.space,
	    .msg_controllen = CMSG_SPACE(nfds * sizeof(int))};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(nfds * sizeof(int));
	memcpy(CMSG_DATA(h), fds, nfds * sizeof(int));
	ck_assert_int_eq(sendmsg(c.fd, &m, 0), (ssize_t)strlen(line));
}

#define RUN(id, command)                                                       \
	REQ(id, "session/run",                                                 \
	    "{\"job\":\"j1\",\"session\":1,\"command\":"                       \
	    "\"" command "\",\"args\":[\"a\"],\"env\":"                        \
	    "{\"A\":\"b\"}}")                                                  \
	"\n"

START_TEST(run)
{
	int p[2], fds[4];

	ck_assert_int_eq(pipe(p), 0);
	ck_assert_int_eq(write(p[1], "hello", 5), 5);
	close(p[1]);
	for (int i = 0; i < 4; i++)
		fds[i] = p[0];
	client_ask(&c, REQ("1", "job/start", "{\"job\":\"j1\"}"));
	ask_has(REQ("2", "session/run",
		    "{\"job\":\"j1\",\"session\":1,\"command\":\"x\"}"),
	    "is not open");
	ask_has(REQ("3", "session/open", "{\"job\":\"j1\",\"session\":1}"),
	    "\"state\":\"OPEN\"");
	client_send(&c, RUN("4", "sh"));
	ck_assert_ptr_nonnull(strstr(client_line(&c), "three descriptors"));
	send_with_fds(RUN("5", "sh"), fds, 2);
	ck_assert_ptr_nonnull(strstr(client_line(&c), "three descriptors"));
	send_with_fds(RUN("6", "sh"), fds, 4);
	ck_assert_ptr_nonnull(strstr(client_line(&c), "three descriptors"));
	/* descriptors of another line are not taken for this one's */
	send_with_fds(REQ("7", "node/hello", "{}") "\n", fds, 3);
	client_send(&c, RUN("8", "sh"));
	ck_assert_ptr_nonnull(strstr(client_line(&c), "\"id\":7"));
	ck_assert_ptr_nonnull(strstr(client_line(&c), "three descriptors"));
	send_with_fds(RUN("9", "refused"), fds, 3);
	ck_assert_ptr_nonnull(strstr(client_line(&c), "not this one"));
	ck_assert_uint_eq(n->harnesses, 0);
	send_with_fds(RUN("10", "sh"), fds, 3);
	ck_assert_ptr_nonnull(
	    strstr(client_line(&c), "\"id\":10,\"result\":{\"job\":\"j1\""));
	ck_assert_str_eq(n->harness_said, "hello");
	n->harness_fails = true;
	send_with_fds(RUN("11", "sh"), fds, 3);
	ck_assert_ptr_nonnull(strstr(
	    client_line(&c), "the harness was not started: no such file"));
	ask_has(REQ("12", "session/signal",
		    "{\"job\":\"j1\",\"session\":1,\"signal\":15}"),
	    "\"result\":{}");
	ask_has(REQ("13", "session/signal",
		    "{\"job\":\"j1\",\"session\":1,\"signal\":0}"),
	    "-32602");
	ask_has(REQ("131", "session/resize",
		    "{\"job\":\"j1\",\"session\":1,\"rows\":40,"
		    "\"cols\":65535}"),
	    "\"result\":{}");
	ck_assert_uint_eq(n->rows, 40);
	ck_assert_uint_eq(n->cols, 65535);
	ask_has(REQ("132", "session/resize",
		    "{\"job\":\"j1\",\"session\":1,\"rows\":40,"
		    "\"cols\":65536}"),
	    "-32602");
	ask_has(REQ("133", "session/resize",
		    "{\"job\":\"j1\",\"session\":1,\"rows\":0,"
		    "\"cols\":80}"),
	    "-32602");
	ck_assert_uint_eq(n->cols, 65535);
	ask_has(REQ("14", "session/close", "{\"job\":\"j1\",\"session\":1}"),
	    "\"state\":\"CLOSED\"");
	ask_has(REQ("15", "session/close", "{\"job\":\"j1\",\"session\":1}"),
	    "\"state\":\"CLOSED\"");
	ask_has(REQ("16", "session/close", "{\"job\":\"j1\",\"session\":7}"),
	    "is not open");
	close(p[0]);
}
END_TEST

static Suite *
suite(void)
{
	const struct {
		const char *name;
		const TTest *test;
	} tests[] = {{"call is relayed", call_is_relayed},
	    {"large result", large_result},
	    {"call without job", call_without_job}, {"cancel job", cancel_job},
	    {"cancel call", cancel_call}, {"end of a job", end_of_a_job},
	    {"trace by pages", trace_by_pages}, {"run", run}};
	Suite *s = suite_create("control calls");

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
