/*
 * Unit tests of base/json.c, json_scan.c and json_value.c: what is JSON and
 * what is not, whole and cut at every point, and what is read from it.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_text.h"
#include "base/mem.h"

/* A text in memory that ends where it ends, for ASan and valgrind to see. */
static char *
exact(const char *p, size_t len)
{
	return mem_dup(p, len);
}

static struct json_value
value(const char *text)
{
	struct json_value v;

	ck_assert_msg(json_check(text, strlen(text), &v, NULL), "%s", text);
	return v;
}

static void
same_fault(struct json_fault a, struct json_fault b, const char *p, size_t len)
{
	ck_assert_msg(a.offset == b.offset && strcmp(a.why, b.why) == 0,
	    "%.*s: %s at %zu, %s at %zu", (int)len, p, a.why, a.offset, b.why,
	    b.offset);
}

/* The verdict on a text whole, in pieces cut at a, and byte by byte. */
static bool
verdict(const char *text, size_t len, struct json_fault *ret)
{
	char *p = exact(text, len);
	struct json_fault whole = {0}, pieces = {0};
	bool ok = json_check(p, len, NULL, &whole);
	struct json_scan s;

	for (size_t cut = 0; cut <= len; cut++) {
		json_scan_init(&s);
		if (json_scan_feed(&s, p, cut))
			json_scan_feed(&s, p + cut, len - cut);
		ck_assert_msg(json_scan_end(&s, &pieces) == ok,
		    "%.*s cut at %zu", (int)len, p, cut);
		if (!ok)
			same_fault(pieces, whole, p, len);
	}
	json_scan_init(&s);
	for (size_t i = 0; i < len; i++)
		json_scan_feed(&s, p + i, 1);
	ck_assert(json_scan_end(&s, &pieces) == ok);
	if (!ok)
		same_fault(pieces, whole, p, len);
	*ret = whole;
	free(p);
	return ok;
}

static const char *const good[] = {"0", "-0", "7", "-12", "1.5", "0.0", "1e5",
    "1E+5", "1e-5", "0e0", "1.25e+00007", "true", "false", "null", "\"\"",
    "\"a\"", " 1 ", "\t\r\n[\n]\r\n", "{}", "[[],{},[[]]]", "{\"\":0}",
    "{\"a\":1,\"a\":2}", "[1,2 , 3]", "{ \"a\" : [ ] }",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uABCD\"", "\"\\ud800\"",
    "\"\\udc00\\ud800\"", "\"\\u0000\"", "\"\x7f\"", "\"\xc2\x80\"",
    "\"\xe0\xa0\x80\"", "\"\xed\x9f\xbf\"", "\"\xee\x80\x80\"",
    "\"\xef\xbf\xbf\"", "\"\xf0\x90\x80\x80\"", "\"\xf4\x8f\xbf\xbf\"",
    "\"\xe2\x80\xa8\"", "[\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"]",
    "{\"k\xc3\xa9\\n\":[true,false,null,-0.5e-3,\"x\"]}",
    "\"sixteen plain bytes and then some \xc3\xa9 more of it all\""};

