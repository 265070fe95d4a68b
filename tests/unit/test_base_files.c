/*
 * Unit tests of base/str.c, time.c, fd.c and log.c.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"

static const char *
repeat(char c, size_t n)
{
	static char text[256];

	memset(text, c, n);
	text[n] = '\0';
	return text;
}

/* LIFECYCLE L2.7. */
START_TEST(test_names)
{
	uint64_t n = 42;

	ck_assert(str_is_name("j1") && str_is_name("a.B_9-"));
	ck_assert(str_is_name(repeat('a', 128)));
	ck_assert(!str_is_name(repeat('a', 129)) && !str_is_name(""));
	ck_assert(!str_is_name("a/b") && !str_is_name("a b"));
	ck_assert(!str_is_name("a\n") && !str_is_name("\xc3\xa9"));
	ck_assert(str_is_tool_name(repeat('a', 64)));
	ck_assert(!str_is_tool_name(repeat('a', 65)));
	ck_assert(!str_is_tool_name("a.b") && !str_is_tool_name(""));
	ck_assert(str_is_tool_name("my_tool-2"));

	ck_assert(str_is_call_name("c12", &n) && n == 12);
	ck_assert(str_is_call_name("c0", NULL));
	n = 42;
	ck_assert(!str_is_call_name("c", &n) && !str_is_call_name("C1", &n));
	ck_assert(!str_is_call_name("c1a", &n) && !str_is_call_name("", &n));
	ck_assert(!str_is_call_name("c-1", &n) && !str_is_call_name("c 1", &n));
	ck_assert(n == 42);
	/* no job may be named c and digits, however many */
	ck_assert(str_is_call_name("c9999999999999999999", &n));
	ck_assert(str_is_call_name("c99999999999999999999", NULL));
	ck_assert(str_is_call_name("c00000000000000000000000000001", NULL));
}
END_TEST

START_TEST(test_sizes)
{
	static const struct {
		const char *s;
		bool ok;
		uint64_t n;
	} t[] = {{"0", true, 0}, {"1024", true, 1024}, {"7B", true, 7},
	    {"512KiB", true, 512 << 10}, {"16MiB", true, 16 << 20},
	    {"1GiB", true, 1 << 30}, {"2TiB", true, (uint64_t)2 << 40},
	    {"999999999999999999", true, UINT64_C(999999999999999999)},
	    {"9999999999999999999", false, 0}, {"9999999999999TiB", false, 0},
	    {"8388607TiB", true, (uint64_t)8388607 << 40},
	    {"8388608TiB", false, 0}, {"", false, 0}, {"MiB", false, 0},
	    {"-1", false, 0}, {"1.5MiB", false, 0}, {"1 MiB", false, 0},
	    {"1mib", false, 0}, {"1MB", false, 0}, {"1e3", false, 0},
	    {"0x10", false, 0}, {" 1", false, 0}, {"1MiB ", false, 0}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint64_t n = 42;

		ck_assert_msg(
		    str_parse_size(t[i].s, &n) == t[i].ok, "%s", t[i].s);
		ck_assert_uint_eq(n, t[i].ok ? t[i].n : 42);
	}
}
END_TEST

START_TEST(test_glob)
{
	static const struct {
		const char *pattern;
		const char *s;
		bool match;
	} t[] = {{"", "", true}, {"", "a", false}, {"*", "", true},
	    {"*", "a.b", true}, {"a", "a", true}, {"a", "ab", false},
	    {"ab", "a", false}, {"?", "a", true}, {"?", "", false},
	    {"a*c", "ac", true}, {"a*c", "abcbc", true}, {"a*c", "abcb", false},
	    {"files.*", "files.read", true}, {"files.*", "files", false},
	    {"*.read_*", "f.read_x", true}, {"**", "x", true},
	    {"*?*", "", false}, {"*a*b*c*", "xaybzc", true},
	    {"*a*b*c*", "xcybza", false}, {"[ab]", "a", false},
	    {"[ab]", "[ab]", true}, {"\\*", "*", false}, {"A", "a", false}};
	char many[256];

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		ck_assert_msg(str_glob(t[i].pattern, t[i].s) == t[i].match,
		    "%s on %s", t[i].pattern, t[i].s);
	/* not exponential in its stars */
	memset(many, 'a', 255);
	many[255] = '\0';
	ck_assert(!str_glob("a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", many));
}
END_TEST

