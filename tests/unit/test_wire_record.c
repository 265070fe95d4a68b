/*
 * Fields, records and the log's format: what is put comes back the same; cut,
 * lengthened or changed in any bit it is found out.
 */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "wire/frame.h"
#include "wire/log.h"
#include "wire/record.h"

#define STEP "{\"seq\":7,\"event\":\"fault\"}"

/* ---- fields ---- */

START_TEST(test_fields)
{
	struct buf b = { 0 };
	struct wire_reader r;
	char s[4], *t;
	size_t n;

	wire_put_u8(&b, 0xfe);
	wire_put_u16(&b, 0xfedc);
	wire_put_u32(&b, 0xfedcba98);
	wire_put_u64(&b, UINT64_MAX - 1);
	wire_put_i64(&b, INT64_MIN);
	wire_put_f64(&b, -0.1);
	wire_put_f64(&b, INFINITY);
	wire_put_str(&b, "abc");
	wire_put_str(&b, NULL);
	wire_put_bytes(&b, "x\0y", 3);
	/* little-endian, whatever the machine is */
	ck_assert_mem_eq(buf_at(&b), "\xfe\xdc\xfe\x98\xba\xdc\xfe", 7);
	wire_reader_init(&r, buf_at(&b), buf_len(&b));
	ck_assert_uint_eq(wire_get_u8(&r), 0xfe);
	ck_assert_uint_eq(wire_get_u16(&r), 0xfedc);
	ck_assert_uint_eq(wire_get_u32(&r), 0xfedcba98);
	ck_assert_uint_eq(wire_get_u64(&r), UINT64_MAX - 1);
	ck_assert_int_eq(wire_get_i64(&r), INT64_MIN);
	ck_assert(wire_get_f64(&r) == -0.1);
	ck_assert(isinf(wire_get_f64(&r)));
	wire_get_str(&r, s, sizeof(s));
	ck_assert_str_eq(s, "abc");
	t = wire_get_new_str(&r, 0);
	ck_assert_str_eq(t, "");
	free(t);
	ck_assert(!wire_get_end(&r)); /* something is left */
	ck_assert_mem_eq(wire_get_bytes(&r, 3, &n), "x\0y", 3);
	ck_assert_uint_eq(n, 3);
	ck_assert(wire_get_end(&r));
	ck_assert_uint_eq(wire_get_u8(&r), 0); /* past the end */
	ck_assert(!wire_get_end(&r));
	buf_free(&b);
}
END_TEST

/* Each of these is bad, and stays so. */
START_TEST(test_bad_fields)
{
	static const struct {
		const char *bytes;
		size_t n;
	} in[] = {
		{ "\x04\0\0\0abcd", 8 },	 /* too long for its place */
		{ "\x02\0\0\0a\0", 6 },	 /* a NUL within */
		{ "\x03\0\0\0ab", 6 },	 /* longer than there is */
		{ "\xff\xff\xff\xff", 4 }, /* much longer */
		{ "\x01\0\0", 3 },	 /* no whole length */
		{ "", 0 },
	};
	struct wire_reader r;
	char s[4] = "zzz", *t;
	size_t n;

	wire_reader_init(&r, in[_i].bytes, in[_i].n);
	wire_get_str(&r, s, sizeof(s));
	ck_assert_str_eq(s, "");
	ck_assert(r.bad && !wire_get_end(&r));
	wire_reader_init(&r, in[_i].bytes, in[_i].n);
	t = wire_get_new_str(&r, 3);
	ck_assert_str_eq(t, "");
	free(t);
	ck_assert(r.bad);
	wire_get_bytes(&r, 100, &n);
	ck_assert_uint_eq(n, 0);
}
END_TEST

START_TEST(test_enums)
{
	struct wire_reader r;

	for (int v = 0; v < 256; v++) {
		uint8_t byte = (uint8_t)v;

		wire_reader_init(&r, &byte, 1);
		ck_assert_uint_eq(wire_get_enum(&r, 2, 5),
		    v >= 2 && v <= 5 ? byte : 2);
		ck_assert_int_eq(r.bad, v < 2 || v > 5);
		wire_reader_init(&r, &byte, 1);
		ck_assert_int_eq(wire_get_bool(&r), v == 1);
		ck_assert_int_eq(r.bad, v > 1);
	}
}
END_TEST

