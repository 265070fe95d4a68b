/*
 * The init of a sandbox: takes the plan from its control socket, carries it
 * out, starts the server, and from then on reaps, signals and reports.
 *
 * Pid 1 of the sandbox's pid namespace; started by launch_sandbox().  While it
 * lives the sandbox does; when it ends the kernel kills all that is left in
 * it.  So it ends when its server has, and when the control socket says that
 * the supervisor is gone (getppid() is always 0 here, SESSION).
 */
#include "sandbox/init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "sandbox/launch.h"
#include "sandbox/server.h"
#include "sandbox/stages.h"
#include "sandbox/title.h"
#include "wire/chan.h"

#define SPAWNED_MAX 16
#define PATIENCE_MS 5000 /* for the supervisor to take the last word */

struct spawned {
	pid_t pid; /* 0: free */
	uint32_t id;
};

struct init {
	struct chan *chan;
	struct plan *plan;
	int std[3];
	struct stages stages;
	int signals;
	pid_t main;
	struct spawned spawned[SPAWNED_MAX];
};

/* The kernel kills what is left with us; kill() at once is for the eager. */
static void __attribute__((noreturn)) end(int code)
{
	kill(-1, SIGKILL);
	_exit(code);
}

static void
flush_or_end(struct init *in)
{
	for (;;) {
		struct pollfd p = {chan_fd(in->chan), POLLOUT, 0};
		int r = chan_flush(in->chan);

		if (r < 0 && r != -EAGAIN)
			end(1);
		if (!chan_pending(in->chan))
			return;
		if (poll(&p, 1, PATIENCE_MS) == 0)
			end(1);
	}
}

static void
send_fault(struct init *in, const struct sandbox_fault *f)
{
	struct buf *b = chan_begin(in->chan, WIRE_SANDBOX_FAILED);

	wire_put_str(b, f->stage);
	wire_put_u32(b, (uint32_t)f->error);
	wire_put_str(b, f->text);
	if (chan_end(in->chan, NULL, 0, NULL, 0) < 0)
		end(1);
	flush_or_end(in);
}

static void __attribute__((noreturn))
fail(struct init *in, const struct sandbox_fault *f)
{
	send_fault(in, f);
	end(1);
}

static void
send_exited(struct init *in, int status, uint32_t id)
{
	struct buf *b = chan_begin(in->chan, WIRE_SANDBOX_EXITED);
	bool by_signal = WIFSIGNALED(status);

	wire_put_u8(b, by_signal);
	wire_put_u32(
	    b, (uint32_t)(by_signal ? WTERMSIG(status) : WEXITSTATUS(status)));
	wire_put_u32(b, id);
	if (chan_end(in->chan, NULL, 0, NULL, 0) < 0)
		end(1);
	flush_or_end(in);
}

/* All that has ended: the main child is looked for among it, never assumed. */
static void
reap(struct init *in)
{
	bool over = false;
	int main_status = 0;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == in->main) {
			over = true;
			main_status = status;
		}
		for (size_t i = 0; i < SPAWNED_MAX; i++)
			if (in->spawned[i].pid == pid) {
				in->spawned[i].pid = 0;
				send_exited(in, status, in->spawned[i].id);
			}
	}
	if (!over)
		return;
	send_exited(in, main_status, 0);
	end(0);
}

static void
take_std(struct chan_frame *frame, int std[3])
{
	for (int i = 0; i < 3; i++)
		std[i] = fd_steal(&frame->fds[i]);
}

static void
close_std(int std[3])
{
	for (int i = 0; i < 3; i++)
		fd_close(&std[i]);
}

static void
spawn(struct init *in, struct chan_frame *frame)
{
	struct sandbox_fault f = {.stage = "spawn"};
	struct plan_command command = {0};
	struct server server;
	int std[3] = {-1, -1, -1};
	const char *why;
	uint32_t id = wire_get_u32(&frame->body);
	bool tty = wire_get_bool(&frame->body);
	size_t slot = 0;

	if (!wire_get_end(&frame->body) || id == 0)
		end(1);
	take_std(frame, std);
	while (slot < SPAWNED_MAX && in->spawned[slot].pid != 0)
		slot++;
	if (slot == SPAWNED_MAX) {
		sandbox_fault_set(&f, EAGAIN, "too many commands at once");
		send_fault(in, &f);
		goto out;
	}
	if (plan_command_decode(frame->payload, frame->payload_len, in->plan,
		&command, &why) < 0) {
		sandbox_fault_set(&f, EINVAL, "%s", why);
		send_fault(in, &f);
		goto out;
	}
	server = (struct server){
	    .argv = command.argv,
	    .envp = command.envp,
	    .cwd = command.cwd,
	    .std = std,
	    .tty = tty,
	    .ruleset = in->stages.ruleset,
	    .filter = in->stages.filter,
	};
	if (server_start(&server, &in->spawned[slot].pid, &f) < 0)
		send_fault(in, &f);
	in->spawned[slot].id = id;
	plan_command_clear(&command);
out:
	close_std(std);
}

static void
signal_server(struct init *in, struct chan_frame *frame)
{
	uint32_t signo = wire_get_u32(&frame->body);
	bool all = wire_get_bool(&frame->body);

	if (!wire_get_end(&frame->body) || signo == 0 || signo >= NSIG)
		end(1);
	if (all)
		kill(-1, (int)signo);
	else
		kill(in->main, (int)signo);
}