START_TEST(test_random_and_copy)
{
	char a[65], b[65], out[6];

	str_random_hex(a, 32);
	str_random_hex(b, 32);
	ck_assert_uint_eq(strlen(a), 64);
	ck_assert_uint_eq(strspn(a, "0123456789abcdef"), 64);
	ck_assert_str_ne(a, b);
	ck_assert(str_copy(out, sizeof(out), "abcde"));
	ck_assert_str_eq(out, "abcde");
	ck_assert(!str_copy(out, sizeof(out), "abcdef"));
	ck_assert_str_eq(out, "abcde");
	/* never half a character */
	ck_assert(!str_copy(out, sizeof(out), "abcd\xc3\xa9"));
	ck_assert_str_eq(out, "abcd");
	ck_assert(!str_copy(out, sizeof(out), "a\xf0\x9f\x98\x80z"));
	ck_assert_str_eq(out, "a\xf0\x9f\x98\x80");
	ck_assert(!str_copy(out, 4, "\xf0\x9f\x98\x80"));
	ck_assert_str_eq(out, "");
	ck_assert(str_copy(out, 1, ""));
	ck_assert(!str_copy(out, 1, "a"));
	ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(test_span_parse)
{
	static const struct {
		const char *s;
		int64_t us; /* -1: refused */
	} t[] = {{"0", 0}, {"90", 90000000}, {"1.5s", 1500000},
	    {"200ms", 200000}, {"2m", 120000000}, {"1h", 3600000000},
	    {"7d", INT64_C(604800000000)}, {"5us", 5}, {".5s", 500000},
	    {"5.s", 5000000}, {"0.0000004", 0},
	    {"36600d", INT64_C(3162240000000000)}, {"36601d", -1}, {"", -1},
	    {".", -1}, {"s", -1}, {"-1", -1}, {"+1", -1}, {"1e18", -1},
	    {"1e1s", -1}, {"nan", -1}, {"inf", -1}, {"none", -1}, {"0x10", -1},
	    {"1.2.3", -1}, {" 1", -1}, {"1 s", -1}, {"1s ", -1}, {"1S", -1},
	    {"1ss", -1}, {"99999999999999999999", -1}, {"1,5s", -1},
	    {"1000000000000000000000000000000000000000000000s", -1}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct span d = {42};

		ck_assert_msg(
		    span_parse(t[i].s, &d) == (t[i].us >= 0), "%s", t[i].s);
		ck_assert_msg(d.us == (t[i].us >= 0 ? t[i].us : 42), "%s: %lld",
		    t[i].s, (long long)d.us);
	}
}
END_TEST

START_TEST(test_span_format)
{
	static const struct {
		int64_t us;
		const char *s;
	} t[] = {{0, "0s"}, {1, "0.000001s"}, {1500000, "1.5s"},
	    {200000, "0.2s"}, {90000000, "90s"}, {120000000, "2m"},
	    {3600000000, "1h"}, {INT64_C(604800000000), "7d"},
	    {3661000000, "3661s"},
	    {INT64_C(3162239999999999), "3162239999.999999s"}};
	char out[32];

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct span d = SPAN_US(t[i].us), back;

		span_format(d, out, sizeof(out));
		ck_assert_str_eq(out, t[i].s);
		ck_assert(span_parse(out, &back));
		ck_assert_int_eq(back.us, d.us);
	}
	span_format(SPAN_NONE, out, sizeof(out));
	ck_assert_str_eq(out, "none");
	span_format(SPAN_US(-1500000), out, sizeof(out));
	ck_assert_str_eq(out, "-1.5s");
}
END_TEST

