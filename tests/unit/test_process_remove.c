/*
 * Removal of a session's folder: whatever was left in it, and nothing beside.
 *
 * Run by make check; links sandbox/remove.c and base alone.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/remove.h"

#define DEEP 3000 /* more than descriptors, longer than a path may be */

static char top[64];
static int dir;

static void
make_top(void)
{
	strcpy(top, "/tmp/oz0-remove-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir, 0);
}

static void
touch(int at, const char *name)
{
	int fd = openat(at, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void
check_empty(void)
{
	close(dir);
	ck_assert_msg(rmdir(top) == 0, "something is left in %s", top);
}

START_TEST(test_plain_tree)
{
	make_top();
	touch(dir, "file");
	ck_assert_int_eq(mkdirat(dir, "empty", 0755), 0);
	ck_assert_int_eq(mkdirat(dir, "full", 0755), 0);
	ck_assert_int_eq(mkdirat(dir, "full/sub", 0755), 0);
	touch(dir, "full/sub/file");
	touch(dir, "oz0-removed.0"); /* the name that it would use itself */
	ck_assert_int_eq(mkfifoat(dir, "fifo", 0600), 0);
	ck_assert_int_eq(remove_below(dir), 0);
	check_empty();
}
END_TEST

START_TEST(test_without_rights)
{
	make_top();
	ck_assert_int_eq(mkdirat(dir, "closed", 0755), 0);
	ck_assert_int_eq(mkdirat(dir, "closed/in", 0755), 0);
	touch(dir, "closed/in/file");
	ck_assert_int_eq(fchmodat(dir, "closed/in", 0, 0), 0);
	ck_assert_int_eq(fchmodat(dir, "closed", 0, 0), 0);
	ck_assert_int_eq(remove_below(dir), 0);
	check_empty();
}
END_TEST

START_TEST(test_links_lead_nowhere)
{
	char outside[] = "/tmp/oz0-outside-XXXXXX";
	char file[64];

	ck_assert_ptr_nonnull(mkdtemp(outside));
	snprintf(file, sizeof(file), "%s/kept", outside);
	make_top();
	touch(AT_FDCWD, file);
	ck_assert_int_eq(symlinkat(outside, dir, "link"), 0);
	ck_assert_int_eq(symlinkat("/", dir, "root"), 0);
	ck_assert_int_eq(remove_below(dir), 0);
	check_empty();
	ck_assert_int_eq(access(file, F_OK), 0);
	ck_assert_int_eq(unlink(file), 0);
	ck_assert_int_eq(rmdir(outside), 0);
}
END_TEST

START_TEST(test_deeper_than_a_path_can_say)
{
	int at;

	make_top();
	at = dup(dir);
	for (int i = 0; i < DEEP; i++) {
		int next;

		ck_assert_int_eq(mkdirat(at, "a_directory_of_it", 0700), 0);
		touch(at, "file");
		next = openat(
		    at, "a_directory_of_it", O_RDONLY | O_DIRECTORY);
		ck_assert_int_ge(next, 0);
		close(at);
		at = next;
	}
	close(at);
	ck_assert_int_eq(remove_below(dir), 0);
	check_empty();
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("process_remove");
	TCase *t = tcase_create("all");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_plain_tree);
	tcase_add_test(t, test_without_rights);
	tcase_add_test(t, test_links_lead_nowhere);
	tcase_add_test(t, test_deeper_than_a_path_can_say);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
