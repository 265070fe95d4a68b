/*
 * Judging answers (answer.c), composing requests (compose.c), revisions
 * (version.c).
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/mcp/answer.h"
#include "worker/mcp/compose.h"
#include "worker/mcp/version.h"

static struct json_value
value(const char *text)
{
	struct json_value v = { 0 };

	ck_assert_msg(json_check(text, strlen(text), &v, NULL), "%s", text);
	return v;
}

static struct answer
result(const char *text, bool modern)
{
	static char line[1024]; /* what was read points into it */
	struct message m;
	struct answer a;

	snprintf(line, sizeof(line),
	    "{\"jsonrpc\":\"2.0\",\"result\":%s,\"id\":1}", text);
	message_read(line, strlen(line), NULL, &m);
	ck_assert_int_eq(m.kind, MESSAGE_RESULT);
	answer_read_result(&m, modern, &a);
	return a;
}

START_TEST(results)
{
	static const struct {
		const char *text;
		bool modern;
		enum wire_end how;
		bool is_error;
	} rows[] = {
		{ "{}", true, WIRE_END_RESULT, false },
		{ "{\"isError\":false}", false, WIRE_END_RESULT, false },
		{ "{\"isError\":true}", false, WIRE_END_RESULT, true },
		{ "{\"isError\":null}", false, WIRE_END_BAD_ANSWER, false },
		{ "{\"isError\":\"true\"}", false, WIRE_END_BAD_ANSWER, false },
		{ "{\"isError\":true,\"isError\":false}", false,
		    WIRE_END_BAD_ANSWER, false },
		{ "[]", false, WIRE_END_BAD_ANSWER, false },
		{ "null", true, WIRE_END_BAD_ANSWER, false },
		{ "{\"resultType\":\"complete\"}", true, WIRE_END_RESULT,
		    false },
		{ "{\"resultType\":\"later\"}", true, WIRE_END_BAD_ANSWER,
		    false },
		{ "{\"resultType\":\"later\"}", false, WIRE_END_RESULT,
		    false },
		{ "{\"resultType\":\"input_required\"}", true,
		    WIRE_END_BAD_ANSWER, false },
		{ "{\"resultType\":\"input_required\",\"requestState\":7}",
		    true, WIRE_END_BAD_ANSWER, false },
		{ "{\"resultType\":\"input_required\",\"inputRequests\":[]}",
		    true, WIRE_END_INPUT_REQUIRED, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct answer a = result(rows[i].text, rows[i].modern);

		ck_assert_msg(a.how == rows[i].how, "%s", rows[i].text);
		ck_assert_msg(a.is_error == rows[i].is_error, "%s",
		    rows[i].text);
		if (a.how == WIRE_END_BAD_ANSWER)
			ck_assert_msg(*a.message != '\0', "%s", rows[i].text);
	}
}
END_TEST

/* L3.7a: a state alone may be gone on with, and is given back as it is. */
START_TEST(input_required)
{
	struct answer a = result("{\"resultType\":\"input_required\","
				 "\"requestState\":\"\\u00e4 \\\\\"}",
	    true);

	ck_assert_int_eq(a.how, WIRE_END_INPUT_REQUIRED);
	ck_assert_int_eq(a.state.type, JSON_STRING);
	ck_assert_int_eq((int)a.state.len, 11);
	ck_assert(memcmp(a.state.p, "\"\\u00e4 \\\\\"", 11) == 0);
	a = result("{\"resultType\":\"input_required\",\"requestState\":\"s\","
		   "\"inputRequests\":{}}",
	    true);
	ck_assert_int_eq(a.state.type, JSON_STRING);
	a = result("{\"resultType\":\"input_required\",\"requestState\":\"s\","
		   "\"inputRequests\":{\"a\":{}}}",
	    true);
	ck_assert_int_eq(a.how, WIRE_END_INPUT_REQUIRED);
	ck_assert_int_eq(a.state.type, JSON_NONE);
}
END_TEST

/* L4.1 */
START_TEST(busy)
{
	static const struct {
		const char *meta;
		enum wire_busy busy;
		double wait;
	} rows[] = {
		{ "{}", WIRE_BUSY_NO, -1 },
		{ "7", WIRE_BUSY_NO, -1 },
		{ "{\"oz0/retryable\":1}", WIRE_BUSY_BAD_FLAG, -1 },
		{ "{\"oz0/retryable\":null}", WIRE_BUSY_BAD_FLAG, -1 },
		{ "{\"oz0/retryable\":false}", WIRE_BUSY_NO, -1 },
		{ "{\"oz0/retryable\":false,\"oz0/retry_after\":1}",
		    WIRE_BUSY_NO, -1 },
		{ "{\"oz0/retryable\":true}", WIRE_BUSY_YES, -1 },
		{ "{\"oz0/retryable\":true,\"oz0/retry_after\":0}",
		    WIRE_BUSY_YES, 0 },
		{ "{\"oz0/retryable\":true,\"oz0/retry_after\":2.5e1}",
		    WIRE_BUSY_YES, 25 },
		{ "{\"oz0/retryable\":true,\"oz0/retry_after\":1e300}",
		    WIRE_BUSY_YES, 1e9 },
		{ "{\"oz0/retryable\":true,\"oz0/retry_after\":-0.1}",
		    WIRE_BUSY_BAD_WAIT, -1 },
		{ "{\"oz0/retryable\":true,\"oz0/retry_after\":null}",
		    WIRE_BUSY_BAD_WAIT, -1 },
		{ "{\"oz0/retryable\":true,\"oz0/retry_after\":1e999}",
		    WIRE_BUSY_BAD_WAIT, -1 },
	};
	char text[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct answer a;

		snprintf(text, sizeof(text), "{\"isError\":true,\"_meta\":%s}",
		    rows[i].meta);
		a = result(text, false);
		ck_assert_msg(a.busy == rows[i].busy, "%s", rows[i].meta);
		ck_assert_double_eq(a.retry_after, rows[i].wait);
		snprintf(text, sizeof(text), "{\"_meta\":%s}", rows[i].meta);
		ck_assert_int_eq(result(text, false).busy, WIRE_BUSY_NO);
	}
}
END_TEST

START_TEST(errors)
{
	struct answer a;

	answer_read_error(
	    value("{\"message\":\"no \\u00e4\",\"code\":-32601}"), &a);
	ck_assert_int_eq(a.how, WIRE_END_RPC_ERROR);
	ck_assert_int_eq(a.code, -32601);
	ck_assert_str_eq(a.message, "no \xc3\xa4");
	answer_read_error(value("{\"code\":0}"), &a);
	ck_assert_int_eq(a.how, WIRE_END_RPC_ERROR);
	ck_assert_int_eq(a.code, 0);
	answer_read_error(value("{\"code\":1.5}"), &a);
	ck_assert_int_eq(a.how, WIRE_END_BAD_ANSWER);
	answer_read_error(value("\"no\""), &a);
	ck_assert_int_eq(a.how, WIRE_END_BAD_ANSWER);
}
END_TEST

static void
composed(const struct compose_call *call, const char *want)
{
	struct buf out = { 0 };
	size_t at, len;

	compose_call(&out, call, &at, &len);
	buf_putc(&out, '\0');
	ck_assert_str_eq(buf_at(&out), want);
	ck_assert(at + len < buf_len(&out));
	if (call->arguments_len != 0)
		ck_assert_int_eq((int)len, (int)call->arguments_len);
	buf_free(&out);
}

START_TEST(calls)
{
	struct compose_call call = { .id = 1234567890123456, .envelope = "",
		.function = "f.g", .key = "j1/s1/t.f#00/1", .traceparent = "" };

	composed(&call,
	    "{\"jsonrpc\":\"2.0\",\"id\":1234567890123456,\"method\":"
	    "\"tools/call\",\"params\":{\"name\":\"f.g\",\"_meta\":{"
	    "\"oz0/idempotency_key\":\"j1/s1/t.f#00/1\"},"
	    "\"arguments\":{}}}\n");
	call.id = 1;
	call.envelope = "\"e\":1";
	call.progress = true;
	call.traceparent = "00-ab-cd-01";
	call.arguments = "{ \"a\":\r\n1.10 }";
	call.arguments_len = 14;
	call.state = value("\"s\\u00e4\"");
	composed(&call,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
	    "\"params\":{\"name\":\"f.g\",\"_meta\":{\"e\":1,"
	    "\"oz0/idempotency_key\":\"j1/s1/t.f#00/1\",\"progressToken\":1,"
	    "\"traceparent\":\"00-ab-cd-01\"},\"arguments\":{ \"a\":  1.10 },"
	    "\"requestState\":\"s\\u00e4\"}}\n");
	ck_assert(compose_is_plain("j1/s1/t.f#00/1"));
	ck_assert(!compose_is_plain("a b"));
	ck_assert(!compose_is_plain("a\"b"));
	ck_assert(!compose_is_plain("a\\b"));
	ck_assert(!compose_is_plain("a\nb"));
	ck_assert(!compose_is_plain("\xc3\xa4"));
}
END_TEST

/* Every line is one JSON value and one LF. */
START_TEST(lines)
{
	struct buf out = { 0 }, envelope = { 0 };
	struct json_value id = value("\"a\\\"b\"");
	const char *p, *lf;
	int n = 0;

	compose_envelope(&envelope, VERSION_MODERN);
	buf_putc(&envelope, '\0');
	compose_discover(&out, 1, buf_at(&envelope));
	compose_initialize(&out, 2, VERSION_LEGACY);
	compose_initialized(&out);
	compose_list(&out, 3, "", NULL);
	compose_list(&out, 4, "", "\"\"");
	compose_list(&out, 5, buf_at(&envelope), NULL);
	compose_list(&out, 6, buf_at(&envelope), "\"x\"");
	compose_listen(&out, 7, buf_at(&envelope));
	compose_cancelled(&out, 8, "");
	compose_cancelled(&out, 9, "line\nbreak \" \xff");
	compose_pong(&out, id);
	compose_refusal(&out, id);
	buf_putc(&out, '\0');
	for (p = buf_at(&out); *p != '\0'; p = lf + 1) {
		struct json_want w[] = { { .name = "jsonrpc" } };

		lf = strchr(p, '\n');
		ck_assert_ptr_nonnull(lf);
		ck_assert_msg(
		    json_object_pick(p, (size_t)(lf - p), w, 1, NULL), "%s", p);
		ck_assert(json_string_is(w[0].value, "2.0"));
		n++;
	}
	ck_assert_int_eq(n, 12);
	buf_free(&out);
	buf_free(&envelope);
}
END_TEST

START_TEST(versions)
{
	bool modern, legacy;

	ck_assert_str_eq(
	    version_find(value("\"2025-03-26\""), &modern), "2025-03-26");
	ck_assert(!modern);
	ck_assert_str_eq(
	    version_find(value("\"2026-07-28\""), &modern), "2026-07-28");
	ck_assert(modern);
	ck_assert_ptr_null(version_find(value("\"2026-07-29\""), &modern));
	ck_assert_ptr_null(version_find(value("7"), &modern));
	ck_assert_str_eq(
	    version_pick(value("[\"x\",\"2024-11-05\",\"2026-07-28\"]"),
		&legacy),
	    "2026-07-28");
	ck_assert_ptr_null(version_pick(value("[\"2024-11-05\"]"), &legacy));
	ck_assert(legacy);
	ck_assert_ptr_null(version_pick(value("[1,null,{}]"), &legacy));
	ck_assert(!legacy);
	ck_assert_ptr_null(version_pick(value("{\"a\":\"2026-07-28\"}"),
	    &legacy));
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("worker: answers and requests");
	TCase *t = tcase_create("all");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_test(t, results);
	tcase_add_test(t, input_required);
	tcase_add_test(t, busy);
	tcase_add_test(t, errors);
	tcase_add_test(t, calls);
	tcase_add_test(t, lines);
	tcase_add_test(t, versions);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? 0 : 1;
}
