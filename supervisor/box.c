/*
 * Sandboxes: started through sandbox/launch.h, told their plan, watched over
 * their control socket and by the pidfd of their init, and killed for sure.
 * Run by the supervisor; used by server.c and harness.c.
 *
 * As root a helper makes the init, so for a moment only the helper is known.
 * A box that is to be killed in that moment loses its helper and its control
 * socket, and an init that is born all the same is killed when it is told of,
 * or ends by itself because its control socket has ended.
 */
#include "supervisor/box.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/launch.h"
#include "supervisor/processes.h"

struct box {
	struct supervisor *s;
	char *name, *job;
	const struct box_owner *owner;
	void *arg;
	struct child *helper, *init;
	bool was_helper; /* children_expect() is on for it */
	bool was_born;
	struct link *control;
	bool started, failed, exited, killed;
};

static link_fn on_born, on_started, on_failed, on_exited;
static void on_closed(
    struct supervisor *s, void *arg, bool broken, const char *why);

#define PHASE 1u
static const struct link_handler handlers[] = {
	{ WIRE_SANDBOX_BORN, PHASE, on_born },
	{ WIRE_SANDBOX_STARTED, PHASE, on_started },
	{ WIRE_SANDBOX_FAILED, PHASE, on_failed },
	{ WIRE_SANDBOX_EXITED, PHASE, on_exited },
};
static const struct link_kind box_link_kind = {
	.peer = WIRE_ROLE_SANDBOX,
	.handlers = handlers,
	.nhandlers = sizeof(handlers) / sizeof(handlers[0]),
	.closed = on_closed,
};

static void
release(struct box *b)
{
	if (b->was_helper)
		children_expect(b->s, false);
	link_free(b->control);
	free(b->name);
	free(b->job);
	free(b);
}

/* Nothing of it is left: its last words, then the owner is told. */
static void
bury(struct box *b)
{
	struct supervisor *s = b->s;
	const struct box_owner *owner = b->owner;
	void *arg = b->arg;

	if (b->control != NULL)
		link_drain(b->control);
	if (!b->started && !b->failed)
		owner->failed(s, arg, "its sandbox ended before it started");
	release(b);
	owner->dead(s, arg);
}

static void
check_dead(struct box *b)
{
	if (b->helper == NULL && b->init == NULL)
		bury(b);
}

static void
init_died(struct supervisor *s, void *arg, int status)
{
	struct box *b = arg;

	b->init = NULL;
	if (b->killed && b->helper != NULL)
		child_kill(b->helper);
	check_dead(b);
}

static void
adopt(struct box *b, pid_t pid, int pidfd)
{
	b->was_born = true;
	b->init = child_new(b->s, pid, pidfd, "sandbox", b->name, b->job,
	    init_died, b);
	if (b->killed)
		child_kill(b->init);
}

/* The helper was killed between making the init and telling of it. */
static void
find_stray(struct box *b)
{
	CLEANUP_FREE char *title = mem_printf("oz0-sandbox: %s", b->name);
	pid_t pid = children_stray(b->s, title);
	int pidfd = pid == 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);

	if (pidfd < 0)
		return;
	adopt(b, pid, pidfd);
	box_kill(b->s, b);
}

static void
helper_died(struct supervisor *s, void *arg, int status)
{
	struct box *b = arg;

	b->helper = NULL;
	if (b->control != NULL)
		link_drain(b->control); /* it may have told of the init */
	if (!b->was_born)
		find_stray(b);
	if (b->was_born)
		check_dead(b);
	else
		bury(b);
}

static bool
on_born(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct box *b = arg;
	uint32_t pid = wire_get_u32(&f->body);
	int status;

	if (!wire_get_end(&f->body) || f->nfds != 1 || !b->was_helper
	    || b->was_born || pid == 0 || pid > INT32_MAX)
		return false;
	if (children_reaped(s, (pid_t)pid, &status)) {
		b->was_born = true; /* and dead already */
		return true;
	}
	adopt(b, (pid_t)pid, fd_steal(&f->fds[0]));
	return true;
}

static bool
on_started(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct box *b = arg;
	CLEANUP_FREE char *missing = NULL;

	wire_get_u32(&f->body);
	missing = wire_get_new_str(&f->body, 1024);
	if (!wire_get_end(&f->body) || b->started || b->failed)
		return false;
	b->started = true;
	b->owner->started(s, b->arg, missing);
	return true;
}

static bool
on_failed(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct box *b = arg;
	CLEANUP_FREE char *stage = NULL, *words = NULL, *why = NULL;
	uint32_t error;

	stage = wire_get_new_str(&f->body, 128);
	error = wire_get_u32(&f->body);
	words = wire_get_new_str(&f->body, 4096);
	if (!wire_get_end(&f->body) || b->started || b->failed)
		return false;
	b->failed = true;
	why = words[0] != '\0' ? mem_printf("%s: %s", stage, words)
			       : mem_printf("%s: %s", stage,
				   strerror((int)error));
	b->owner->failed(s, b->arg, why);
	box_kill(s, b);
	return true;
}

