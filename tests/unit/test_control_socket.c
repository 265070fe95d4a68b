/*
 * The control socket as a socket: who wins it, how much a peer can make the
 * node hold, events to subscribers that are quick, slow or gone, and what a
 * service manager is told.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
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

#define HELLO "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"node/hello\"}"
#define STATUS "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"node/status\"}\n"

static void
start(void)
{
	ck_assert_int_eq(control_start(&n->s), 0);
}

static void
works(struct client *c)
{
	const char *got = client_ask(c, HELLO);

	ck_assert_ptr_nonnull(got);
	ck_assert_ptr_nonnull(strstr(got, "\"role\":\"admin\""));
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
	works(&c);
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
		works(&c);
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

/* ---- lines and bounds ---- */

START_TEST(pieces)
{
	const char *line = HELLO "\r\n\n   \n" HELLO "\n";
	struct client c;

	start();
	client_open(n, &c);
	for (const char *p = line; *p != '\0'; p++) {
		ck_assert_int_eq(send(c.fd, p, 1, MSG_NOSIGNAL), 1);
		fake_turn(n);
	}
	ck_assert_ptr_nonnull(strstr(client_line(&c), "\"id\":1"));
	ck_assert_ptr_nonnull(strstr(client_line(&c), "\"id\":1"));
	ck_assert(!client_quiet(&c));
	client_close(&c);
}
END_TEST

/* B056: an error that says so, then the connection is closed. */
START_TEST(line_too_long)
{
	size_t max = (64 << 10) + CONN_LINE_SLACK, have = 0;
	char *junk = mem_alloc(max + 2);
	struct client c;
	const char *got;

	n->s.conf->max_message = 64 << 10;
	start();
	client_open(n, &c);
	memset(junk, ' ', max);
	junk[max] = '\0';
	/* as long as may be, and blank: nothing to answer */
	client_send(&c, junk);
	client_send(&c, "\n");
	works(&c);
	memset(junk, 'x', max + 1);
	while (have < max + 1) {
		ssize_t k =
		    send(c.fd, junk + have, max + 1 - have, MSG_NOSIGNAL);

		if (k > 0)
			have += (size_t)k;
		else
			fake_turn(n);
	}
	got = client_line(&c);
	ck_assert_ptr_nonnull(strstr(got, "-32600"));
	ck_assert_ptr_null(client_line(&c));
	client_close(&c);
	free(junk);
}
END_TEST

/* A client that says all it has to say and waits for the answers. */
START_TEST(half_close)
{
	struct client c;

	start();
	client_open(n, &c);
	client_send(&c, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":"
			"\"call/start\",\"params\":{\"function\":"
			"\"shared.hold\"}}\n" HELLO "\n{\"half");
	shutdown(c.fd, SHUT_WR);
	ck_assert_ptr_nonnull(strstr(client_line(&c), "\"id\":1"));
	ck_assert(!client_quiet(&c));
	ck_assert(!c.closed);
	fake_release(n);
	ck_assert_ptr_nonnull(strstr(client_line(&c), "\"id\":7"));
	ck_assert_ptr_null(client_line(&c));
	client_close(&c);
}
END_TEST

/* A connection that breaks cancels nothing; the same call joins it. */
START_TEST(broken_connection)
{
#define HOLD                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"call/start\","             \
	"\"params\":{\"job\":\"j\",\"activity\":\"a\",\"function\":"           \
	"\"shared.hold\"}}\n"
	struct client c;

	start();
	client_open(n, &c);
	client_ask(&c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
		       "\"job/start\",\"params\":{\"job\":\"j\"}}");
	client_send(&c, HOLD);
	ck_assert(!client_quiet(&c));
	client_close(&c);
	for (int i = 0; i < 5; i++)
		fake_turn(n);
	client_open(n, &c);
	client_send(&c, HOLD);
	ck_assert(!client_quiet(&c));
	ck_assert_uint_eq(n->s.last_call, 1);
	fake_release(n);
	ck_assert_ptr_nonnull(strstr(client_line(&c), "\"call\":\"c1\""));
	client_close(&c);
}
END_TEST

