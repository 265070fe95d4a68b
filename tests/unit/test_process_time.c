/*
 * Times of the supervisor: the tree of deadlines, the ladder that stops a
 * process tree (LIFECYCLE L1.2), and pings (L9.2).
 *
 * Run by make check; links deadline.c, ladder.c and base alone.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/deadline.h"
#include "supervisor/ladder.h"
#include "supervisor/supervisor.h"
#include "supervisor/worker_pings.h"

static struct mono
at(int64_t us)
{
	return (struct mono) { us };
}

/* ---- deadlines ---- */

static char order[64];
static size_t norder;

static void
note(struct supervisor *s, void *arg)
{
	order[norder++] = *(const char *)arg;
	order[norder] = '\0';
}

static void
begin(struct supervisor *s, struct deadline *d, size_t n, char *names)
{
	memset(s, 0, sizeof(*s));
	RB_INIT(&s->deadlines);
	norder = 0;
	order[0] = '\0';
	for (size_t i = 0; i < n; i++)
		deadline_init(&d[i], note, &names[i]);
}

START_TEST(test_deadlines_run_in_order_and_once)
{
	char names[] = "abcd";
	struct supervisor s;
	struct deadline d[4];

	begin(&s, d, 4, names);
	ck_assert_int_eq(deadline_first(&s).us, MONO_NEVER.us);
	deadline_set(&s, &d[0], at(30));
	deadline_set(&s, &d[1], at(10));
	deadline_set(&s, &d[2], at(20));
	deadline_set(&s, &d[3], at(20)); /* the same time is no clash */
	ck_assert_int_eq(deadline_first(&s).us, 10);
	deadline_run(&s, at(9));
	ck_assert_str_eq(order, "");
	deadline_run(&s, at(20));
	ck_assert_uint_eq(norder, 3);
	ck_assert_int_eq(order[0], 'b');
	deadline_run(&s, at(20));
	ck_assert_uint_eq(norder, 3);
	ck_assert_int_eq(deadline_first(&s).us, 30);
}
END_TEST

START_TEST(test_deadline_moves_and_clears)
{
	char names[] = "ab";
	struct supervisor s;
	struct deadline d[2];

	begin(&s, d, 2, names);
	deadline_set(&s, &d[0], at(10));
	deadline_set(&s, &d[0], at(50));
	deadline_set(&s, &d[1], at(20));
	deadline_set(&s, &d[1], MONO_NEVER);
	ck_assert(!d[1].set);
	deadline_clear(&s, &d[1]); /* harmless */
	deadline_run(&s, at(49));
	ck_assert_str_eq(order, "");
	deadline_after(&s, &d[1], SPAN_NONE);
	ck_assert(!d[1].set);
	deadline_run(&s, at(50));
	ck_assert_str_eq(order, "a");
	ck_assert_int_eq(deadline_first(&s).us, MONO_NEVER.us);
}
END_TEST

static struct deadline later;

static void
set_later(struct supervisor *s, void *arg)
{
	deadline_set(s, &later, at(101));
}

START_TEST(test_deadline_set_by_another_waits_its_time)
{
	char names[] = "x";
	struct supervisor s;
	struct deadline d;

	begin(&s, &later, 1, names);
	deadline_init(&d, set_later, NULL);
	deadline_set(&s, &d, at(100));
	deadline_run(&s, at(100));
	ck_assert_str_eq(order, "");
	deadline_run(&s, at(101));
	ck_assert_str_eq(order, "x");
}
END_TEST

/* ---- the ladder ---- */

static enum ladder_step
due(struct ladder *l, int64_t us)
{
	enum ladder_step step = LADDER_REST;

	return ladder_due(l, at(us), &step) ? step : LADDER_REST;
}

