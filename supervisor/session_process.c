/*
 * The processes of a session: its folder, uid and worker at the start, its
 * servers as they are wanted, and their end in order: servers and harness,
 * then the worker, then the folder by a process of its own (SESSION).  Run by
 * the supervisor for session.c.
 */
#include "supervisor/session_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "supervisor/folder.h"
#include "supervisor/processes.h"
#include "supervisor/uidpool.h"

/* A worker has this long to see what dead servers wrote. */
#define DRAIN_PATIENCE SPAN_MS(500)
#define LOOK_AGAIN SPAN_MS(100)
#define HARNESS_TIME SPAN_S(2) /* stop_timeout's default */

static void check(struct supervisor *s, void *arg);
static void lose_patience(struct supervisor *s, void *arg);

/*
 * Nothing of it lives: its folder goes, its uid once that is gone.  What is
 * told of it later (harness_last()) stays until the session is forgotten.
 */
static void
retire(struct supervisor *s, struct session_processes *sp)
{
	struct processes *ps = s->processes;

	deadline_clear(s, &sp->check);
	deadline_clear(s, &sp->patience);
	if (sp->folder_name != NULL)
		remover_add(
		    s, sp->folder_name, sp->uid, sp->gid, sp->pool_uid);
	else if (sp->pool_uid)
		uidpool_give(ps->uids, sp->uid);
	free(sp->folder_name);
	sp->folder_name = NULL;
	sp->pool_uid = false;
	if (!sp->listed)
		return;
	sp->listed = false;
	TAILQ_REMOVE(&ps->sessions, sp, entry);
	ps->nsessions--;
}

static void
release(struct supervisor *s, struct session_processes *sp)
{
	retire(s, sp);
	free(sp->folder);
	free(sp);
}

static bool
make_own_folder(
    struct supervisor *s, struct session_processes *sp, struct fault *f)
{
	struct processes *ps = s->processes;
	CLEANUP_FREE char *prefix = mem_printf("%s.%u",
	    sp->session->job->name, sp->session->number);
	int r;

	if (ps->root) {
		if (!uidpool_take(ps->uids, &sp->uid))
			return fault_set(f, FAULT_NODE_FULL,
			    "every uid of node.uid_range is taken");
		sp->pool_uid = true;
		sp->gid = (gid_t)sp->uid;
	}
	r = folder_make(ps->sessions_dir, prefix, sp->uid, sp->gid, ps->root,
	    &sp->folder_name);
	if (r < 0)
		return fault_set(f, FAULT_NODE_FULL, "session folder: %s",
		    strerror(-r));
	sp->folder = mem_printf(
	    "%s/sessions/%s", s->conf->state_dir, sp->folder_name);
	return true;
}

static bool
prepare(struct supervisor *s, struct session_processes *sp,
    const struct session_open *p, struct fault *f)
{
	char why[512];

	if (p->workspace != NULL) {
		if (!folder_check_workspace(p->workspace, p->peer_uid,
			p->peer_admin, s->processes->root, &sp->uid, &sp->gid,
			&sp->folder, &sp->folder_id, f))
			return false;
	} else if (!make_own_folder(s, sp, f)) {
		return false;
	}
	if (worker_start(s, sp->session, why, sizeof(why)) == NULL)
		return fault_set(f, FAULT_NODE_FULL, "%s", why);
	return true;
}