static const struct {
	const char *text;
	size_t offset;
	const char *why;
} bad[] = {
    {"", 0, "unexpected end"},
    {"  ", 2, "unexpected end"},
    {"[", 1, "unexpected end"},
    {"[1", 2, "unexpected end"},
    {"[1,", 3, "unexpected end"},
    {"{", 1, "unexpected end"},
    {"{\"a\"", 4, "unexpected end"},
    {"{\"a\":", 5, "unexpected end"},
    {"\"a", 2, "unexpected end"},
    {"\"\\", 2, "unexpected end"},
    {"\"\\u00", 5, "unexpected end"},
    {"\"\xe2\x82", 3, "unexpected end"},
    {"-", 1, "unexpected end"},
    {"1.", 2, "unexpected end"},
    {"1e", 2, "unexpected end"},
    {"1e+", 3, "unexpected end"},
    {"tru", 3, "unexpected end"},
    {"]", 0, "unexpected character"},
    {"[1}", 2, "unexpected character"},
    {"{]", 1, "unexpected character"},
    {"[,1]", 1, "unexpected character"},
    {"[1,]", 3, "unexpected character"},
    {"[1 2]", 3, "unexpected character"},
    {"{\"a\":1,}", 7, "unexpected character"},
    {"{\"a\" 1}", 5, "unexpected character"},
    {"{\"a\":1 \"b\":2}", 7, "unexpected character"},
    {"{a:1}", 1, "unexpected character"},
    {"{1:1}", 1, "unexpected character"},
    {"'a'", 0, "unexpected character"},
    {"NaN", 0, "unexpected character"},
    {"nan", 1, "unexpected character"},
    {"Infinity", 0, "unexpected character"},
    {"-Infinity", 1, "unexpected character"},
    {"+1", 0, "unexpected character"},
    {".5", 0, "unexpected character"},
    {"-.5", 1, "unexpected character"},
    {"1.e5", 2, "unexpected character"},
    {"1e.5", 2, "unexpected character"},
    {"--1", 1, "unexpected character"},
    {"[01]", 2, "unexpected character"},
    {"[-01]", 3, "unexpected character"},
    {"[0x10]", 2, "unexpected character"},
    {"[1e5.0]", 4, "unexpected character"},
    {"[1.2.3]", 4, "unexpected character"},
    {"[1e2e3]", 4, "unexpected character"},
    {"True", 0, "unexpected character"},
    {"trux", 3, "unexpected character"},
    {"nulL", 3, "unexpected character"},
    {"[truee]", 5, "unexpected character"},
    {"/**/1", 0, "unexpected character"},
    {"[1]//", 3, "text after the value"},
    {"01", 1, "text after the value"},
    {"1 2", 2, "text after the value"},
    {"{}{}", 2, "text after the value"},
    {"truee", 4, "text after the value"},
    {"\"a\"b", 3, "text after the value"},
    {"[50] log{\"jsonrpc\":1}", 5, "text after the value"},
    {"\xef\xbb\xbf[]", 0, "unexpected character"},
    {"[\xc2\xa0]", 1, "unexpected character"},
    {"[\v1]", 1, "unexpected character"},
    {"\"a\nb\"", 2, "control character in a string"},
    {"\"\t\"", 1, "control character in a string"},
    {"{\"\x1f\":1}", 2, "control character in a string"},
    {"\"\\x\"", 2, "invalid escape"},
    {"\"\\U0041\"", 2, "invalid escape"},
    {"\"\\v\"", 2, "invalid escape"},
    {"\"\\'\"", 2, "invalid escape"},
    {"\"\\u12g4\"", 5, "invalid escape"},
    {"\"\\u12\"", 5, "invalid escape"},
    {"{\"\\q\":1}", 3, "invalid escape"},
    {"\"\x80\"", 1, "invalid UTF-8"},
    {"\"\xff\xfe\"", 1, "invalid UTF-8"},
    {"\"\xc3\"", 2, "invalid UTF-8"},
    {"\"\xc0\x80\"", 1, "invalid UTF-8"},
    {"\"\xc1\xbf\"", 1, "invalid UTF-8"},
    {"\"\xe0\x9f\xbf\"", 2, "invalid UTF-8"},
    {"\"\xed\xa0\x80\"", 2, "invalid UTF-8"},
    {"\"\xed\xbf\xbf\"", 2, "invalid UTF-8"},
    {"\"\xf0\x8f\xbf\xbf\"", 2, "invalid UTF-8"},
    {"\"\xf4\x90\x80\x80\"", 2, "invalid UTF-8"},
    {"\"\xf5\x80\x80\x80\"", 1, "invalid UTF-8"},
    {"{\"\xe2\x28\xa1\":1}", 3, "invalid UTF-8"},
    {"\"0123456789abcdef0123456789abcde\xe2\x82\x22", 34, "invalid UTF-8"},
};

START_TEST(test_good)
{
	struct json_fault f;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ck_assert_msg(verdict(good[i], strlen(good[i]), &f), "%s: %s",
		    good[i], f.why);
}
END_TEST

START_TEST(test_bad)
{
	struct json_fault f;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_msg(!verdict(bad[i].text, strlen(bad[i].text), &f),
		    "%s", bad[i].text);
		ck_assert_str_eq(f.why, bad[i].why);
		ck_assert_msg(f.offset == bad[i].offset, "%s: %zu", bad[i].text,
		    f.offset);
		ck_assert(!f.is_json);
	}
}
END_TEST

/* NUL is no character like others: not in a string, not between tokens. */
START_TEST(test_nul)
{
	struct json_fault f;

	ck_assert(!verdict("\"\0\"", 3, &f));
	ck_assert_str_eq(f.why, "control character in a string");
	ck_assert(!verdict("1\0", 2, &f));
	ck_assert(!verdict("[\0]", 3, &f));
	ck_assert(!verdict("\"\\\0\"", 4, &f));
	ck_assert(!json_check(NULL, 0, NULL, &f));
	ck_assert_uint_eq(f.offset, 0);
}
END_TEST

