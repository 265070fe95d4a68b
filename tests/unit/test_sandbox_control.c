/*
 * The init's side of its control socket, against the real oz0-sandbox
 * ($OZ0_LIBEXEC): birth, start, signals, further commands, end, bad plans and
 * bad frames, and the end of the supervisor.
 *
 * Run by make check: as root under another uid (the helper's way), as an
 * ordinary user under its own.  Links libsandbox and libwire.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/filter.h"
#include "sandbox/launch.h"
#include "wire/chan.h"

#define UID_INSIDE 1879048200u
#define PATIENCE_MS 20000

struct box {
	struct chan *chan;
	struct launched child;
	int in;	 /* to the server's stdin */
	int out; /* from its stdout */
};

static int exe = -1;
static char lock_path[64];
static int alive = -1;

static struct plan *
new_plan(const char *script)
{
	const char *argv[] = {"sh", "-c", script, NULL};
	struct plan *p = plan_new();

	free(p->name);
	p->name = strdup("control");
	if (geteuid() == 0)
		p->uid = p->gid = UID_INSIDE;
	plan_add_base(p);
	plan_set_argv(p, argv);
	return p;
}

static void
send_plan(struct chan *chan, const char *text, size_t len, int in, int out)
{
	int filter = filter_server_memfd();
	int fds[] = {in, out, 2, filter};
	struct buf *b;

	ck_assert_int_ge(filter, 0);
	b = chan_begin(chan, WIRE_SANDBOX_PLAN);
	wire_put_u8(b, 1);
	ck_assert_int_eq(chan_end(chan, text, len, fds, 4), 0);
	ck_assert_int_eq(chan_flush(chan), 0);
	close(filter);
}

static void
start(struct box *box, const struct plan *p)
{
	CLEANUP(buf_free) struct buf text = {0};
	struct launch l = {
	    .plan = p, .exe = exe, .std = {-1, -1, -1}, .alive = alive};
	struct launch_fault fault;
	int sv[2], in[2], out[2];

	ck_assert_int_eq(fd_socketpair(sv), 0);
	ck_assert_int_eq(fd_pipe(in), 0);
	ck_assert_int_eq(fd_pipe(out), 0);
	box->chan = chan_new(
	    sv[0], WIRE_ROLE_SUPERVISOR, WIRE_ROLE_SANDBOX, PLAN_JSON_MAX);
	box->in = in[1];
	box->out = out[0];
	plan_encode(p, &text);
	send_plan(box->chan, buf_at(&text), buf_len(&text), in[0], out[1]);
	l.control = sv[1];
	ck_assert_msg(launch_sandbox(&l, &box->child, &fault) == 0, "%s: %s",
	    fault.act, strerror(fault.error));
	close(sv[1]);
	close(in[0]);
	close(out[1]);
}

/* The next frame, which must be of this type; NULL at the end of file. */
static struct chan_frame *
next(struct box *box)
{
	struct chan_frame *frame;
	const char *why = "";

	for (;;) {
		struct pollfd p = {chan_fd(box->chan), POLLIN, 0};
		int r = chan_next(box->chan, &frame, &why);

		ck_assert_msg(r >= 0, "%s", why);
		if (r == 1)
			return frame;
		ck_assert_int_eq(poll(&p, 1, PATIENCE_MS), 1);
		r = chan_read(box->chan);
		if (r == 0 || r == -ECONNRESET)
			return NULL;
		ck_assert_int_gt(r, 0);
	}
}

static struct chan_frame *
expect(struct box *box, enum wire_type type)
{
	struct chan_frame *frame = next(box);

	ck_assert_ptr_nonnull(frame);
	if (frame->type == WIRE_SANDBOX_FAILED && type != WIRE_SANDBOX_FAILED) {
		char stage[32], text[600];

		wire_get_str(&frame->body, stage, sizeof(stage));
		wire_get_u32(&frame->body);
		wire_get_str(&frame->body, text, sizeof(text));
		ck_abort_msg("%s: %s", stage, text);
	}
	ck_assert_int_eq(frame->type, type);
	return frame;
}

static void
expect_born(struct box *box)
{
	struct chan_frame *frame;

	if (box->child.helper == 0)
		return;
	frame = expect(box, WIRE_SANDBOX_BORN);
	box->child.init = (pid_t)wire_get_u32(&frame->body);
	ck_assert(wire_get_end(&frame->body));
	ck_assert_uint_eq(frame->nfds, 1);
	box->child.init_pidfd = fd_steal(&frame->fds[0]);
	ck_assert_int_eq(
	    waitpid(box->child.helper, NULL, 0), box->child.helper);
}

static void
expect_started(struct box *box)
{
	struct chan_frame *frame;
	char missing[160];

	expect_born(box);
	frame = expect(box, WIRE_SANDBOX_STARTED);
	ck_assert_uint_eq(wire_get_u32(&frame->body), 2);
	wire_get_str(&frame->body, missing, sizeof(missing));
	ck_assert(wire_get_end(&frame->body));
	ck_assert_str_eq(missing, "");
}

