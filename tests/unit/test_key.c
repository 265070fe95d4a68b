/*
 * Idempotency keys: both forms as whole strings, and the numbers of L2.3.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/canon.h"
#include "base/str.h"
#include "supervisor/key.h"

/* printf '{"amount":500,"order_id":"o-1"}' | sha256sum | cut -c 1-32 */
#define CHARGE "383805880ae7b1c89091d712e56beeaf"
/* printf '{}' | sha256sum | cut -c 1-32 */
#define EMPTY "44136fa355b3678a1146ad16f7e8649e"

static void
is(char *got, const char *want)
{
	ck_assert_str_eq(got, want);
	free(got);
}

static void
digest_of(const char *json, char ret[CANON_DIGEST_LEN])
{
	struct json_value v = { JSON_NONE, NULL, 0 };
	struct json_fault f;

	if (json != NULL)
		ck_assert(json_check(json, strlen(json), &v, &f));
	canon_digest(v, ret);
}

static void
plain_is(const char *job, uint32_t run, const char *activity, const char *want)
{
	char key[KEY_PLAIN_SIZE];

	key_plain(key, job, run, activity);
	ck_assert_str_eq(key, want);
}

START_TEST(L2_2_plain)
{
	char longest[KEY_NAME_MAX + 1], want[KEY_PLAIN_SIZE];

	plain_is("order-7", 0, "pay", "order-7/pay");
	plain_is("order-7", 1, "pay", "order-7/anr1/pay");
	plain_is("A.b_c-9", 4294967295, "x.y", "A.b_c-9/anr4294967295/x.y");
	memset(longest, 'a', KEY_NAME_MAX);
	longest[KEY_NAME_MAX] = '\0';
	snprintf(want, sizeof(want), "%s/anr4294967295/%s", longest, longest);
	ck_assert_uint_eq(strlen(want), sizeof(want) - 1);
	plain_is(longest, 4294967295, longest, want);
}
END_TEST

START_TEST(L2_3_harness)
{
	char d[CANON_DIGEST_LEN];

	digest_of("{ \"order_id\" : \"o-1\", \"amount\": 5.00e2 }", d);
	is(key_harness("j1", 0, 1, "billing.charge", d, 1),
	    "j1/s1/billing.charge#" CHARGE "/1");
	is(key_harness("j1", 0, 1, "billing.charge", d, 2),
	    "j1/s1/billing.charge#" CHARGE "/2");
	is(key_harness("j1", 3, 12, "billing.charge", d, 10),
	    "j1/r3/s12/billing.charge#" CHARGE "/10");
	digest_of(NULL, d);
	is(key_harness("j1", 0, 2, "a.b", d, 1), "j1/s2/a.b#" EMPTY "/1");
	digest_of("{}", d);
	is(key_harness("j1", 0, 2, "a.b", d, 1), "j1/s2/a.b#" EMPTY "/1");
}
END_TEST

/* An activity has no slash and no `#`: no plain key can be a harness's. */
START_TEST(L2_7_forms_stay_apart)
{
	ck_assert(!str_is_name("s1/a.b#" EMPTY "/1"));
	ck_assert(!str_is_name("anr1/x"));
	ck_assert(!str_is_name("r1/s1"));
	ck_assert(!str_is_name("a#b"));
}
END_TEST

START_TEST(L2_3_smallest_number_that_is_free)
{
	struct key_set *ks = key_set_new();

	for (uint64_t k = 1; k <= 5; k++)
		ck_assert_uint_eq(key_set_take(ks, "a.b", CHARGE), k);
	/* each function and each digest counts for itself */
	ck_assert_uint_eq(key_set_take(ks, "a.c", CHARGE), 1);
	ck_assert_uint_eq(key_set_take(ks, "a.b", EMPTY), 1);
	/* given back: the smallest first, and never one that is held */
	key_set_give_back(ks, "a.b", CHARGE, 4);
	key_set_give_back(ks, "a.b", CHARGE, 2);
	ck_assert_uint_eq(key_set_take(ks, "a.b", CHARGE), 2);
	ck_assert_uint_eq(key_set_take(ks, "a.b", CHARGE), 4);
	ck_assert_uint_eq(key_set_take(ks, "a.b", CHARGE), 6);
	key_set_free(ks);
}
END_TEST

/* A charge that a busy service refused, made later: the same charge. */
START_TEST(L2_3_given_back_when_not_made)
{
	struct key_set *ks = key_set_new();
	uint64_t k = key_set_take(ks, "billing.charge", CHARGE);

	key_set_give_back(ks, "billing.charge", CHARGE, k);
	ck_assert_uint_eq(key_set_take(ks, "billing.charge", CHARGE), 1);
	/* what was never taken changes nothing */
	key_set_give_back(ks, "billing.charge", CHARGE, 0);
	key_set_give_back(ks, "billing.charge", CHARGE, 7);
	key_set_give_back(ks, "billing.charge", CHARGE, 100000);
	key_set_give_back(ks, "billing.refund", CHARGE, 1);
	ck_assert_uint_eq(key_set_take(ks, "billing.charge", CHARGE), 2);
	key_set_free(ks);
	key_set_free(NULL);
}
END_TEST

/* Against the rule itself, said in the plainest way. */
START_TEST(L2_3_many)
{
	enum { MOST = 700 };
	struct key_set *ks = key_set_new();
	char held[MOST + 2] = { 0 };
	unsigned seed = 20260728, n = 0;

	for (unsigned i = 0; i < 20000; i++) {
		unsigned k = 1 + (unsigned)rand_r(&seed) % MOST;

		if (n < MOST && rand_r(&seed) % 2 == 0) {
			for (k = 1; held[k]; k++)
				;
			ck_assert_uint_eq(key_set_take(ks, "f", EMPTY), k);
			held[k] = 1;
			n++;
		} else if (held[k]) {
			key_set_give_back(ks, "f", EMPTY, k);
			held[k] = 0;
			n--;
		}
	}
	key_set_free(ks);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("key");
	TCase *tc = tcase_create("key");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_test(tc, L2_2_plain);
	tcase_add_test(tc, L2_3_harness);
	tcase_add_test(tc, L2_7_forms_stay_apart);
	tcase_add_test(tc, L2_3_smallest_number_that_is_free);
	tcase_add_test(tc, L2_3_given_back_when_not_made);
	tcase_add_test(tc, L2_3_many);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
