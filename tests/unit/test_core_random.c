/*
 * Random lives of calls on the core alone (fake_node.h), judged by what was
 * recorded of them.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/unit/fake_node.h"
#include "wire/log.h"

static struct fake_node *n;
static struct fault f;

static void
setup(void)
{
	n = fake_node_new();
}

static void
teardown(void)
{
	fake_node_free(n);
}

/*
 * Many random lives with one rule checker over the record: attempts of a call
 * never overlap, one end per call, CANCELED never before its calls have ended,
 * and the counters come back to nothing.
 */
struct seen {
	unsigned attempts_open, ends;
};

static void
check_log(struct seen *seen, size_t nseen)
{
	char *log = mem_alloc(LOG_SEGMENT_SIZE);
	size_t at = LOG_HEADER, size;
	struct record r;
	uint64_t last = 0;

	ck_assert_int_eq(pread(n->log_fd, log, LOG_SEGMENT_SIZE, 0),
	    (ssize_t)LOG_SEGMENT_SIZE);
	while (log_record_read(log + at, LOG_SEGMENT_SIZE - at, &r, &size) ==
	    LOG_READ_RECORD) {
		ck_assert_uint_eq(r.seq, last + 1);
		last = r.seq;
		if (r.call != 0 && r.call < nseen) {
			char *step = mem_strndup(r.step, r.step_len);
			struct seen *c = &seen[r.call];

			ck_assert_uint_eq(c->ends, 0); /* nothing after */
			if (strstr(step, "\"attempt_started\""))
				ck_assert_uint_eq(c->attempts_open++, 0);
			if ((strstr(step, "\"attempt_ended\"") ||
				strstr(step, "\"attempt_stopped\"")) &&
			    !strstr(step, "could not be started"))
				ck_assert_uint_eq(c->attempts_open--, 1);
			if (strstr(step, "\"call_ended\"")) {
				c->ends++;
				ck_assert_uint_eq(c->attempts_open, 0);
			}
			free(step);
		}
		at += size;
		record_clear(&r);
	}
	ck_assert_uint_eq(last, record_last_seq(&n->s));
	free(log);
}

static void
random_event(struct call *c, struct job *j)
{
	static const struct attempt_end ends[] = {
		{ .how = WIRE_END_RESULT, .sent = true, .retry_after = -1,
		    .payload = "{}", .payload_len = 2 },
		{ .how = WIRE_END_RPC_ERROR, .sent = true, .retry_after = -1,
		    .code = -32603 },
		{ .how = WIRE_END_SERVER, .sent = true, .retry_after = -1 },
		{ .how = WIRE_END_RESULT, .sent = true, .is_error = true,
		    .busy = WIRE_BUSY_YES, .retry_after = 0.25,
		    .payload = "{}", .payload_len = 2 },
		{ .how = WIRE_END_TOO_LARGE, .sent = true, .retry_after = -1 },
	};
	struct server *sv = fake_job_server(j);

	switch (rand() % 7) {
	case 0:
		call_cancel(&n->s, c, &f);
		break;
	case 1:
		fake_pass(n, SPAN_MS(rand() % 20000));
		break;
	case 2:
		if (sv != NULL && sv->state != SERVER_STOPPED)
			fake_gone(n, sv);
		break;
	case 3:
		if (sv != NULL && sv->state == SERVER_STARTING)
			fake_ready(n, sv);
		break;
	case 4:
		if (sv != NULL && sv->state == SERVER_READY) {
			calls_worker_gone(&n->s, sv);
			server_stop(&n->s, sv, SPAN_S(2), "worker gone");
		}
		break;
	default:
		if (c->attempt != NULL)
			fake_end(n, c, &ends[rand() % 5]);
	}
	fake_turn(n);
}

START_TEST(random_lives_keep_the_rules)
{
	static const char *const functions[] = { "own.read", "own.write",
		"own.once", "shared.read", "shared.write", "shared.once" };
	struct job *j = fake_job(n, "j1");
	struct call *calls[250]; /* a job keeps the last 256 that ended */
	struct seen seen[400] = { 0 };
	size_t count = 0;

	srand((unsigned)_i + 1);
	n->conf.queue = 1000;
	n->tools[rand() % 2].conf->max_running = (unsigned)(rand() % 3);
	fake_ready(n, &n->plugin);
	for (int step = 0; step < 2000; step++) {
		if (count < 250 && rand() % 4 == 0)
			calls[count++] = fake_call(n, j, NULL,
			    functions[rand() % 6], "{}", &f);
		if (count > 0)
			random_event(calls[rand() % count], j);
	}
	ck_assert(job_cancel(&n->s, j, &f));
	fake_turn(n);
	for (int i = 0; i < 100 && j->state != JOB_CANCELED; i++) {
		struct server *sv = fake_job_server(j);

		if (sv != NULL && sv->state == SERVER_STOPPING)
			fake_gone(n, sv);
		fake_pass(n, SPAN_S(3));
	}
	ck_assert_int_eq(j->state, JOB_CANCELED);
	ck_assert_uint_eq(n->s.running, 0);
	ck_assert_uint_eq(n->s.queued, 0);
	ck_assert_uint_eq(n->s.payload_bytes, 0);
	ck_assert(RB_EMPTY(&n->s.attempts));
	ck_assert(RB_EMPTY(&n->s.calls));
	ck_assert(RB_EMPTY(&n->s.deadlines));
	check_log(seen, 400);
	for (size_t i = 1; i <= count; i++)
		ck_assert_uint_eq(seen[i].ends, 1);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("core random");
	TCase *t = tcase_create("random");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 0);
	tcase_add_loop_test(t, random_lives_keep_the_rules, 0, 40);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