/* ---- records ---- */

static char *
str(const char *s)
{
	return (char *)(uintptr_t)s; /* only read by record_put() */
}

/* One record of each type, every fact of it set. */
static struct record
sample(enum rec_type type)
{
	struct record r = { .seq = 7, .type = type, .job = str("j1"),
		.call = 12, .step = STEP, .step_len = sizeof(STEP) - 1 };

	switch (type) {
	case REC_NODE:
		r.u.node = (struct rec_node) { str("boot"), 99 };
		break;
	case REC_STEP:
		break;
	case REC_JOB:
		r.u.job = (struct rec_job) { str("j1"), str("acme"), 3, 1000,
			JOB_LOST };
		break;
	case REC_SESSION:
		r.u.session = (struct rec_session) { str("j1"), 3, 2,
			SESSION_CLOSING, 1, 1 };
		break;
	case REC_CALL:
		r.u.call = (struct rec_call) { 12, str("j1"), 3, 2, str("a"),
			str("t.f"), str("d"), str("j1/a"), 1 };
		break;
	case REC_CALL_STATE:
		r.u.call_state = (struct rec_call_state) { 12,
			CALL_CANCELLING, 2, OUTCOME_UNKNOWN, 1, 1, 2.5, 4, 1 };
		break;
	case REC_CALL_END:
		r.u.call_end = (struct rec_call_end) { 12, CALL_LOST,
			OUTCOME_NOT_MADE, STOPPED_ANSWERED, 1, 2,
			"\"result\":1", 10 };
		break;
	case REC_CHILD:
		r.u.child = (struct rec_child) { str("worker"), str("boot"),
			42, UINT64_MAX, 1 };
		break;
	case REC_TOOL:
		r.u.tool = (struct rec_tool) { str("billing"), 1 };
		break;
	case REC_APPROVAL:
		r.u.approval = (struct rec_approval) { str("j1"), str("j1/a"),
			str("ask t.*") };
		break;
	case REC_FORGET:
		r.u.forget = (struct rec_forget) { str("j1") };
		break;
	}
	return r;
}

/* What is read is what was put: put again, it is the same bytes. */
START_TEST(test_record)
{
	struct record in = sample((enum rec_type)_i), out;
	struct buf b = { 0 }, again = { 0 };

	record_put(&b, &in);
	ck_assert_int_eq(record_get(buf_at(&b), buf_len(&b), &out), 0);
	ck_assert_int_eq(out.type, in.type);
	ck_assert_uint_eq(out.seq, 7);
	ck_assert_str_eq(out.job, "j1");
	ck_assert_uint_eq(out.call, 12);
	ck_assert_uint_eq(out.step_len, sizeof(STEP) - 1);
	record_put(&again, &out);
	ck_assert_uint_eq(buf_len(&again), buf_len(&b));
	ck_assert_mem_eq(buf_at(&again), buf_at(&b), buf_len(&b));
	record_clear(&out);
	record_clear(&out); /* once more is harmless */
	for (size_t n = 0; n < buf_len(&b); n++)
		ck_assert_int_eq(
		    record_get(buf_at(&b), n, &out), -EBADMSG);
	buf_putc(&b, 'x');
	ck_assert_int_eq(
	    record_get(buf_at(&b), buf_len(&b), &out), -EBADMSG);
	buf_free(&b);
	buf_free(&again);
}
END_TEST

/* An answer in two parts is the same record as in one. */
START_TEST(test_record_answer)
{
	struct buf b = { 0 }, again = { 0 };
	struct record in = sample(REC_CALL_END), out;

	record_put(&b, &in);
	in.u.call_end.answer_len = 9;
	in.u.call_end.result = "1";
	in.u.call_end.result_len = 1;
	record_put(&again, &in);
	ck_assert_uint_eq(buf_len(&again), buf_len(&b));
	ck_assert_mem_eq(buf_at(&again), buf_at(&b), buf_len(&b));
	ck_assert_int_eq(record_get(buf_at(&again), buf_len(&b), &out), 0);
	ck_assert_uint_eq(out.u.call_end.answer_len, 10);
	ck_assert_mem_eq(out.u.call_end.answer, "\"result\":1", 10);
	ck_assert_ptr_null(out.u.call_end.result);
	record_clear(&out);
	buf_free(&b);
	buf_free(&again);
}
END_TEST

