/*
 * Steps in the database of oz0-journal: put there by batches, read back in
 * their order, removed with their job.
 */
#include "journal/steps.h"

#include <check.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "journal/batch.h"
#include "journal/db.h"
#include "journal/retain.h"
#include "journal/rows.h"
#include "journal/store.h"

static char where[64];

static void
setup(void)
{
	strcpy(where, "/tmp/oz0-steps-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(where));
	ck_assert_int_eq(chdir(where), 0);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)type;
	(void)f;
	return remove(path);
}

static void
teardown(void)
{
	ck_assert_int_eq(chdir("/"), 0);
	nftw(where, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static char *
str(const char *s)
{
	return (char *)(uintptr_t)s; /* only read */
}

static struct record
step(uint64_t seq, const char *job)
{
	static const char json[] = "{\"event\":\"fault\"}";

	return (struct record) { .seq = seq, .type = REC_STEP,
		.job = str(job), .step = json, .step_len = sizeof(json) - 1 };
}

static struct record
job(uint64_t seq, const char *name, enum job_state s)
{
	struct record r = step(seq, name);

	r.type = REC_JOB;
	r.u.job = (struct rec_job) { str(name), str("acme"), 1, 1000,
		(uint8_t)s };
	return r;
}

static struct record
forget(uint64_t seq, const char *name)
{
	return (struct record) { .seq = seq, .type = REC_FORGET,
		.u.forget = { str(name) } };
}

static void
take(struct db *d, struct batch *b, struct store_meta *m, struct record r)
{
	ck_assert_int_eq(store_record(d, b, m, &r), 0);
}

/* Steps of jobs that take turns come in their order, from any of them on. */
START_TEST(test_steps)
{
	const char *const jobs[] = { "j1", "j2", NULL };
	struct batch *b = batch_new();
	struct store_meta m = { 0 };
	struct steps got = { 0 };
	uint64_t seq = 1, batches = 0;
	struct db *d;
	bool fresh;

	ck_assert_int_eq(db_open(&d, &fresh), 0);
	ck_assert_int_eq(db_begin(d), 0);
	for (int i = 0; i < 24000; i++) /* some batches by size, one by hand */
		take(d, b, &m, step(++seq, (char *)(uintptr_t)jobs[i % 3]));
	ck_assert_int_eq(batch_flush(b, d), 0);
	take(d, b, &m, step(++seq, str("j2")));
	ck_assert_int_eq(store_save(d, b, &m), 0);
	ck_assert_int_eq(db_commit(d), 0);
	for (uint64_t since = 0; steps_read(d, 0, since, &got) == 1;
	     batches++) {
		for (size_t i = 0; i < got.n; i++, since++) {
			since += since == 0 ? 2 : 0;
			ck_assert_uint_eq(got.one[i].seq, since);
			ck_assert_uint_eq(got.one[i].len, 17);
		}
		steps_free(&got);
		if (since == seq + 1)
			break;
	}
	ck_assert_uint_ge(batches, 2);
	ck_assert_int_eq(steps_read(d, 0, seq + 1, &got), 0);
	for (uint64_t since = 2; since < seq; since += 97) {
		ck_assert_int_eq(steps_read(d, 0, since, &got), 1);
		ck_assert_uint_eq(got.one[0].seq, since);
		steps_free(&got);
		ck_assert_int_eq(steps_read(d, 2, since, &got), 1);
		ck_assert_uint_ge(got.one[0].seq, since);
		ck_assert_uint_le(got.one[0].seq, since + 2);
		ck_assert(got.one[0].seq % 3 == 0 || got.one[0].seq == seq);
		steps_free(&got);
	}
	batch_free(b);
	db_close(d);
}
END_TEST

START_TEST(test_retain)
{
	struct batch *b = batch_new();
	struct store_meta m = { 0 };
	struct buf out = { 0 };
	struct steps left = { 0 };
	struct db *d;
	bool fresh, more = true;

	ck_assert_int_eq(db_open(&d, &fresh), 0);
	ck_assert_int_eq(db_begin(d), 0);
	take(d, b, &m, job(1, "j1", JOB_COMPLETED));
	for (uint64_t i = 2; i < 2000; i++)
		take(d, b, &m, step(i, "j1"));
	take(d, b, &m, job(2000, "j2", JOB_RUNNING));
	take(d, b, &m, forget(2001, "j1"));
	take(d, b, &m, forget(2002, "j3")); /* unknown: nothing */
	ck_assert_int_eq(batch_flush(b, d), 0);
	batch_free(b);
	ck_assert_int_eq(db_commit(d), 0);
	ck_assert_int_eq(rows_job(d, "j1", &out), 0);
	for (int i = 0; more; i++) {
		ck_assert_int_lt(i, 20);
		ck_assert_int_eq(retain_turn(d, SPAN_S(3600), &more), 0);
	}
	ck_assert_int_eq(steps_read(d, 0, 0, &left), 1);
	ck_assert_uint_eq(left.n, 1);
	ck_assert_uint_eq(left.one[0].seq, 2000);
	steps_free(&left);
	db_close(d);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("journal/steps");
	TCase *t = tcase_create("steps");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_steps);
	tcase_add_test(t, test_retain);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
