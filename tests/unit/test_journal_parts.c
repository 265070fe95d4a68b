/*
 * The parts of oz0-journal by themselves, in one process: the directory of
 * the log, the follower, records into rows and back, segments that cannot be
 * had.  What the process as a whole does is in test_journal_process.py.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "journal/db.h"
#include "journal/follow.h"
#include "journal/logdir.h"
#include "journal/query.h"
#include "journal/recover.h"
#include "journal/rows.h"
#include "journal/sql.h"
#include "journal/store.h"
#include "journal/supply.h"
#include "wire/log.h"

#define SIZE ((uint64_t)65536)

static char where[64];
static int state = -1;
static struct logdir *logs;

static void
setup(void)
{
	strcpy(where, "/tmp/oz0-parts-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(where));
	ck_assert_int_eq(chdir(where), 0);
	state = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(logdir_open(state, &logs), 0);
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
	logdir_close(logs);
	fd_close(&state);
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
call(uint64_t seq, const char *name, uint64_t n)
{
	struct record r = step(seq, name);

	r.type = REC_CALL;
	r.call = n;
	r.u.call = (struct rec_call) { n, str(name), 1, 1, str("a"),
		str("t.f"), str("d"), str("j1/a"), 1 };
	return r;
}

/* ---- the directory ---- */