START_TEST(test_record_facts)
{
	struct buf b = { 0 };
	struct record in = sample(REC_CALL_STATE), out;

	in.job = NULL;
	record_put(&b, &in);
	ck_assert_int_eq(record_get(buf_at(&b), buf_len(&b), &out), 0);
	ck_assert_ptr_null(out.job);
	ck_assert(out.u.call_state.progress == 2.5);
	ck_assert_int_eq(out.u.call_state.state, CALL_CANCELLING);
	ck_assert_int_eq(out.u.call_state.repeatable, 1);
	record_clear(&out);
	buf_clear(&b);
	/* a state that has ended is no REC_CALL_STATE, and the reverse */
	in.u.call_state.state = CALL_COMPLETED;
	record_put(&b, &in);
	ck_assert_int_eq(
	    record_get(buf_at(&b), buf_len(&b), &out), -EBADMSG);
	buf_clear(&b);
	in = sample(REC_CALL_END);
	in.u.call_end.state = CALL_RUNNING;
	record_put(&b, &in);
	ck_assert_int_eq(
	    record_get(buf_at(&b), buf_len(&b), &out), -EBADMSG);
	buf_free(&b);
}
END_TEST

START_TEST(test_names)
{
	ck_assert_str_eq(job_state_name(JOB_RUNNING), "RUNNING");
	ck_assert_str_eq(job_state_name(JOB_CANCELLING), "cancelling");
	ck_assert_str_eq(job_state_name(JOB_LOST), "LOST");
	ck_assert_ptr_null(job_state_name(0));
	ck_assert_ptr_null(job_state_name((enum job_state)7));
	ck_assert_str_eq(session_state_name(SESSION_LOST), "LOST");
	ck_assert_ptr_null(session_state_name((enum session_state)5));
	ck_assert_str_eq(call_state_name(CALL_QUEUED), "queued");
	ck_assert_str_eq(call_state_name(CALL_LOST), "lost");
	ck_assert_ptr_null(call_state_name((enum call_state)11));
	ck_assert_ptr_null(call_outcome_name(OUTCOME_NONE));
	ck_assert_str_eq(call_outcome_name(OUTCOME_UNKNOWN), "unknown");
	ck_assert_ptr_null(call_stopped_name(STOPPED_NONE));
	ck_assert_str_eq(
	    call_stopped_name(STOPPED_NOT_CONFIRMED), "not_confirmed");
	ck_assert(!job_state_ended(JOB_LOST) && job_state_ended(JOB_FAILED));
	ck_assert(!call_state_ended(CALL_CANCELLING)
	    && call_state_ended(CALL_COMPLETED));
}
END_TEST

/* ---- the log ---- */

START_TEST(test_log)
{
	struct buf b = { 0 };
	struct record out;
	size_t size, at = 0;

	for (int type = REC_NODE; type <= REC_FORGET; type++) {
		struct record in = sample((enum rec_type)type);

		log_record_put(&b, &in);
	}
	for (int type = REC_NODE; type <= REC_FORGET; type++) {
		ck_assert_int_eq(log_record_read(buf_at(&b) + at,
				     buf_len(&b) - at, &out, &size),
		    LOG_READ_RECORD);
		ck_assert_int_eq((int)out.type, type);
		record_clear(&out);
		at += size;
	}
	ck_assert_uint_eq(at, buf_len(&b));
	ck_assert_int_eq(
	    log_record_read(buf_at(&b) + at, 0, &out, &size), LOG_READ_END);
	buf_free(&b);
}
END_TEST