/* Every cut-off beginning of a document is none, at its end exactly. */
START_TEST(test_prefixes)
{
	static const char doc[] = "{\"a\\u00e9\":[true,false,null,{\"b\":-1.5e"
				  "+3}],\"\xf0\x9f\x98\x80\":\"\xe2\x82\xac\"}";
	struct json_fault f;

	for (size_t len = 0; len < sizeof(doc) - 1; len++) {
		ck_assert(!verdict(doc, len, &f));
		ck_assert_str_eq(f.why, "unexpected end");
		ck_assert_uint_eq(f.offset, len);
	}
	ck_assert(verdict(doc, sizeof(doc) - 1, &f));
}
END_TEST

START_TEST(test_depth)
{
	enum { N = JSON_MAX_DEPTH };
	char text[2 * N + 2];
	struct json_fault f;

	for (int object = 0; object < 2; object++) {
		memset(text, '[', N);
		memset(text + N, ']', N);
		ck_assert(verdict(text, 2 * (size_t)N, &f));
		memset(text, '[', N + 1);
		memset(text + N + 1, ']', N + 1);
		text[N] = object ? '{' : '[';
		ck_assert(!verdict(text, 2 * ((size_t)N + 1), &f));
		ck_assert_str_eq(f.why, "too deep");
		ck_assert_uint_eq(f.offset, N);
	}
}
END_TEST

/* What UTF-8 is, by decoding and looking at the code point (RFC 3629). */
static bool
utf8_model(const unsigned char *p, size_t len)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

	for (size_t i = 0; i < len;) {
		size_t n = p[i] < 0x80			 ? 1
			   : p[i] >= 0xc0 && p[i] < 0xe0 ? 2
			   : p[i] >= 0xe0 && p[i] < 0xf0 ? 3
			   : p[i] >= 0xf0 && p[i] < 0xf8 ? 4
							 : 0;
		uint32_t c;

		if (n == 0 || n > len - i)
			return false;
		c = n == 1 ? p[i] : p[i] & (0x7fu >> n);
		for (size_t k = 1; k < n; k++) {
			if ((p[i + k] & 0xc0) != 0x80)
				return false;
			c = c << 6 | (p[i + k] & 0x3f);
		}
		if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			return false;
		i += n;
	}
	return true;
}

static void
try_utf8(const unsigned char *p, size_t len)
{
	char text[8] = "\"";
	struct json_scan s;
	bool ok = utf8_model(p, len);

	memcpy(text + 1, p, len);
	text[len + 1] = '"';
	json_scan_init(&s);
	for (size_t i = 0; i < len + 2; i++)
		json_scan_feed(&s, text + i, 1);
	/* ck_assert() itself is too slow for millions of cases */
	if (json_check(text, len + 2, NULL, NULL) != ok ||
	    json_scan_end(&s, NULL) != ok)
		ck_abort_msg("%02x %02x %02x %02x, %zu bytes", p[0], p[1], p[2],
		    p[3], len);
}

START_TEST(test_utf8)
{
	static const unsigned char edges[] = {
	    0x20, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff};
	enum { N = sizeof(edges) };

	for (unsigned a = 0x80; a < 0x100; a++)
		for (unsigned b = 0x80; b < 0x100; b++) {
			unsigned char p[4] = {
			    (unsigned char)a, (unsigned char)b};

			try_utf8(p, 1);
			try_utf8(p, 2);
			for (unsigned c = 0; c < N * N; c++) {
				p[2] = edges[c / N];
				p[3] = edges[c % N];
				try_utf8(p, 3);
				try_utf8(p, 4);
			}
		}
}
END_TEST

/* Both ways to run over plain characters stop at the same byte, if at any:
 * each byte at each place of each length, in memory that ends there. */
START_TEST(test_run)
{
	for (size_t len = 0; len <= 70; len++)
		for (size_t at = 0; at < len; at++)
			for (unsigned c = 0; c < 256; c++) {
				char *p = mem_alloc(len);
				const char *stop;
				bool plain = c >= 0x20 && c < 0x80 &&
					     c != '"' && c != '\\';

				memset(p, 'a' + (int)(at & 1), len);
				p[at] = (char)c;
				stop = plain ? p + len : p + at;
				if (json_run_portable(p, p + len) != stop ||
				    json_run(p, p + len) != stop)
					ck_abort_msg(
					    "%02x at %zu of %zu", c, at, len);
				free(p);
			}
}
END_TEST

/* Strings of few kinds of bytes, most of them backslashes: whole texts go in
 * blocks, pieces of one byte do not. */
