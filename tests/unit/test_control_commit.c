/*
 * Durability "power": nothing is sent or shown before its record is synced,
 * and everything is once it is, whatever is recorded after it (DESIGN,
 * Recording).  The test is oz0-journal: it asks, and acknowledges number by
 * number.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "supervisor/control_internal.h"
#include "tests/unit/control_fake.h"

static struct fake_node *n;
static struct commit *commit;

static void
setup(void)
{
	n = fake_new(NULL);
	commit = &n->s.commit;
	commit->waits = true;
	ck_assert_int_eq(control_start(&n->s), 0);
}

static void
teardown(void)
{
	fake_free(n);
}

/* ---- the queue alone ---- */

#define ACTS 5000

START_TEST(queue)
{
	static uint64_t seq_of[ACTS + 1];
	struct commit c = {.waits = true};
	struct commit_queue q = {0};
	uint64_t act = 0, seq = 0, passed = 0, due = 0;
	unsigned held = 0;

	srandom((unsigned)_i);
	while (act < ACTS) {
		seq += (uint64_t)random() % 3;
		for (long k = random() % 3; k > 0 && act < ACTS; k--)
			seq_of[++act] = seq;
		commit_put(&c, &q, act, seq);
		if (random() % 4 == 0 && c.asked <= c.synced)
			c.asked = seq;
		if (random() % 50 == 0) /* a fresh oz0-journal */
			c.asked = c.synced;
		if (random() % 8 == 0 && c.asked > c.synced)
			c.synced = c.asked;
		passed = commit_passed(&c, &q);
		/* nothing too early */
		ck_assert(passed == 0 || seq_of[passed] <= c.synced);
		/* nothing too late, though there is always more to come */
		while (due < act && seq_of[due + 1] <= c.synced)
			due++;
		ck_assert_uint_eq(passed, due);
		held += passed < act;
	}
	ck_assert_uint_gt(held, 100);
	c.waits = false;
	ck_assert_uint_eq(commit_passed(&c, &q), ACTS);
}
END_TEST

/* ---- acts ---- */

static uint64_t
ask(void)
{
	commit->asked = record_flushed_seq(&n->s);
	return commit->asked;
}

START_TEST(each_waits_for_its_own_record)
{
	uint64_t started, attempt, ended;
	struct client c;

	client_open(n, &c);
	client_send(&c, REQ("1", "job/start", "{\"job\":\"j\"}") "\n");
	ck_assert(!client_quiet(&c));
	started = ask();
	client_send(&c, REQ("2", "call/start",
	    "{\"job\":\"j\",\"function\":\"shared.echo\"}") "\n");
	ck_assert(!client_quiet(&c));
	attempt = record_flushed_seq(&n->s);
	ck_assert_uint_eq(n->s.last_attempt, 1);

	commit->synced = started;
	ck_assert(client_quiet(&c));
	ck_assert_ptr_nonnull(strstr(client_line(&c), "\"id\":1"));
	ck_assert_uint_eq(n->s.last_sent, 0);

	ck_assert_uint_eq(ask(), attempt);
	commit->synced = attempt - 1;
	ck_assert(!client_quiet(&c));
	ck_assert_uint_eq(n->s.last_sent, 0);
	commit->synced = attempt;
	ck_assert(!client_quiet(&c));
	ck_assert_uint_eq(n->s.last_sent, 1);

	ended = ask();
	ck_assert_uint_gt(ended, attempt);
	commit->synced = ended - 1;
	ck_assert(!client_quiet(&c));
	commit->synced = ended;
	ck_assert(client_quiet(&c));
	ck_assert_ptr_nonnull(strstr(client_line(&c), "\"completed\""));
	client_close(&c);
}
END_TEST