static bool
on_exited(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct box *b = arg;
	bool by_signal = wire_get_bool(&f->body);
	uint32_t code = wire_get_u32(&f->body);
	uint32_t id = wire_get_u32(&f->body);

	if (!wire_get_end(&f->body) || !b->started || id != 0 || b->exited)
		return false;
	b->exited = true;
	b->owner->exited(s, b->arg, by_signal, code);
	box_kill(s, b); /* helpers it left behind (B016) */
	return true;
}

/* The init closes its end when it ends; anything else is no sandbox of ours. */
static void
on_closed(struct supervisor *s, void *arg, bool broken, const char *why)
{
	struct box *b = arg;

	if (broken)
		log_error("sandbox %s: %s; killing it", b->name, why);
	if (b->init != NULL || b->helper != NULL)
		box_kill(s, b);
}

void
box_kill(struct supervisor *s, struct box *b)
{
	if (b->killed)
		return;
	b->killed = true;
	/* the helper ends by itself, once its init is known */
	if (b->init != NULL)
		child_kill(b->init);
	else if (b->helper != NULL)
		child_kill(b->helper);
}

static void
send_signal(struct box *b, int signo, bool all)
{
	struct buf *body;

	if (b->control == NULL || link_is_closed(b->control))
		return;
	body = link_begin(b->control, WIRE_SANDBOX_SIGNAL);
	wire_put_u32(body, (uint32_t)signo);
	wire_put_u8(body, all);
	if (link_end_urgent(b->control) < 0)
		log_warning("sandbox %s: signal %d not sent", b->name, signo);
	else
		link_flush_now(b->control); /* a stop waits for nothing */
}

void
box_signal(struct box *b, int signo)
{
	send_signal(b, signo, true);
}

void
box_signal_command(struct box *b, int signo)
{
	send_signal(b, signo, false);
}

pid_t
box_pid(const struct box *b)
{
	return b->init == NULL ? 0 : child_pid(b->init);
}

static int
send_plan(struct box *b, const struct plan *plan, const int std[3])
{
	CLEANUP(buf_free) struct buf json = { 0 };
	int filter = b->s->processes->filter;
	int fds[4] = { std[0], std[1], std[2], filter };
	bool has_filter = plan->seccomp && filter >= 0;
	int r;

	plan_encode(plan, &json);
	wire_put_u8(link_begin(b->control, WIRE_SANDBOX_PLAN), has_filter);
	r = link_end(b->control, buf_at(&json), buf_len(&json), fds,
	    has_filter ? 4 : 3);
	if (r == 0)
		link_flush_now(b->control); /* the init waits for nothing */
	return r;
}

static int
launch(struct box *b, const struct plan *plan, int control,
    struct launch_fault *f)
{
	struct processes *ps = b->s->processes;
	struct launch l = {
		.plan = plan,
		.exe = ps->exe_sandbox,
		.std = { ps->null, ps->null, -1 },
		.control = control,
		.alive = ps->alive,
	};
	struct launched done;
	int r = launch_sandbox(&l, &done, f);

	if (r < 0)
		return r;
	if (done.helper != 0) {
		b->was_helper = true;
		children_expect(b->s, true);
		b->helper = child_new(b->s, done.helper, done.helper_pidfd,
		    "sandbox-helper", b->name, b->job, helper_died, b);
	}
	if (done.init != 0)
		adopt(b, done.init, done.init_pidfd);
	return 0;
}

struct box *
box_start(struct supervisor *s, const struct plan *plan, const char *job,
    const int std[3], const struct box_owner *owner, void *arg,
    char *ret_why, size_t size)
{
	CLEANUP_CLOSE int theirs = -1;
	struct launch_fault f = { "prepare", 0 };
	struct box *b;
	int sv[2], r;

	r = fd_socketpair(sv);
	if (r < 0) {
		snprintf(ret_why, size, "control socket: %s", strerror(-r));
		return NULL;
	}
	theirs = sv[1];
	b = mem_zalloc(sizeof(*b));
	b->s = s;
	b->name = mem_strdup(plan->name);
	b->job = mem_strdup(job);
	b->owner = owner;
	b->arg = arg;
	b->control = link_new(s, sv[0], &box_link_kind, PLAN_JSON_MAX, b);
	r = send_plan(b, plan, std);
	if (r == 0)
		r = launch(b, plan, theirs, &f);
	else
		f = (struct launch_fault) { "send the plan", -r };
	if (r < 0) {
		snprintf(ret_why, size, "%s: %s", f.act, strerror(f.error));
		release(b);
		return NULL;
	}
	return b;
}
