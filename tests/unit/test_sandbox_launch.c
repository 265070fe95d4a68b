/*
 * Starting programs by descriptor: what they find, and what is left behind
 * when they cannot be started; and the probe of the machine.
 *
 * Run by make check.  The program started is this one: with an argument it
 * says what it found on its socket.
 */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "sandbox/launch.h"
#include "sandbox/probe.h"

#define ALIVE_AT 77

extern char **environ;

/* The program's side: descriptors, signals, environment, in one line. */
static int
report(void)
{
	char line[512] = "fds";
	struct sigaction sa;
	sigset_t mask;
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	size_t n = 3;
	int open_fds[256] = {0};
	bool ignored = false, blocked = false;

	while (d != NULL && (e = readdir(d)) != NULL) {
		int fd = atoi(e->d_name);

		if (e->d_name[0] != '.' && fd != dirfd(d) && fd < 256)
			open_fds[fd] = 1;
	}
	if (d != NULL)
		closedir(d);
	for (int i = 0; i < 256; i++)
		if (open_fds[i])
			n += (size_t)snprintf(
			    line + n, sizeof(line) - n, " %d", i);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	for (int sig = 1; sig < NSIG; sig++) {
		if (sigaction(sig, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN)
			ignored = true;
		if (sigismember(&mask, sig) == 1)
			blocked = true;
	}
	n += (size_t)snprintf(line + n, sizeof(line) - n,
	    " ignored %d blocked %d env %s", ignored, blocked,
	    environ[0] == NULL ? "" : environ[0]);
	return write(3, line, n) == (ssize_t)n ? 0 : 1;
}

static int
own_program(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static void
expect(int alive, const char *want)
{
	char word[] = "report", env[] = "A=b";
	char *argv[] = {word, word, NULL}, *envp[] = {env, NULL};
	char got[600] = {0};
	struct launch_fault fault;
	int exe = own_program();
	int leaked = open("/", O_RDONLY);
	int pidfd = -1, status, sv[2];
	pid_t pid = 0;

	ck_assert_int_eq(fd_socketpair(sv), 0);
	ck_assert_int_eq(fcntl(sv[0], F_SETFL, 0), 0);
	signal(SIGUSR1, SIG_IGN);
	ck_assert_int_eq(
	    launch_program(exe, argv, envp, sv[1],
		(const int[LAUNCH_KEEP]){-1, alive, -1}, &pid, &pidfd, &fault),
	    0);
	close(sv[1]);
	ck_assert_int_gt(read(sv[0], got, sizeof(got) - 1), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_str_eq(got, want);
	ck_assert_int_ge(pidfd, 0);
	close(pidfd);
	close(leaked);
	close(exe);
	close(sv[0]);
}

START_TEST(test_program)
{
	expect(-1, "fds 0 1 2 3 ignored 0 blocked 0 env A=b");
}
END_TEST

START_TEST(test_program_alive)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int alive = fcntl(fd, F_DUPFD_CLOEXEC, ALIVE_AT);

	ck_assert_int_eq(alive, ALIVE_AT);
	expect(alive, "fds 0 1 2 3 77 ignored 0 blocked 0 env A=b");
	close(alive);
	close(fd);
}
END_TEST

static int
count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

START_TEST(test_no_program)
{
	char *argv[] = {NULL};
	struct launch_fault fault = {NULL, 0};
	int exe = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	int pidfd = -1, sv[2];
	pid_t pid = 0;
	int before;

	ck_assert_int_eq(fd_socketpair(sv), 0);
	before = count_fds();
	ck_assert_int_eq(
	    launch_program(exe, argv, argv, sv[1],
		(const int[LAUNCH_KEEP]){-1, -1, -1}, &pid, &pidfd, &fault),
	    -EACCES);
	ck_assert_str_eq(fault.act, "exec");
	ck_assert_int_eq(fault.error, EACCES);
	ck_assert_int_eq(pid, 0);
	ck_assert_int_eq(count_fds(), before);
	/* no child is left, not even a dead one */
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
}
END_TEST

START_TEST(test_low_alive)
{
	char *argv[] = {NULL};
	struct launch_fault fault;
	int exe = own_program();
	int pidfd = -1, sv[2];
	pid_t pid;

	ck_assert_int_eq(fd_socketpair(sv), 0);
	ck_assert_int_eq(
	    launch_program(exe, argv, argv, sv[1],
		(const int[LAUNCH_KEEP]){3, -1, -1}, &pid, &pidfd, &fault),
	    -EINVAL);
}
END_TEST

/* uid 0 is refused, and so is another user's uid to an ordinary user. */
START_TEST(test_refused_user)
{
	struct plan *p = plan_new();
	struct launch l = {.plan = p, .std = {-1, -1, -1}, .alive = -1};
	struct launched out;
	struct launch_fault fault;

	l.exe = own_program();
	l.control = 0;
	p->uid = 0;
	ck_assert_int_eq(launch_sandbox(&l, &out, &fault), -EPERM);
	ck_assert_ptr_nonnull(strstr(fault.act, "refused"));
	if (geteuid() != 0) {
		p->uid = geteuid() + 1;
		p->gid = getegid();
		ck_assert_int_eq(launch_sandbox(&l, &out, &fault), -EPERM);
		ck_assert_str_eq(fault.act, "run as another user");
	}
	plan_free(p);
	close(l.exe);
}
END_TEST

START_TEST(test_probe)
{
	struct probe_result p;
	const struct probe_layer_result *missing;

	ck_assert_int_eq(probe_run(0, 0, &p), 0);
	missing = probe_first_missing(&p);
	for (size_t i = 0; i < PROBE_LAYERS; i++) {
		const struct probe_layer_result *l = &p.layers[i];

		ck_assert_ptr_nonnull(l->name);
		ck_assert_int_eq(l->ok, l->error == 0);
		/* a layer that is not there comes with act and remedy */
		ck_assert_int_eq(l->ok, l->act[0] == '\0');
		ck_assert_int_eq(l->ok, l->remedy[0] == '\0');
	}
	if (missing == NULL)
		ck_assert_int_gt(p.landlock_abi, 0);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

/* Under a filter that refuses it, a layer is found missing by trying it. */
START_TEST(test_probe_bites)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct probe_result p;
		int fd = open("/proc/sys/user/max_user_namespaces", O_WRONLY);

		/* our own user namespace: no further one in it */
		if (fd < 0 && errno != EACCES)
			_exit(10);
		close(fd);
		if (unshare(CLONE_NEWUSER) < 0)
			_exit(77);
		fd = open("/proc/sys/user/max_user_namespaces", O_WRONLY);
		if (fd < 0 || write(fd, "0", 1) != 1)
			_exit(11);
		if (probe_run(0, 0, &p) < 0)
			_exit(12);
		_exit(
		    p.layers[PROBE_USER_NAMESPACE].ok ||
			    p.layers[PROBE_USER_NAMESPACE].remedy[0] == '\0' ||
			    !p.layers[PROBE_SECCOMP].ok
			? 13
			: 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

int
main(int argc, char **argv)
{
	Suite *s;
	TCase *t;
	SRunner *r;
	int failed;

	if (argc > 1)
		return report();
	s = suite_create("sandbox_launch");
	t = tcase_create("launch");
	r = srunner_create(s);
	suite_add_tcase(s, t);
	tcase_add_test(t, test_program);
	tcase_add_test(t, test_program_alive);
	tcase_add_test(t, test_no_program);
	tcase_add_test(t, test_low_alive);
	tcase_add_test(t, test_refused_user);
	tcase_add_test(t, test_probe);
	tcase_add_test(t, test_probe_bites);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
