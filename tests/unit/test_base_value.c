/*
 * Unit tests of what base/ reads from JSON values and writes as JSON:
 * json_value.c, json_number.c, jsonw.c.
 */
#include <check.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_number.h"
#include "base/jsonw.h"
#include "base/mem.h"

static struct json_value
value(const char *text)
{
	struct json_value v;

	ck_assert_msg(json_check(text, strlen(text), &v, NULL), "%s", text);
	return v;
}

#define I INT64_C
static const struct {
	const char *text;
	bool ok;
	int64_t n;
} ints[] = {{"7", true, 7}, {"7.0", true, 7}, {"7e0", true, 7},
    {"0.7e1", true, 7}, {"70e-1", true, 7}, {"700E-2", true, 7},
    {"0.0007e+0004", true, 7}, {"-0", true, 0}, {"-0.0e5", true, 0},
    {"0e999999999999999999999", true, 0}, {"-7", true, -7},
    {"10200.00", true, 10200}, {"1e18", true, I(1000000000000000000)},
    {"9223372036854775807", true, INT64_MAX},
    {"9223372036854775807.000", true, INT64_MAX},
    {"922337203685477580.7e1", true, INT64_MAX},
    {"-9223372036854775808", true, INT64_MIN},
    {"9223372036854775808", false, 0}, {"-9223372036854775809", false, 0},
    {"1e19", false, 0}, {"18446744073709551616", false, 0}, {"1e400", false, 0},
    {"99999999999999999999", false, 0}, {"100000000000000000000000", false, 0},
    {"7.5", false, 0}, {"0.1", false, 0}, {"7e-1", false, 0},
    {"71e-1", false, 0}, {"1e-00011111111111", false, 0},
    {"1e99999999999999999999", false, 0}, {"\"7\"", false, 0},
    {"null", false, 0}, {"true", false, 0}, {"[7]", false, 0}};

START_TEST(test_int64)
{
	for (size_t i = 0; i < sizeof(ints) / sizeof(ints[0]); i++) {
		int64_t n = 42;

		ck_assert_msg(
		    json_to_int64(value(ints[i].text), &n) == ints[i].ok, "%s",
		    ints[i].text);
		ck_assert_msg(n == (ints[i].ok ? ints[i].n : 42), "%s: %lld",
		    ints[i].text, (long long)n);
	}
	ck_assert(!json_to_int64((struct json_value){0}, NULL));
}
END_TEST

START_TEST(test_uint64)
{
	uint64_t n = 42;

	ck_assert(json_to_uint64(value("18446744073709551615"), &n));
	ck_assert(n == UINT64_MAX);
	ck_assert(json_to_uint64(value("1844674407370955161.50e1"), &n));
	ck_assert(n == UINT64_MAX);
	ck_assert(json_to_uint64(value("-0.0"), &n));
	ck_assert(n == 0);
	n = 42;
	ck_assert(!json_to_uint64(value("18446744073709551616"), &n));
	ck_assert(!json_to_uint64(value("-1"), &n));
	ck_assert(!json_to_uint64(value("0.5"), &n));
	ck_assert(!json_to_uint64(value("{}"), &n));
	ck_assert(n == 42);
}
END_TEST

/* B068: exponents and digits without end are numbers like others. */
START_TEST(test_long_numbers)
{
	enum { N = 10000 };
	static char text[2 * N + 16];
	struct json_value v;
	double d = 42;
	int64_t n = 42;

	memcpy(text, "1e-", 3);
	memset(text + 3, '9', N);
	v = value(text);
	ck_assert(!json_to_int64(v, &n));
	ck_assert(json_to_double(v, &d) && d == 0);
	text[2] = '+';
	d = 42;
	ck_assert(!json_to_int64(v, &n) && !json_to_double(v, &d));
	ck_assert(n == 42 && d == 42);
	memset(text + 3, '0', N - 1);
	text[N + 2] = '3';
	ck_assert(json_to_int64(v, &n) && n == 1000);
	/* 7 and 10,000 zeros, times 10^-10000 */
	memset(text, '0', sizeof(text) - 1);
	text[0] = '7';
	strcpy(text + 1 + N, "e-10000");
	v = value(text);
	ck_assert(json_to_int64(v, &n) && n == 7);
	ck_assert(json_to_double(v, &d) && d == 7);
	/* 0.000...7, times 10^10000 */
	memset(text, '0', sizeof(text) - 1);
	text[1] = '.';
	strcpy(text + 1 + N, "7e10000");
	v = value(text);
	ck_assert(json_to_int64(v, &n) && n == 7);
	ck_assert(json_to_double(v, &d) && d == 7);
}
END_TEST

