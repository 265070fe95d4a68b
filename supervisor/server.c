/*
 * Servers: one life cycle for the job servers of a session and the shared
 * servers of plugins.  Run by the supervisor; asked by the core (process.h),
 * told by box.c (the process) and worker_frame.c (the protocol).
 *
 * What may happen in which state is the table below.  A server is stopped only
 * when its tree is dead and its worker has seen all that it wrote (B041).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "supervisor/box.h"
#include "supervisor/listing.h"
#include "supervisor/log_ring.h"
#include "supervisor/processes.h"

#define BACKOFF_FIRST SPAN_MS(500)
#define BACKOFF_CAP SPAN_S(30)
#define GOOD_AFTER SPAN_S(10) /* ready this long: the backoff begins anew */

typedef void transition(struct supervisor *s, struct server *sv);

/* The one setter of a server's state. */
static void
set_state(struct server *sv, enum server_state st, const char *why)
{
	CLEANUP_FREE char *title = server_title(sv);

	log_debug("server %s: %s -> %s, %s", title,
	    server_state_name(sv->state), server_state_name(st), why);
	sv->state = st;
}

/* ---- starting ---- */

static void
enter_backoff(struct supervisor *s, struct server *sv)
{
	struct server_process *p = sv->process;

	if (p->backoff.us == 0
	    || (p->ready_at.us != 0
		&& mono_since(p->ended_at, p->ready_at).us > GOOD_AFTER.us))
		p->backoff = BACKOFF_FIRST;
	set_state(sv, SERVER_BACKOFF, "to be started again");
	deadline_set(s, &p->timer, mono_add(p->ended_at, p->backoff));
	p->backoff = span_min(SPAN_US(p->backoff.us * 2), BACKOFF_CAP);
}

/* Who waits for it is told in the next turn, never from within a want. */
static void
say_hopeless(struct supervisor *s, struct server *sv, const char *why)
{
	struct server_process *p = sv->process;

	snprintf(p->hopeless_why, sizeof(p->hopeless_why), "%s", why);
	deadline_after(s, &p->hopeless, SPAN_US(0));
}

void
server_say_hopeless(struct supervisor *s, void *arg)
{
	struct server *sv = arg;

	calls_server_failed(s, sv, sv->process->hopeless_why);
}

static bool
may_start(const struct server *sv, const char **ret_why)
{
	if (sv->process->for_good)
		*ret_why = sv->session == NULL ? "the node stops"
					       : "its session ends";
	else if (sv->tool->gone)
		*ret_why = "the tool is no longer configured";
	else
		return true;
	return false;
}

static void
do_start(struct supervisor *s, struct server *sv)
{
	struct server_process *p = sv->process;
	const char *why;

	deadline_clear(s, &p->timer);
	p->wanted = p->restart = false;
	if (!may_start(sv, &why)) {
		set_state(sv, SERVER_STOPPED, why);
		say_hopeless(s, sv, why);
		return;
	}
	p->ready_at = (struct mono) { 0 };
	if (server_start(s, sv)) {
		set_state(sv, SERVER_STARTING, "wanted");
		deadline_after(s, &p->timer, p->conf->start_timeout);
		return;
	}
	p->ended_at = time_mono();
	server_step_fault(s, sv, p->failure);
	server_set_broken(sv, mem_strdup(p->failure));
	say_hopeless(s, sv, p->failure);
	server_process_reset(p);
	if (sv->session == NULL)
		enter_backoff(s, sv);
}

/* A start that is asked for waits half a second at most after an end. */
static void
hurry(struct supervisor *s, struct server *sv)
{
	struct server_process *p = sv->process;
	struct mono soon = mono_add(p->ended_at, BACKOFF_FIRST);

	if (mono_before(soon, p->timer.at))
		deadline_set(s, &p->timer, soon);
}

static void
note_wanted(struct supervisor *s, struct server *sv)
{
	sv->process->wanted = true;
}

static void
become_ready(struct supervisor *s, struct server *sv)
{
	struct server_process *p = sv->process;

	deadline_clear(s, &p->timer);
	p->ready_at = time_mono();
	server_set_broken(sv, NULL);
	set_state(sv, SERVER_READY, "listed");
	server_step_ready(s, sv, p->name, p->version);
	calls_server_ready(s, sv);
}

/* ---- stopping ---- */

static void
shut_stdin(struct server_process *p)
{
	if (p->stdin_end >= 0 && !p->stdin_shut)
		shutdown(p->stdin_end, SHUT_RDWR);
	p->stdin_shut = true;
}

/* Once, and not at all for one that ends by itself before it is made to. */
static void
say_stopping(struct supervisor *s, struct server *sv)
{
	struct server_process *p = sv->process;

	if (p->said_stopping)
		return;
	p->said_stopping = true;
	server_step_stopping(s, sv, p->why);
}