START_TEST(test_ladder_climbs_at_its_times)
{
	struct ladder l = { 0 };

	ck_assert_int_eq(ladder_next(&l).us, MONO_NEVER.us);
	ck_assert_int_eq(due(&l, 1000), LADDER_REST);
	ck_assert(ladder_begin(&l, at(1000), SPAN_US(10000)));
	ck_assert_int_eq(l.step, LADDER_STDIN);
	ck_assert_int_eq(ladder_next(&l).us, 2000);
	ck_assert_int_eq(due(&l, 1999), LADDER_REST);
	ck_assert_int_eq(due(&l, 2000), LADDER_SHUT);
	ck_assert_int_eq(ladder_next(&l).us, 5000); /* 40 % */
	ck_assert_int_eq(due(&l, 5000), LADDER_TERM);
	ck_assert_int_eq(due(&l, 8999), LADDER_REST);
	ck_assert_int_eq(due(&l, 9000), LADDER_KILL); /* 80 % */
	ck_assert_int_eq(due(&l, 99999), LADDER_REST);
	ck_assert_int_eq(ladder_next(&l).us, MONO_NEVER.us);
}
END_TEST

START_TEST(test_ladder_catches_up_step_by_step)
{
	struct ladder l = { 0 };

	ladder_begin(&l, at(0), SPAN_US(1000));
	ck_assert_int_eq(due(&l, 5000), LADDER_SHUT);
	ck_assert_int_eq(due(&l, 5000), LADDER_TERM);
	ck_assert_int_eq(due(&l, 5000), LADDER_KILL);
	ck_assert_int_eq(due(&l, 5000), LADDER_REST);
}
END_TEST

START_TEST(test_ladder_takes_the_shorter_time)
{
	struct ladder l = { 0 };

	ladder_begin(&l, at(0), SPAN_US(100000));
	ck_assert(!ladder_begin(&l, at(1000), SPAN_US(500000)));
	ck_assert_int_eq(ladder_next(&l).us, 10000);
	ck_assert(!ladder_begin(&l, at(1000), SPAN_US(1000)));
	ck_assert_int_eq(ladder_next(&l).us, 1100);
	ck_assert_int_eq(due(&l, 1100), LADDER_SHUT);
	ck_assert_int_eq(due(&l, 1400), LADDER_TERM);
	ck_assert_int_eq(due(&l, 1800), LADDER_KILL);
}
END_TEST

START_TEST(test_ladder_of_no_time_kills_at_once)
{
	struct ladder l = { 0 };

	ladder_begin(&l, at(7), SPAN_US(0));
	ck_assert_int_eq(due(&l, 7), LADDER_SHUT);
	ck_assert_int_eq(due(&l, 7), LADDER_TERM);
	ck_assert_int_eq(due(&l, 7), LADDER_KILL);
}
END_TEST

/* ---- pings ---- */

START_TEST(test_five_unanswered_pings_are_the_end)
{
	struct pings p = { 0 };
	uint64_t n = 0;

	for (unsigned i = 1; i <= PINGS_WORKER; i++) {
		ck_assert(pings_next(&p, PINGS_WORKER, &n));
		ck_assert_uint_eq(n, i);
	}
	ck_assert(!pings_next(&p, PINGS_WORKER, &n));
	ck_assert(pings_answer(&p, 3));
	ck_assert(pings_next(&p, PINGS_WORKER, &n));
	ck_assert_uint_eq(n, 6);
}
END_TEST

START_TEST(test_answers_never_asked_for_are_refused)
{
	struct pings p = { 0 };
	uint64_t n;

	ck_assert(!pings_answer(&p, 1));
	ck_assert(pings_next(&p, PINGS_WORKER, &n));
	ck_assert(!pings_answer(&p, 2));
	ck_assert(!pings_answer(&p, 0));
	ck_assert(pings_answer(&p, 1));
	ck_assert(!pings_answer(&p, 1)); /* twice */
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("process_time");
	TCase *t = tcase_create("all");
	SRunner *r;
	int failed;

	tcase_add_test(t, test_deadlines_run_in_order_and_once);
	tcase_add_test(t, test_deadline_moves_and_clears);
	tcase_add_test(t, test_deadline_set_by_another_waits_its_time);
	tcase_add_test(t, test_ladder_climbs_at_its_times);
	tcase_add_test(t, test_ladder_catches_up_step_by_step);
	tcase_add_test(t, test_ladder_takes_the_shorter_time);
	tcase_add_test(t, test_ladder_of_no_time_kills_at_once);
	tcase_add_test(t, test_five_unanswered_pings_are_the_end);
	tcase_add_test(t, test_answers_never_asked_for_are_refused);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