static void
expect_exited(struct box *box, bool by_signal, uint32_t n, uint32_t id)
{
	struct chan_frame *frame = expect(box, WIRE_SANDBOX_EXITED);

	ck_assert_int_eq(wire_get_bool(&frame->body), by_signal);
	ck_assert_uint_eq(wire_get_u32(&frame->body), n);
	ck_assert_uint_eq(wire_get_u32(&frame->body), id);
	ck_assert(wire_get_end(&frame->body));
}

static void
expect_failed(struct box *box, const char *stage, const char *words)
{
	struct chan_frame *frame = expect(box, WIRE_SANDBOX_FAILED);
	char got_stage[32], text[600];

	wire_get_str(&frame->body, got_stage, sizeof(got_stage));
	wire_get_u32(&frame->body);
	wire_get_str(&frame->body, text, sizeof(text));
	ck_assert(wire_get_end(&frame->body));
	ck_assert_str_eq(got_stage, stage);
	ck_assert_msg(strstr(text, words) != NULL, "%s", text);
}

/* The init ends; it is our child whichever way it was born. */
static void
expect_end(struct box *box)
{
	struct pollfd p = {box->child.init_pidfd, POLLIN, 0};

	ck_assert_int_eq(poll(&p, 1, PATIENCE_MS), 1);
	ck_assert_int_eq(waitpid(box->child.init, NULL, 0), box->child.init);
	chan_free(box->chan);
	close(box->in);
	close(box->out);
	fd_close(&box->child.init_pidfd);
	fd_close(&box->child.helper_pidfd);
	/* nothing else was ours to reap */
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}

static void
expect_line(struct box *box, const char *want)
{
	char line[64] = {0};
	size_t n = 0;

	while (n < sizeof(line) - 1) {
		struct pollfd p = {box->out, POLLIN, 0};

		ck_assert_int_eq(poll(&p, 1, PATIENCE_MS), 1);
		if (read(box->out, line + n, 1) != 1 || line[n] == '\n')
			break;
		n++;
	}
	line[n] = '\0';
	ck_assert_str_eq(line, want);
}

static void
send_signal(struct box *box, int signo, bool all)
{
	struct buf *b = chan_begin(box->chan, WIRE_SANDBOX_SIGNAL);

	wire_put_u32(b, (uint32_t)signo);
	wire_put_u8(b, all);
	ck_assert_int_eq(chan_end(box->chan, NULL, 0, NULL, 0), 0);
	ck_assert_int_eq(chan_flush(box->chan), 0);
}

START_TEST(test_exit_code)
{
	struct plan *p = new_plan("exit 7");
	struct box box;

	start(&box, p);
	expect_started(&box);
	expect_exited(&box, false, 7, 0);
	expect_end(&box);
	plan_free(p);
}
END_TEST

/* stdin is a pipe that we hold: its end is seen, so nobody else holds one. */
START_TEST(test_stdin_end)
{
	struct plan *p = new_plan("cat; echo over");
	struct box box;

	start(&box, p);
	expect_started(&box);
	ck_assert_int_eq(write(box.in, "line\n", 5), 5);
	expect_line(&box, "line");
	fd_close(&box.in);
	expect_line(&box, "over");
	expect_exited(&box, false, 0, 0);
	expect_end(&box);
	plan_free(p);
}
END_TEST

START_TEST(test_signal_main)
{
	struct plan *p = new_plan("trap 'echo got; exit 3' TERM; echo ready; "
				  "while :; do read x; done");
	struct box box;

	start(&box, p);
	expect_started(&box);
	expect_line(&box, "ready");
	send_signal(&box, SIGTERM, false);
	expect_line(&box, "got");
	expect_exited(&box, false, 3, 0);
	expect_end(&box);
	plan_free(p);
}
END_TEST

START_TEST(test_signal_all)
{
	struct plan *p =
	    new_plan("(trap 'echo child; exit' TERM; echo ready; "
		     "while :; do read x; done) <&0 & trap '' TERM; wait");
	struct box box;

	start(&box, p);
	expect_started(&box);
	expect_line(&box, "ready");
	send_signal(&box, SIGTERM, true);
	expect_line(&box, "child");
	expect_exited(&box, false, 0, 0);
	expect_end(&box);
	plan_free(p);
}
END_TEST

START_TEST(test_killed)
{
	struct plan *p = new_plan("echo ready; read x");
	struct box box;

	start(&box, p);
	expect_started(&box);
	expect_line(&box, "ready");
	send_signal(&box, SIGKILL, false);
	expect_exited(&box, true, SIGKILL, 0);
	expect_end(&box);
	plan_free(p);
}
END_TEST

static void
spawn(struct box *box, uint32_t id, const char *text, int out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fds[] = {null, out, 2};
	struct buf *b = chan_begin(box->chan, WIRE_SANDBOX_SPAWN);

	wire_put_u32(b, id);
	wire_put_u8(b, 0);
	ck_assert_int_eq(chan_end(box->chan, text, strlen(text), fds, 3), 0);
	ck_assert_int_eq(chan_flush(box->chan), 0);
	close(null);
}

