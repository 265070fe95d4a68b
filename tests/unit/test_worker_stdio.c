/*
 * Lines in (lines.c), lines out (writer.c), stderr (tap.c), noise (noise.c),
 * cancels that came early (cancels.c).
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "worker/cancels.h"
#include "worker/noise.h"
#include "worker/stdio/lines.h"
#include "worker/stdio/tap.h"
#include "worker/stdio/writer.h"

/* ---- lines ---- */

static void
feed(struct lines *l, const char *p, size_t n)
{
	size_t room;

	while (n > 0) {
		char *at = lines_room(l, &room);
		size_t k = n < room ? n : room;

		memcpy(at, p, k);
		lines_added(l, k);
		p += k;
		n -= k;
	}
}

/* All that comes out, as words: "[line]", "id 7", "long 12". */
static void
drain(struct lines *l, struct buf *out)
{
	size_t len;
	int64_t id;
	char *line;

	for (;;) {
		switch (lines_next(l, &line, &len, &id)) {
		case LINES_LINE:
			buf_printf(out, "[%.*s]", (int)len, line);
			continue;
		case LINES_LONG_ID:
			buf_printf(out, "id %d ", (int)id);
			continue;
		case LINES_LONG_END:
			buf_printf(out, "long %zu ", len);
			continue;
		case LINES_NONE:
			return;
		}
	}
}

static const struct {
	const char *in, *out, *rest;
} streams[] = {
	{ "a\nb\n", "[a][b]", NULL },
	{ "a\r\n\r\n \t\n\nb\n", "[a][b]", NULL },
	{ "\xef\xbb\xbf{}\n\xef\xbb\xbf{}\n", "[{}][\xef\xbb\xbf{}]", NULL },
	{ "a\xe2\x80\xa8\rb\n", "[a\xe2\x80\xa8\rb]", NULL },
	{ "a\nbc", "[a]", "bc" },
	{ "12345678901234567890\n", "[12345678901234567890]", NULL },
	{ "123456789012345678901\nb\n", "long 21 [b]", NULL },
	{ "{\"id\":7,\"result\":\"1234567890\"}\n[\n", "id 7 long 30 [[]",
	    NULL },
	{ "{\"result\":\"1234567890\",\"id\":7}\nb", "id 7 long 30 ", "b" },
	{ "{\"id\":7,\"result\":\"12345678901", "id 7 ", NULL },
};

/* However the bytes are cut, the same lines come out. */
START_TEST(cut)
{
	const char *in = streams[_i].in;

	for (size_t piece = 1; piece <= strlen(in); piece++) {
		struct buf out = { 0 };
		struct lines l;
		size_t len;
		char *rest;

		lines_init(&l, 20);
		if (piece % 2 == 0)
			l.prove_from = 0; /* which changes nothing */
		for (size_t at = 0; at < strlen(in); at += piece) {
			size_t left = strlen(in) - at;

			feed(&l, in + at, left < piece ? left : piece);
			drain(&l, &out);
		}
		buf_putc(&out, '\0');
		ck_assert_str_eq(buf_at(&out), streams[_i].out);
		rest = lines_rest(&l, &len);
		if (streams[_i].rest == NULL)
			ck_assert_ptr_null(rest);
		else
			ck_assert(len == strlen(streams[_i].rest)
			    && memcmp(rest, streams[_i].rest, len) == 0);
		buf_free(&out);
		lines_free(&l);
	}
}
END_TEST

/* The copy of a result that was taken: these very bytes, and read-only. */
static void
check_copy(int fd, const char *p, size_t len)
{
	size_t size = 0;
	char *map;

	ck_assert_int_ge(fd, 0);
	ck_assert(fd_is_sealed(fd, &size));
	ck_assert_uint_eq(size, len);
	map = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	ck_assert(map != MAP_FAILED);
	ck_assert_int_eq(memcmp(map, p, len), 0);
	munmap(map, len);
	ck_assert_int_lt(write(fd, "x", 1), 0);
	close(fd);
}

/* A line of some 300,000 bytes around an object, CRs between its tokens. */
static char *
large_line(const char *before, const char *behind, size_t *ret_len)
{
	struct buf b = { 0 };

	buf_printf(&b, " \t%s{\"a\":\r\"", before);
	for (int i = 0; i < 30000; i++)
		buf_puts(&b, "\\\"\xc3\xa9 5678");
	buf_printf(&b, "\",\r\"isError\": true }%s \r\n", behind);
	return buf_steal(&b, ret_len);
}