START_TEST(test_span_seconds)
{
	struct span d = {42};

	ck_assert(span_from_seconds(0.25, &d) && d.us == 250000);
	ck_assert(span_from_seconds(0, &d) && d.us == 0);
	d.us = 42;
	ck_assert(!span_from_seconds(-0.001, &d));
	ck_assert(!span_from_seconds(NAN, &d));
	ck_assert(!span_from_seconds(INFINITY, &d));
	ck_assert(!span_from_seconds(1e18, &d));
	ck_assert(d.us == 42);
	ck_assert(span_is_none(SPAN_NONE) && !span_is_none(SPAN_S(0)));
	ck_assert(span_min(SPAN_S(1), SPAN_NONE).us == 1000000);
	ck_assert_double_eq(span_seconds(SPAN_MS(1500)), 1.5);
}
END_TEST

START_TEST(test_clocks)
{
	struct mono a = time_mono(), b = time_mono();
	char text[TIME_WALL_LEN];

	ck_assert(!mono_before(b, a));
	ck_assert(mono_before(a, mono_add(a, SPAN_US(1))));
	ck_assert_int_eq(mono_add(a, SPAN_NONE).us, MONO_NEVER.us);
	ck_assert_int_eq(mono_add(MONO_NEVER, SPAN_S(1)).us, INT64_MAX);
	ck_assert_int_eq(mono_since(mono_add(a, SPAN_S(3)), a).us, 3000000);
	wall_format((struct wall){INT64_C(1796114434123456)}, text);
	ck_assert_str_eq(text, "2026-12-01T08:40:34.123456Z");
	wall_format((struct wall){0}, text);
	ck_assert_str_eq(text, "1970-01-01T00:00:00.000000Z");
	/* as the C library has it, over leap days and ends of centuries */
	for (int64_t day = 0; day < INT64_C(400) * 366; day += 3) {
		time_t t = (time_t)(day * 86400 + day % 86400);
		char want[64];
		struct tm tm;

		gmtime_r(&t, &tm);
		strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%S.000007Z", &tm);
		wall_format((struct wall){t * INT64_C(1000000) + 7}, text);
		ck_assert_str_eq(text, want);
	}
	ck_assert(time_wall().us > INT64_C(1700000000000000));
}
END_TEST

START_TEST(test_fd_close)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), stolen;

	errno = EDOM;
	stolen = fd_steal(&fd);
	ck_assert(fd == -1 && stolen >= 0);
	fd = stolen;
	fd_close(&fd);
	ck_assert_int_eq(fd, -1);
	ck_assert_int_eq(errno, EDOM);
	ck_assert(fcntl(stolen, F_GETFD) == -1 && errno == EBADF);
	fd_close(&fd); /* nothing */
	{
		CLEANUP_CLOSE int scoped = open("/", O_PATH | O_CLOEXEC);

		stolen = scoped;
		ck_assert_int_ne(fcntl(stolen, F_GETFD), -1);
	}
	ck_assert_int_eq(fcntl(stolen, F_GETFD), -1);
}
END_TEST

START_TEST(test_fd_flags)
{
	int v[2];

	ck_assert_int_eq(fd_socketpair(v), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert(fcntl(v[i], F_GETFL) & O_NONBLOCK);
		ck_assert(fcntl(v[i], F_GETFD) & FD_CLOEXEC);
		fd_close(&v[i]);
	}
	ck_assert_int_eq(fd_pipe(v), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert(!(fcntl(v[i], F_GETFL) & O_NONBLOCK));
		ck_assert(fcntl(v[i], F_GETFD) & FD_CLOEXEC);
	}
	ck_assert_int_eq(fd_nonblock(v[0]), 0);
	ck_assert(fcntl(v[0], F_GETFL) & O_NONBLOCK);
	ck_assert_int_eq(fd_cloexec(v[0], false), 0);
	ck_assert_int_eq(fcntl(v[0], F_GETFD), 0);
	fd_close(&v[0]);
	fd_close(&v[1]);
	ck_assert_int_eq(fd_nonblock(-1), -EBADF);
	ck_assert_int_eq(fd_cloexec(-1, true), -EBADF);
	ck_assert_int_eq(fd_write_all(-1, "x", 1), -EBADF);
}
END_TEST

