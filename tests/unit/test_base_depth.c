/*
 * How deep a text may be nested: the same bound for all ways to read it.
 */
#include <check.h>
#include <string.h>

#include "base/json.h"

/* A caller may set a lower bound; it is the same for all ways to read. */
START_TEST(test_depth_within)
{
	enum { N = JSON_LINE_DEPTH };

	for (int more = 0; more < 2; more++) {
		char text[2 * N + 16];
		size_t n = N - 1 + (size_t)more, len = 5 + 2 * n + 1;
		struct json_want want = {.name = "a"};
		struct json_fault f[3] = {{0}};
		struct json_scan s;

		memcpy(text, "{\"a\":", 5);
		memset(text + 5, '[', n);
		memset(text + 5 + n, ']', n);
		text[len - 1] = '}';
		json_scan_init(&s);
		s.max_depth = N;
		json_scan_feed(&s, text, len);
		ck_assert(json_scan_end(&s, &f[0]) == !more);
		ck_assert(
		    json_check_within(N, text, len, NULL, &f[1]) == !more);
		ck_assert(json_object_pick_within(
			      N, text, len, &want, 1, &f[2]) == !more);
		ck_assert(json_check(text, len, NULL, NULL));
		for (int i = 0; more && i < 3; i++) {
			ck_assert_str_eq(f[i].why, "too deep");
			ck_assert_uint_eq(f[i].offset, 5 + N - 1);
		}
	}
}
END_TEST

/* In an object the bound is the same as everywhere. */
START_TEST(test_depth_pick)
{
	for (size_t n = JSON_MAX_DEPTH - 2; n <= JSON_MAX_DEPTH; n++) {
		char text[2 * JSON_MAX_DEPTH + 8];
		size_t len = 0;
		struct json_want want = {.name = "a"};
		bool ok = n <= JSON_MAX_DEPTH - 1;

		memcpy(text, "{\"a\":", 5);
		len = 5;
		memset(text + len, '[', n);
		memset(text + len + n, ']', n);
		len += 2 * n;
		text[len++] = '}';
		ck_assert(json_check(text, len, NULL, NULL) == ok);
		ck_assert(json_object_pick(text, len, &want, 1, NULL) == ok);
		ck_assert((want.value.len == 2 * n) == ok);
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("depth");
	TCase *t = tcase_create("depth");
	SRunner *r;
	int failed;

	tcase_add_test(t, test_depth_within);
	tcase_add_test(t, test_depth_pick);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? 0 : 1;
}
