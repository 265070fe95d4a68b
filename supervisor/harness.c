/*
 * Harnesses: a program of the caller's, confined like a job server, its stdio
 * the descriptors that came with session/run (SESSION).  Run by the
 * supervisor; its end ends the session.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/plan.h"
#include "supervisor/box.h"
#include "supervisor/plan_make.h"
#include "supervisor/processes.h"
#include "supervisor/record.h"

struct harness {
	struct supervisor *s;
	struct session *session;
	struct box *box;
	char *command;
	struct ladder ladder;
	struct deadline timer;
	bool running; /* started and not exited */
	int terminal; /* its pseudo-terminal; -1: none */
};

/* Majors of the kernel's pseudo-terminals, the sides that programs have. */
#define PTY_MAJOR_FIRST 136
#define PTY_MAJOR_LAST 143

static struct step *
begin(struct harness *h, enum step_event event)
{
	struct step *st = step_new(h->s, event, h->session->job->name);

	jsonw_uint(step_json(st), "session", h->session->number);
	return st;
}

static void
on_started(struct supervisor *s, void *arg, const char *missing)
{
	struct harness *h = arg;
	struct step *st = begin(h, STEP_HARNESS_STARTED);

	h->running = true;
	h->session->processes->end.started = true;
	jsonw_int(step_json(st), "pid", box_pid(h->box));
	if (missing[0] != '\0')
		jsonw_string(step_json(st), "missing", missing);
	step_text(st, "harness started, pid %d", (int)box_pid(h->box));
	step_commit(st);
}

static void
on_failed(struct supervisor *s, void *arg, const char *why)
{
	struct harness *h = arg;
	struct harness_end *e = &h->session->processes->end;

	snprintf(e->message, sizeof(e->message), "%s", why);
}

static void
on_exited(struct supervisor *s, void *arg, bool by_signal, unsigned code)
{
	struct harness *h = arg;
	struct harness_end *e = &h->session->processes->end;

	h->running = false;
	e->by_signal = by_signal;
	e->code = (int)code;
}

static void
say_ended(struct harness *h, const struct harness_end *e)
{
	struct step *st = begin(h, STEP_HARNESS_ENDED);
	char how[320];

	if (!e->started)
		snprintf(how, sizeof(how), "not started: %s", e->message);
	else if (e->by_signal)
		snprintf(how, sizeof(how), "signal %d", e->code);
	else
		snprintf(how, sizeof(how), "exit code %d", e->code);
	jsonw_string(step_json(st), "how", how);
	if (e->started)
		jsonw_int(step_json(st), e->by_signal ? "signal" : "code",
		    e->code);
	step_text(st, "harness ended: %s", how);
	step_commit(st);
}

static void
on_dead(struct supervisor *s, void *arg)
{
	struct harness *h = arg;
	struct session *ss = h->session;
	struct session_processes *sp = ss->processes;

	h->box = NULL;
	if (h->running) { /* killed with its whole sandbox */
		sp->end.by_signal = true;
		sp->end.code = SIGKILL;
	}
	sp->has_end = true;
	say_ended(h, &sp->end);
	harness_free(s, ss);
	if (ss->state == SESSION_OPEN)
		session_close(s, ss, SESSION_CLOSED, "its harness ended");
	session_process_died(s, ss);
}

static const struct box_owner owner = {
	.started = on_started,
	.failed = on_failed,
	.exited = on_exited,
	.dead = on_dead,
};

/* It has no stdin of ours to close: the ladder begins with SIGTERM. */
static void
climb(struct supervisor *s, void *arg)
{
	struct harness *h = arg;
	enum ladder_step step;

	while (ladder_due(&h->ladder, time_mono(), &step)) {
		if (step == LADDER_SHUT)
			box_signal(h->box, SIGTERM);
		else if (step == LADDER_KILL)
			box_kill(s, h->box);
	}
	deadline_set(s, &h->timer, ladder_next(&h->ladder));
}

void
harness_stop(struct supervisor *s, struct session *ss, struct span time)
{
	struct harness *h = ss->processes->harness;

	if (h == NULL || h->box == NULL)
		return;
	ladder_begin(&h->ladder, time_mono(), time);
	climb(s, h);
}

void
harness_free(struct supervisor *s, struct session *ss)
{
	struct harness *h = ss->processes->harness;

	if (h == NULL)
		return;
	ss->processes->harness = NULL;
	deadline_clear(s, &h->timer);
	fd_close(&h->terminal);
	free(h->command);
	free(h);
}

static struct plan *
plan_harness(struct supervisor *s, struct session *ss,
    const struct harness_run *r, char *why, size_t size)
{
	struct session_processes *sp = ss->processes;
	CLEANUP_FREE char *name = mem_printf(
	    "%s/%u harness", ss->job->name, ss->number);
	struct plan_input in = {
		.name = name,
		.command = r->command,
		.args = r->args,
		.more_env = r->env,
		.folder = sp->folder,
		.folder_device = sp->folder_id.device,
		.folder_inode = sp->folder_id.inode,
		.folder_at = "/session",
		.cwd = r->cwd,
		.uid = sp->uid,
		.gid = sp->gid,
		.best = s->conf->best,
		.tty = r->tty,
	};

	return plan_make(&in, why, size);
}

