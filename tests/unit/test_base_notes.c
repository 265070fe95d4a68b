/*
 * What a scan notes on its way: the same members that a walk through the text
 * finds, wherever the text was cut.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

static void
try_notes(const char *text, size_t cut)
{
	struct json_want all[] = {{.name = "result"}, {.name = "id"}},
			 inner[] = {{.name = "a"}, {.name = "id"}};
	struct json_notes notes;
	struct json_value v;
	struct json_scan s;
	size_t at = 0;

	json_scan_init(&s);
	json_scan_note(&s, &notes);
	json_scan_feed(&s, text, cut);
	/* the value that is begun, from its first byte on */
	ck_assert(json_notes_in(&notes, text, "result", &at) ==
		  (cut > 10 && cut < 34));
	if (at != 0)
		ck_assert_uint_eq(at, 10);
	json_scan_feed(&s, text + cut, strlen(text) - cut);
	ck_assert(json_scan_end(&s, NULL));
	ck_assert(json_notes_pick(&notes, text, NULL, all, 2));
	v = all[0].value;
	ck_assert(v.type == JSON_OBJECT && v.p == text + 10 && v.len == 22);
	ck_assert(json_string_is(all[1].value, "7"));
	ck_assert(json_notes_pick(&notes, text, &v, inner, 2));
	ck_assert(inner[0].value.type == JSON_ARRAY && inner[0].value.len == 7);
	ck_assert(inner[1].value.type == JSON_NUMBER);
	ck_assert_int_eq(memcmp(inner[1].value.p, "12", 2), 0);
	ck_assert_uint_eq(inner[1].value.len, 2);
	ck_assert(!json_notes_pick(&notes, text, &all[1].value, inner, 2));
	ck_assert(notes.breaks);
}

/* Notes find what json_object_pick() finds, wherever the text was cut. */
START_TEST(test_notes)
{
	static const char text[] =
	    "{\"result\":{\"a\":[\"\\\"}\"],\"id\":12 } ,\r\"i\\u0064\":\"7\"}";

	for (size_t cut = 0; cut < sizeof(text); cut++)
		try_notes(text, cut);
}
END_TEST

/* What notes cannot answer they leave to the others. */
START_TEST(test_notes_refuse)
{
	static const char *const texts[] = {"[{\"id\":1}]", "7", "{}",
	    "{\"id\":1,\"id\":2}", NULL};
	char many[1024] = "{";
	size_t len = 1;

	for (int i = 0; i <= JSON_NOTES_MAX; i++)
		len += (size_t)snprintf(many + len, sizeof(many) - len,
		    "%s\"k%d\":0", i != 0 ? "," : "", i);
	strcpy(many + len, "}");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *p = texts[i] != NULL ? texts[i] : many;
		struct json_want want = {.name = "id", .value = {.len = 5}};
		struct json_notes notes;
		struct json_scan s;

		json_scan_init(&s);
		json_scan_note(&s, &notes);
		json_scan_feed(&s, p, strlen(p));
		ck_assert(json_scan_end(&s, NULL));
		ck_assert(!json_notes_pick(&notes, p, NULL, &want, 1));
		ck_assert_uint_eq(want.value.len, 5);
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("base/notes");
	TCase *t = tcase_create("all");
	SRunner *r;
	int failed;

	tcase_add_test(t, test_notes);
	tcase_add_test(t, test_notes_refuse);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
