/*
 * Parts of the processes' side that decide something by themselves: the uid
 * pool, listings, the ring of log lines, who a recorded process is (B017),
 * whose workspace may be used.
 *
 * Run by make check; links those files and base alone.
 */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "supervisor/folder.h"
#include "supervisor/leftover.h"
#include "supervisor/listing.h"
#include "supervisor/log_ring.h"
#include "supervisor/uidpool.h"
#include "supervisor/worker_attempts.h"

/* ---- uids ---- */

START_TEST(test_uids_are_given_once)
{
	struct uidpool *p = uidpool_new(1000, 1069);
	bool seen[70] = { false };
	uid_t uid;

	for (int i = 0; i < 70; i++) {
		ck_assert(uidpool_take(p, &uid));
		ck_assert(uid >= 1000 && uid <= 1069 && !seen[uid - 1000]);
		seen[uid - 1000] = true;
	}
	ck_assert(!uidpool_take(p, &uid)); /* node_full */
	uidpool_give(p, 1064);
	ck_assert(uidpool_take(p, &uid));
	ck_assert_uint_eq(uid, 1064);
	uidpool_free(p);
}
END_TEST

START_TEST(test_a_uid_is_used_again_as_late_as_can_be)
{
	struct uidpool *p = uidpool_new(10, 12);
	uid_t a, b;

	ck_assert(uidpool_take(p, &a));
	uidpool_give(p, a);
	ck_assert(uidpool_take(p, &b));
	ck_assert_uint_ne(a, b);
	uidpool_give(p, 9);	 /* not of the pool: harmless */
	uidpool_give(p, a);	 /* given back already: harmless */
	ck_assert(uidpool_take(p, &a));
	ck_assert(uidpool_take(p, &a));
	ck_assert(!uidpool_take(p, &a));
	uidpool_free(p);
}
END_TEST

START_TEST(test_reserved_uids_are_not_given)
{
	struct uidpool *p = uidpool_new(10, 11);
	uid_t uid;

	ck_assert(uidpool_reserve(p, 10));
	ck_assert(!uidpool_reserve(p, 10));
	ck_assert(!uidpool_reserve(p, 12));
	ck_assert(uidpool_take(p, &uid));
	ck_assert_uint_eq(uid, 11);
	ck_assert(!uidpool_take(p, &uid));
	uidpool_free(p);
}
END_TEST

/* ---- what a worker still owes an end (L9.4) ---- */

static struct worker_late *
end(struct worker_attempts *t, uint64_t id, bool want)
{
	struct worker_late *late = NULL;

	ck_assert(worker_attempts_end(t, id, &late) == want);
	return late;
}

START_TEST(test_an_end_is_told_once)
{
	struct worker_attempts t;

	worker_attempts_init(&t);
	worker_attempts_add(&t, 7, 1);
	ck_assert(worker_attempts_has(&t, 7));
	ck_assert_ptr_null(end(&t, 8, false));
	ck_assert_ptr_null(end(&t, 7, true));
	ck_assert_ptr_null(end(&t, 7, false));
	worker_attempts_clear(&t);
}
END_TEST

START_TEST(test_a_late_answer_is_told_once)
{
	char job[] = "j1";
	struct attempt_late l = { .job = job, .call = 12, .number = 2 };
	struct worker_attempts t;
	struct worker_late *late;

	worker_attempts_init(&t);
	worker_attempts_give_up(&t, 7, &l); /* never its own */
	ck_assert_ptr_null(end(&t, 7, false));
	worker_attempts_add(&t, 8, 1);
	ck_assert_ptr_null(end(&t, 8, true));
	worker_attempts_give_up(&t, 8, &l); /* answered already */
	ck_assert_ptr_null(end(&t, 8, false));
	worker_attempts_add(&t, 9, 1);
	worker_attempts_give_up(&t, 9, &l);
	job[0] = 'x'; /* the job may be gone by then */
	late = end(&t, 9, true);
	ck_assert_ptr_nonnull(late);
	ck_assert_str_eq(late->attempt.job, "j1");
	ck_assert_uint_eq(late->attempt.call, 12);
	ck_assert_uint_eq(late->attempt.number, 2);
	worker_late_free(&late);
	ck_assert_ptr_null(late);
	ck_assert_ptr_null(end(&t, 9, false));
	worker_attempts_clear(&t);
}
END_TEST

