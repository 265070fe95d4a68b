/*
 * Unit tests of base/canon.c: the examples and numbers of RFC 8785, what
 * LIFECYCLE L2.3 adds, what is refused, and the digests.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/canon.h"
#include "base/json_number.h"
#include "base/mem.h"

static struct json_value
value(const char *text)
{
	struct json_value v;

	ck_assert_msg(json_check(text, strlen(text), &v, NULL), "%s", text);
	return v;
}

/* The canonical form, or NULL when there is none. */
static char *
canon(const char *text)
{
	char *copy = mem_dup(text, strlen(text)); /* ends where it ends */
	struct buf b = {0};
	struct json_value v;
	bool ok;

	ck_assert_msg(json_check(copy, strlen(text), &v, NULL), "%s", text);
	ok = canon_write(v, &b);
	free(copy);
	if (ok)
		return buf_steal(&b, NULL);
	buf_free(&b);
	return NULL;
}

/* What comes out, and that its own canonical form is itself. */
static void
expect(const char *text, const char *form)
{
	char *s = canon(text), *again;

	if (form == NULL) {
		ck_assert_msg(s == NULL, "%s: %s", text, s);
		return;
	}
	ck_assert_msg(s != NULL, "%s is refused", text);
	ck_assert_str_eq(s, form);
	again = canon(s);
	ck_assert_str_eq(again, form);
	free(again);
	free(s);
}

/* RFC 8785 §3.2.2 and §3.2.3. */
START_TEST(test_rfc_examples)
{
	expect("{\n  \"numbers\": [333333333.33333329, 1E30, 4.50,\n"
	       "    2e-3, 0.000000000000000000000000001],\n"
	       "  \"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c"
	       "\\\\\\\"\\/\",\n  \"literals\": [null, true, false]\n}",
	    "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,"
	    "1e+30,4.5,0.002,1e-27],\"string\":\"\xe2\x82\xac$\\u000f\\nA'B"
	    "\\\"\\\\\\\\\\\"/\"}");
	expect("{\n\"\\u20ac\": \"Euro Sign\",\n"
	       "\"\\r\": \"Carriage Return\",\n"
	       "\"\\ufb33\": \"Hebrew Letter Dalet With Dagesh\",\n"
	       "\"1\": \"One\",\n"
	       "\"\\ud83d\\ude00\": \"Emoji: Grinning Face\",\n"
	       "\"\\u0080\": \"Control\",\n"
	       "\"\\u00f6\": \"Latin Small Letter O With Diaeresis\"\n}",
	    "{\"\\r\":\"Carriage Return\",\"1\":\"One\","
	    "\"\xc2\x80\":\"Control\","
	    "\"\xc3\xb6\":\"Latin Small Letter O With Diaeresis\","
	    "\"\xe2\x82\xac\":\"Euro Sign\","
	    "\"\xf0\x9f\x98\x80\":\"Emoji: Grinning Face\","
	    "\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}");
}
END_TEST