/* A tail torn at any byte, zeroes behind it; any bit turned over. */
START_TEST(test_log_torn)
{
	struct record in = sample(REC_CALL), out;
	char torn[1024] = { 0 };
	struct buf b = { 0 };
	size_t size;

	log_record_put(&b, &in);
	ck_assert_int_eq(log_record_read(torn, sizeof(torn), &out, &size),
	    LOG_READ_END);
	for (size_t cut = 1; cut < buf_len(&b); cut++) {
		memset(torn, 0, sizeof(torn));
		memcpy(torn, buf_at(&b), cut);
		/* only zeroes of the end may be missing */
		if (memcmp(torn, buf_at(&b), buf_len(&b)) == 0)
			continue;
		ck_assert_int_eq(
		    log_record_read(torn, sizeof(torn), &out, &size),
		    LOG_READ_TORN);
		ck_assert_int_ne(
		    log_record_read(torn, cut, &out, &size),
		    LOG_READ_RECORD);
	}
	for (size_t bit = 0; bit < 8 * buf_len(&b); bit++) {
		memcpy(torn, buf_at(&b), buf_len(&b));
		torn[bit / 8] = (char)(torn[bit / 8] ^ 1 << bit % 8);
		ck_assert_int_eq(
		    log_record_read(torn, sizeof(torn), &out, &size),
		    LOG_READ_TORN);
	}
	buf_free(&b);
}
END_TEST

/* Whole records at the front of a batch that was written in part. */
START_TEST(test_log_whole)
{
	struct record in = sample(REC_CALL);
	struct buf b = { 0 };
	size_t one, n;

	log_record_put(&b, &in);
	one = buf_len(&b);
	log_record_put(&b, &in);
	for (n = 0; n <= buf_len(&b); n++)
		ck_assert_uint_eq(log_whole(buf_at(&b), n), n / one * one);
	buf_free(&b);
}
END_TEST

START_TEST(test_log_header)
{
	struct buf b = { 0 };
	uint64_t number, first;
	char bad[LOG_HEADER];

	log_header_put(&b, 0x1234, 99);
	ck_assert_uint_eq(buf_len(&b), LOG_HEADER);
	ck_assert(log_header_get(buf_at(&b), LOG_HEADER, &number, &first));
	ck_assert_uint_eq(number, 0x1234);
	ck_assert_uint_eq(first, 99);
	ck_assert(
	    !log_header_get(buf_at(&b), LOG_HEADER - 1, &number, &first));
	memcpy(bad, buf_at(&b), LOG_HEADER);
	bad[7] = '2';
	ck_assert(!log_header_get(bad, LOG_HEADER, &number, &first));
	memcpy(bad, buf_at(&b), LOG_HEADER);
	bad[LOG_HEADER - 1] = 1; /* of a version to come */
	ck_assert(!log_header_get(bad, LOG_HEADER, &number, &first));
	buf_free(&b);
}
END_TEST

START_TEST(test_segment_names)
{
	static const char *const wrong[] = { "", "0", "000000000000000",
		"00000000000000001", "000000000000000A", "marks",
		"000000000000000g", " 00000000000001", "-000000000000001" };
	uint64_t n = 5;
	char name[17];

	log_segment_name(0x1f, name);
	ck_assert_str_eq(name, "000000000000001f");
	log_segment_name(UINT64_MAX, name);
	ck_assert_str_eq(name, "ffffffffffffffff");
	ck_assert(log_segment_parse(name, &n));
	ck_assert_uint_eq(n, UINT64_MAX);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ck_assert(!log_segment_parse(wrong[i], &n));
		ck_assert_uint_eq(n, UINT64_MAX); /* untouched */
	}
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/record");
	TCase *t = tcase_create("record");
	SRunner *r;
	int failed;

	tcase_add_test(t, test_fields);
	tcase_add_loop_test(t, test_bad_fields, 0, 6);
	tcase_add_test(t, test_enums);
	tcase_add_loop_test(t, test_record, REC_NODE, REC_FORGET + 1);
	tcase_add_test(t, test_record_answer);
	tcase_add_test(t, test_record_facts);
	tcase_add_test(t, test_names);
	tcase_add_test(t, test_log);
	tcase_add_test(t, test_log_torn);
	tcase_add_test(t, test_log_whole);
	tcase_add_test(t, test_log_header);
	tcase_add_test(t, test_segment_names);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