START_TEST(test_fd_read_file)
{
	char dir[] = "/tmp/oz0-test-XXXXXX", *text = NULL;
	static char big[10000];
	size_t len = 42;
	int dirfd, fd;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = openat(dirfd, "f", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	memset(big, 'x', sizeof(big));
	ck_assert_int_eq(fd_write_all(fd, big, sizeof(big)), 0);
	ck_assert_int_eq(fd_read_file(dirfd, "f", sizeof(big), &text, &len), 0);
	ck_assert_uint_eq(len, sizeof(big));
	ck_assert_mem_eq(text, big, len);
	ck_assert_int_eq(text[len], '\0');
	free(text);
	text = NULL;
	ck_assert_int_eq(
	    fd_read_file(dirfd, "f", sizeof(big) - 1, &text, &len), -EFBIG);
	ck_assert_int_eq(fd_read_file(dirfd, "none", 10, &text, &len), -ENOENT);
	ck_assert_int_eq(fd_read_file(AT_FDCWD, dir, 10, &text, NULL), -EISDIR);
	ck_assert_ptr_null(text);
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(fd_read_file(dirfd, "f", 0, &text, &len), 0);
	ck_assert_uint_eq(len, 0);
	ck_assert_str_eq(text, "");
	free(text);
	ck_assert_int_eq(unlinkat(dirfd, "f", 0), 0);
	ck_assert_int_eq(rmdir(dir), 0);
	fd_close(&fd);
	fd_close(&dirfd);
}
END_TEST

START_TEST(test_fd_sealed)
{
	char text[6] = "";
	size_t size = 42;
	int fd = fd_sealed("test", "hello", 5), other;

	ck_assert_int_ge(fd, 0);
	ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	ck_assert(fd_is_sealed(fd, &size));
	ck_assert_uint_eq(size, 5);
	ck_assert_int_eq(pread(fd, text, 5, 0), 5);
	ck_assert_str_eq(text, "hello");
	ck_assert(pwrite(fd, "x", 1, 0) == -1 && errno == EPERM);
	ck_assert(ftruncate(fd, 0) == -1 && errno == EPERM);
	ck_assert(ftruncate(fd, 9) == -1 && errno == EPERM);
	ck_assert(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == -1);
	fd_close(&fd);

	other = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size = 42;
	ck_assert(!fd_is_sealed(other, &size));
	ck_assert_int_eq(fcntl(other, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	ck_assert(!fd_is_sealed(other, &size));
	fd_close(&other);
	other = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ck_assert(!fd_is_sealed(other, &size));
	fd_close(&other);
	ck_assert_uint_eq(size, 42);
}
END_TEST

struct seen {
	int lines;
	enum log_level level;
	char text[8192];
};

static void
sink(enum log_level level, const char *line, void *arg)
{
	struct seen *seen = arg;

	seen->lines++;
	seen->level = level;
	snprintf(seen->text, sizeof(seen->text), "%s", line);
}

START_TEST(test_log_sink)
{
	static struct seen seen;
	static char big[9000];
	enum log_level level = LOG_LEVEL_DEBUG;

	log_set_sink(sink, &seen);
	log_info("n=%d", 7);
	ck_assert_str_eq(seen.text, "n=7");
	ck_assert_int_eq(seen.level, LOG_LEVEL_INFO);
	log_debug("more than the level");
	ck_assert_int_eq(seen.lines, 1);
	log_set_level(LOG_LEVEL_ERROR);
	ck_assert_int_eq(log_get_level(), LOG_LEVEL_ERROR);
	log_warning("too");
	ck_assert_int_eq(seen.lines, 1);
	log_error("a\nb\r\x1b[31m\x7f\t\xc3\xa9");
	ck_assert_str_eq(seen.text, "a?b??[31m??\xc3\xa9");
	memset(big, 'x', sizeof(big) - 1);
	log_error("%s", big);
	ck_assert_uint_eq(strlen(seen.text), 4095);
	ck_assert(
	    log_level_parse("warning", &level) && level == LOG_LEVEL_WARNING);
	ck_assert(!log_level_parse("Warning", &level));
	ck_assert(!log_level_parse("", &level));
	ck_assert_int_eq(level, LOG_LEVEL_WARNING);
}
END_TEST

/* Standard error becomes a pipe; what comes out of it. */
static int
stderr_pipe(void)
{
	int v[2];

	ck_assert_int_eq(fd_pipe(v), 0);
	ck_assert_int_eq(dup2(v[1], STDERR_FILENO), STDERR_FILENO);
	fd_close(&v[1]);
	ck_assert_int_eq(fd_nonblock(v[0]), 0);
	return v[0];
}

static const char *
drain(int fd)
{
	static char text[16384];
	ssize_t n = read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

START_TEST(test_log_stderr)
{
	static char big[9000], ident[200];
	int fd = stderr_pipe();
	const char *line;

	log_init("oz0-test", true);
	log_notice("hello\n");
	ck_assert_str_eq(drain(fd), "<5>oz0-test: hello?\n");
	log_init("oz0-test", false);
	log_warning("hello");
	ck_assert_str_eq(drain(fd), "oz0-test: warning: hello\n");
	log_error("hello");
	ck_assert_str_eq(drain(fd), "oz0-test: error: hello\n");
	log_info("hello");
	ck_assert_str_eq(drain(fd), "oz0-test: hello\n");
	/* a line that is cut is still a line */
	memset(big, 'x', sizeof(big) - 1);
	memset(ident, 'i', sizeof(ident) - 1);
	log_init(ident, false);
	log_info("%s", big);
	line = drain(fd);
	ck_assert_uint_gt(strlen(line), 4000);
	ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
	fd_close(&fd);
}
END_TEST

/* B007: a reader that is slow or gone costs lines, never the process. */
START_TEST(test_log_no_reader)
{
	int fd = stderr_pipe();
	size_t lines = 0;

	for (int i = 0; i < 100000; i++)
		log_info("a line that nobody reads");
	while (*drain(fd) != '\0')
		lines++;
	ck_assert_uint_gt(lines, 0);
	log_info("read again");
	ck_assert_ptr_nonnull(strstr(drain(fd), "read again"));
	fd_close(&fd);
	log_info("gone"); /* no SIGPIPE either */
	log_info("gone");
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("base");
	TCase *t = tcase_create("str");

	tcase_add_test(t, test_names);
	tcase_add_test(t, test_sizes);
	tcase_add_test(t, test_glob);
	tcase_add_test(t, test_random_and_copy);
	suite_add_tcase(s, t);
	t = tcase_create("time");
	tcase_add_test(t, test_span_parse);
	tcase_add_test(t, test_span_format);
	tcase_add_test(t, test_span_seconds);
	tcase_add_test(t, test_clocks);
	suite_add_tcase(s, t);
	t = tcase_create("fd");
	tcase_add_test(t, test_fd_close);
	tcase_add_test(t, test_fd_flags);
	tcase_add_test(t, test_fd_read_file);
	tcase_add_test(t, test_fd_sealed);
	suite_add_tcase(s, t);
	t = tcase_create("log");
	tcase_add_test(t, test_log_sink);
	tcase_add_test(t, test_log_stderr);
	tcase_add_test(t, test_log_no_reader);
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