/* RFC 8785 appendix B, without the two that JSON cannot write. */
START_TEST(test_rfc_numbers)
{
	static const struct {
		uint64_t bits;
		const char *text;
	} t[] = {{0x0000000000000000, "0"}, {0x8000000000000000, "0"},
	    {0x0000000000000001, "5e-324"}, {0x8000000000000001, "-5e-324"},
	    {0x7fefffffffffffff, "1.7976931348623157e+308"},
	    {0xffefffffffffffff, "-1.7976931348623157e+308"},
	    {0x4340000000000000, "9007199254740992"},
	    {0xc340000000000000, "-9007199254740992"},
	    {0x4430000000000000, "295147905179352830000"},
	    {0x44b52d02c7e14af5, "9.999999999999997e+22"},
	    {0x44b52d02c7e14af6, "1e+23"},
	    {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
	    {0x444b1ae4d6e2ef4e, "999999999999999700000"},
	    {0x444b1ae4d6e2ef4f, "999999999999999900000"},
	    {0x444b1ae4d6e2ef50, "1e+21"},
	    {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
	    {0x3eb0c6f7a0b5ed8d, "0.000001"},
	    {0x41b3de4355555553, "333333333.3333332"},
	    {0x41b3de4355555554, "333333333.33333325"},
	    {0x41b3de4355555555, "333333333.3333333"},
	    {0x41b3de4355555556, "333333333.3333334"},
	    {0x41b3de4355555557, "333333333.33333343"},
	    {0xbecbf647612f3696, "-0.0000033333333333333333"},
	    {0x43143ff3c1cb0959, "1424953923781206.2"}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char text[JSON_NUMBER_LEN], *exact;
		double d;

		memcpy(&d, &t[i].bits, sizeof(d));
		json_double_format(d, true, text);
		ck_assert_str_eq(text, t[i].text);
		expect(t[i].text, t[i].text);
		exact = mem_printf("%.1100f", d);
		expect(exact, t[i].text);
		free(exact);
	}
}
END_TEST

/* LIFECYCLE L2.3: integers that are no double, and numbers beyond them. */
START_TEST(test_beyond_doubles)
{
	static const struct {
		const char *text;
		const char *form;
	} t[] = {{"-0", "0"}, {"7.0", "7"}, {"7e0", "7"},
	    {"9007199254740992", "9007199254740992"},
	    {"9007199254740993", "9007199254740993"},
	    {"-9007199254740993", "-9007199254740993"},
	    {"725653563933458433", "725653563933458433"},
	    {"9223372036854775807", "9223372036854775807"},
	    /* doubles: as RFC 8785 has it */
	    {"725653563933458432", "725653563933458400"},
	    {"18446744073709551616", "18446744073709552000"},
	    {"18446744073709551615", "18446744073709551615"},
	    {"100000000000000000000", "100000000000000000000"},
	    {"1000000000000000000000", "1e+21"}, {"1e21", "1e+21"},
	    {"1000000000000000000001", "1000000000000000000001"},
	    {"100000000000000000000000", "100000000000000000000000"},
	    {"1e23", "1e+23"}, {"1E400", "1e+400"}, {"10e399", "1e+400"},
	    {"0.001e403", "1e+400"}, {"-1.250E+400", "-1.25e+400"},
	    {"12.5e0400", "1.25e+401"},
	    {"1.7976931348623159e308", "1.7976931348623159e+308"},
	    {"1e-400", "0"}, {"-1e-99999999999999999999", "0"},
	    {"1e99999999999999999999", NULL}};
	char digits[402];

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		expect(t[i].text, t[i].form);
	memset(digits, '1', 401);
	digits[401] = '\0';
	expect(digits, digits);
}
END_TEST

START_TEST(test_structure)
{
	static const struct {
		const char *text;
		const char *form;
	} t[] = {{"{}", "{}"}, {" [ ] ", "[]"}, {"null", "null"},
	    {"[ 1 , [ 2 ] , { } ]", "[1,[2],{}]"},
	    {"{\"b\":{\"d\":[1,{}],\"c\":[[]]},\"a\":2}",
		"{\"a\":2,\"b\":{\"c\":[[]],\"d\":[1,{}]}}"},
	    {"{\"\":1,\"aa\":2,\"a\":3}", "{\"\":1,\"a\":3,\"aa\":2}"},
	    {"[{\"b\":[{\"y\":1,\"x\":2}],\"a\":{\"q\":[],\"p\":0}},"
	     "{\"z\":1}]",
		"[{\"a\":{\"p\":0,\"q\":[]},\"b\":[{\"x\":2,\"y\":1}]},"
		"{\"z\":1}]"},
	    {"{\"\\u0062\":1,\"\\u0061\":2}", "{\"a\":2,\"b\":1}"},
	    {"{\"b\":\"}]\\\"{\",\"a\":\"[\"}",
		"{\"a\":\"[\",\"b\":\"}]\\\"{\"}"},
	    {"\"\\u0000\\u001F\\u007f\\b\\t\\n\\f\\r\\u000B\\/\"",
		"\"\\u0000\\u001f\x7f\\b\\t\\n\\f\\r\\u000b/\""},
	    {"{\"\\u0000\":1,\"\":2}", "{\"\":2,\"\\u0000\":1}"},
	    {"{\"\\ue000\":1,\"\\udbff\\udfff\":2,\"\\ud7ff\":3}",
		"{\"\xed\x9f\xbf\":3,\"\xf4\x8f\xbf\xbf\":2,"
		"\"\xee\x80\x80\":1}"},
	    /* refused */
	    {"{\"a\":1,\"a\":1}", NULL}, {"{\"a\":1,\"\\u0061\":2}", NULL},
	    {"{\"a\":1,\"b\":{\"c\":1,\"d\":2,\"c\":3}}", NULL},
	    {"[\"\\ud800\"]", NULL}, {"{\"\\udc00\":1}", NULL},
	    {"{\"a\":\"\\udc00\\ud800\"}", NULL}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		expect(t[i].text, t[i].form);
	ck_assert(!canon_write((struct json_value){0}, NULL));
}
END_TEST

/* As deep as the scanner allows, sorted at every level. */
START_TEST(test_deep)
{
	struct buf text = {0}, form = {0};
	char *in, *out;

	for (int i = 0; i < JSON_MAX_DEPTH; i++) {
		buf_puts(&text, "{\"b\":1,\"a\":");
		buf_puts(&form, "{\"a\":");
	}
	buf_putc(&text, '0');
	buf_putc(&form, '0');
	for (int i = 0; i < JSON_MAX_DEPTH; i++) {
		buf_puts(&text, "}");
		buf_puts(&form, ",\"b\":1}");
	}
	in = buf_steal(&text, NULL);
	out = buf_steal(&form, NULL);
	expect(in, out);
	free(in);
	free(out);
}
END_TEST

/* Digests as sha256sum prints them for the forms. */
START_TEST(test_digest)
{
	char a[CANON_DIGEST_LEN], b[CANON_DIGEST_LEN];

	canon_digest((struct json_value){0}, a);
	ck_assert_str_eq(a, "44136fa355b3678a1146ad16f7e8649e"); /* {} */
	canon_digest(value(" {\n} "), b);
	ck_assert_str_eq(a, b);
	canon_digest(value("{\"b\": 2.0, \"a\": \"\\u0078\"}"), a);
	canon_digest(value("{\"a\":\"x\",\"b\":2}"), b);
	ck_assert_str_eq(a, b);
	canon_digest(value("{\"id\":9007199254740993}"), a);
	canon_digest(value("{\"id\":9007199254740992}"), b);
	ck_assert_str_ne(a, b);
	/* refused: the bytes, which are [1,{"a":1,"a":1}] */
	canon_digest(value("[1,{\"a\":1,\"a\":1}]"), a);
	ck_assert_str_eq(a, "fed3c70b5ebadaf712bab101ef72d6fd");
	canon_digest(value("[1,{\"a\":1, \"a\":1}]"), b);
	ck_assert_str_ne(a, b);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("base/canon");
	TCase *t = tcase_create("canon");

	tcase_add_test(t, test_rfc_examples);
	tcase_add_test(t, test_rfc_numbers);
	tcase_add_test(t, test_beyond_doubles);
	tcase_add_test(t, test_structure);
	tcase_add_test(t, test_deep);
	tcase_add_test(t, test_digest);
	suite_add_tcase(s, t);
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
	return failed != 0;
}