/* L9.5: a stop waits for no record, and an attempt that waits is not sent. */
START_TEST(cancel_waits_for_nothing)
{
	struct client c;

	client_open(n, &c);
	client_send(&c, REQ("1", "job/start", "{\"job\":\"j\"}") "\n"
	    REQ("2", "call/start",
		"{\"job\":\"j\",\"function\":\"shared.hold\"}") "\n");
	ck_assert(!client_quiet(&c));
	ck_assert_uint_eq(n->s.running, 1);
	client_send(&c, REQ("3", "job/cancel", "{\"job\":\"j\"}") "\n");
	ck_assert(!client_quiet(&c));
	ck_assert_uint_eq(n->s.running, 0);
	ck_assert_uint_eq(n->s.last_sent, 0);
	commit->synced = ask();
	for (const char *p = "132"; *p != '\0'; p++)
		ck_assert_ptr_nonnull(client_line(&c));
	ck_assert_uint_eq(n->s.last_sent, 0);
	client_close(&c);
}
END_TEST

/* ---- events ---- */

static uint64_t
event_seq(const char *line)
{
	struct json_fault f;
	struct json_value v;
	uint64_t seq;

	ck_assert(json_check(line, strlen(line), &v, &f));
	ck_assert(
	    json_to_uint64(json_member(json_member(v, "params"), "seq"), &seq));
	return seq;
}

static void
subscribe(struct client *c)
{
	client_open(n, c);
	commit->synced = ask();
	client_ask_has(c, REQ("1", "events/subscribe", "{}"), "result");
}

/* Work that never pauses, and syncs that take many turns of it. */
START_TEST(events_under_work)
{
	uint64_t seen, answers = 0;
	struct client c;
	char line[200];

	subscribe(&c);
	seen = record_last_seq(&n->s);
	srandom(1);
	for (int i = 0; i < 3000; i++) {
		snprintf(line, sizeof(line),
		    REQ("%d", "job/start", "{\"job\":\"j%d\"}") "\n", i, i);
		client_send(&c, line);
		fake_turn(n);
		if (random() % 7 == 0 && commit->asked <= commit->synced)
			ask();
		if (random() % 100 == 0)
			commit->asked = commit->synced;
		if (random() % 20 == 0 && commit->asked > commit->synced)
			commit->synced = commit->asked;
		while (client_quiet(&c)) {
			const char *got = client_line(&c);

			if (strstr(got, "\"method\"") == NULL) {
				answers++;
				continue;
			}
			ck_assert_uint_eq(event_seq(got), ++seen);
			ck_assert_uint_le(seen, commit->synced);
		}
		/* as much as may be seen was seen */
		ck_assert_uint_eq(seen, commit->synced);
	}
	ck_assert_uint_gt(seen, 2500);
	ck_assert_uint_gt(answers, 2500);
	ck_assert_uint_lt(answers, 3000);
	client_close(&c);
}
END_TEST

/* A subscriber is not dropped for what the disk did not do (L9.6). */
START_TEST(events_while_the_disk_hangs)
{
	uint64_t seen, last;
	struct client c;

	subscribe(&c);
	seen = record_last_seq(&n->s);
	for (int i = 0; i < 60; i++) {
		fake_steps(n, 1000);
		fake_turn(n);
	}
	ck_assert(!client_quiet(&c));
	ck_assert_uint_eq(n->s.control->nconns, 1);
	ck_assert_uint_lt(n->s.control->bytes, (size_t)5 << 20);
	last = commit->synced = ask();
	while (seen < last)
		ck_assert_uint_eq(event_seq(client_line(&c)), ++seen);
	ck_assert(!client_quiet(&c));
	client_close(&c);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("commit");
	TCase *t = tcase_create("queue");

	tcase_add_loop_test(t, queue, 0, 20);
	suite_add_tcase(s, t);
	t = tcase_create("acts");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 30);
	tcase_add_test(t, each_waits_for_its_own_record);
	tcase_add_test(t, cancel_waits_for_nothing);
	tcase_add_test(t, events_under_work);
	tcase_add_test(t, events_while_the_disk_hangs);
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
	return failed == 0 ? 0 : 1;
}
