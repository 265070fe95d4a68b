/*
 * The control socket as a socket: who wins it, who may open it, and what a
 * service manager hands over and is told.  What goes through it is in
 * test_control_load.c.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "supervisor/control_internal.h"
#include "tests/unit/control_fake.h"

static struct fake_node *n;

static void
setup(void)
{
	n = fake_new(NULL);
}

static void
teardown(void)
{
	fake_free(n);
}

static void
start(void)
{
	ck_assert_int_eq(control_start(&n->s), 0);
}

/* ---- whose socket it is ---- */

static void
socket_path(char out[108])
{
	snprintf(out, 108, "%s/s", n->dir);
}

/* A socket file that nobody listens on. */
static void
leave_stale(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	socket_path(a.sun_path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	close(fd);
}

START_TEST(stale_is_replaced)
{
	struct client c;
	struct stat st;
	char path[108];

	leave_stale();
	start();
	client_open(n, &c);
	client_works(&c);
	client_close(&c);
	socket_path(path);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	control_stop(&n->s);
	ck_assert_int_eq(stat(path, &st), -1);
}
END_TEST

START_TEST(live_is_not_replaced)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	socket_path(a.sun_path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	ck_assert_int_eq(listen(fd, 5), 0);
	ck_assert_int_eq(control_start(&n->s), -EADDRINUSE);
	ck_assert_int_eq(access(a.sun_path, F_OK), 0);
	close(fd);
	unlink(a.sun_path);
}
END_TEST

START_TEST(other_files_are_left)
{
	char path[108];
	int fd;

	socket_path(path);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_eq(control_start(&n->s), -EEXIST);
	ck_assert_int_eq(access(path, F_OK), 0);
	close(fd);
	unlink(path);
}
END_TEST

/* B205: of 20 starters on a stale socket one wins, and keeps it. */
START_TEST(twenty_starters)
{
	int go[2], said[2], won = 0, lost = 0;
	struct client c;
	char word, path[108];
	pid_t pids[20];

	leave_stale();
	ck_assert_int_eq(pipe(go), 0);
	ck_assert_int_eq(pipe(said), 0);
	for (int i = 0; i < 20; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			close(go[1]);
			/* until all are there */
			if (read(go[0], &word, 1) != 0)
				_exit(1);
			word = control_start(&n->s) == 0 ? 'w' : 'l';
			if (write(said[1], &word, 1) != 1)
				_exit(1);
			while (word == 'w')
				fake_turn(n);
			_exit(0);
		}
	}
	close(go[1]);
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(read(said[0], &word, 1), 1);
		won += word == 'w';
		lost += word == 'l';
	}
	ck_assert_int_eq(won, 1);
	ck_assert_int_eq(lost, 19);
	/* and it can be reached */
	client_open(n, &c);
	ck_assert_int_eq(
	    send(c.fd, HELLO "\n", sizeof(HELLO), MSG_NOSIGNAL), sizeof(HELLO));
	fcntl(c.fd, F_SETFL, 0);
	ck_assert_int_eq(recv(c.fd, &word, 1, 0), 1);
	client_close(&c);
	for (int i = 0; i < 20; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	close(go[0]);
	close(said[0]);
	close(said[1]);
	socket_path(path);
	unlink(path);
}
END_TEST

/* B206, B207 */
START_TEST(long_path)
{
	char path[200];

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[108] = '\0';
	free(n->s.conf->socket);
	n->s.conf->socket = mem_strdup(path);
	ck_assert_int_eq(control_start(&n->s), -ENAMETOOLONG);
}
END_TEST

START_TEST(modes)
{
	struct stat st;
	char path[108];

	start();
	socket_path(path);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	n->s.conf->schedulers.uids = mem_array(1, sizeof(uid_t));
	n->s.conf->schedulers.uids[0] = 12345;
	n->s.conf->schedulers.nuids = 1;
	control_reload(&n->s);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0666);
}
END_TEST