static void
climb(struct supervisor *s, struct server *sv)
{
	struct server_process *p = sv->process;
	enum ladder_step step;

	while (p->box != NULL && ladder_due(&p->ladder, time_mono(), &step)) {
		CLEANUP_FREE char *title = server_title(sv);

		log_debug("server %s: %s", title, ladder_step_name(step));
		say_stopping(s, sv);
		if (step == LADDER_SHUT)
			shut_stdin(p);
		else if (step == LADDER_TERM)
			box_signal(p->box, SIGTERM);
		else if (step == LADDER_KILL)
			box_kill(s, p->box);
	}
	if (p->box != NULL)
		deadline_set(s, &p->timer, ladder_next(&p->ladder));
}

void
server_begin_stopping(struct supervisor *s, struct server *sv, struct span time)
{
	struct server_process *p = sv->process;
	struct worker *w = worker_of(s, sv);

	if (p->at_worker && w != NULL)
		worker_server_stop(w, sv);
	else
		shut_stdin(p);
	set_state(sv, SERVER_STOPPING, p->why);
	if (!p->ends_itself)
		say_stopping(s, sv);
	ladder_begin(&p->ladder, time_mono(), time);
	climb(s, sv);
}

void
server_set_why(struct server_process *p, const char *why)
{
	if (p->why == NULL)
		p->why = mem_strdup(why);
}

static void
fail_start(struct supervisor *s, struct server *sv)
{
	struct server_process *p = sv->process;

	server_set_why(p, p->failure == NULL ? "it could not be started"
				      : p->failure);
	server_begin_stopping(s, sv, p->conf->stop_timeout);
}

static void
start_too_slow(struct supervisor *s, struct server *sv)
{
	struct server_process *p = sv->process;
	char limit[32];

	if (worker_is_held(worker_of(s, sv))) {
		/* It may have been ready long since: nobody looks (L9.6). */
		deadline_after(s, &p->timer, SPAN_S(1));
		return;
	}
	span_format(p->conf->start_timeout, limit, sizeof(limit));
	free(p->failure);
	p->failure = mem_printf("not ready within start_timeout %s", limit);
	p->too_slow = true;
	fail_start(s, sv);
}

/*
 * A stdout that ends is mostly the first that is seen of a server's own end:
 * that is then told as what it was, with its exit status, and no stop.
 */
static void
fail_ready(struct supervisor *s, struct server *sv)
{
	struct server_process *p = sv->process;

	p->ends_itself = p->fault.why == WIRE_FAULT_EOF;
	server_set_why(p, p->fault.message[0] != '\0' ? p->fault.message
					       : "it broke");
	server_begin_stopping(s, sv, p->conf->stop_timeout);
}

/* It ended by itself: what it wrote is to be seen all the same. */
static void
drain(struct supervisor *s, struct server *sv)
{
	struct server_process *p = sv->process;
	struct worker *w = worker_of(s, sv);

	deadline_clear(s, &p->timer);
	if (sv->state != SERVER_STOPPING)
		set_state(sv, SERVER_STOPPING, "its tree is dead");
	if (p->at_worker && w != NULL) {
		worker_server_gone(w, sv);
		return;
	}
	/* Its worker dies too: nobody will say what was written (L9.2). */
	if (p->at_worker)
		calls_worker_gone(s, sv);
	p->at_worker = false;
	server_event(s, sv, SERVER_EV_DRAINED);
}

static void
die_starting(struct supervisor *s, struct server *sv)
{
	struct server_process *p = sv->process;

	if (p->failure == NULL) {
		p->failure = mem_strdup("it ended before it was ready");
		p->died_early = p->ran;
	}
	drain(s, sv);
}

/* What may be behind a failed start. */
static void
put_hints(struct buf *b, const struct server_process *p)
{
	if (p->hidden != NULL)
		buf_printf(b, "; its argument %s is not in its sandbox: see "
			      "sandbox.read",
		    p->hidden);
	if (p->too_slow && !p->conf->sandbox.network_host)
		buf_printf(b, "; it has no network: see sandbox.network");
}

/* Why a start failed, with how it ended, its last words, where those before
 * them are (B046), and what may be behind it. */
static char *
whole_failure(const struct server *sv)
{
	const struct server_process *p = sv->process;
	char how[64], line[512];
	struct buf b = { 0 };

	if (!p->ran)
		return mem_strdup(p->failure);
	server_write_how(p, how, sizeof(how));
	server_last_line(p, line, sizeof(line));
	buf_printf(&b, "%s (%s)", p->failure, how);
	if (line[0] != '\0')
		buf_printf(&b, "; its stderr ends: %s (all of it: oz0 logs %s)",
		    line, sv->tool->name);
	put_hints(&b, p);
	buf_putc(&b, '\0');
	return buf_steal(&b, NULL);
}

/* The same for status and the log, which repeat nothing that a server wrote;
 * NULL: it was stopped as it should be. */
static char *
what_broke(const struct server *sv)
{
	const struct server_process *p = sv->process;
	bool by_itself = p->exited && !p->said_stopping;
	const char *why = p->failure;
	struct buf b = { 0 };
	char how[64];

	if (why == NULL && by_itself)
		why = "it ended by itself";
	else if (why == NULL && p->fault.why != 0)
		why = p->fault.message;
	if (why == NULL || p->for_good)
		return NULL;
	buf_printf(&b, "%s", why);
	if (p->ran) {
		server_write_how(p, how, sizeof(how));
		buf_printf(&b, " (%s)", how);
	}
	put_hints(&b, p);
	buf_putc(&b, '\0');
	return buf_steal(&b, NULL);
}

