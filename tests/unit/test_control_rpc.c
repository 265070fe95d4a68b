/*
 * JSON-RPC on the control socket: lines, ids, batches, methods and who may use
 * them, over a real socket with the real core behind it (control_fake.h).
 * Jobs, calls and sessions are in test_control_calls.c.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/fd.h"
#include "supervisor/control_internal.h"
#include "supervisor/log_ring.h"
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

#define ASK_IS(line, answer) ck_assert_str_eq(client_ask(&c, line), answer)

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

START_TEST(bad_lines)
{
	ask_error("{", -32700, "null");
	ask_error("{}x", -32700, "null");
	ask_error("{\"a\":\"\xff\"}", -32700, "null");
	ask_error("1", -32600, "null");
	ask_error("\"x\"", -32600, "null");
	ask_error("{}", -32600, "null");
	ask_error("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"node/hello\"}",
	    -32600, "1");
	ask_error("{\"id\":1,\"method\":\"node/hello\"}", -32600, "1");
	ask_error("{\"jsonrpc\":2.0,\"id\":1,\"method\":\"node/hello\"}",
	    -32600, "1");
	ask_error("{\"jsonrpc\":\"2.0\",\"id\":1}", -32600, "1");
	ask_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", -32600, "1");
	ask_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", -32600, "1");
	/* a member twice: the first id names the error */
	ask_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"x\"}",
	    -32600, "1");
	/* the connection has stood it all */
	ask_has("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"node/hello\"}",
	    "\"role\":\"admin\"");
}
END_TEST

/* B079: null is no notification, and nothing is run. */
START_TEST(ids)
{
	static const char *const good[] = {"1", "1.0", "1e0", "-7",
	    "100000000000000000000", "0.1", "\"a\"", "\"\"", "\"\\u0041\\n\"",
	    "\"\xc3\xa4\""};
	static const char *const bad[] = {"null", "true", "[]", "{}"};
	char line[300], answer[300];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		snprintf(line, sizeof(line),
		    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"node/drain\"}",
		    good[i]);
		snprintf(answer, sizeof(answer),
		    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}", good[i]);
		ASK_IS(line, answer);
	}
	n->drained = false;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line),
		    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"node/drain\"}",
		    bad[i]);
		ask_error(line, -32600, "null");
	}
	ck_assert(!n->drained);
}
END_TEST

START_TEST(long_id)
{
	char id[1100] = "\"", line[1300];

	memset(id + 1, 'x', 1022);
	strcpy(id + 1023, "\"");
	snprintf(line, sizeof(line),
	    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"node/drain\"}", id);
	ask_has(line, "\"result\":{}");
	strcpy(id + 1023, "x\"");
	snprintf(line, sizeof(line),
	    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"node/drain\"}", id);
	ask_error(line, -32600, "null");
}
END_TEST

START_TEST(notification)
{
	client_send(&c, "{\"jsonrpc\":\"2.0\",\"method\":\"node/drain\"}\n"
			"{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}\n");
	ck_assert(!client_quiet(&c));
	ck_assert(n->drained);
}
END_TEST

START_TEST(batches)
{
	ask_error("[]", -32600, "null");
	ask_has("[1]", "[{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{"
		       "\"code\":-32600,");
	ASK_IS("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"node/drain\"},"
	       "{\"jsonrpc\":\"2.0\",\"method\":\"node/drain\"},"
	       "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"node/drain\"}]",
	    "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},"
	    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}]");
	client_send(&c, "[{\"jsonrpc\":\"2.0\",\"method\":\"node/drain\"}]\n");
	ck_assert(!client_quiet(&c));
}
END_TEST

/* A batch is answered once its last request is. */
START_TEST(batch_waits)
{
	const char *got;

	client_send(&c,
	    "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"call/start\","
	    "\"params\":{\"function\":\"shared.hold\"}},"
	    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"node/drain\"}]\n");
	ck_assert(!client_quiet(&c));
	fake_release(n);
	got = client_line(&c);
	ck_assert_ptr_eq(strstr(got, "[{\"jsonrpc\":\"2.0\",\"id\":2,"), got);
	ck_assert_ptr_nonnull(strstr(got, "\"state\":\"completed\""));
}
END_TEST

START_TEST(too_many_in_a_batch)
{
	char *line = malloc(2 * 1030 + 2);
	size_t len = 0;

	line[len++] = '[';
	for (int i = 0; i < 1025; i++) {
		line[len++] = '1';
		line[len++] = i == 1024 ? ']' : ',';
	}
	line[len] = '\0';
	ask_error(line, -32600, "null");
	free(line);
}
END_TEST

