/*
 * Unit tests of base/mem.c and base/buf.c.  malloc and its like fail here
 * when the test says so (linked with --wrap), as they do when a machine has
 * no memory left: what happens then is what is tested.
 */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

static int failures; /* how many of the next allocations fail */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

static bool
fails(void)
{
	if (failures == 0)
		return false;
	failures--;
	errno = ENOMEM;
	return true;
}

void *
__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

START_TEST(test_reserve)
{
	char *p;

	ck_assert(!mem_low()); /* none was asked for */
	mem_reserve(1 << 20);
	ck_assert(!mem_low());
	ck_assert(mem_recover());

	failures = 1;
	p = mem_alloc(100);
	ck_assert_int_eq(failures, 0);
	ck_assert_ptr_nonnull(p);
	memset(p, 1, 100);
	ck_assert(mem_low());

	failures = 1;
	ck_assert(!mem_recover());
	ck_assert(mem_low());
	ck_assert(mem_recover());
	ck_assert(!mem_low());

	failures = 1;
	p = mem_realloc(p, 200);
	ck_assert_int_eq(p[99], 1);
	ck_assert(mem_low() && mem_recover());
	free(p);

	failures = 1;
	p = mem_zalloc(50);
	ck_assert_int_eq(p[49], 0);
	ck_assert(mem_low() && mem_recover());
	free(p);
	mem_reserve(0);
}
END_TEST

/* The reserve used up too: one line, then abort. */
START_TEST(test_exhausted)
{
	mem_reserve(1 << 16);
	failures = 2;
	mem_alloc(100);
}
END_TEST

START_TEST(test_no_reserve)
{
	failures = 1;
	mem_alloc(100);
}
END_TEST

START_TEST(test_array_overflow)
{
	mem_array(SIZE_MAX / 2, 3);
}
END_TEST

START_TEST(test_copies)
{
	char *s;

	ck_assert_ptr_null(mem_strdup(NULL));
	s = mem_strdup("");
	ck_assert_str_eq(s, "");
	free(s);
	s = mem_strndup("abcdef", 3);
	ck_assert_str_eq(s, "abc");
	free(s);
	s = mem_strndup("ab", 9);
	ck_assert_str_eq(s, "ab");
	free(s);
	s = mem_printf("%s-%05d", "x", 42);
	ck_assert_str_eq(s, "x-00042");
	free(s);
	s = mem_dup("a\0b", 3);
	ck_assert_mem_eq(s, "a\0b", 3);
	free(s);
	free(mem_dup(NULL, 0));
	free(mem_alloc(0));
	free(mem_array(0, 8));
}
END_TEST

START_TEST(test_buf)
{
	struct buf b = {0};
	char *s;
	size_t len;

	ck_assert_uint_eq(buf_len(&b), 0);
	buf_put(&b, NULL, 0);
	buf_puts(&b, "hello");
	buf_putc(&b, ' ');
	buf_printf(&b, "%d", 42);
	ck_assert_uint_eq(buf_len(&b), 8);
	buf_take(&b, 6);
	ck_assert_mem_eq(buf_at(&b), "42", 2);
	memcpy(buf_room(&b, 3), "xyz", 3);
	buf_added(&b, 2);
	s = buf_steal(&b, &len);
	ck_assert_uint_eq(len, 4);
	ck_assert_str_eq(s, "42xy");
	free(s);
	ck_assert_uint_eq(buf_len(&b), 0);
	s = buf_steal(&b, NULL);
	ck_assert_str_eq(s, "");
	free(s);
	buf_free(&b);
	buf_free(&b);
}
END_TEST

/* Emptied, a buffer keeps a little memory and gives much back. */
START_TEST(test_buf_numbers)
{
	static const uint64_t numbers[] = { 0, 9, 10, 99, 100, 1234567890,
		UINT64_MAX };
	struct buf b = { 0 };
	char text[32];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		snprintf(text, sizeof(text), "%" PRIu64, numbers[i]);
		buf_put_uint(&b, numbers[i]);
		ck_assert_uint_eq(buf_len(&b), strlen(text));
		ck_assert_mem_eq(buf_at(&b), text, strlen(text));
		buf_clear(&b);
	}
	buf_free(&b);
}
END_TEST

START_TEST(test_buf_clear)
{
	struct buf b = {0};

	buf_put(&b, "abc", 3);
	buf_take(&b, 3);
	ck_assert_uint_ne(b.cap, 0);
	ck_assert_uint_eq(b.end, 0);
	buf_added(&b, (buf_room(&b, 1 << 20), 1));
	buf_clear(&b);
	ck_assert_uint_eq(b.cap, 0);
	ck_assert_uint_eq(buf_len(&b), 0);
	buf_free(&b);
}
END_TEST

/* A queue that is fed and taken from for ever stays what it is and does not
 * grow (B057). */
START_TEST(test_buf_queue)
{
	struct buf b = {0};
	unsigned in = 0, out = 0;

	for (int i = 0; i < 20000; i++) {
		for (int k = 0; k < 100; k++)
			buf_putc(&b, (char)(in++ & 0x7f));
		while (buf_len(&b) > 50) {
			if (*buf_at(&b) != (char)(out++ & 0x7f))
				ck_abort_msg("byte %u", out - 1);
			buf_take(&b, 1);
		}
	}
	ck_assert_uint_eq(in - out, 50);
	ck_assert_uint_le(b.cap, 1024);
	buf_free(&b);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("base/mem");
	TCase *t = tcase_create("mem");

	tcase_add_test(t, test_reserve);
	tcase_add_test_raise_signal(t, test_exhausted, SIGABRT);
	tcase_add_test_raise_signal(t, test_no_reserve, SIGABRT);
	tcase_add_test_raise_signal(t, test_array_overflow, SIGABRT);
	tcase_add_test(t, test_copies);
	suite_add_tcase(s, t);
	t = tcase_create("buf");
	tcase_add_test(t, test_buf);
	tcase_add_test(t, test_buf_numbers);
	tcase_add_test(t, test_buf_clear);
	tcase_add_test(t, test_buf_queue);
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
	return failed != 0;
}
