/*
 * Starting a server: its plan, its stdio, its sandbox, and its worker's ends.
 * Run by the supervisor for server.c.  Nothing here waits: the sandbox says
 * that the command runs, then the worker gets its ends and begins to speak.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/plan.h"
#include "supervisor/box.h"
#include "supervisor/folder.h"
#include "supervisor/listing.h"
#include "supervisor/plan_make.h"
#include "supervisor/processes.h"
#include "supervisor/uidpool.h"

#define STDOUT_PIPE (1 << 20)
#define WIDE_CHILDREN 32

static void
fail(struct server_process *p, const char *why)
{
	if (p->failure == NULL)
		p->failure = mem_strdup(why);
}

void
server_take_conf(struct server *sv)
{
	struct server_process *p = sv->process;

	if (p->conf == NULL)
		return;
	conf_tool_unref(p->conf);
	p->conf = conf_tool_ref(sv->tool->conf);
}

void
server_process_reset(struct server_process *p)
{
	for (int i = 0; i < 3; i++)
		fd_close(&p->std[i]);
	fd_close(&p->stdin_end);
	conf_tool_unref(p->conf);
	p->conf = NULL;
	p->at_worker = p->stdin_shut = p->ran = p->died_early = false;
	p->too_slow = false;
	p->exited = p->by_signal = p->ends_itself = p->said_stopping = false;
	p->code = 0;
	free(p->failure);
	p->failure = NULL;
	free(p->hidden);
	p->hidden = NULL;
	free(p->why);
	p->why = NULL;
	free(p->name);
	p->name = NULL;
	free(p->version);
	p->version = NULL;
	memset(&p->fault, 0, sizeof(p->fault));
	memset(&p->ladder, 0, sizeof(p->ladder));
	listing_unref(p->coming);
	p->coming = NULL;
	buf_free(&p->line);
	buf_free(&p->tail);
}

/* ---- what the sandbox says ---- */

static void
on_started(struct supervisor *s, void *arg, const char *missing)
{
	struct server *sv = arg;
	struct server_process *p = sv->process;
	struct worker *w = worker_of(s, sv);

	p->ran = true;
	sv->pid = box_pid(p->box);
	server_step_started(s, sv, missing);
	if (sv->state != SERVER_STARTING)
		return; /* it is being stopped already */
	if (w == NULL || !worker_server_start(s, w, sv, p->std)) {
		fail(p, "its worker could not be told of it");
		server_event(s, sv, SERVER_EV_FAIL);
		return;
	}
	p->at_worker = true;
	for (int i = 0; i < 3; i++)
		fd_close(&p->std[i]);
}

static void
on_failed(struct supervisor *s, void *arg, const char *why)
{
	struct server *sv = arg;
	CLEANUP_FREE char *words = mem_printf("sandbox: %s", why);

	fail(sv->process, words);
}

static void
on_exited(struct supervisor *s, void *arg, bool by_signal, unsigned code)
{
	struct server *sv = arg;

	sv->process->exited = true;
	sv->process->by_signal = by_signal;
	sv->process->code = code;
}

static void
on_dead(struct supervisor *s, void *arg)
{
	struct server *sv = arg;

	sv->process->box = NULL;
	server_event(s, sv, SERVER_EV_DEAD);
	if (sv->session != NULL)
		session_process_died(s, sv->session);
}

static const struct box_owner owner = {
	.started = on_started,
	.failed = on_failed,
	.exited = on_exited,
	.dead = on_dead,
};

/* ---- making it ---- */

/* The worker's ends are non-blocking, the server's are as it expects them. */
static int
make_pipe(bool to_server, int *ret_worker, int *ret_server)
{
	int pv[2], r = fd_pipe(pv);

	if (r < 0)
		return r;
	*ret_worker = to_server ? pv[1] : pv[0];
	*ret_server = to_server ? pv[0] : pv[1];
	return fd_nonblock(*ret_worker);
}

static int
make_stdin(struct server_process *p, int *ret_server)
{
	int sv[2], r;

	if (p->conf->stdio_pipe)
		return make_pipe(true, &p->std[0], ret_server);
	r = fd_socketpair(sv);
	if (r < 0)
		return r;
	p->std[0] = sv[0];
	*ret_server = sv[1];
	if (fcntl(sv[1], F_SETFL, fcntl(sv[1], F_GETFL) & ~O_NONBLOCK) < 0)
		return -errno;
	p->stdin_end = fcntl(sv[0], F_DUPFD_CLOEXEC, 3);
	return p->stdin_end < 0 ? -errno : 0;
}

/*
 * The pipes of an ordinary user share 64 MiB; beyond that each new one, also
 * of its other programs, has two pages (pipe(7)).  Root's are not counted.
 */