START_TEST(methods_and_params)
{
	static const char *const priors[] = {"{}", "[]", "2", "{\"total\":4}",
	    "{\"progress\":\"2\"}", "{\"progress\":1e999}",
	    "{\"progress\":1,\"total\":null}", "{\"progress\":1,\"x\":2}",
	    "{\"progress\":1,\"progress\":2}",
	    "{\"progress\":1,\"token\":5}"};
	char line[256];

	ask_error(REQ("1", "node/nothing", "{}"), -32601, "1");
	ask_error(REQ("1", "policy/set", "{}"), -32602, "1");
	ask_has(REQ("1", "policy/set", "{\"policy\":[{\"decision\":1}]}"),
	    "policy[0].decision");
	ask_has(REQ("1", "listing/show", "{}"),
	    "not supported by this version");
	ask_has(REQ("1", "tool/kill", "{\"tool\":\"none\"}"),
	    "unknown_tool");
	ask_has(REQ("1", "call/approve", "{\"call\":\"c99\"}"),
	    "unknown_call");
	ask_error(REQ("1", "node/hello", "[]"), -32602, "1");
	ask_error(REQ("1", "node/hello", "null"), -32602, "1");
	ask_has(REQ("1", "node/hello", "{\"x\":1}"), "unknown member \\\"x");
	ask_has(REQ("1", "job/start", "{}"), "\\\"job\\\" is missing");
	ask_has(REQ("1", "job/start", "{\"job\":\"a\",\"job\":\"b\"}"),
	    "\\\"job\\\" stands there twice");
	ask_error(REQ("1", "job/start", "{\"job\":\"a b\"}"), -32602, "1");
	ask_error(REQ("1", "job/start", "{\"job\":\"c12\"}"), -32602, "1");
	ask_error(
	    REQ("1", "job/start", "{\"job\":\"a\",\"run\":-1}"), -32602, "1");
	ask_error(REQ("1", "job/start", "{\"job\":\"a\",\"run\":4294967296}"),
	    -32602, "1");
	ask_error(REQ("1", "call/start",
		      "{\"function\":\"shared.echo\",\"arguments\":[]}"),
	    -32602, "1");
	ask_error(REQ("1", "call/start",
		      "{\"function\":\"shared.echo\",\"timeout\":0}"),
	    -32602, "1");
	for (size_t i = 0; i < sizeof(priors) / sizeof(priors[0]); i++) {
		snprintf(line, sizeof(line),
		    REQ("1", "call/start",
			"{\"function\":\"shared.echo\",\"prior\":%s}"),
		    priors[i]);
		ask_has(line, "\\\"prior\\\" must be an object");
	}
	ask_error(
	    REQ("1", "call/start",
		"{\"function\":\"shared.echo\",\"traceparent\":\"00-x\"}"),
	    -32602, "1");
}
END_TEST

START_TEST(node_and_tools)
{
	const char *got = client_ask(&c, REQ("1", "node/status", "{}"));
	struct json_value v;
	struct json_fault f;

	ck_assert(json_check(got, strlen(got), &v, &f));
	v = json_member(v, "result");
	ck_assert(json_string_is(json_member(v, "node"), "n1"));
	ck_assert(json_string_is(json_member(v, "state"), "ready"));
	ck_assert_int_eq(json_member(v, "servers").type, JSON_ARRAY);
	ask_has(REQ("2", "node/ps", "{}"), "\"role\":\"worker\"");
	ask_has(REQ("3", "node/ps", "{\"job\":\"j\"}"), "\"processes\":[]");
	ask_has(REQ("4", "tool/list", "{}"), "\"tool\":\"shared\"");
	ask_has(REQ("5", "tool/functions", "{}"),
	    "\"listed\":{\"name\":\"echo\",\"x\":1.10}");
	ask_has(REQ("6", "tool/functions", "{\"tool\":\"own\"}"),
	    "\"functions\":[],\"not_listed\":[\"own\"]");
	ask_has(REQ("7", "tool/restart", "{\"tool\":\"own\"}"),
	    "\"reason\":\"not_allowed\"");
	ask_has(
	    REQ("8", "tool/restart", "{\"tool\":\"shared\"}"), "\"result\":{}");
	ask_has(REQ("9", "node/reload", "{}"), "node.slots: no");
	ask_has(REQ("10", "tool/logs", "{\"tool\":\"x\"}"),
	    "\"reason\":\"unknown_tool\"");
}
END_TEST