START_TEST(test_late_answers_are_bounded)
{
	struct attempt_late l = { .job = "j1" };
	struct worker_attempts t;
	struct worker_late *late;

	worker_attempts_init(&t);
	for (uint64_t id = 1; id <= WORKER_LATE_MAX + 2; id++) {
		worker_attempts_add(&t, id, id % 2 == 0 ? 2 : 1);
		worker_attempts_give_up(&t, id, &l);
	}
	ck_assert_uint_eq(t.nlate, WORKER_LATE_MAX);
	ck_assert_ptr_null(end(&t, 1, true)); /* its end still, unsaid */
	ck_assert_ptr_null(end(&t, 2, true));
	late = end(&t, 3, true);
	ck_assert_ptr_nonnull(late);
	worker_late_free(&late);
	worker_attempts_drop(&t, 2);
	ck_assert_uint_eq(t.nlate, WORKER_LATE_MAX / 2 - 1);
	ck_assert(!worker_attempts_has(&t, 4));
	ck_assert(worker_attempts_has(&t, 5));
	worker_attempts_clear(&t);
	ck_assert_uint_eq(t.nlate, 0);
}
END_TEST

/* ---- listings ---- */

static bool
add(struct listing *l, const char *name, const char *json)
{
	struct function f = {
		.name = mem_strdup(name),
		.json = mem_strdup(json),
		.json_len = strlen(json),
	};

	if (listing_add(l, &f))
		return true;
	free(f.name);
	free(f.json);
	return false;
}

START_TEST(test_functions_by_name)
{
	struct listing *l = listing_new(3);
	struct function *f;

	ck_assert(add(l, "b", "{\"x\":1.10}"));
	ck_assert(add(l, "a", "{}"));
	ck_assert(!add(l, "b", "{}")); /* twice */
	ck_assert_uint_eq(listing_count(l), 2);
	ck_assert_uint_eq(listing_generation(l), 3);
	f = function_find(l, "b");
	ck_assert_ptr_nonnull(f);
	ck_assert_str_eq(f->json, "{\"x\":1.10}");
	ck_assert_ptr_null(function_find(l, "c"));
	ck_assert_ptr_null(function_find(NULL, "a"));
	f = function_first(l);
	ck_assert_str_eq(f->name, "a");
	f = function_after(l, f);
	ck_assert_str_eq(f->name, "b");
	ck_assert_ptr_null(function_after(l, f));
	listing_unref(l);
}
END_TEST

START_TEST(test_listings_compare_byte_for_byte)
{
	struct listing *a = listing_new(1), *b = listing_new(2);

	ck_assert(listing_same(a, b));
	ck_assert(!listing_same(a, NULL));
	add(a, "f", "{\"n\":1}");
	ck_assert(!listing_same(a, b));
	add(b, "f", "{\"n\":1.0}");
	ck_assert(!listing_same(a, b));
	listing_unref(b);
	b = listing_new(3);
	add(b, "f", "{\"n\":1}");
	ck_assert(listing_same(a, b));
	listing_unref(listing_ref(a));
	ck_assert_uint_eq(listing_count(a), 1);
	listing_unref(a);
	listing_unref(b);
}
END_TEST

START_TEST(test_listings_have_a_bound)
{
	struct listing *l = listing_new(1);
	char name[32];

	for (unsigned i = 0; i < LISTING_MAX_FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		ck_assert(add(l, name, "{}"));
	}
	ck_assert(!add(l, "one more", "{}"));
	listing_unref(l);
}
END_TEST

/* ---- log lines ---- */

static void
collect(void *arg, const struct log_line *l)
{
	struct buf *b = arg;

	buf_printf(b, "%llu %s:%s|", (unsigned long long)l->n, l->from,
	    l->text);
}

START_TEST(test_log_lines_are_kept_within_a_bound)
{
	CLEANUP(buf_free) struct buf out = { 0 };
	struct log_ring *r = log_ring_new(1024);
	char text[32];
	uint64_t next;

	for (int i = 1; i <= 100; i++) {
		snprintf(text, sizeof(text), "line %d", i);
		log_ring_add(r, "t", text, strlen(text));
	}
	next = log_ring_each(r, 100, collect, &out);
	ck_assert_uint_eq(next, 101);
	buf_putc(&out, '\0');
	ck_assert_str_eq(buf_at(&out), "100 t:line 100|");
	buf_clear(&out);
	log_ring_each(r, 0, collect, &out);
	ck_assert_uint_lt(buf_len(&out), 1024);
	log_ring_free(r);
}
END_TEST

START_TEST(test_a_log_line_forges_no_other)
{
	CLEANUP(buf_free) struct buf out = { 0 };
	struct log_ring *r = log_ring_new(LOG_RING_BYTES);
	CLEANUP_FREE char *big = mem_zalloc(LOG_RING_LINE + 1);

	log_ring_add(r, "t", "a\0b", 3);
	log_ring_each(r, 0, collect, &out);
	buf_putc(&out, '\0');
	ck_assert_str_eq(buf_at(&out), "1 t:a?b|");
	log_ring_add(r, "t", big, LOG_RING_LINE + 1);
	ck_assert_uint_eq(log_ring_each(r, 9, collect, &out), 4);
	log_ring_free(r);
}
END_TEST