static void
try_large(const char *text, size_t n, size_t piece)
{
	struct json_want want = { .name = "result" };
	struct json_want flag = { .name = "isError" };
	struct lines l;
	size_t len = 0;
	int64_t id;
	char *line = NULL;

	lines_init(&l, 1 << 20);
	feed(&l, "{}\n", 3);
	ck_assert_int_eq(lines_next(&l, &line, &len, &id), LINES_LINE);
	ck_assert_ptr_null(lines_notes(&l)); /* it is small */
	for (size_t at = 0; at < n; at += piece) {
		ck_assert_int_eq(
		    lines_next(&l, &line, &len, &id), LINES_NONE);
		feed(&l, text + at, n - at < piece ? n - at : piece);
	}
	/* the copy counts as well as the line (L9.6) */
	ck_assert_uint_gt(lines_held(&l), n);
	ck_assert_int_eq(lines_next(&l, &line, &len, &id), LINES_LINE);
	ck_assert_uint_eq(len, n - 5); /* trimmed at both ends */
	ck_assert(json_notes_pick(lines_notes(&l), line, NULL, &want, 1));
	ck_assert(json_notes_pick(
	    lines_notes(&l), line, &want.value, &flag, 1));
	ck_assert_int_eq(flag.value.type, JSON_TRUE);
	ck_assert_ptr_null(memchr(line, '\r', len));
	ck_assert_int_eq(lines_take_copy(&l, flag.value), -1);
	check_copy(lines_take_copy(&l, want.value), want.value.p,
	    want.value.len);
	ck_assert_int_eq(lines_take_copy(&l, want.value), -1);
	ck_assert_int_eq(lines_next(&l, &line, &len, &id), LINES_NONE);
	ck_assert_uint_eq(lines_held(&l), 0);
	lines_free(&l);
}

/* A large line has notes, and a copy of its result, when it is whole. */
START_TEST(large)
{
	static const size_t pieces[] = { 100, 4096, 65536, 100000, 200000 };
	static const char *const around[][2] = {
		{ "{\"id\":1,\"result\":", "}" },
		{ "{\"result\" :\r", ",\"id\":1}" },
	};

	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < 5; k++) {
			size_t n;
			char *text = large_line(
			    around[i][0], around[i][1], &n);

			try_large(text, n, pieces[k]);
			free(text);
		}
}
END_TEST

/* What is no message, or no result, has no copy; the first two have notes. */
START_TEST(large_other)
{
	static const char *const around[][2] = {
		{ "{\"error\":", "}" },
		{ "[", "]" },
		{ "{\"result\":[", "]" },
		{ "{\"result\":", ",}" },
	};

	for (size_t i = 0; i < 4; i++) {
		size_t n, len;
		char *text = large_line(around[i][0], around[i][1], &n);
		struct json_value all = { .p = NULL };
		struct lines l;
		int64_t id;

		lines_init(&l, 1 << 20);
		for (size_t at = 0; at < n; at += 50000) {
			size_t k = n - at < 50000 ? n - at : 50000;
			char *line = NULL;

			feed(&l, text + at, k);
			ck_assert_int_eq(lines_next(&l, &line, &len, &id),
			    at + k < n ? LINES_NONE : LINES_LINE);
			all.p = line;
		}
		ck_assert_uint_eq(len, n - 5);
		ck_assert((lines_notes(&l) != NULL) == (i < 2));
		all.len = len;
		ck_assert_int_eq(lines_take_copy(&l, all), -1);
		lines_free(&l);
		free(text);
	}
}
END_TEST

/* B055, B057: an endless line in small pieces takes no memory to speak of. */
START_TEST(endless)
{
	struct lines l;
	char piece[4096];
	struct buf out = { 0 };

	memset(piece, 'x', sizeof(piece));
	lines_init(&l, 1024 * 1024);
	for (int i = 0; i < 64 * 256; i++) {
		feed(&l, piece, sizeof(piece));
		drain(&l, &out);
		ck_assert(lines_held(&l) <= 1024 * 1024 + sizeof(piece));
		ck_assert(l.in.cap <= 4 * 1024 * 1024);
	}
	ck_assert(l.skipping);
	ck_assert_int_eq((int)(l.skipped >> 20), 64);
	lines_free(&l);
	buf_free(&out);
}
END_TEST

/* ---- writer ---- */

struct heard {
	struct buf words;
};

static void
heard_begun(void *arg, int64_t tag)
{
	buf_printf(&((struct heard *)arg)->words, "b%d ", (int)tag);
}

static void
heard_written(void *arg, int64_t tag, struct buf *text)
{
	buf_printf(&((struct heard *)arg)->words, "w%d(%zu) ", (int)tag,
	    buf_len(text));
}