static bool
is_in(char *const *names, const char *name)
{
	for (; *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static void
start_eager(struct supervisor *s, struct session *ss)
{
	struct tool *t;

	TAILQ_FOREACH(t, &s->tools, entry) {
		if (t->gone || t->killed || t->conf->kind != CONF_JOB
		    || !t->conf->eager
		    || (ss->tools != NULL && !is_in(ss->tools, t->name)))
			continue;
		server_want(s, server_get(s, t, ss));
	}
}

bool
session_processes_start(struct supervisor *s, struct session *ss,
    const struct session_open *p, struct fault *f)
{
	struct session_processes *sp;

	if (s->degraded != NULL)
		return fault_set(f, FAULT_NODE_FULL,
		    "the node is degraded and takes no new sessions: %s",
		    s->degraded);
	sp = mem_zalloc(sizeof(*sp));
	sp->session = ss;
	sp->uid = geteuid();
	sp->gid = getegid();
	TAILQ_INIT(&sp->servers);
	deadline_init(&sp->check, check, sp);
	deadline_init(&sp->patience, lose_patience, sp);
	ss->processes = sp;
	if (!prepare(s, sp, p, f)) {
		ss->processes = NULL;
		release(s, sp);
		return false;
	}
	sp->listed = true;
	TAILQ_INSERT_TAIL(&s->processes->sessions, sp, entry);
	s->processes->nsessions++;
	start_eager(s, ss);
	return true;
}

/* Only the worker is waited for, and the session ends: it may go. */
static void
lose_patience(struct supervisor *s, void *arg)
{
	struct session_processes *sp = arg;

	if (sp->worker != NULL)
		worker_end(s, sp->worker,
		    "hung: it does not see to its dead servers");
}

static bool
trees_dead(const struct session_processes *sp)
{
	const struct server *sv;

	TAILQ_FOREACH(sv, &sp->servers, entry)
		if (sv->process->box != NULL)
			return false;
	return sp->harness == NULL;
}

static bool
servers_dead(const struct session_processes *sp)
{
	const struct server *sv;

	TAILQ_FOREACH(sv, &sp->servers, entry)
		if (!server_is_dead(sv))
			return false;
	return true;
}

/* Once no call of the session lives, nothing points to its servers. */
static void
drop_servers(struct supervisor *s, struct session_processes *sp)
{
	struct server *sv;

	if (sp->session->state != SESSION_CLOSED
	    && sp->session->state != SESSION_LOST) {
		deadline_after(s, &sp->check, LOOK_AGAIN);
		return;
	}
	while ((sv = TAILQ_FIRST(&sp->servers)) != NULL)
		server_free(s, sv);
}

/* As far as the stop can go now; the worker goes last. */
static void
check(struct supervisor *s, void *arg)
{
	struct session_processes *sp = arg;

	if (sp->told) {
		drop_servers(s, sp);
		return;
	}
	if (!sp->stopping || !trees_dead(sp))
		return;
	if (!servers_dead(sp)) {
		if (!sp->patience.set)
			deadline_after(s, &sp->patience, DRAIN_PATIENCE);
		return;
	}
	deadline_clear(s, &sp->patience);
	if (sp->worker != NULL) {
		worker_stop(s, sp->worker);
		return;
	}
	sp->told = true;
	retire(s, sp);
	deadline_after(s, &sp->check, SPAN_US(0));
	session_all_dead(s, sp->session);
}

void
session_process_died(struct supervisor *s, struct session *ss)
{
	struct session_processes *sp = ss->processes;

	/* not from within the death of one: its caller still has it in hand */
	if (sp != NULL && sp->stopping && !sp->told)
		deadline_after(s, &sp->check, SPAN_US(0));
}

void
session_processes_stop(
    struct supervisor *s, struct session *ss, struct span time)
{
	struct session_processes *sp = ss->processes;
	struct server *sv, *next;

	sp->stopping = true;
	TAILQ_FOREACH_SAFE(sv, &sp->servers, entry, next)
		server_stop_for_good(s, sv,
		    span_min(time, sv->tool->conf->stop_timeout),
		    "its session ends");
	if (sp->harness != NULL)
		harness_stop(s, ss, span_min(time, HARNESS_TIME));
	session_process_died(s, ss);
}

void
session_processes_free(struct supervisor *s, struct session *ss)
{
	struct session_processes *sp = ss->processes;
	struct server *sv;

	if (sp == NULL)
		return;
	while ((sv = TAILQ_FIRST(&sp->servers)) != NULL)
		server_free(s, sv);
	harness_free(s, ss);
	ss->processes = NULL;
	release(s, sp);
}