START_TEST(logs)
{
	struct tool *t = tool_find(&n->s, "shared");

	log_ring_add(t->log, "shared", "one", 3);
	ask_has(REQ("1", "tool/logs", "{\"tool\":\"shared\"}"),
	    "\"from\":\"shared\",\"line\":\"one\"}],\"next\":2,"
	    "\"text\":\"shared: one\\n\"}");
	client_send(
	    &c, REQ("2", "tool/logs",
		    "{\"tool\":\"shared\",\"since\":2,\"wait\":true}") "\n");
	ck_assert(!client_quiet(&c));
	log_ring_add(t->log, "shared", "two", 3);
	log_ring_tell(&n->s, t->log);
	ck_assert_ptr_nonnull(
	    strstr(client_line(&c), "\"line\":\"two\"}],\"next\":3,"));
	/* one that goes away while it waits */
	client_send(
	    &c, REQ("3", "tool/logs",
		    "{\"tool\":\"shared\",\"since\":3,\"wait\":true}") "\n");
	ck_assert(!client_quiet(&c));
	client_close(&c);
	client_open(n, &c);
	for (int i = 0; i < 3; i++)
		fake_turn(n);
	log_ring_add(t->log, "shared", "three", 5);
	log_ring_tell(&n->s, t->log);
	ask_has(REQ("4", "node/hello", "{}"), "\"role\":\"admin\"");
}
END_TEST

/* SESSION, Who may do what: the roles of the table. */
START_TEST(roles)
{
	const char *got;
	char conf[100];

	teardown();
	snprintf(conf, sizeof(conf),
	    "\"admins\":[\"4294967294\"],\"observers\":[\"%u\"]",
	    (unsigned)geteuid());
	n = fake_new(conf);
	ck_assert_int_eq(control_start(&n->s), 0);
	client_open(n, &c);
	ask_has(REQ("1", "node/hello", "{}"), "\"role\":\"observer\"");
	ask_has(REQ("2", "node/status", "{}"), "\"result\"");
	ask_has(REQ("3", "job/start", "{\"job\":\"a\"}"),
	    "\"reason\":\"not_allowed\"");
	ask_has(REQ("4", "tool/logs", "{\"tool\":\"own\"}"),
	    "\"reason\":\"not_allowed\"");
	ask_has(REQ("5", "node/drain", "{}"), "\"reason\":\"not_allowed\"");
	/* a reload that takes the last role away */
	n->s.conf->observers.nuids = 0;
	control_reload(&n->s);
	ck_assert_ptr_null(client_line(&c));
	client_close(&c);
	client_open(n, &c);
	got = client_line(&c);
	ck_assert_ptr_nonnull(strstr(got, "\"reason\":\"not_allowed\""));
	ck_assert_ptr_null(client_line(&c));
}
END_TEST

/* oz0-control(7) has every method, with the role that may use it. */
START_TEST(page)
{
	const char *top = getenv("OZ0_SRCDIR");
	static const char *const roles_shown[] = {[ROLE_OBSERVER] = "Observer",
	    [ROLE_SCHEDULER] = "Scheduler",
	    [ROLE_ADMIN] = "Admin"};
	char path[4096], *text;
	size_t len;
	const struct method *m;

	snprintf(path, sizeof(path), "%s/man/oz0-control.7",
	    top != NULL ? top : ".");
	ck_assert_int_eq(fd_read_file(AT_FDCWD, path, 1 << 20, &text, &len), 0);
	for (size_t i = 0; (m = method_at(i)) != NULL; i++) {
		char item[200];

		snprintf(item, sizeof(item), ".It Cm %s\n%s.\n", m->name,
		    roles_shown[m->role]);
		if (m->fn == NULL)
			ck_assert_msg(
			    strstr(text, m->name) != NULL, "%s", m->name);
		else
			ck_assert_msg(strstr(text, item) != NULL, "%s", item);
	}
	free(text);
}
END_TEST

static Suite *
suite(void)
{
	const struct {
		const char *name;
		const TTest *test;
	} tests[] = {{"bad lines", bad_lines}, {"ids", ids},
	    {"long id", long_id}, {"notification", notification},
	    {"batches", batches}, {"batch waits", batch_waits},
	    {"too many in a batch", too_many_in_a_batch},
	    {"methods and params", methods_and_params},
	    {"node and tools", node_and_tools}, {"logs", logs},
	    {"roles", roles}, {"page", page}};
	Suite *s = suite_create("control rpc");

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