static const struct writer_ops heard_ops = { heard_begun, heard_written };

static void
put(struct writer *w, const char *text, size_t n, int64_t tag, bool urgent)
{
	struct buf b = { 0 };

	if (n == 0)
		n = strlen(text);
	while (buf_len(&b) < n)
		buf_put(&b, text, strlen(text));
	writer_put(w, &b, tag, urgent);
}

static void
words_are(struct heard *h, const char *want)
{
	buf_putc(&h->words, '\0');
	ck_assert_str_eq(buf_at(&h->words), want);
	buf_clear(&h->words);
}

static size_t
slurp(int fd, struct buf *into)
{
	size_t sum = 0;
	ssize_t n;

	while ((n = read(fd, buf_room(into, 65536), 65536)) > 0) {
		buf_added(into, (size_t)n);
		sum += (size_t)n;
	}
	return sum;
}

/* A urgent line passes what is not begun, never the line begun. */
START_TEST(urgent)
{
	struct heard h = { 0 };
	struct buf got = { 0 };
	struct writer w;
	int pv[2];

	ck_assert_int_eq(fd_pipe(pv), 0);
	fd_nonblock(pv[0]);
	fd_nonblock(pv[1]);
	writer_init(&w, pv[1], &heard_ops, &h);
	put(&w, "one\n", 0, 1, false);
	put(&w, "two\n", 0, 2, false);
	put(&w, "now\n", 0, -1, true);
	ck_assert_int_eq(writer_flush(&w), 0);
	words_are(&h, "b-1 w-1(4) b1 w1(4) b2 w2(4) ");
	slurp(pv[0], &got);
	put(&w, "x", 300000, 3, false); /* more than the pipe takes */
	put(&w, "four\n", 0, 4, false);
	put(&w, "five\n", 0, 5, false);
	ck_assert_int_eq(writer_flush(&w), 0);
	words_are(&h, "b3 ");
	ck_assert(writer_pending(&w));
	put(&w, "now\n", 0, -3, true);
	ck_assert(!writer_drop(&w, 3));
	ck_assert(writer_drop(&w, 4));
	ck_assert(!writer_drop(&w, 4));
	while (writer_pending(&w)) {
		slurp(pv[0], &got);
		ck_assert_int_eq(writer_flush(&w), 0);
	}
	words_are(&h, "w3(300000) b-3 w-3(4) b5 w5(5) ");
	slurp(pv[0], &got);
	ck_assert_int_eq((int)buf_len(&got), 12 + 300000 + 9);
	ck_assert(memcmp(buf_at(&got), "now\none\ntwo\nxx", 14) == 0);
	ck_assert(
	    memcmp(got.data + got.end - 11, "xxnow\nfive\n", 11) == 0);
	ck_assert_int_eq((int)w.queued, 0);
	writer_end(&w);
	ck_assert_int_eq((int)read(pv[0], got.data, 1), 0);
	close(pv[0]);
	buf_free(&got);
	buf_free(&h.words);
}
END_TEST

/* SESSION: stdin is ended by shutdown(), since the supervisor holds it too. */
START_TEST(ended)
{
	struct heard h = { 0 };
	struct buf got = { 0 };
	struct writer w;
	int sv[2], dup_fd;

	ck_assert_int_eq(fd_socketpair(sv), 0);
	dup_fd = dup(sv[1]);
	writer_init(&w, sv[1], &heard_ops, &h);
	put(&w, "x", 4 << 20, 1, false);
	put(&w, "y\n", 0, 2, false);
	ck_assert_int_eq(writer_flush(&w), 0);
	ck_assert(writer_pending(&w));
	writer_end(&w);
	ck_assert(!writer_pending(&w));
	ck_assert_int_eq((int)w.queued, 0);
	slurp(sv[0], &got);
	ck_assert(buf_len(&got) < 4 << 20);
	ck_assert_int_eq((int)read(sv[0], got.data, 1), 0); /* end of file */
	put(&w, "z\n", 0, 3, false);
	ck_assert_int_eq(writer_flush(&w), 0);
	words_are(&h, "b1 ");
	writer_end(&w);
	close(sv[0]);
	close(dup_fd);
	buf_free(&got);
	buf_free(&h.words);
}
END_TEST

START_TEST(unread)
{
	struct heard h = { 0 };
	struct writer w;
	int pv[2];

	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(fd_pipe(pv), 0);
	fd_nonblock(pv[1]);
	close(pv[0]);
	writer_init(&w, pv[1], &heard_ops, &h);
	put(&w, "a\n", 0, 1, false);
	ck_assert_int_eq(writer_flush(&w), -EPIPE);
	ck_assert(writer_drop(&w, 1));
	writer_end(&w);
	ck_assert_int_eq((int)buf_len(&h.words), 0);
}
END_TEST