/* In a process of its own, where descriptor 3 can be had. */
START_TEST(listen_fds)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int status;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		struct client c;
		char text[20];
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		socket_path(a.sun_path);
		if (bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 ||
		    listen(fd, 5) != 0 || dup2(fd, 3) != 3)
			_exit(2);
		snprintf(text, sizeof(text), "%d", (int)getpid());
		setenv("LISTEN_PID", text, 1);
		setenv("LISTEN_FDS", "1", 1);
		if (control_start(&n->s) != 0 || n->s.control->listener != 3 ||
		    getenv("LISTEN_FDS") != NULL)
			_exit(3);
		if ((fcntl(3, F_GETFD) & FD_CLOEXEC) == 0)
			_exit(4);
		client_open(n, &c);
		client_works(&c);
		control_stop(&n->s);
		/* the manager's: not ours to remove */
		_exit(access(a.sun_path, F_OK) == 0 ? 0 : 5);
	}
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	socket_path(a.sun_path);
	unlink(a.sun_path);
	pid = fork();
	if (pid == 0) {
		char text[20];
		int p[2];

		snprintf(text, sizeof(text), "%d", (int)getpid());
		setenv("LISTEN_PID", text, 1);
		setenv("LISTEN_FDS", "1", 1);
		if (pipe(p) != 0 || dup2(p[0], 3) != 3)
			_exit(2);
		_exit(control_start(&n->s) == -EINVAL ? 0 : 3);
	}
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* ---- what a service manager is told ---- */

static int
manager(const char *name)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t len =
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	memcpy(a.sun_path, name, strlen(name));
	if (name[0] == '@')
		a.sun_path[0] = '\0';
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, len), 0);
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

static void
told(int fd, const char *begin)
{
	char text[500];
	ssize_t k = recv(fd, text, sizeof(text) - 1, 0);

	ck_assert_int_gt(k, 0);
	text[k] = '\0';
	ck_assert_msg(strncmp(text, begin, strlen(begin)) == 0, "%s", text);
}

START_TEST(notifications)
{
	char name[108];
	int fd;

	unsetenv("NOTIFY_SOCKET");
	notify_ready(&n->s); /* nobody to tell, and no control yet */
	start();
	snprintf(name, sizeof(name), "@oz0-test-%d", (int)getpid());
	fd = manager(name);
	notify_ready(&n->s);
	told(fd, "READY=1");
	told(fd, "STATUS=ready: 0 jobs, 0 calls running, 0 queued");
	notify_status(&n->s);
	notify_status(&n->s); /* at most one a second */
	ck_assert_int_eq(recv(fd, name, 1, 0), -1);
	close(fd);
	snprintf(name, sizeof(name), "%s/n", n->dir);
	fd = manager(name);
	notify_reloading(&n->s);
	told(fd, "RELOADING=1\nMONOTONIC_USEC=");
	notify_stopping(&n->s);
	told(fd, "STOPPING=1");
	setenv("WATCHDOG_USEC", "20000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	notify_start_watchdog(&n->s);
	ck_assert_int_eq(recv(fd, name, 1, 0), -1);
	unsetenv("WATCHDOG_PID");
	notify_start_watchdog(&n->s);
	told(fd, "WATCHDOG=1");
	for (int i = 0; i < 2; i++) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		while (poll(&p, 1, 1) == 0)
			fake_turn(n);
		told(fd, "WATCHDOG=1");
	}
	close(fd);
	snprintf(name, sizeof(name), "%s/n", n->dir);
	unlink(name);
}
END_TEST

static Suite *
suite(void)
{
	const struct {
		const char *name;
		const TTest *test;
	} tests[] = {{"stale", stale_is_replaced},
	    {"live", live_is_not_replaced},
	    {"other files", other_files_are_left},
	    {"twenty starters", twenty_starters}, {"long path", long_path},
	    {"modes", modes}, {"LISTEN_FDS", listen_fds},
	    {"notifications", notifications}};
	Suite *s = suite_create("control socket");

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		TCase *t = tcase_create(tests[i].name);

		tcase_add_checked_fixture(t, setup, teardown);
		tcase_set_timeout(t, 30);
		tcase_add_test(t, tests[i].test);
		suite_add_tcase(s, t);
	}
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
	return failed == 0 ? 0 : 1;
}
