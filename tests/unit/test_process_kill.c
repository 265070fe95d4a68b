/*
 * Killing for sure (LIFECYCLE L1.4b): SIGKILL again and again with backoff, and
 * a node that is degraded as long as any of its processes does not die.  The
 * processes are real and sleep; signals go nowhere while the test says so, and
 * time stands still.
 */
#include <check.h>
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/child.h"
#include "supervisor/processes.h"
#include "supervisor/record.h"

static struct supervisor s;
static struct processes ps;
static struct mono now;
static bool undying;
static unsigned kills;
static unsigned deaths;

struct mono __wrap_time_mono(void);

struct mono
__wrap_time_mono(void)
{
	return now;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long
__wrap_syscall(long number, ...)
{
	long a, b, c, d;
	va_list ap;

	va_start(ap, number);
	a = va_arg(ap, long);
	b = va_arg(ap, long);
	c = va_arg(ap, long);
	d = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_pidfd_send_signal) {
		ck_assert_int_eq((int)b, SIGKILL);
		kills++;
		if (undying)
			return 0;
	}
	return __real_syscall(number, a, b, c, d);
}

void
record_facts(struct supervisor *sv, struct record *facts)
{
	ck_abort_msg("nothing is recorded while the node starts");
}

static void
died(struct supervisor *sv, void *arg, int status)
{
	struct child **c = arg;

	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	*c = NULL;
	deaths++;
}

static void
setup(void)
{
	memset(&s, 0, sizeof(s));
	memset(&ps, 0, sizeof(ps));
	s.state = NODE_STARTING;
	s.processes = &ps;
	s.base = event_base_new();
	RB_INIT(&s.deadlines);
	ps.children = children_new();
	now.us = 1000000;
	undying = true;
	kills = deaths = 0;
}

static void
teardown(void)
{
	children_free(&s);
	event_base_free(s.base);
}

static struct child *
sleeper(const char *kind, const char *name, struct child **owner)
{
	pid_t pid = fork();
	int fd;

	if (pid == 0) {
		for (;;)
			pause();
	}
	ck_assert_int_gt(pid, 0);
	fd = (int)__real_syscall(SYS_pidfd_open, pid, 0);
	ck_assert_int_ge(fd, 0);
	*owner = child_new(&s, pid, fd, kind, name, NULL, died, owner);
	return *owner;
}

static void
pass(struct span d)
{
	now = mono_add(now, d);
	deadline_run(&s, now);
}

/* It dies, as the kernel lets it, and is reaped. */
static void
dies(struct child *c)
{
	unsigned before = deaths;

	kill(child_pid(c), SIGKILL);
	while (deaths == before)
		children_reap(&s);
}

static void
is_degraded(const struct child *c, const char *what, bool want)
{
	const char *at;
	char pid[32];

	snprintf(pid, sizeof(pid), "pid %d (", (int)child_pid(c));
	at = s.degraded == NULL ? NULL : strstr(s.degraded, pid);
	ck_assert_int_eq(at != NULL, want);
	if (at != NULL) /* its state: asleep, or just made */
		ck_assert_ptr_nonnull(strchr("SR", at[strlen(pid)]));
	ck_assert_int_eq(s.degraded != NULL && strstr(s.degraded, what) != NULL,
	    want);
}

START_TEST(killed_again_with_backoff)
{
	const int64_t ms[] = { 250, 500, 1000, 2000, 4000, 5000, 5000, 5000 };
	struct child *c;

	sleeper("worker", "plugins", &c);
	child_kill(c);
	child_kill(c);
	ck_assert_uint_eq(kills, 1);
	for (unsigned i = 0; i < sizeof(ms) / sizeof(ms[0]); i++) {
		pass(SPAN_MS(ms[i] - 1));
		ck_assert_uint_eq(kills, i + 1);
		/* four times, the last after 1.75 s */
		ck_assert_int_eq(s.degraded != NULL, i + 1 >= 4);
		pass(SPAN_MS(1));
		ck_assert_uint_eq(kills, i + 2);
	}
	is_degraded(c, "worker plugins does not die by SIGKILL", true);
	dies(c);
	ck_assert_ptr_null(s.degraded);
	kills = 0;
	pass(SPAN_S(60));
	ck_assert_uint_eq(kills, 0);
}
END_TEST

START_TEST(degraded_until_the_last_has_died)
{
	struct child *worker, *journal, *box;

	sleeper("worker", "session j1/1", &worker);
	sleeper("journal", "oz0-journal", &journal);
	sleeper("sandbox", "j1/1 own", &box);
	child_kill(worker);
	pass(SPAN_S(1));
	child_kill(journal);
	for (int i = 0; i < 100; i++)
		pass(SPAN_MS(100));
	is_degraded(worker, "worker session j1/1", true);
	is_degraded(journal, "journal oz0-journal", true);
	is_degraded(box, "sandbox", false); /* nobody killed it */
	dies(worker);
	is_degraded(journal, "journal oz0-journal", true);
	ck_assert_ptr_null(strstr(s.degraded, "worker"));
	dies(box);
	is_degraded(journal, "journal oz0-journal", true);
	dies(journal);
	ck_assert_ptr_null(s.degraded);
}
END_TEST

START_TEST(many_are_named_and_counted)
{
	struct child *c[12];

	for (int i = 0; i < 12; i++)
		child_kill(sleeper("sandbox", "x", &c[i]));
	for (int i = 0; i < 30; i++)
		pass(SPAN_MS(100));
	ck_assert_ptr_nonnull(strstr(s.degraded, "; and 4 more"));
	for (int i = 0; i < 12; i++)
		dies(c[i]);
	ck_assert_ptr_null(s.degraded);
}
END_TEST

/* What dies at once is killed once, and nothing is said of it. */
START_TEST(most_die_at_once)
{
	struct child *c;

	undying = false;
	child_kill(sleeper("worker", "plugins", &c));
	while (deaths == 0)
		children_reap(&s);
	pass(SPAN_S(60));
	ck_assert_uint_eq(kills, 1);
	ck_assert_ptr_null(s.degraded);
}
END_TEST

/* Its owner is gone: it is killed all the same. */
START_TEST(disowned)
{
	struct child *c;
	pid_t pid;

	sleeper("journal", "oz0-journal", &c);
	pid = child_pid(c);
	child_kill(c);
	child_disown(c);
	pass(SPAN_S(1));
	ck_assert_uint_eq(kills, 2);
	undying = false;
	pass(SPAN_S(1));
	while (children_count(&s) != 0)
		children_reap(&s);
	ck_assert_int_eq(kill(pid, 0), -1);
	ck_assert_int_eq(errno, ESRCH);
}
END_TEST

static Suite *
suite(void)
{
	Suite *su = suite_create("kill");
	TCase *t = tcase_create("kill");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, killed_again_with_backoff);
	tcase_add_test(t, degraded_until_the_last_has_died);
	tcase_add_test(t, many_are_named_and_counted);
	tcase_add_test(t, most_die_at_once);
	tcase_add_test(t, disowned);
	suite_add_tcase(su, t);
	return su;
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