/* Answers that are not read: the peer waits, others do not, none is lost. */
START_TEST(answers_not_read)
{
	enum { COUNT = 4000 };
	struct client slow, quick;
	size_t held;

	start();
	client_open(n, &slow);
	client_open(n, &quick);
	fcntl(slow.fd, F_SETFL, O_NONBLOCK);
	for (int i = 0, stuck = 0; i < COUNT;) {
		ssize_t k = send(slow.fd, STATUS, sizeof(STATUS) - 1, 0);

		if (k == (ssize_t)sizeof(STATUS) - 1) {
			i++;
			stuck = 0;
		} else {
			ck_assert_int_lt(k, 0);
			fake_turn(n);
			if (++stuck > 20)
				break; /* it is not read from any more */
		}
	}
	for (int i = 0; i < 50; i++)
		fake_turn(n);
	held = n->s.control->bytes;
	ck_assert_uint_gt(held, CONN_OUT_PAUSE);
	ck_assert_uint_lt(held, 2 * CONN_OUT_PAUSE);
	works(&quick);
	/* now it reads: every request that it wrote is answered */
	shutdown(slow.fd, SHUT_WR);
	held = 0;
	while (client_line(&slow) != NULL)
		held++;
	ck_assert_uint_gt(held, 1000);
	fake_turn(n);
	client_close(&slow);
	client_close(&quick);
}
END_TEST

/* B210 */
START_TEST(half_lines)
{
	struct rlimit l = {4096, 4096};
	enum { COUNT = 1500 };
	int fds[COUNT];
	struct client busy, late;

	getrlimit(RLIMIT_NOFILE, &l);
	if (l.rlim_max < 4096)
		return;
	l.rlim_cur = 4096;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &l), 0);
	start();
	n->s.control->max_conns = 200;
	n->s.control->max_per_uid = 150;
	client_open(n, &busy);
	client_send(&busy, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":"
			   "\"call/start\",\"params\":{\"function\":"
			   "\"shared.hold\"}}\n");
	ck_assert(!client_quiet(&busy));
	for (int i = 0; i < COUNT; i++) {
		struct client c;

		client_open(n, &c);
		fds[i] = c.fd;
		send(c.fd, HELLO, 20, MSG_NOSIGNAL);
		fake_turn(n);
		ck_assert_uint_le(n->s.control->nconns, 150);
	}
	client_open(n, &late);
	works(&late);
	/* one that waits for an answer is not idle */
	fake_release(n);
	ck_assert_ptr_nonnull(strstr(client_line(&busy), "\"id\":7"));
	for (int i = 0; i < COUNT; i++)
		close(fds[i]);
	client_close(&late);
	client_close(&busy);
}
END_TEST

/* L9.6: over the budget calls wait, other requests do not. */
START_TEST(budget)
{
	struct client c, other;

	n->s.conf->message_budget = 1 << 20;
	start();
	client_open(n, &c);
	client_open(n, &other);
	works(&c);
	n->s.payload_bytes += 2 << 20;
	fake_turn(n);
	client_send(&c, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":"
			"\"call/start\",\"params\":{\"function\":"
			"\"shared.echo\"}}\n");
	ck_assert(!client_quiet(&c));
	ck_assert_uint_eq(n->s.last_call, 0);
	works(&other);
	n->s.payload_bytes -= 2 << 20;
	ck_assert_ptr_nonnull(strstr(client_line(&c), "\"id\":7"));
	client_close(&c);
	client_close(&other);
}
END_TEST

/* ---- events ---- */

#define SUBSCRIBE                                                              \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"                            \
	"\"events/subscribe\",\"params\":{\"since\":%llu}}"

static uint64_t
event_seq(const char *line)
{
	struct json_value v;
	struct json_fault f;
	uint64_t seq = 0;

	ck_assert(json_check(line, strlen(line), &v, &f));
	ck_assert(json_string_is(json_member(v, "method"), "event"));
	ck_assert(
	    json_to_uint64(json_member(json_member(v, "params"), "seq"), &seq));
	return seq;
}