/* B069, and the middle between two doubles: the last digit of many decides. */
START_TEST(test_double)
{
	static const struct {
		const char *text;
		double d;
	} t[] = {{"0", 0}, {"1.5", 1.5}, {"-2e-3", -0.002},
	    {"1.7976931348623157e308", DBL_MAX},
	    {"1.7976931348623158e308", DBL_MAX},
	    {"17976931348623157e292", DBL_MAX}, {"1e-400", 0},
	    {"4.9e-324", 4.9406564584124654e-324}, {"2.4e-324", 0},
	    {"2.2250738585072011e-308", 2.2250738585072011e-308},
	    {"9007199254740993", 9007199254740992.0},
	    {"9007199254740993.0000000000000000000000000000001",
		9007199254740994.0}};
	char text[2048];
	double d = 0;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		ck_assert_msg(
		    json_to_double(value(t[i].text), &d), "%s", t[i].text);
		ck_assert_msg(d == t[i].d, "%s: %.17g", t[i].text, d);
	}
	ck_assert(json_to_double(value("-0.0"), &d) && signbit(d));
	/* 2^53 + 1, 1,500 zeros behind the point, and then a 1 */
	snprintf(text, sizeof(text), "9007199254740993.%01500d1", 0);
	ck_assert(json_to_double(value(text), &d) && d == 9007199254740994.0);
	/* the middle between the two smallest doubles, by all its 700 digits:
	 * to the even one, but a little less to the smaller */
	snprintf(text, sizeof(text), "%.1075Lf", 0x3p-1075L);
	ck_assert(json_to_double(value(text), &d) && d == 0x2p-1074);
	text[strlen(text) - 1]--;
	ck_assert(json_to_double(value(text), &d) && d == 0x1p-1074);
	d = 42;
	ck_assert(!json_to_double(value("1e309"), &d));
	ck_assert(!json_to_double(value("-1E400"), &d));
	ck_assert(!json_to_double(value("1.7976931348623159e308"), &d));
	ck_assert(!json_to_double(value("\"1\""), &d));
	ck_assert(d == 42);
}
END_TEST

START_TEST(test_bool)
{
	bool b = false;

	ck_assert(json_to_bool(value("true"), &b) && b);
	ck_assert(json_to_bool(value("false"), &b) && !b);
	b = true;
	ck_assert(!json_to_bool(value("0"), &b));
	ck_assert(!json_to_bool(value("null"), &b));
	ck_assert(!json_to_bool(value("\"true\""), &b));
	ck_assert(b);
}
END_TEST