START_TEST(test_escapes)
{
	static const char bytes[] = "\\\\\\\\\\nbt/u0a\"\xc3\xa9x";

	srandom(3);
	for (int i = 0; i < 300000; i++) {
		char text[80];
		size_t len = 1 + (size_t)random() % (sizeof(text) - 2);
		struct json_fault whole = {0}, piece = {0};
		struct json_scan s;
		bool ok;

		for (size_t k = 0; k < len; k++) {
			text[k] = bytes[(size_t)random() % (sizeof(bytes) - 1)];
			/* mostly escapes that are good, to get far */
			if (k > 0 && text[k - 1] == '\\' && random() % 8 != 0)
				text[k] = "\\\"ntb/"[random() % 6];
		}
		text[0] = '"';
		text[len++] = '"';
		ok = json_check(text, len, NULL, &whole);
		json_scan_init(&s);
		for (size_t k = 0; k < len; k++)
			json_scan_feed(&s, text + k, 1);
		if (json_scan_end(&s, &piece) != ok ||
		    (!ok && (piece.offset != whole.offset ||
				strcmp(piece.why, whole.why) != 0)))
			ck_abort_msg("%.*s", (int)len, text);
	}
}
END_TEST

START_TEST(test_check_value)
{
	static const struct {
		const char *text;
		enum json_type type;
		const char *value;
	} t[] = {{" null ", JSON_NULL, "null"}, {"\ntrue", JSON_TRUE, "true"},
	    {"false", JSON_FALSE, "false"}, {" -1.50 \n", JSON_NUMBER, "-1.50"},
	    {" \"a b\" ", JSON_STRING, "\"a b\""},
	    {" [ 1 ] ", JSON_ARRAY, "[ 1 ]"}, {"\t{ } ", JSON_OBJECT, "{ }"}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct json_value v = value(t[i].text);

		ck_assert(json_is(v, t[i].type));
		ck_assert_uint_eq(v.len, strlen(t[i].value));
		ck_assert_mem_eq(v.p, t[i].value, v.len);
	}
}
END_TEST

static bool
is_text(struct json_value v, const char *text)
{
	return v.len == strlen(text) && memcmp(v.p, text, v.len) == 0;
}

START_TEST(test_pick)
{
	static const char text[] = " { \"jsonrpc\" : \"2.0\",\"\\u0069d\":7e0 ,"
				   "\"params\":{\"id\":8,\"a\":[1,{\"id\":9}]}"
				   ",\"x\":1,\"x\":2,\"method\":\"a\\/b\"}\n";
	struct json_want w[] = {{.name = "id"}, {.name = "method"},
	    {.name = "params"}, {.name = "result"}};
	struct json_fault f;

	w[3].value.type = JSON_TRUE; /* what stood there before is gone */
	ck_assert(json_object_pick(text, strlen(text), w, 4, &f));
	ck_assert(is_text(w[0].value, "7e0"));
	ck_assert(is_text(w[1].value, "\"a\\/b\""));
	ck_assert(is_text(w[2].value, "{\"id\":8,\"a\":[1,{\"id\":9}]}"));
	ck_assert(json_is(w[3].value, JSON_NONE));
	ck_assert(json_object_pick("{}", 2, w, 4, &f));
	ck_assert(json_is(w[0].value, JSON_NONE));
	ck_assert(json_object_pick("{ \n}", 4, NULL, 0, &f));
}
END_TEST

START_TEST(test_pick_faults)
{
	static const struct {
		const char *text;
		size_t offset;
		bool is_json;
	} t[] = {{"[{\"id\":1}]", 0, true}, {"[]", 0, true}, {" 7", 1, true},
	    {"\"{}\"", 0, true}, {"[1,", 3, false},
	    {"{\"id\":1,\"id\":1}", 8, true},
	    {"{\"id\":1,\"\\u0069d\":2}", 8, true},
	    {"{\"id\":1,\"id\":2", 14, false},
	    {"{\"id\":1,\"id\":2}x", 15, false}, {"{\"id\":1}}", 8, false},
	    {"{\"id\":1,}", 8, false},
	    {"{\"id\":1,\"x\":[\"\xff\"]}", 14, false},
	    {"{\"id\" 1}", 6, false}, {"{\"id\":1 2}", 8, false},
	    {"{,}", 1, false}, {"{", 1, false}, {"", 0, false}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		size_t len = strlen(t[i].text);
		char *p = exact(t[i].text, len);
		struct json_want w = {.name = "id"};
		struct json_fault f;

		ck_assert(!json_object_pick(p, len, &w, 1, &f));
		ck_assert_msg(
		    f.offset == t[i].offset, "%s: %zu", t[i].text, f.offset);
		ck_assert(f.is_json == t[i].is_json);
		ck_assert(json_check(p, len, NULL, NULL) == t[i].is_json);
		ck_assert(json_is(w.value,
		    t[i].is_json && p[0] == '{' ? JSON_NUMBER : JSON_NONE));
		free(p);
	}
}
END_TEST