/* ---- stderr ---- */

static size_t
tapped(struct tap *t, size_t n, struct mono now, struct buf *out)
{
	size_t before = buf_len(out);
	char *p = malloc(n);

	memset(p, 'e', n);
	tap_pass(t, p, n, now, out);
	free(p);
	return buf_len(out) - before;
}

START_TEST(bucket)
{
	struct mono now = { 5000000 };
	struct buf out = { 0 };
	struct tap t;
	char *end;

	tap_init(&t, now);
	ck_assert_int_eq((int)tapped(&t, 1000, now, &out), 1000);
	ck_assert_int_eq(
	    (int)tapped(&t, TAP_BURST, now, &out), (int)TAP_BURST - 1000);
	ck_assert_int_eq((int)tapped(&t, 50000, now, &out), 0);
	now = mono_add(now, SPAN_MS(10)); /* too little to go on */
	ck_assert_int_eq((int)tapped(&t, 10, now, &out), 0);
	now = mono_add(now, SPAN_S(1));
	buf_clear(&out);
	tap_pass(&t, "end\n", 4, now, &out);
	buf_putc(&out, '\0');
	ck_assert(strncmp(buf_at(&out), "\n[oz0: 46914 bytes", 18) == 0);
	end = out.data + out.end - 6;
	ck_assert_str_eq(end, "eend\n");
	ck_assert(buf_len(&out) > TAP_TAIL);
	buf_clear(&out);
	tap_flush(&t, &out);
	ck_assert_int_eq((int)buf_len(&out), 0);
	buf_free(&out);
	tap_free(&t);
}
END_TEST

/* ---- noise and early cancels ---- */

START_TEST(noise_pace)
{
	struct noise n = { 0 };
	struct mono now = { 1000 };
	enum wire_noise what;
	const char *sample;
	uint64_t count;

	ck_assert(noise_due(&n).us == MONO_NEVER.us);
	ck_assert(noise_add(&n, WIRE_NOISE_UTF8, "first", now));
	ck_assert(noise_take(&n, now, false, &what, &count, &sample));
	ck_assert_int_eq(what, WIRE_NOISE_UTF8);
	ck_assert_int_eq((int)count, 1);
	ck_assert_str_eq(sample, "first");
	ck_assert(!noise_add(&n, WIRE_NOISE_UTF8, "second", now));
	ck_assert(!noise_add(&n, WIRE_NOISE_UTF8, "third", now));
	ck_assert(noise_add(&n, WIRE_NOISE_TWICE, "other", now));
	ck_assert(noise_take(&n, now, false, &what, &count, &sample));
	ck_assert_int_eq(what, WIRE_NOISE_TWICE);
	ck_assert(!noise_take(&n, now, false, &what, &count, &sample));
	ck_assert_int_eq((int)noise_due(&n).us, 1001000);
	now = noise_due(&n);
	ck_assert(noise_take(&n, now, false, &what, &count, &sample));
	ck_assert_int_eq((int)count, 2);
	ck_assert_str_eq(sample, "second");
	ck_assert(!noise_add(&n, WIRE_NOISE_UTF8, "fourth", now));
	ck_assert(noise_take(&n, now, true, &what, &count, &sample));
	ck_assert(!noise_take(&n, now, true, &what, &count, &sample));
}
END_TEST

START_TEST(early_cancels)
{
	struct cancels c;

	cancels_init(&c);
	ck_assert(!cancels_take(&c, 1));
	for (uint64_t i = 0; i < CANCELS_MAX + 10; i++) {
		cancels_add(&c, i);
		cancels_add(&c, i);
	}
	ck_assert_int_eq((int)c.n, CANCELS_MAX);
	ck_assert(!cancels_take(&c, 9)); /* pushed out */
	ck_assert(cancels_take(&c, 10));
	ck_assert(!cancels_take(&c, 10));
	ck_assert(cancels_take(&c, CANCELS_MAX + 9));
	cancels_free(&c);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("worker: stdio");
	TCase *t = tcase_create("all");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_loop_test(
	    t, cut, 0, (int)(sizeof(streams) / sizeof(streams[0])));
	tcase_add_test(t, large);
	tcase_add_test(t, large_other);
	tcase_add_test(t, endless);
	tcase_add_test(t, urgent);
	tcase_add_test(t, ended);
	tcase_add_test(t, unread);
	tcase_add_test(t, bucket);
	tcase_add_test(t, noise_pace);
	tcase_add_test(t, early_cancels);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? 0 : 1;
}