/* ---- who a process is ---- */

static pid_t
sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	ck_assert_int_gt(pid, 0);
	return pid;
}

START_TEST(test_a_process_is_known_by_its_start)
{
	char boot[37], other[37];
	pid_t pid = sleeper();
	struct rec_child c = { .boot_id = boot, .pid = (uint32_t)pid };
	int fd;

	ck_assert_int_eq(leftover_boot_id(boot), 0);
	ck_assert_int_eq(leftover_start_time(pid, &c.start_time), 0);
	fd = leftover_open(&c, boot);
	ck_assert_int_ge(fd, 0);
	close(fd);
	c.start_time++; /* the pid went to another process */
	ck_assert_int_eq(leftover_open(&c, boot), -ESRCH);
	c.start_time--;
	memset(other, 'x', 36);
	other[36] = '\0'; /* the machine started again since */
	ck_assert_int_eq(leftover_open(&c, other), -ESRCH);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(leftover_open(&c, boot), -ESRCH);
	c.pid = 0;
	ck_assert_int_eq(leftover_open(&c, boot), -ESRCH);
}
END_TEST

START_TEST(test_stat_lines)
{
	static const char good[] = "12 (a) b) c) D 1 2 3 4 5 6 7 8 9 10 11 12"
				   " 13 14 15 16 17 18 4711 20 21";
	uint64_t start;
	char state;

	ck_assert_int_eq(leftover_parse_stat(good, &state, &start), 0);
	ck_assert_int_eq(state, 'D');
	ck_assert_uint_eq(start, 4711);
	ck_assert_int_eq(leftover_parse_stat("", &state, &start), -EINVAL);
	ck_assert_int_eq(
	    leftover_parse_stat("1 (x) S 1 2", &state, &start), -EINVAL);
}
END_TEST

START_TEST(test_a_process_is_described)
{
	CLEANUP(buf_free) struct buf out = { 0 };
	pid_t pid = sleeper();
	char want[32];

	snprintf(want, sizeof(want), "pid %d (", (int)pid);
	leftover_describe(pid, &out);
	buf_putc(&out, '\0');
	ck_assert_ptr_nonnull(strstr(buf_at(&out), want));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
END_TEST

/* ---- workspaces ---- */

static bool
may_use(const char *path, uid_t peer, bool admin, bool root, uid_t *ret_uid)
{
	CLEANUP_FREE char *real = NULL;
	struct folder_id id = { 0, 0 };
	struct fault f = { 0 };
	struct stat st;
	gid_t gid;

	if (!folder_check_workspace(
		path, peer, admin, root, ret_uid, &gid, &real, &id, &f))
		return false;
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(id.device, st.st_dev);
	ck_assert_uint_eq(id.inode, st.st_ino);
	return true;
}

START_TEST(test_whose_workspace)
{
	char dir[] = "/tmp/oz0-workspace-XXXXXX";
	uid_t me = geteuid(), uid = 4711;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert(may_use(dir, me, false, false, &uid));
	ck_assert_uint_eq(uid, 4711); /* an ordinary user's node: its own */
	ck_assert(!may_use(dir, me + 1, false, false, &uid));
	ck_assert(may_use(dir, me + 1, true, false, &uid));
	ck_assert(!may_use("tmp", me, true, false, &uid));
	ck_assert(!may_use("/proc/self/exe", me, true, false, &uid));
	ck_assert(!may_use("/nonexistent", me, true, false, &uid));
	ck_assert(!may_use("/", 0, true, true, &uid)); /* never uid 0 */
	if (me == 0) {
		ck_assert_int_eq(chown(dir, 70000, 0), 0);
		ck_assert(may_use(dir, 70000, false, true, &uid));
		ck_assert_uint_eq(uid, 70000);
	}
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("process_parts");
	TCase *t = tcase_create("all");
	SRunner *r;
	int failed;

	tcase_add_test(t, test_an_end_is_told_once);
	tcase_add_test(t, test_a_late_answer_is_told_once);
	tcase_add_test(t, test_late_answers_are_bounded);
	tcase_add_test(t, test_uids_are_given_once);
	tcase_add_test(t, test_a_uid_is_used_again_as_late_as_can_be);
	tcase_add_test(t, test_reserved_uids_are_not_given);
	tcase_add_test(t, test_functions_by_name);
	tcase_add_test(t, test_listings_compare_byte_for_byte);
	tcase_add_test(t, test_listings_have_a_bound);
	tcase_add_test(t, test_log_lines_are_kept_within_a_bound);
	tcase_add_test(t, test_a_log_line_forges_no_other);
	tcase_add_test(t, test_a_process_is_known_by_its_start);
	tcase_add_test(t, test_stat_lines);
	tcase_add_test(t, test_a_process_is_described);
	tcase_add_test(t, test_whose_workspace);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
