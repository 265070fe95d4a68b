/*
 * Reading lines (message.c) and guessing at those that cannot be read
 * (skim.c).
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "worker/mcp/message.h"
#include "worker/mcp/skim.h"

static const struct {
	const char *line;
	enum message_kind kind;
	int64_t id;
} rows[] = {
	{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}", MESSAGE_RESULT, 7 },
	{ "{\"result\":1,\"id\":7,\"jsonrpc\":\"2.0\"}", MESSAGE_RESULT, 7 },
	{ "{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":{}}", MESSAGE_RESULT,
	    7 },
	{ "{\"jsonrpc\":\"2.0\",\"id\":7.0,\"result\":{}}", MESSAGE_RESULT,
	    7 },
	{ "{\"jsonrpc\":\"2.0\",\"id\":7e0,\"result\":{}}", MESSAGE_RESULT,
	    7 },
	{ "{\"jsonrpc\":\"2.0\",\"id\":\"07\",\"result\":{}}", MESSAGE_RESULT,
	    0 },
	{ "{\"jsonrpc\":\"2.0\",\"id\":\" 7\",\"result\":{}}", MESSAGE_RESULT,
	    0 },
	{ "{\"jsonrpc\":\"2.0\",\"id\":-7,\"result\":{}}", MESSAGE_RESULT,
	    0 },
	{ "{\"jsonrpc\":\"2.0\",\"id\":7.5,\"result\":{}}", MESSAGE_RESULT,
	    0 },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1e300,\"result\":{}}", MESSAGE_RESULT,
	    0 },
	{ "{\"jsonrpc\":\"2.0\",\"id\":[7],\"result\":{}}", MESSAGE_RESULT,
	    0 },
	{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}", MESSAGE_ERROR, 0 },
	{ "{\"jsonrpc\":\"2.0\",\"error\":{}}", MESSAGE_ERROR, 0 },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}", MESSAGE_NOTIFICATION, 0 },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":0}", MESSAGE_REQUEST,
	    0 },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":null}",
	    MESSAGE_NOT_RPC, 0 },
	{ "{\"jsonrpc\":\"2.0\",\"method\":1,\"id\":3}", MESSAGE_NOT_RPC, 0 },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":3,\"result\":1}",
	    MESSAGE_NOT_RPC, 0 },
	{ "{\"jsonrpc\":\"1.0\",\"id\":7,\"result\":{}}", MESSAGE_NOT_RPC,
	    7 },
	{ "{\"id\":7,\"result\":{}}", MESSAGE_NOT_RPC, 7 },
	{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1,\"error\":{}}",
	    MESSAGE_NOT_RPC, 7 },
	{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"id\":8,\"result\":1}",
	    MESSAGE_NOT_RPC, 7 },
	{ "[{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1}]", MESSAGE_NOT_RPC,
	    0 },
	{ "[]", MESSAGE_NOT_RPC, 0 },
	{ "7", MESSAGE_NOT_RPC, 0 },
	{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":NaN}", MESSAGE_NOT_JSON,
	    7 },
	{ "{\"result\":NaN,\"id\":\"7\"}", MESSAGE_NOT_JSON, 7 },
	{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":NaN}", MESSAGE_NOT_JSON,
	    0 },
	{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"\xff\"}", MESSAGE_UTF8,
	    7 },
	{ "[50] log{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}",
	    MESSAGE_NOT_JSON, 0 },
	{ "npm warn", MESSAGE_NOT_JSON, 0 },
};

START_TEST(kinds)
{
	struct message m;
	char *line = strdup(rows[_i].line);

	message_read(line, strlen(line), NULL, &m);
	ck_assert_msg(m.kind == rows[_i].kind, "%s: %d", line, m.kind);
	ck_assert_msg(m.id == rows[_i].id, "%s: %lld", line, (long long)m.id);
	if (m.kind < MESSAGE_REQUEST)
		ck_assert_ptr_nonnull(m.fault.why);
	free(line);
}
END_TEST

/* DESIGN, What crosses: CR between tokens becomes a space, nothing else. */
START_TEST(carriage_return)
{
	char line[] = "{\"jsonrpc\":\r\"2.0\",\"id\":1,\r\"result\":\"\\r\"}";
	struct message m;

	message_read(line, strlen(line), NULL, &m);
	ck_assert_int_eq(m.kind, MESSAGE_RESULT);
	ck_assert_str_eq(
	    line, "{\"jsonrpc\": \"2.0\",\"id\":1, \"result\":\"\\r\"}");
}
END_TEST

static int64_t
skimmed(const char *text, size_t piece)
{
	size_t n = strlen(text);
	struct skim s;

	skim_init(&s);
	for (size_t i = 0; i < n; i += piece)
		skim_feed(&s, text + i, n - i < piece ? n - i : piece);
	return skim_id(&s);
}

START_TEST(skims)
{
	static const struct {
		const char *text;
		int64_t id;
	} texts[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":12,\"result\":{\"a\":\"xx", 12 },
		{ "{\"result\":{\"id\":3,\"a\":[{\"id\":4}]},\"id\":12}", 12 },
		{ "{\"result\":\"\\\"id\\\":5\",\"id\":\"12\",", 12 },
		{ "{\"result\":\"}\\\\\",\"id\" : 12 , ", 12 },
		{ "{\"id\":12", 0 }, /* could be 123 */
		{ "{\"id\":12,\"method\":\"x\"", 0 },
		{ "{\"id\":{\"id\":1},\"x\":1}", 0 },
		{ "{\"id\":123456789012345678901234567890,", 0 },
		{ "{\"idx\":12,\"xid\":13,", 0 },
		{ "[{\"id\":12}]", 0 },
		{ "{}{\"id\":12}", 0 },
		{ "{\"a\":1}\"id\":12,", 0 },
		{ "", 0 },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (size_t piece = 1; piece < 8; piece++)
			ck_assert_msg(
			    skimmed(texts[i].text, piece) == texts[i].id,
			    "%s in %zu", texts[i].text, piece);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("worker: messages");
	TCase *t = tcase_create("all");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_loop_test(
	    t, kinds, 0, (int)(sizeof(rows) / sizeof(rows[0])));
	tcase_add_test(t, carriage_return);
	tcase_add_test(t, skims);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? 0 : 1;
}