START_TEST(test_logdir)
{
	struct logdir_marks m;
	int fd = -1, other = -1;
	struct stat st;

	ck_assert_uint_eq(logdir_next(logs, 0), 0);
	ck_assert_int_eq(logdir_make_segment(logs, 5, SIZE, false, &fd), 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq((uint64_t)st.st_size, SIZE);
	ck_assert_uint_ge((uint64_t)st.st_blocks * 512, SIZE);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	/* blank: the same one again, and not begun */
	ck_assert_int_eq(
	    logdir_make_segment(logs, 5, SIZE, true, &other), 0);
	fd_close(&other);
	ck_assert_uint_eq(logdir_next_begun(logs, 0), 0);
	ck_assert_int_eq(pwrite(fd, LOG_MAGIC, 8, 0), 8);
	ck_assert_uint_eq(logdir_next_begun(logs, 0), 5);
	ck_assert_int_eq(
	    logdir_make_segment(logs, 5, SIZE, false, &other), -EEXIST);
	fd_close(&fd);
	ck_assert_int_eq(logdir_make_segment(logs, 3, SIZE, false, &fd), 0);
	fd_close(&fd);
	ck_assert_uint_eq(logdir_next(logs, 0), 3);
	ck_assert_uint_eq(logdir_next(logs, 3), 5);
	ck_assert_uint_eq(logdir_next(logs, 5), 0);
	ck_assert_uint_eq(logdir_newest_begun(logs), 5);
	/* read anew it is the same; other files are nobody's business */
	ck_assert_int_ge(openat(state, "log/notes", O_CREAT | O_WRONLY, 0600),
	    0);
	logdir_close(logs);
	ck_assert_int_eq(logdir_open(state, &logs), 0);
	ck_assert_uint_eq(logdir_count(logs), 2);
	ck_assert_int_eq(logdir_drop_below(logs, 5), 0);
	ck_assert_uint_eq(logdir_next(logs, 0), 5);
	ck_assert_int_eq(faccessat(state, "log/0000000000000003", F_OK, 0),
	    -1);
	ck_assert_int_eq(logdir_get_marks(logs, &m), 0);
	ck_assert_uint_eq(m.seq, 0);
	m = (struct logdir_marks) { UINT64_MAX, 2, 3, 4 };
	ck_assert_int_eq(logdir_set_marks(logs, &m), 0);
	memset(&m, 0, sizeof(m));
	ck_assert_int_eq(logdir_get_marks(logs, &m), 0);
	ck_assert(m.seq == UINT64_MAX && m.call == 2 && m.attempt == 3
	    && m.segment == 4);
	fd = openat(state, "log/marks", O_WRONLY | O_TRUNC);
	ck_assert_int_eq(write(fd, "seq x\n", 6), 6);
	fd_close(&fd);
	ck_assert_int_eq(logdir_get_marks(logs, &m), -EBADMSG);
	ck_assert_uint_eq(m.seq, 0);
}
END_TEST

/* ---- the follower ---- */

static int
begin_segment(uint64_t number, uint64_t first, off_t *ret_at)
{
	struct buf b = { 0 };
	int fd = -1;

	ck_assert_int_eq(
	    logdir_make_segment(logs, number, SIZE, false, &fd), 0);
	log_header_put(&b, number, first);
	*ret_at = pwrite(fd, buf_at(&b), buf_len(&b), 0);
	buf_free(&b);
	return fd;
}

static void
put(int fd, off_t *at, struct record r, size_t cut)
{
	struct buf b = { 0 };
	size_t n;

	log_record_put(&b, &r);
	n = cut != 0 ? cut : buf_len(&b);
	ck_assert_int_eq(pwrite(fd, buf_at(&b), n, *at), (ssize_t)n);
	*at += cut != 0 ? 0 : (off_t)n;
	buf_free(&b);
}

static void
expect(struct follow *f, uint64_t seq)
{
	struct record r;
	int got = follow_next(f, &r);

	if (seq == 0) {
		ck_assert_int_eq(got, 0);
		return;
	}
	ck_assert_int_eq(got, 1);
	ck_assert_uint_eq(r.seq, seq);
	record_clear(&r);
}

START_TEST(test_follow)
{
	struct follow *f = follow_new(logs, 0, 0, 0), *g;
	off_t at, next_at;
	uint64_t place;
	int fd, next;

	expect(f, 0);
	fd = begin_segment(1, 10, &at);
	expect(f, 0);
	put(fd, &at, step(10, "j"), 0);
	put(fd, &at, step(11, "j"), 0);
	expect(f, 10);
	place = follow_offset(f);
	expect(f, 11);
	expect(f, 0);
	/* from a place kept */
	g = follow_new(logs, 1, place, 10);
	expect(g, 11);
	follow_free(g);
	/* half a record, then whole */
	put(fd, &at, step(12, "j"), 20);
	expect(f, 0);
	put(fd, &at, step(12, "j"), 0);
	expect(f, 12);
	/* torn, and a later segment was made but not begun */
	put(fd, &at, step(13, "j"), 30);
	next = -1;
	ck_assert_int_eq(
	    logdir_make_segment(logs, 2, SIZE, false, &next), 0);
	fd_close(&next);
	expect(f, 0);
	ck_assert_uint_eq(follow_segment(f), 1);
	next = begin_segment(2, 13, &next_at);
	put(next, &next_at, step(13, "j"), 0);
	put(next, &next_at, step(13, "j"), 0); /* a number twice */
	put(next, &next_at, step(14, "j"), 0);
	expect(f, 13);
	ck_assert_uint_eq(follow_segment(f), 2);
	expect(f, 0);
	/* one number is left out: segment 3 never was */
	fd_close(&fd);
	fd = begin_segment(4, 14, &at);
	put(fd, &at, step(14, "j"), 0);
	expect(f, 14);
	fd_close(&fd);
	fd_close(&next);
	follow_free(f);
}
END_TEST

/* The last batch may be written between the reading and the next segment. */
START_TEST(test_follow_closing)
{
	struct follow *f = follow_new(logs, 0, 0, 0);
	off_t at, next_at;
	int fd = begin_segment(1, 1, &at), next;

	put(fd, &at, step(1, "j"), 0);
	expect(f, 1);
	expect(f, 0);
	put(fd, &at, step(2, "j"), 0);
	next = begin_segment(2, 3, &next_at);
	put(next, &next_at, step(3, "j"), 0);
	expect(f, 2);
	expect(f, 3);
	fd_close(&fd);
	fd_close(&next);
	follow_free(f);
}
END_TEST

START_TEST(test_follow_large_and_full)
{
	static char big[SIZE - LOG_HEADER - 8 - 34];
	struct follow *f = follow_new(logs, 0, 0, 0);
	struct record r = step(1, "j");
	off_t at, next_at;
	int next, fd = begin_segment(1, 1, &at);

	memset(big, ' ', sizeof(big));
	r.job = NULL;
	r.step = big;
	/* fills the segment but for some bytes */
	r.step_len = sizeof(big) - (size_t)_i;
	put(fd, &at, r, 0);
	ck_assert_uint_le((uint64_t)at, SIZE);
	expect(f, 1);
	expect(f, 0);
	next = begin_segment(2, 2, &next_at);
	put(next, &next_at, step(2, "j"), 0);
	expect(f, 2);
	fd_close(&fd);
	fd_close(&next);
	follow_free(f);
}
END_TEST

/* ---- rows ---- */

static void
take(struct db *d, struct batch *b, struct store_meta *m, struct record r)
{
	ck_assert_int_eq(store_record(d, b, m, &r), 0);
}

START_TEST(test_store)
{
	struct record end = step(4, "j1");
	struct batch *b = batch_new();
	struct store_meta m, n;
	struct buf out = { 0 };
	struct db *d;
	bool fresh;

	ck_assert_int_eq(db_open(&d, &fresh), 0);
	ck_assert(fresh);
	ck_assert_int_eq(store_load(d, &m), 0);
	ck_assert_int_eq(db_begin(d), 0);
	take(d, b, &m, job(1, "j1", JOB_RUNNING));
	take(d, b, &m, call(2, "j1", 7));
	take(d, b, &m, call(2, "j1", 8)); /* that number is in: skipped */
	ck_assert_uint_eq(m.last_call, 7);
	/* an end of a call whose beginning was lost is no error */
	end.type = REC_CALL_END;
	end.u.call_end = (struct rec_call_end) { .call = 99,
		.state = CALL_COMPLETED, .answer = "\"result\":1",
		.answer_len = 10 };
	take(d, b, &m, end);
	ck_assert_int_eq(store_save(d, b, &m), 0);
	db_rollback(d);
	ck_assert_int_eq(store_load(d, &n), 0);
	ck_assert_uint_eq(n.last_seq, 0);
	ck_assert_int_eq(rows_job(d, "j1", &out), 0);
	/* and once more, to stay */
	m = n;
	ck_assert_int_eq(db_begin(d), 0);
	take(d, b, &m, job(1, "j1", JOB_RUNNING));
	take(d, b, &m, call(2, "j1", 7));
	m.segment = 3;
	m.offset = 99;
	ck_assert_int_eq(store_save(d, b, &m), 0);
	ck_assert_int_eq(db_commit(d), 0);
	db_close(d);
	ck_assert_int_eq(db_open(&d, &fresh), 0);
	ck_assert(!fresh);
	ck_assert_int_eq(store_load(d, &n), 0);
	ck_assert_mem_eq(&n, &m, sizeof(m));
	ck_assert_int_eq(rows_job(d, "j1", &out), 1);
	buf_putc(&out, '\0');
	ck_assert_str_eq(buf_at(&out),
	    "{\"job\":\"j1\",\"tenant\":\"acme\",\"run\":1,"
	    "\"state\":\"RUNNING\",\"sessions\":[],\"calls\":[{\"call\":\"c7\","
	    "\"run\":1,\"session\":1,\"function\":\"t.f\","
	    "\"state\":\"queued\",\"key\":\"j1/a\",\"attempts\":0,"
	    "\"activity\":\"a\"}]}");
	buf_free(&out);
	batch_free(b);
	db_close(d);
}
END_TEST

/* Each statement is valid SQL for the schema. */
START_TEST(test_statements)
{
	struct sqlite3_stmt *q;
	struct db *d;
	bool fresh;

	ck_assert_int_eq(db_open(&d, &fresh), 0);
	ck_assert_int_eq(db_begin(d), 0);
	for (int i = 0; i < SQL_COUNT; i++) {
		int r;

		ck_assert_ptr_nonnull(sql_texts[i]);
		r = db_find(d, &q, i, "");
		/* nothing is bound: rows that need values are refused */
		ck_assert_msg(r >= 0
			|| strstr(db_why(d), "constraint") != NULL
			|| strstr(db_why(d), "mismatch") != NULL,
		    "statement %d: %s", i, db_why(d));
		if (r == 1)
			db_done(q);
	}
	db_rollback(d);
	db_close(d);
}
END_TEST

static struct chan *ours, *theirs;

static void
make_channel(void)
{
	int sv[2];

	ck_assert_int_eq(fd_socketpair(sv), 0);
	ours = chan_new(sv[0], WIRE_ROLE_JOURNAL, WIRE_ROLE_SUPERVISOR,
	    1 << 20);
	theirs = chan_new(sv[1], WIRE_ROLE_SUPERVISOR, WIRE_ROLE_JOURNAL,
	    1 << 20);
}

static struct chan_frame *
next_frame(void)
{
	struct chan_frame *f;
	const char *why;

	ck_assert_int_eq(chan_flush(ours), 0);
	while (chan_next(theirs, &f, &why) == 0)
		if (chan_read(theirs) <= 0)
			return NULL;
	return f;
}

static void
check_recovered(enum wire_type type, enum rec_type rec, uint64_t seq)
{
	struct chan_frame *f = next_frame();
	struct record r;

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(f->type, type);
	ck_assert_int_eq(record_get(f->payload, f->payload_len, &r), 0);
	ck_assert_int_eq(r.type, rec);
	ck_assert_uint_eq(r.seq, seq);
	record_clear(&r);
}

START_TEST(test_recovery_and_queries)
{
	struct record st = step(4, "j1"), child = { .seq = 5,
		.type = REC_CHILD, .u.child = { str("worker"), str("boot"),
		42, 7, 1 } }, given = { .seq = 6, .type = REC_APPROVAL,
		.u.approval = { str("j1"), str("j1/a"), str("ask") } };
	struct query_source from = { .log = logs };
	struct recovery *rc = recovery_new();
	struct queries *qs = queries_new();
	struct batch *b = batch_new();
	struct store_meta m = { 0 };
	struct chan_frame *f;
	struct db *d;
	bool fresh;

	make_channel();
	ck_assert_int_eq(db_open(&d, &fresh), 0);
	from.db = d;
	st.type = REC_CALL_STATE;
	st.u.call_state = (struct rec_call_state) { 7, CALL_RUNNING, 1, 0, 0,
		0, 0, 0 };
	take(d, b, &m, job(1, "j1", JOB_RUNNING));
	take(d, b, &m, job(2, "j2", JOB_COMPLETED));
	take(d, b, &m, call(3, "j1", 7));
	take(d, b, &m, st);
	take(d, b, &m, child);
	take(d, b, &m, given);
	ck_assert_uint_eq(m.last_attempt, 1);
	ck_assert_int_eq(batch_flush(b, d), 0);
	batch_free(b);
	ck_assert_int_eq(recovery_turn(rc, d, ours), 0);
	check_recovered(WIRE_RECOVER_JOB, REC_JOB, 1);
	check_recovered(WIRE_RECOVER_CALL, REC_CALL, 3);
	check_recovered(WIRE_RECOVER_CALL, REC_CALL_STATE, 4);
	check_recovered(WIRE_RECOVER_APPROVAL, REC_APPROVAL, 6);
	check_recovered(WIRE_RECOVER_JOB, REC_JOB, 2);
	check_recovered(WIRE_RECOVER_CHILD, REC_CHILD, 5);
	ck_assert_int_eq(next_frame()->type, WIRE_RECOVER_DONE);
	queries_add(qs, 1, WIRE_QUERY_EVENTS, "", 2, 2);
	/* not before the log was read */
	ck_assert(!queries_turn(qs, &from, ours));
	ck_assert_ptr_null(next_frame());
	queries_ready(qs);
	ck_assert(!queries_turn(qs, &from, ours));
	for (int i = 0; i < 2; i++) {
		f = next_frame();
		ck_assert_int_eq(f->type, WIRE_JOURNAL_ROW);
		ck_assert_uint_eq(wire_get_u64(&f->body), 1);
	}
	f = next_frame();
	ck_assert_int_eq(f->type, WIRE_JOURNAL_END);
	ck_assert_uint_eq(wire_get_u64(&f->body), 1);
	ck_assert_uint_eq(wire_get_u32(&f->body), 0);
	free(wire_get_new_str(&f->body, 100));
	ck_assert(wire_get_bool(&f->body)); /* one more */
	ck_assert(wire_get_end(&f->body));
	queries_add(qs, 2, WIRE_QUERY_TRACE, "j1", 0, 0);
	queries_free(qs); /* with one that waits */
	recovery_free(rc);
	db_close(d);
	chan_free(ours);
	chan_free(theirs);
}
END_TEST

/* ---- segments that cannot be had ---- */

START_TEST(test_supply)
{
	struct rlimit small = { SIZE / 2, RLIM_INFINITY },
		      wide = { RLIM_INFINITY, RLIM_INFINITY };
	struct supply s = { .size = SIZE };
	struct chan_frame *f;

	if (getrlimit(RLIMIT_FSIZE, &wide) < 0)
		ck_abort();
	small.rlim_max = wide.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	make_channel();
	supply_want(&s, 3);
	supply_want(&s, 2); /* less than what is wanted: nothing */
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	supply_turn(&s, logs, ours);
	f = next_frame();
	ck_assert_int_eq(f->type, WIRE_JOURNAL_NO_SPACE);
	ck_assert_uint_eq(wire_get_u32(&f->body), EFBIG);
	ck_assert_uint_eq(logdir_count(logs), 0);
	ck_assert_int_eq(faccessat(state, "log/0000000000000003", F_OK, 0),
	    -1); /* what it took was given back */
	supply_turn(&s, logs, ours); /* not before its time */
	ck_assert_ptr_null(next_frame());
	s.at = (struct mono) { 0 };
	supply_turn(&s, logs, ours); /* fails again: told once */
	ck_assert_ptr_null(next_frame());
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &wide), 0);
	s.at = (struct mono) { 0 };
	supply_turn(&s, logs, ours);
	f = next_frame();
	ck_assert_int_eq(f->type, WIRE_JOURNAL_SEGMENT);
	ck_assert_uint_eq(wire_get_u64(&f->body), 3);
	ck_assert_uint_eq(f->nfds, 1);
	ck_assert_int_eq(fcntl(f->fds[0], F_GETFL) & O_ACCMODE, O_RDWR);
	ck_assert_int_eq(supply_due(&s).us, MONO_NEVER.us);
	supply_want(&s, 3); /* was given */
	ck_assert_int_eq(supply_due(&s).us, MONO_NEVER.us);
	chan_free(ours);
	chan_free(theirs);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("journal/parts");
	TCase *t = tcase_create("parts");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_logdir);
	tcase_add_test(t, test_follow);
	tcase_add_test(t, test_follow_closing);
	tcase_add_loop_test(t, test_follow_large_and_full, 0, 12);
	tcase_add_test(t, test_store);
	tcase_add_test(t, test_statements);
	tcase_add_test(t, test_recovery_and_queries);
	tcase_add_test(t, test_supply);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