/*
 * A copy of its stdin, where that is a pseudo-terminal.  Others are left alone:
 * what a descriptor of the caller's leads to could make an ioctl wait.
 */
static int
copy_terminal(const struct harness_run *r)
{
	struct statx st;

	if (!r->tty ||
	    statx(r->std[0], "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		STATX_TYPE, &st) < 0 ||
	    !S_ISCHR(st.stx_mode) || st.stx_rdev_major < PTY_MAJOR_FIRST ||
	    st.stx_rdev_major > PTY_MAJOR_LAST)
		return -1;
	return fcntl(r->std[0], F_DUPFD_CLOEXEC, 3);
}

static bool
launch(struct supervisor *s, struct session *ss, struct harness_run *r,
    struct fault *f)
{
	struct session_processes *sp = ss->processes;
	struct harness *h;
	struct plan *plan;
	char why[512];

	plan = plan_harness(s, ss, r, why, sizeof(why));
	if (plan == NULL)
		return fault_set(f, FAULT_PARAMS, "%s", why);
	h = mem_zalloc(sizeof(*h));
	h->s = s;
	h->session = ss;
	h->command = mem_strdup(r->command);
	h->terminal = copy_terminal(r);
	deadline_init(&h->timer, climb, h);
	sp->harness = h;
	sp->has_end = false;
	memset(&sp->end, 0, sizeof(sp->end));
	h->box = box_start(s, plan, ss->job->name, r->std, &owner, h, why,
	    sizeof(why));
	plan_free(plan);
	if (h->box == NULL) {
		harness_free(s, ss);
		return fault_set(f, FAULT_NODE_FULL, "sandbox: %s", why);
	}
	ss->has_harness = true;
	return true;
}

bool
harness_start(struct supervisor *s, struct session *ss, struct harness_run *r,
    struct fault *f)
{
	struct session_processes *sp = ss->processes;
	bool ok = false;

	if (ss->state != SESSION_OPEN || sp == NULL || sp->stopping)
		fault_set(f, FAULT_ALREADY_ENDED, "session %u is %s",
		    ss->number, session_state_name(ss->state));
	else if (sp->harness != NULL)
		fault_set(f, FAULT_NOT_ALLOWED,
		    "session %u has a harness already", ss->number);
	else
		ok = launch(s, ss, r, f);
	for (int i = 0; i < 3; i++)
		fd_close(&r->std[i]);
	return ok;
}

const struct harness_end *
harness_last(const struct session *ss)
{
	if (ss->processes == NULL || !ss->processes->has_end)
		return NULL;
	return &ss->processes->end;
}

/* The harness that runs now; else NULL and the fault that says why not. */
static struct harness *
running(struct session *ss, struct fault *f)
{
	struct session_processes *sp = ss->processes;
	struct harness *h = sp != NULL ? sp->harness : NULL;

	if (h != NULL && h->running)
		return h;
	if (sp == NULL || sp->has_end || sp->end.started ||
	    sp->end.message[0] != '\0')
		fault_set(f, FAULT_ALREADY_ENDED,
		    "the harness of session %u has ended", ss->number);
	else
		fault_set(f, FAULT_NOT_ALLOWED,
		    "the harness of session %u has not started yet",
		    ss->number);
	return NULL;
}

bool
harness_signal(struct supervisor *s, struct session *ss, int signo,
    struct fault *f)
{
	struct harness *h;

	if (signo < 1 || signo > SIGRTMAX)
		return fault_set(f, FAULT_PARAMS, "no signal %d", signo);
	h = running(ss, f);
	if (h == NULL)
		return false;
	if (signo == SIGKILL)
		box_kill(s, h->box);
	else
		box_signal_command(h->box, signo);
	return true;
}

/* The kernel tells the terminal's foreground processes by SIGWINCH. */
bool
harness_resize(struct supervisor *s, struct session *ss, unsigned rows,
    unsigned cols, struct fault *f)
{
	const struct winsize size = {.ws_row = (unsigned short)rows,
	    .ws_col = (unsigned short)cols};
	struct harness *h = running(ss, f);

	if (h == NULL)
		return false;
	if (h->terminal < 0)
		return fault_set(f, FAULT_NOT_ALLOWED,
		    "the harness of session %u has no pseudo-terminal",
		    ss->number);
	if (ioctl(h->terminal, TIOCSWINSZ, &size) < 0)
		return fault_set(f, FAULT_NOT_ALLOWED,
		    "the terminal of session %u: %s", ss->number,
		    strerror(errno));
	return true;
}