static bool
may_widen(const struct supervisor *s)
{
	return s->processes->root || children_count(s) <= WIDE_CHILDREN;
}

static int
make_stdio(struct server_process *p, bool wide, int theirs[3])
{
	int r = make_stdin(p, &theirs[0]);

	if (r == 0)
		r = make_pipe(false, &p->std[1], &theirs[1]);
	if (r == 0)
		r = make_pipe(false, &p->std[2], &theirs[2]);
	/* a large result is a wake-up a pipe full; less does as well */
	if (r == 0 && wide)
		(void)fcntl(p->std[1], F_SETPIPE_SZ, STDOUT_PIPE);
	return r;
}

/* The kept folder of a shared server and the uid that goes with it. */
static bool
state_folder(struct supervisor *s, struct tool *t, uid_t *ret_uid,
    gid_t *ret_gid, char **ret_path, char *why, size_t size)
{
	struct processes *ps = s->processes;
	uid_t uid = geteuid(), owner_uid;
	gid_t gid = getegid();
	int r;

	if (ps->root && t->conf->sandbox.user != NULL) {
		uid = t->user;
		gid = t->user_group;
	} else if (ps->root) {
		r = folder_owner(ps->tools_dir, t->name, &owner_uid);
		if (r == 0 && owner_uid != 0)
			uid = owner_uid; /* reserved at start (process.c) */
		else if (!uidpool_take(ps->uids, &uid)) {
			snprintf(why, size, "every uid of uid_range is taken");
			return false;
		}
		gid = (gid_t)uid;
	}
	r = folder_keep(ps->tools_dir, t->name, uid, gid, ps->root);
	if (r < 0) {
		snprintf(why, size, "its folder: %s", strerror(-r));
		return false;
	}
	*ret_uid = uid;
	*ret_gid = gid;
	*ret_path = mem_printf("%s/tools/%s", s->conf->state_dir, t->name);
	return true;
}

static struct plan *
plan_server(struct supervisor *s, struct server *sv, char *why, size_t size)
{
	struct conf_tool *c = sv->process->conf;
	CLEANUP_FREE char *title = server_title(sv), *state = NULL;
	struct plan_input in = {
		.name = title,
		.command = c->command,
		.args = c->args,
		.env = c->env,
		.nenv = c->nenv,
		.cwd = c->cwd,
		.sandbox = &c->sandbox,
		.best = s->conf->best,
	};

	if (sv->session == NULL) {
		if (!state_folder(
			s, sv->tool, &in.uid, &in.gid, &state, why, size))
			return NULL;
		in.folder = state;
		in.folder_at = "/state";
	} else {
		struct session_processes *sp = sv->session->processes;

		in.uid = sp->uid;
		in.gid = sp->gid;
		in.folder = sp->folder;
		in.folder_device = sp->folder_id.device;
		in.folder_inode = sp->folder_id.inode;
		in.folder_at = "/session";
		if (s->processes->root && c->sandbox.user != NULL) {
			in.uid = sv->tool->user;
			in.gid = sv->tool->user_group;
		}
	}
	return plan_make(&in, why, size);
}

static bool
need_worker(struct supervisor *s, struct server *sv, char *why, size_t size)
{
	struct worker *old = sv->session == NULL
	    ? s->processes->plugins
	    : sv->session->processes->worker;

	if (worker_of(s, sv) != NULL)
		return true;
	if (old != NULL) {
		snprintf(why, size, "its worker is just ending");
		return false;
	}
	return worker_start(s, sv->session, why, size) != NULL;
}

bool
server_start(struct supervisor *s, struct server *sv)
{
	struct server_process *p = sv->process;
	int theirs[3] = { -1, -1, -1 };
	struct plan *plan = NULL;
	char why[512] = "";
	int r;

	server_process_reset(p);
	p->conf = conf_tool_ref(sv->tool->conf);
	p->started++;
	p->stale = false;
	sv->era[0] = '\0';
	if (!need_worker(s, sv, why, sizeof(why)))
		goto out;
	plan = plan_server(s, sv, why, sizeof(why));
	if (plan == NULL)
		goto out;
	p->hidden = mem_strdup(plan_hidden_argument(plan));
	r = make_stdio(p, may_widen(s), theirs);
	if (r < 0) {
		snprintf(why, sizeof(why), "stdio: %s", strerror(-r));
		goto out;
	}
	p->box = box_start(s, plan,
	    sv->session == NULL ? NULL : sv->session->job->name, theirs,
	    &owner, sv, why, sizeof(why));
out:
	for (int i = 0; i < 3; i++)
		fd_close(&theirs[i]);
	plan_free(plan);
	if (p->box != NULL)
		return true;
	fail(p, why);
	return false;
}