/* pick proves as check does, wherever the text is wrong. */
START_TEST(test_pick_proves)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[128];
		struct json_fault whole, picked;
		struct json_want w = {.name = "z"};
		size_t len = (size_t)snprintf(
		    text, sizeof(text), "{\"k\":%s,\"z\":1}", bad[i].text);

		if (json_check(text, len, NULL, &whole))
			continue; /* what was cut off has become whole */
		ck_assert(!json_object_pick(text, len, &w, 1, &picked));
		same_fault(picked, whole, text, len);
		ck_assert(json_is(w.value, JSON_NONE));
	}
}
END_TEST

START_TEST(test_member)
{
	struct json_value v =
	    value("{\"a\":{\"b\":[1,\"x\"]},\"c\":1,\"c\":1}");
	struct json_want w = {.name = "b"};

	ck_assert(is_text(json_member(v, "a"), "{\"b\":[1,\"x\"]}"));
	ck_assert(json_is(json_member(v, "b"), JSON_NONE));
	ck_assert(json_is(json_member(v, "c"), JSON_NONE));
	ck_assert(json_pick(json_member(v, "a"), &w, 1));
	ck_assert(is_text(w.value, "[1,\"x\"]"));
	ck_assert(!json_pick(w.value, &w, 1));
	ck_assert(json_is(json_member(value("[1]"), "a"), JSON_NONE));
	ck_assert(json_is(json_member((struct json_value){0}, "a"), JSON_NONE));
}
END_TEST

START_TEST(test_iter)
{
	struct json_iter it;
	struct json_value k, v;

	json_iter_init(&it, value(" { \"a\" : 1 , \"b\\n\":[ 2 ]\t} "));
	ck_assert(json_iter_next(&it, &k, &v));
	ck_assert(json_string_is(k, "a") && is_text(v, "1"));
	ck_assert(json_iter_next(&it, &k, &v));
	ck_assert(json_string_is(k, "b\n") && is_text(v, "[ 2 ]"));
	ck_assert(!json_iter_next(&it, &k, &v));
	ck_assert(!json_iter_next(&it, &k, &v));

	json_iter_init(&it, value("[ \"x\" ,[],{ } , null ]"));
	for (const char **s =
		 (const char *[]){"\"x\"", "[]", "{ }", "null", NULL};
	     *s != NULL; s++) {
		ck_assert(json_iter_next(&it, &k, &v));
		ck_assert(json_is(k, JSON_NONE) && is_text(v, *s));
	}
	ck_assert(!json_iter_next(&it, NULL, &v));

	json_iter_init(&it, value("{}"));
	ck_assert(!json_iter_next(&it, NULL, &v));
	json_iter_init(&it, value("[ ]"));
	ck_assert(!json_iter_next(&it, NULL, &v));
	json_iter_init(&it, value("7"));
	ck_assert(!json_iter_next(&it, NULL, &v));
	json_iter_init(&it, (struct json_value){0});
	ck_assert(!json_iter_next(&it, NULL, &v));
}
END_TEST

START_TEST(test_one_line)
{
	char text[] = "\r\n{\n\"a\\n\":\r1}\n";

	json_one_line(text, strlen(text));
	ck_assert_str_eq(text, "  { \"a\\n\": 1} ");
	json_one_line(text, 0);
	json_one_line(NULL, 0);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("base/json");
	TCase *t = tcase_create("scanner");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_good);
	tcase_add_test(t, test_bad);
	tcase_add_test(t, test_nul);
	tcase_add_test(t, test_prefixes);
	tcase_add_test(t, test_depth);
	tcase_add_test(t, test_utf8);
	tcase_add_test(t, test_run);
	tcase_add_test(t, test_escapes);
	suite_add_tcase(s, t);
	t = tcase_create("parts");
	tcase_add_test(t, test_check_value);
	tcase_add_test(t, test_pick);
	tcase_add_test(t, test_pick_faults);
	tcase_add_test(t, test_pick_proves);
	tcase_add_test(t, test_member);
	tcase_add_test(t, test_iter);
	tcase_add_test(t, test_one_line);
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