START_TEST(test_string)
{
	static const struct {
		const char *text;
		const char *s; /* NULL: refused */
	} t[] = {{"\"\"", ""}, {"\"plain\"", "plain"},
	    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
	    {"\"\\u0041\\u00e9\\u20ac\"", "A\xc3\xa9\xe2\x82\xac"},
	    {"\"\\ud83d\\ude00x\"", "\xf0\x9f\x98\x80x"},
	    {"\"\\uD800\\uDC00\\uDBFF\\uDFFF\"",
		"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
	    {"\"caf\xc3\xa9\"", "caf\xc3\xa9"}, {"\"\\uffff\"", "\xef\xbf\xbf"},
	    {"\"a\\u0000b\"", NULL}, {"\"\\ud800\"", NULL},
	    {"\"\\ud800x\"", NULL}, {"\"\\ud800\\n\"", NULL},
	    {"\"\\ud800\\ud800\"", NULL}, {"\"\\udc00\"", NULL},
	    {"\"\\ud800\\u0041\"", NULL}, {"7", NULL}, {"null", NULL},
	    {"[]", NULL}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct json_value v = value(t[i].text);
		char out[32] = "untouched", *own = NULL;
		bool ok = t[i].s != NULL;
		size_t len = ok ? strlen(t[i].s) : 9;

		ck_assert(json_to_string(v, out, sizeof(out)) == ok);
		ck_assert_str_eq(out, ok ? t[i].s : "untouched");
		ck_assert(json_to_new_string(v, 31, &own) == ok);
		ck_assert(json_fits_string(v, 31) == ok);
		ck_assert(!ok || strcmp(own, t[i].s) == 0);
		ck_assert(!ok || json_string_is(v, t[i].s));
		ck_assert(!json_string_is(v, "untouched"));
		free(own);
		if (!ok)
			continue;
		/* exactly enough, and one too few */
		ck_assert(json_to_string(v, out, len + 1));
		strcpy(out, "untouched");
		ck_assert(!json_to_string(v, out, len));
		ck_assert_str_eq(out, "untouched");
		own = NULL;
		ck_assert(json_to_new_string(v, len, &own));
		free(own);
		ck_assert(len == 0 || !json_to_new_string(v, len - 1, &own));
		ck_assert(json_fits_string(v, len));
		ck_assert(len == 0 || !json_fits_string(v, len - 1));
	}
}
END_TEST

START_TEST(test_string_is)
{
	ck_assert(json_string_is(value("\"id\""), "id"));
	ck_assert(json_string_is(value("\"\\u0069\\u0064\""), "id"));
	ck_assert(
	    json_string_is(value("\"\\ud83d\\ude00\""), "\xf0\x9f\x98\x80"));
	ck_assert(json_string_is(value("\"a\\\\b\""), "a\\b"));
	ck_assert(!json_string_is(value("\"a\\\\b\""), "a\\\\b"));
	ck_assert(!json_string_is(value("\"i\""), "id"));
	ck_assert(!json_string_is(value("\"idx\""), "id"));
	ck_assert(!json_string_is(value("\"\\u0069\""), "id"));
	ck_assert(!json_string_is(value("\"\\u0069dx\""), "id"));
	ck_assert(!json_string_is(value("\"id\\u0000\""), "id"));
	ck_assert(!json_string_is(value("\"\\ud800\""), "\xed\xa0\x80"));
	ck_assert(json_string_is(value("\"\""), ""));
	ck_assert(!json_string_is(value("\"\""), "id"));
	ck_assert(!json_string_is(value("\"id\""), ""));
	ck_assert(!json_string_is(value("7"), "7"));
	ck_assert(!json_string_is((struct json_value){0}, ""));
}
END_TEST

static char *
text_of(struct buf *b)
{
	return buf_steal(b, NULL);
}

START_TEST(test_writer)
{
	struct buf b = {0};
	struct jsonw w;
	char *s;

	jsonw_init(&w, &b);
	jsonw_object(&w, NULL);
	jsonw_string(&w, "a\"", "x\ny");
	jsonw_string(&w, "absent", NULL);
	jsonw_double(&w, "absent", NAN);
	jsonw_double(&w, "absent", -HUGE_VAL);
	jsonw_span(&w, "absent", SPAN_NONE);
	jsonw_raw(&w, "absent", "", 0);
	jsonw_value(&w, "absent", (struct json_value){0});
	jsonw_array(&w, "b");
	jsonw_array(&w, NULL);
	jsonw_array_end(&w);
	jsonw_object(&w, NULL);
	jsonw_object_end(&w);
	jsonw_int(&w, NULL, INT64_MIN);
	jsonw_uint(&w, NULL, UINT64_MAX);
	jsonw_bool(&w, NULL, true);
	jsonw_bool(&w, NULL, false);
	jsonw_null(&w, NULL);
	jsonw_array_end(&w);
	jsonw_stringf(&w, "f", "%d/%s", 7, "\x01");
	jsonw_id(&w, "id_", 'c', 120);
	jsonw_span(&w, "s", SPAN_MS(1500));
	jsonw_wall(&w, "t", (struct wall){1000001});
	jsonw_value(&w, "v", value(" 1.50 "));
	jsonw_raw(&w, "r", "[ 1]", 4);
	jsonw_string_n(&w, "n", "a\0b", 3);
	jsonw_object_end(&w);
	s = text_of(&b);
	ck_assert_str_eq(s,
	    "{\"a\\\"\":\"x\\ny\",\"b\":[[],{},"
	    "-9223372036854775808,18446744073709551615,true,false,null],"
	    "\"f\":\"7/\\u0001\",\"id_\":\"c120\",\"s\":1.5,"
	    "\"t\":\"1970-01-01T00:00:01.000001Z\",\"v\":1.50,\"r\":[ 1],"
	    "\"n\":\"a\\u0000b\"}");
	value(s);
	free(s);
}
END_TEST

START_TEST(test_writer_strings)
{
	static const struct {
		const char *s;
		const char *text;
	} t[] = {{"", "\"\""},
	    {"\b\t\n\v\f\r\x1f\x7f/", "\"\\b\\t\\n\\u000b\\f\\r\\u001f\x7f/\""},
	    {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
	    {"a\xff"
	     "b",
		"\"a\xef\xbf\xbd"
		"b\""},
	    {"\xc3", "\"\xef\xbf\xbd\""}, {"\xe2\x82", "\"\xef\xbf\xbd\""},
	    {"\xe2\x82"
	     "a",
		"\"\xef\xbf\xbd"
		"a\""},
	    {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
	    {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
	    {"\xf4\x90", "\"\xef\xbf\xbd\xef\xbf\xbd\""}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct buf b = {0};
		struct jsonw w;
		char *s;

		jsonw_init(&w, &b);
		jsonw_string(&w, NULL, t[i].s);
		s = text_of(&b);
		ck_assert_str_eq(s, t[i].text);
		value(s);
		free(s);
	}
}
END_TEST

/* Whatever bytes are written, it is JSON, in one line. */
START_TEST(test_writer_any_bytes)
{
	srandom(1);
	for (int i = 0; i < 20000; i++) {
		struct buf b = {0};
		struct jsonw w;
		char bytes[40];
		size_t n = (size_t)random() % sizeof(bytes);

		for (size_t k = 0; k < n; k++)
			bytes[k] = (char)(random() >> 7);
		jsonw_init(&w, &b);
		jsonw_string_n(&w, NULL, bytes, n);
		ck_assert(json_check(buf_at(&b), buf_len(&b), NULL, NULL));
		ck_assert_ptr_null(memchr(buf_at(&b), '\n', buf_len(&b)));
		buf_free(&b);
	}
}
END_TEST

static const struct {
	double d;
	const char *text;
} doubles[] = {{0, "0"}, {-0.0, "-0"}, {2, "2"}, {1e9, "1000000000"},
    {1000000001, "1000000001"}, {0.5, "0.5"}, {1e300, "1e300"},
    {-1.5, "-1.5"}, {0.1, "0.1"}, {1e-7, "1e-7"}, {0.000001, "0.000001"},
    {123456.789, "123456.789"}, {1e20, "100000000000000000000"}, {1e21, "1e21"},
    {DBL_MAX, "1.7976931348623157e308"}, {DBL_MIN, "2.2250738585072014e-308"},
    {4.9406564584124654e-324, "5e-324"}, {0.1 + 0.2, "0.30000000000000004"},
    /* 16 digits above a power of two that the nearest 16 do not give */
    {0x1p-1017, "7.120236347223045e-307"}};

static void
check_doubles(void)
{
	for (size_t i = 0; i < sizeof(doubles) / sizeof(doubles[0]); i++) {
		struct buf b = {0};
		struct jsonw w;
		double d = 42;
		char *s;

		jsonw_init(&w, &b);
		jsonw_double(&w, NULL, doubles[i].d);
		s = text_of(&b);
		ck_assert_str_eq(s, doubles[i].text);
		ck_assert(json_to_double(value(s), &d));
		ck_assert(
		    d == doubles[i].d && !signbit(d) == !signbit(doubles[i].d));
		free(s);
	}
}

START_TEST(test_writer_doubles)
{
	check_doubles();
}
END_TEST

/* Powers of two and their neighbours, where spacing changes, and others: each
 * reads back, and no number of fewer digits does. */
START_TEST(test_doubles_shortest)
{
	srandom(2);
	for (int i = 0; i < 8000; i++) {
		uint64_t bits =
		    i < 6000
			? ((uint64_t)(i / 3 + 1) << 52) + (uint64_t)(i % 3) - 1
			: (uint64_t)random() << 31 ^ (uint64_t)random();
		char digits[JSON_DIGITS_MAX + 1], text[64];
		int point, n;
		double d;

		memcpy(&d, &bits, sizeof(d));
		n = (int)json_double_digits(d, digits, &point);
		snprintf(text, sizeof(text), "0.%se%d", digits, point);
		ck_assert(strtod(text, NULL) == d);
		ck_assert(digits[0] != '0' && digits[n - 1] != '0');
		if (n == 1)
			continue;
		snprintf(text, sizeof(text), "%.*e", n - 2, d);
		ck_assert(strtod(text, NULL) != d);
	}
}
END_TEST

/* Under a locale with a decimal comma all is as before.  It is made with
 * localedef, which is absent on a machine without locale sources. */
START_TEST(test_locale)
{
	char dir[] = "/tmp/oz0-locale-XXXXXX", *command, number[16];
	double d = 0;
	int made;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	command = mem_printf("localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 "
			     ">/dev/null 2>&1",
	    dir);
	made = system(command);
	free(command);
	setenv("LOCPATH", dir, 1);
	if (made == 0 && setlocale(LC_ALL, "de_DE.UTF-8") != NULL) {
		snprintf(number, sizeof(number), "%.1f", 1.5);
		ck_assert_str_eq(number, "1,5");
	} else {
		fprintf(stderr, "no locale with a comma: the C locale again\n");
	}
	command = mem_printf("rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
	free(command);
	check_doubles();
	ck_assert(json_to_double(value("1234.5e-1"), &d) && d == 123.45);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("base/json values");
	TCase *t = tcase_create("readings");

	tcase_add_test(t, test_int64);
	tcase_add_test(t, test_uint64);
	tcase_add_test(t, test_long_numbers);
	tcase_add_test(t, test_double);
	tcase_add_test(t, test_bool);
	tcase_add_test(t, test_string);
	tcase_add_test(t, test_string_is);
	suite_add_tcase(s, t);
	t = tcase_create("writer");
	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_writer);
	tcase_add_test(t, test_writer_strings);
	tcase_add_test(t, test_writer_any_bytes);
	tcase_add_test(t, test_writer_doubles);
	tcase_add_test(t, test_doubles_shortest);
	tcase_add_test(t, test_locale);
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