static void
handle(struct init *in, struct chan_frame *frame)
{
	switch (frame->type) {
	case WIRE_SANDBOX_SIGNAL:
		signal_server(in, frame);
		break;
	case WIRE_SANDBOX_SPAWN:
		spawn(in, frame);
		break;
	default: /* a second plan */
		end(1);
	}
}

/* The next frame, or NULL when there is none now; ends with the supervisor. */
static struct chan_frame *
next_frame(struct init *in)
{
	struct chan_frame *frame;
	const char *why;
	int r = chan_next(in->chan, &frame, &why);

	if (r < 0)
		end(1);
	return r == 0 ? NULL : frame;
}

static void
read_frames(struct init *in)
{
	int r = chan_read(in->chan);

	if (r == 0 || (r < 0 && r != -EAGAIN))
		end(1);
}

static void
take_plan(struct init *in, struct chan_frame *frame)
{
	struct sandbox_fault f = {.stage = "plan"};
	bool has_filter = wire_get_bool(&frame->body);
	const char *why;

	if (!wire_get_end(&frame->body) || frame->nfds < (has_filter ? 4u : 3u))
		end(1);
	take_std(frame, in->std);
	in->stages.filter = has_filter ? fd_steal(&frame->fds[3]) : -1;
	if (plan_decode(frame->payload, frame->payload_len, &in->plan, &why) <
	    0) {
		sandbox_fault_set(&f, EINVAL, "bad plan: %s", why);
		fail(in, &f);
	}
}

static void
wait_for_plan(struct init *in)
{
	for (;;) {
		struct pollfd p = {chan_fd(in->chan), POLLIN, 0};
		struct chan_frame *frame = next_frame(in);

		if (frame != NULL) {
			if (frame->type != WIRE_SANDBOX_PLAN)
				end(1);
			take_plan(in, frame);
			return;
		}
		(void)poll(&p, 1, -1);
		read_frames(in);
	}
}

static void
send_started(struct init *in)
{
	struct buf *b = chan_begin(in->chan, WIRE_SANDBOX_STARTED);

	wire_put_u32(b, (uint32_t)in->main);
	wire_put_str(b, in->stages.missing);
	if (chan_end(in->chan, NULL, 0, NULL, 0) < 0)
		end(1);
	flush_or_end(in);
}

static void
start_server(struct init *in)
{
	struct sandbox_fault f = {0};
	struct server server;

	in->stages.plan = in->plan;
	if (stages_run(&in->stages, &f) < 0)
		fail(in, &f);
	server = (struct server){
	    .argv = in->plan->argv,
	    .envp = in->plan->envp,
	    .cwd = in->plan->cwd,
	    .std = in->std,
	    .tty = in->plan->tty,
	    .ruleset = in->stages.ruleset,
	    .filter = in->stages.filter,
	};
	if (server_start(&server, &in->main, &f) < 0)
		fail(in, &f);
	close_std(in->std);
	send_started(in);
}

/* Nobody but the server keeps the server's ends (SESSION). */
static void
detach_stdio(void)
{
	CLEANUP_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i < 3; i++)
		if (null < 0 || dup2(null, i) < 0)
			end(1);
}

static void
watch(struct init *in)
{
	for (;;) {
		struct pollfd p[] = {
		    {chan_fd(in->chan), POLLIN, 0},
		    {in->signals, POLLIN, 0},
		};
		struct signalfd_siginfo info;
		struct chan_frame *frame;

		while ((frame = next_frame(in)) != NULL)
			handle(in, frame);
		if (poll(p, 2, -1) < 0)
			continue;
		if (p[0].revents != 0)
			read_frames(in);
		if (p[1].revents != 0 &&
		    read(in->signals, &info, sizeof(info)) == sizeof(info))
			reap(in);
	}
}

static int
block_signals(void)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &child, NULL) < 0)
		return -1;
	return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

void
init_main(bool alive)
{
	static struct init in; /* it never returns: no stack to keep it on */
	unsigned first = alive ? LAUNCH_ALIVE_FD + 1 : LAUNCH_CONTROL_FD + 1;

	in.std[0] = in.std[1] = in.std[2] = -1;
	/* every later change of credentials only takes rights away */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
	    close_range(first, ~0u, 0) < 0 ||
	    close_range(LAUNCH_CONTROL_FD, ~0u, CLOSE_RANGE_CLOEXEC) < 0 ||
	    fd_nonblock(LAUNCH_CONTROL_FD) < 0)
		_exit(1);
	prctl(PR_SET_NAME, "oz0-sandbox");
	signal(SIGPIPE, SIG_IGN);
	in.signals = block_signals();
	in.chan = chan_new(LAUNCH_CONTROL_FD, WIRE_ROLE_SANDBOX,
	    WIRE_ROLE_SUPERVISOR, PLAN_JSON_MAX);
	if (in.signals < 0)
		_exit(1);
	wait_for_plan(&in);
	title_set("oz0-sandbox: %s", in.plan->name);
	start_server(&in);
	detach_stdio();
	watch(&in);
	end(0);
}
