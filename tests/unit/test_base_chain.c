/*
 * Bytes on their way out, some of them in blobs: in order, whatever is put,
 * looked at and taken in between, and each mapping is gone at the end.
 */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/chain.h"
#include "base/mem.h"

#define PAGE ((size_t)4096)

static struct blob *
new_blob(char c, size_t len)
{
	char *map = mmap(NULL, len, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(map, MAP_FAILED);
	memset(map, c, len);
	return blob_of_map(map, len);
}

static bool
is_mapped(const void *p)
{
	unsigned char there;

	return mincore((void *)(uintptr_t)p, 1, &there) == 0;
}

START_TEST(shared_blob)
{
	struct blob *b = new_blob('b', 3 * PAGE);
	const char *at = blob_at(b);

	ck_assert_uint_eq(blob_len(b), 3 * PAGE);
	ck_assert_ptr_eq(blob_ref(b), b);
	blob_unref(b);
	ck_assert(is_mapped(at));
	ck_assert_int_eq(at[3 * PAGE - 1], 'b');
	blob_unref(b);
	ck_assert(!is_mapped(at));
	blob_unref(NULL);
}
END_TEST

/* A blob is named by its place, not copied; it goes when its bytes went. */
START_TEST(not_copied)
{
	struct blob *b = new_blob('b', PAGE);
	const char *at = blob_at(b);
	struct chain c = {0};
	struct iovec v[4];
	size_t n;

	buf_puts(&c.text, "head");
	chain_put_blob(&c, b);
	buf_puts(&c.text, "tail");
	blob_unref(b);
	ck_assert_uint_eq(chain_len(&c), PAGE + 8);
	ck_assert_uint_eq(chain_pieces(&c, PAGE + 8, v, 4, &n), 3);
	ck_assert_uint_eq(n, PAGE + 8);
	ck_assert_ptr_eq(v[1].iov_base, at);
	ck_assert_uint_eq(v[1].iov_len, PAGE);
	ck_assert_uint_eq(chain_pieces(&c, PAGE + 8, v, 2, &n), 2);
	ck_assert_uint_eq(n, PAGE + 4);
	ck_assert_uint_eq(chain_pieces(&c, 5, v, 4, &n), 2);
	ck_assert_uint_eq(n, 5);
	chain_take(&c, PAGE + 3);
	ck_assert(is_mapped(at));
	chain_take(&c, 1);
	ck_assert(!is_mapped(at));
	ck_assert_uint_eq(chain_pieces(&c, 4, v, 4, &n), 1);
	ck_assert_mem_eq(v[0].iov_base, "tail", 4);
	chain_take(&c, 4);
	ck_assert_uint_eq(chain_len(&c), 0);
	ck_assert_uint_eq(chain_pieces(&c, 0, v, 4, &n), 0);
	chain_free(&c);
}
END_TEST

/* Takes n bytes as a writer does; they must be the next of all that was put. */
static void
take(struct chain *c, const struct buf *all, size_t *taken, size_t n)
{
	struct iovec v[3];
	size_t fit, k = chain_pieces(c, n, v, 3, &fit), at = *taken;

	ck_assert_uint_le(fit, n);
	ck_assert(fit > 0 || n == 0);
	for (size_t i = 0; i < k; i++) {
		ck_assert_uint_gt(v[i].iov_len, 0);
		ck_assert_mem_eq(
		    v[i].iov_base, buf_at(all) + at, v[i].iov_len);
		at += v[i].iov_len;
	}
	ck_assert_uint_eq(at - *taken, fit);
	chain_take(c, fit);
	*taken = at;
}

START_TEST(any_order)
{
	struct buf all = {0};
	struct chain c = {0};
	size_t taken = 0;

	srand((unsigned)_i);
	for (int i = 0; i < 2000; i++) {
		size_t n = (size_t)rand() % 300 + 1;
		char what = (char)('a' + i % 26), text[300];
		struct blob *b;

		memset(text, what, sizeof(text));
		switch (rand() % 4) {
		case 0:
			b = new_blob(what, n);
			chain_put_blob(&c, b);
			buf_put(&all, text, n);
			blob_unref(b);
			break;
		case 1:
			buf_put(&c.text, text, n);
			buf_put(&all, text, n);
			break;
		default:
			if (n > chain_len(&c))
				n = chain_len(&c);
			take(&c, &all, &taken, n);
		}
		ck_assert_uint_eq(chain_len(&c), buf_len(&all) - taken);
	}
	while (chain_len(&c) > 0)
		take(&c, &all, &taken, chain_len(&c));
	ck_assert_uint_eq(taken, buf_len(&all));
	chain_free(&c);
	buf_free(&all);
}
END_TEST

/* What was not taken goes too. */
START_TEST(freed)
{
	struct blob *b = new_blob('b', PAGE);
	const char *at = blob_at(b);
	struct chain c = {0};

	buf_puts(&c.text, "head");
	chain_put_blob(&c, b);
	chain_put_blob(&c, b);
	blob_unref(b);
	chain_take(&c, 4 + PAGE / 2);
	chain_free(&c);
	ck_assert(!is_mapped(at));
	ck_assert_uint_eq(chain_len(&c), 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("chain");
	TCase *t = tcase_create("chain");
	SRunner *r;
	int failed;

	tcase_add_test(t, shared_blob);
	tcase_add_test(t, not_copied);
	tcase_add_loop_test(t, any_order, 1, 21);
	tcase_add_test(t, freed);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? 0 : 1;
}