/*
 * Did it end on the first request, which an old server does not know?  Then
 * it is started once more, and not asked that (MCP, server/discover).
 */
static bool
ended_on_probe(const struct server *sv)
{
	const struct server_process *p = sv->process;

	if (p->failure == NULL || p->legacy_hint || p->for_good
	    || sv->tool->era == WIRE_ERA_LEGACY)
		return false;
	return p->fault.why == WIRE_FAULT_PROBE_EOF
	    || (p->died_early && p->fault.why == 0 && p->name == NULL);
}

/* Stopped, with nothing left of this start; true: its start had failed. */
static bool
settle(struct supervisor *s, struct server *sv, char **ret_why)
{
	struct server_process *p = sv->process;
	bool failed = p->failure != NULL;

	p->ended_at = time_mono();
	server_step_ended(s, sv);
	*ret_why = failed ? whole_failure(sv) : NULL;
	server_process_reset(p);
	listing_unref(sv->listing);
	sv->listing = NULL;
	sv->pid = 0;
	sv->not_confirmed = 0;
	deadline_clear(s, &p->timer);
	set_state(sv, SERVER_STOPPED, "dead and drained");
	return failed;
}

static void
finish(struct supervisor *s, struct server *sv)
{
	struct server_process *p = sv->process;
	CLEANUP_FREE char *why = NULL;
	bool again = ended_on_probe(sv);
	char *broken;

	if (p->box != NULL)
		return; /* drained while it lives: its stdout is closed */
	broken = again ? NULL : what_broke(sv);
	if (settle(s, sv, &why) && again) {
		p->legacy_hint = true;
		do_start(s, sv);
		return;
	}
	server_set_broken(sv, broken);
	sv->restarts++;
	if (sv->session == NULL && !p->for_good && !sv->tool->gone
	    && !sv->tool->killed && !p->restart)
		enter_backoff(s, sv);
	if (why != NULL)
		calls_server_failed(s, sv, why);
	else
		calls_server_gone(s, sv);
	if (!p->for_good
	    && (p->wanted || p->restart || !TAILQ_EMPTY(&sv->waiting)))
		server_event(s, sv, SERVER_EV_WANT);
	if (sv->session != NULL)
		session_process_died(s, sv->session);
}

static void
stay_stopped(struct supervisor *s, struct server *sv)
{
	deadline_clear(s, &sv->process->timer);
	server_set_broken(sv, NULL);
	set_state(sv, SERVER_STOPPED, "stopped while it waited");
}

static void
get_stuck(struct supervisor *s, struct server *sv)
{
	struct server_process *p = sv->process;

	set_state(sv, SERVER_STUCK, "three stops in a row not confirmed");
	server_step_fault(s, sv, "stuck: it confirmed none of three stops in a "
				 "row and answers nothing since");
	if (!p->conf->restart_when_stuck)
		return;
	server_set_why(p, "it is stuck (restart_when_stuck)");
	p->restart = true;
	server_begin_stopping(s, sv, p->conf->stop_timeout);
}

static void
get_unstuck(struct supervisor *s, struct server *sv)
{
	set_state(sv, SERVER_READY, "it answers again");
	server_step_ready(s, sv, NULL, NULL);
	calls_server_ready(s, sv);
}

#define E(ev) [SERVER_EV_##ev]
static transition *const table[SERVER_NSTATES][SERVER_NEVENTS] = {
	[SERVER_STOPPED] = {
		E(WANT) = do_start,
	},
	[SERVER_STARTING] = {
		E(READY) = become_ready,
		E(FAIL) = fail_start,
		E(TIMER) = start_too_slow,
		E(DEAD) = die_starting,
	},
	[SERVER_READY] = {
		E(FAIL) = fail_ready,
		E(DEAD) = drain,
		E(STUCK) = get_stuck,
	},
	[SERVER_STOPPING] = {
		E(WANT) = note_wanted,
		E(TIMER) = climb,
		E(DEAD) = drain,
		E(DRAINED) = finish,
	},
	[SERVER_BACKOFF] = {
		E(WANT) = hurry,
		E(STOP) = stay_stopped,
		E(TIMER) = do_start,
	},
	[SERVER_STUCK] = {
		E(FAIL) = fail_ready,
		E(DEAD) = drain,
		E(CONFIRMED) = get_unstuck,
	},
};
#undef E

void
server_event(struct supervisor *s, struct server *sv, enum server_event ev)
{
	transition *t = table[sv->state][ev];

	if (t != NULL)
		t(s, sv);
	else
		log_debug("server %s: %s while %s: nothing to do",
		    sv->tool->name, server_event_name(ev),
		    server_state_name(sv->state));
}

void
server_timer(struct supervisor *s, void *arg)
{
	server_event(s, arg, SERVER_EV_TIMER);
}