/* A further command is confined as the server is. */
START_TEST(test_spawn)
{
	struct plan *p = new_plan("echo ready; read x");
	int out[2];
	struct box box;
	char text[64] = {0};

	start(&box, p);
	expect_started(&box);
	expect_line(&box, "ready");
	ck_assert_int_eq(fd_pipe(out), 0);
	spawn(&box, 5,
	    "{\"argv\":[\"sh\",\"-c\",\"grep -c 0000000000000000 "
	    "/proc/self/status; exit 4\"]}",
	    out[1]);
	close(out[1]);
	ck_assert_int_gt(read(out[0], text, sizeof(text) - 1), 0);
	ck_assert_int_ge(atoi(text), 5);
	expect_exited(&box, false, 4, 5);
	close(out[0]);
	spawn(&box, 6, "{\"argv\":[\"no-such-command\"]}", 2);
	expect_failed(&box, "exec", "no-such-command");
	fd_close(&box.in);
	expect_exited(&box, false, 1, 0);
	expect_end(&box);
	plan_free(p);
}
END_TEST

START_TEST(test_exec_fails)
{
	static const char *const argv[] = {"no-such-command", NULL};
	struct plan *p = new_plan("");
	struct box box;

	plan_set_argv(p, argv);
	start(&box, p);
	expect_born(&box);
	expect_failed(&box, "exec", "no-such-command not found in PATH=");
	expect_end(&box);
	plan_free(p);
}
END_TEST

START_TEST(test_stage_fails)
{
	struct plan *p = new_plan("");
	struct box box;

	plan_add_mount(p, PLAN_BIND_RO, "/no/such", "/x", 0, false);
	start(&box, p);
	expect_born(&box);
	expect_failed(&box, "sources", "/no/such");
	expect_end(&box);
	plan_free(p);
}
END_TEST

/* A message of another kind is an attack or a bug: the init ends. */
START_TEST(test_second_plan)
{
	struct plan *p = new_plan("echo ready; read x");
	struct box box;

	start(&box, p);
	expect_started(&box);
	expect_line(&box, "ready");
	send_plan(box.chan, "{}", 2, 0, 1);
	ck_assert_ptr_null(next(&box));
	expect_end(&box);
	plan_free(p);
}
END_TEST

/* The supervisor's end is closed: nothing is left. */
START_TEST(test_supervisor_gone)
{
	struct plan *p = new_plan("setsid sh -c 'echo ready; read x' <&0 & "
				  "trap '' TERM HUP; read x <&0; wait");
	struct box box;
	struct pollfd end;
	char c;

	start(&box, p);
	expect_started(&box);
	expect_line(&box, "ready");
	ck_assert_int_eq(shutdown(chan_fd(box.chan), SHUT_WR), 0);
	end = (struct pollfd){box.child.init_pidfd, POLLIN, 0};
	ck_assert_int_eq(poll(&end, 1, 1000), 1);
	ck_assert_int_eq(read(box.out, &c, 1), 0);
	expect_end(&box);
	plan_free(p);
}
END_TEST

static bool
is_locked(void)
{
	int fd = open(lock_path, O_RDONLY | O_CLOEXEC);
	bool taken = flock(fd, LOCK_EX | LOCK_NB) < 0;

	close(fd);
	return taken;
}

/* The init alone keeps the lock, and only as long as it lives. */
START_TEST(test_alive)
{
	struct plan *p = new_plan("[ -e /proc/self/fd/4 ] && echo leaked; "
				  "echo ready; read x");
	struct box box;

	alive = open(lock_path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(alive, LOCK_EX), 0);
	start(&box, p);
	fd_close(&alive);
	expect_started(&box);
	expect_line(&box, "ready");
	ck_assert(is_locked());
	send_signal(&box, SIGKILL, true);
	expect_exited(&box, true, SIGKILL, 0);
	expect_end(&box);
	ck_assert(!is_locked());
	plan_free(p);
}
END_TEST

int
main(void)
{
	const char *libexec = getenv("OZ0_LIBEXEC");
	CLEANUP_FREE char *path =
	    mem_printf("%s/oz0-sandbox", libexec != NULL ? libexec : ".");
	Suite *s = suite_create("sandbox_control");
	TCase *t = tcase_create("control");
	SRunner *r = srunner_create(s);
	int failed, fd;

	exe = open(path, O_RDONLY | O_CLOEXEC);
	strcpy(lock_path, "/tmp/oz0-alive.XXXXXX");
	fd = mkstemp(lock_path);
	if (exe < 0 || fd < 0) {
		perror(path);
		return 99;
	}
	close(fd);
	suite_add_tcase(s, t);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_exit_code);
	tcase_add_test(t, test_stdin_end);
	tcase_add_test(t, test_signal_main);
	tcase_add_test(t, test_signal_all);
	tcase_add_test(t, test_killed);
	tcase_add_test(t, test_spawn);
	tcase_add_test(t, test_exec_fails);
	tcase_add_test(t, test_stage_fails);
	tcase_add_test(t, test_second_plan);
	tcase_add_test(t, test_supervisor_gone);
	tcase_add_test(t, test_alive);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	unlink(lock_path);
	close(exe);
	return failed != 0;
}
