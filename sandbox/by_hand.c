/*
 * oz0-sandbox as its own supervisor: `oz0-sandbox --plan FILE`.
 *
 * For debugging and tests: it starts the init as oz0d does, over the same
 * messages, passes signals on, and ends as the command ended.
 */
#include "sandbox/by_hand.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fatal.h"
#include "base/log.h"
#include "sandbox/filter.h"
#include "sandbox/launch.h"
#include "wire/chan.h"

enum { CODE_NOT_EXECUTABLE = 126, CODE_NOT_FOUND = 127 };

struct by_hand {
	struct chan *chan;
	struct launched child;
	int signals;
	int code; /* -1: not known yet */
};

static void
send_plan(struct by_hand *h, const struct plan *p)
{
	CLEANUP(buf_free) struct buf text = {0};
	CLEANUP_CLOSE int filter = -1;
	int fds[4] = {0, 1, 2, -1};
	struct buf *b;
	int r;

	if (p->seccomp) {
		filter = filter_server_memfd();
		if (filter < 0)
			fatalx(EXIT_CODE_WRAPPER, "make the seccomp filter: %s",
			    strerror(-filter));
		fds[3] = filter;
	}
	plan_encode(p, &text);
	b = chan_begin(h->chan, WIRE_SANDBOX_PLAN);
	wire_put_u8(b, filter >= 0);
	r = chan_end(
	    h->chan, buf_at(&text), buf_len(&text), fds, filter >= 0 ? 4 : 3);
	if (r == 0)
		r = chan_flush(h->chan);
	if (r < 0)
		fatalx(EXIT_CODE_WRAPPER, "send the plan: %s", strerror(-r));
}

static void
start(struct by_hand *h, const struct plan *p)
{
	CLEANUP_CLOSE int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP_CLOSE int theirs = -1;
	struct launch_fault fault;
	struct launch l = {.plan = p, .std = {-1, -1, -1}, .alive = -1};
	int sv[2];
	int r;

	if (exe < 0)
		fatal(EXIT_CODE_WRAPPER, "open /proc/self/exe");
	r = fd_socketpair(sv);
	if (r < 0)
		fatalx(EXIT_CODE_WRAPPER, "socketpair: %s", strerror(-r));
	theirs = sv[1];
	h->chan = chan_new(
	    sv[0], WIRE_ROLE_SUPERVISOR, WIRE_ROLE_SANDBOX, PLAN_JSON_MAX);
	send_plan(h, p);
	l.exe = exe;
	l.control = theirs;
	if (launch_sandbox(&l, &h->child, &fault) < 0)
		fatalx(EXIT_CODE_WRAPPER, "%s: %s", fault.act,
		    strerror(fault.error));
}

static void
got_failed(struct by_hand *h, struct chan_frame *frame)
{
	char stage[32], text[600];
	uint32_t error;

	wire_get_str(&frame->body, stage, sizeof(stage));
	error = wire_get_u32(&frame->body);
	wire_get_str(&frame->body, text, sizeof(text));
	if (!wire_get_end(&frame->body))
		fatalx(EXIT_CODE_WRAPPER, "a bad message from the init");
	log_error("%s: %s", stage, text);
	if (strcmp(stage, "exec") != 0)
		h->code = EXIT_CODE_WRAPPER;
	else
		h->code =
		    error == ENOENT ? CODE_NOT_FOUND : CODE_NOT_EXECUTABLE;
}

static void
got_born(struct by_hand *h, struct chan_frame *frame)
{
	h->child.init = (pid_t)wire_get_u32(&frame->body);
	if (!wire_get_end(&frame->body))
		fatalx(EXIT_CODE_WRAPPER, "a bad message from the helper");
	h->child.init_pidfd = fd_steal(&frame->fds[0]);
}

static void
got_started(struct chan_frame *frame)
{
	char missing[160];

	(void)wire_get_u32(&frame->body);
	wire_get_str(&frame->body, missing, sizeof(missing));
	if (wire_get_end(&frame->body) && missing[0] != '\0')
		log_warning("left out: %s", missing);
}

static void
got_exited(struct by_hand *h, struct chan_frame *frame)
{
	bool by_signal = wire_get_bool(&frame->body);
	uint32_t n = wire_get_u32(&frame->body);

	(void)wire_get_u32(&frame->body);
	if (!wire_get_end(&frame->body))
		fatalx(EXIT_CODE_WRAPPER, "a bad message from the init");
	h->code = (int)(by_signal ? 128 + n : n);
}

static void
handle(struct by_hand *h, struct chan_frame *frame)
{
	switch (frame->type) {
	case WIRE_SANDBOX_FAILED:
		got_failed(h, frame);
		break;
	case WIRE_SANDBOX_BORN:
		got_born(h, frame);
		break;
	case WIRE_SANDBOX_STARTED:
		got_started(frame);
		break;
	case WIRE_SANDBOX_EXITED:
		got_exited(h, frame);
		break;
	default:
		fatalx(
		    EXIT_CODE_WRAPPER, "an unexpected message from the init");
	}
}

/* false at the end of file: the init is gone or going. */
static bool
read_frames(struct by_hand *h)
{
	struct chan_frame *frame;
	const char *why;
	int got = chan_read(h->chan);
	int r;

	while ((r = chan_next(h->chan, &frame, &why)) > 0)
		handle(h, frame);
	if (r < 0)
		fatalx(EXIT_CODE_WRAPPER, "the init broke the rules: %s", why);
	return got > 0 || got == -EAGAIN;
}

static void
pass_signal(struct by_hand *h)
{
	struct signalfd_siginfo info;
	struct buf *b;

	if (read(h->signals, &info, sizeof(info)) != sizeof(info))
		return;
	b = chan_begin(h->chan, WIRE_SANDBOX_SIGNAL);
	wire_put_u32(b, info.ssi_signo);
	wire_put_u8(b, 0);
	if (chan_end(h->chan, NULL, 0, NULL, 0) == 0)
		(void)chan_flush(h->chan);
}

static void
catch_signals(struct by_hand *h)
{
	static const int passed[] = {
	    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		sigaddset(&set, passed[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	h->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (h->signals < 0)
		fatal(EXIT_CODE_WRAPPER, "signalfd");
	signal(SIGPIPE, SIG_IGN);
}

static void
reap(struct by_hand *h)
{
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	fd_close(&h->child.init_pidfd);
	fd_close(&h->child.helper_pidfd);
	fd_close(&h->signals);
	chan_free(h->chan);
}

int
by_hand_run(const struct plan *p)
{
	struct by_hand h = {.code = -1};
	bool open = true;

	catch_signals(&h);
	start(&h, p);
	while (open) {
		struct pollfd fds[] = {
		    {chan_fd(h.chan), POLLIN, 0},
		    {h.signals, POLLIN, 0},
		};

		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents != 0)
			pass_signal(&h);
		if (fds[0].revents != 0)
			open = read_frames(&h);
	}
	/* the init's end is the proof that nothing of it is left */
	reap(&h);
	if (h.code < 0)
		log_error("the init was killed");
	return h.code < 0 ? EXIT_CODE_WRAPPER : h.code;
}