static void
subscribe(struct client *c, unsigned long long since)
{
	char line[200];

	snprintf(line, sizeof(line), SUBSCRIBE, since);
	ck_assert_ptr_nonnull(strstr(client_ask(c, line), "\"result\""));
}

/* Each once and in order, from the journal, from memory, and live. */
static void
missed(unsigned steps, bool from_journal)
{
	uint64_t seq = 3;
	struct client c;

	start();
	fake_steps(n, steps);
	fake_turn(n);
	client_open(n, &c);
	subscribe(&c, 3);
	for (unsigned i = 0; i < 100; i++) {
		ck_assert_uint_eq(event_seq(client_line(&c)), seq + 1);
		seq++;
	}
	fake_steps(n, 50); /* while it is still catching up */
	while (seq < record_last_seq(&n->s)) {
		ck_assert_uint_eq(event_seq(client_line(&c)), seq + 1);
		seq++;
	}
	fake_steps(n, 1);
	ck_assert_uint_eq(event_seq(client_line(&c)), seq + 1);
	ck_assert_int_eq(n->queries > 0, from_journal);
	ck_assert(!client_quiet(&c));
	client_close(&c);
}

START_TEST(missed_recent)
{
	missed(1000, false);
}
END_TEST

START_TEST(missed_long_ago)
{
	missed(12000, true);
}
END_TEST

START_TEST(missed_and_no_journal)
{
	struct client c;

	start();
	fake_steps(n, 12000);
	n->journal_broken = true;
	client_open(n, &c);
	subscribe(&c, 0);
	ck_assert_ptr_null(client_line(&c)); /* never with a gap */
	client_close(&c);
}
END_TEST

START_TEST(since_of_another_life)
{
	struct client c;
	char line[200];

	start();
	client_open(n, &c);
	snprintf(line, sizeof(line), SUBSCRIBE, 1000ULL);
	ck_assert_ptr_nonnull(strstr(client_ask(&c, line), "-32602"));
	client_close(&c);
}
END_TEST

/* B208, B209 */
START_TEST(slow_subscriber)
{
	struct client slow, quick;
	struct call call = {.number = 1, .progress = 1};
	struct job job = {.name = (char *)"j"};
	uint64_t seq;

	start();
	client_open(n, &slow);
	client_open(n, &quick);
	subscribe(&slow, 0);
	subscribe(&quick, 0);
	seq = record_last_seq(&n->s);
	/* progress alone never drops anybody */
	call.job = &job;
	for (int i = 0; i < 100000; i++)
		control_progress(&n->s, &call);
	fake_turn(n);
	ck_assert_uint_eq(n->s.control->nconns, 2);
	ck_assert_uint_lt(n->s.control->bytes, 4 << 20);
	while (client_quiet(&quick))
		client_line(&quick);
	for (int i = 0; i < 60 && n->s.control->nconns == 2; i++) {
		fake_steps(n, 1000);
		while (seq < record_last_seq(&n->s))
			ck_assert_uint_eq(
			    event_seq(client_line(&quick)), ++seq);
	}
	ck_assert_uint_eq(n->s.control->nconns, 1);
	ck_assert_uint_lt(n->s.control->bytes, 1 << 20);
	while (client_line(&slow) != NULL)
		;
	client_close(&slow);
	client_close(&quick);
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
	    {"modes", modes}, {"LISTEN_FDS", listen_fds}, {"pieces", pieces},
	    {"line too long", line_too_long}, {"half close", half_close},
	    {"broken connection", broken_connection},
	    {"answers not read", answers_not_read}, {"half lines", half_lines},
	    {"budget", budget}, {"missed, recent", missed_recent},
	    {"missed, long ago", missed_long_ago},
	    {"missed, no journal", missed_and_no_journal},
	    {"since", since_of_another_life},
	    {"slow subscriber", slow_subscriber},
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
