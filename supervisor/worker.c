/*
 * Workers: started confined and afresh, watched by pings, ended when they hang
 * or break a rule.  Run by the supervisor; what a worker says is in
 * worker_frame.c, what it is told in worker_send.c.  A worker that is gone
 * takes its calls' answers with it and nothing else: its servers are stopped,
 * and a fresh worker comes with the next start of one (L9.2).
 */
#include "supervisor/worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/launch.h"
#include "supervisor/control.h"
#include "supervisor/job.h"
#include "supervisor/processes.h"
#include "supervisor/record.h"
#include "supervisor/uidpool.h"

#define PING_EVERY SPAN_S(1)
#define END_PATIENCE SPAN_S(1) /* for one that was asked to end */

static const char *
job_of(const struct worker *w)
{
	return w->session == NULL ? NULL : w->session->job->name;
}

static bool
belongs(const struct worker *w, const struct server *sv)
{
	return sv->session == w->session;
}

struct each {
	struct worker *w;
	struct supervisor *s;
	const char *why;
};

static void
lose_server(void *arg, struct server *sv)
{
	struct each *e = arg;

	if (belongs(e->w, sv))
		server_worker_gone(e->s, sv);
}

/* What follows from its end, once. */
static void
tell_end(struct supervisor *s, struct worker *w, const char *why)
{
	struct session *ss = w->session;
	struct step *st;
	struct each e = { .w = w, .s = s, .why = why };

	if (w->told)
		return;
	w->told = true;
	log_warning("worker %s: %s", w->name, why);
	st = step_new(s, STEP_WORKER_ENDED, job_of(w));
	jsonw_string(step_json(st), "worker", w->name);
	if (ss != NULL)
		jsonw_uint(step_json(st), "session", ss->number);
	step_text(st, "worker %s ended: %s", w->name, why);
	step_commit(st);
	server_each(s, lose_server, &e);
	if (ss != NULL && ss->has_harness && ss->state == SESSION_OPEN)
		session_close(s, ss, SESSION_LOST, why);
}

static void
worker_free(struct supervisor *s, struct worker *w)
{
	struct processes *ps = s->processes;
	struct session *ss = w->session;

	TAILQ_REMOVE(&ps->workers, w, entry);
	if (ps->plugins == w)
		ps->plugins = NULL;
	if (ss != NULL && ss->processes->worker == w)
		ss->processes->worker = NULL;
	deadline_clear(s, &w->ping);
	deadline_clear(s, &w->kill);
	worker_attempts_clear(&w->attempts);
	link_free(w->link);
	fd_close(&w->theirs);
	if (w->uid != 0)
		uidpool_give(ps->uids, w->uid);
	free(w->name);
	free(w);
	if (ss != NULL)
		session_process_died(s, ss);
}

/* No process of it is there (any more). */
static void
bury(struct supervisor *s, struct worker *w, const char *how)
{
	bool asked = w->state == WORKER_ENDING && w->why[0] == '\0';

	if (!asked)
		tell_end(s, w, w->why[0] != '\0' ? w->why : how);
	worker_free(s, w);
}

static void
died(struct supervisor *s, void *arg, int status)
{
	struct worker *w = arg;
	char how[64];

	w->child = NULL;
	if (!link_is_closed(w->link))
		link_drain(w->link); /* what it wrote before counts */
	if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "ended by signal %d",
		    WTERMSIG(status));
	else
		snprintf(how, sizeof(how), "ended with exit code %d",
		    WEXITSTATUS(status));
	bury(s, w, how);
}

void
worker_end(struct supervisor *s, struct worker *w, const char *why)
{
	if (w->why[0] == '\0')
		snprintf(w->why, sizeof(w->why), "%s", why);
	w->state = WORKER_ENDING;
	deadline_clear(s, &w->ping);
	if (w->child != NULL)
		child_kill(w->child);
}

void
worker_stop(struct supervisor *s, struct worker *w)
{
	if (w->state == WORKER_ENDING)
		return;
	w->state = WORKER_ENDING;
	deadline_clear(s, &w->ping);
	link_free(w->link);
	w->link = NULL;
	deadline_after(s, &w->kill, END_PATIENCE);
}

static void
kill_now(struct supervisor *s, void *arg)
{
	struct worker *w = arg;

	if (w->child != NULL)
		child_kill(w->child);
}

void
worker_closed(struct supervisor *s, void *arg, bool broken, const char *why)
{
	struct worker *w = arg;
	char words[300];

	if (!broken) {
		/* its process ends too, or is made to; died() says how */
		deadline_after(s, &w->kill, END_PATIENCE);
		return;
	}
	snprintf(words, sizeof(words), "broke the protocol: %s", why);
	worker_end(s, w, words);
}

static void
ping(struct supervisor *s, void *arg)
{
	struct worker *w = arg;
	uint64_t n;

	deadline_after(s, &w->ping, PING_EVERY);
	if (link_is_closed(w->link) || link_paused(w->link))
		return; /* its answers are not read: no verdict */
	if (!pings_next(&w->pings, PINGS_WORKER, &n)) {
		worker_end(s, w, "hung: five pings without an answer");
		return;
	}
	wire_put_u64(link_begin(w->link, WIRE_WORKER_PING), n);
	link_end_urgent(w->link);
}

static void
send_init(struct supervisor *s, struct worker *w)
{
	struct buf *b = link_begin(w->link, WIRE_WORKER_INIT);

	wire_put_u32(b, WIRE_VERSION);
	wire_put_u8(b, w->session == NULL ? WIRE_WORKER_PLUGINS
					  : WIRE_WORKER_SESSION);
	wire_put_str(b, w->name);
	wire_put_u64(b, s->conf->max_message);
	wire_put_u8(b, (uint8_t)log_get_level());
	wire_put_u64(b, s->conf->message_budget);
	link_end(w->link, NULL, 0, NULL, 0);
}

/* Runs oz0-worker; 0 or -errno with words. */
static int
launch(struct supervisor *s, struct worker *w, char *ret_why, size_t size)
{
	struct processes *ps = s->processes;
	char uid[16], filter[16], network[16], *argv[14], *envp[] = { NULL };
	CLEANUP_FREE char *name = w->session == NULL
	    ? mem_strdup("plugins")
	    : mem_printf("%s/%u", w->session->job->name, w->session->number);
	struct launch_fault f;
	int n = 0, pidfd, r;
	pid_t pid;

	snprintf(uid, sizeof(uid), "%u", (unsigned)w->uid);
	argv[n++] = (char *)"oz0-worker";
	argv[n++] = (char *)(w->session == NULL ? "plugins" : "session");
	if (ps->root) {
		argv[n++] = (char *)"--uid";
		argv[n++] = uid;
		argv[n++] = (char *)"--gid";
		argv[n++] = uid;
	}
	if (s->conf->best)
		argv[n++] = (char *)"--best";
	snprintf(filter, sizeof(filter), "%d", ps->worker_filter);
	argv[n++] = (char *)"--filter";
	argv[n++] = filter;
	snprintf(network, sizeof(network), "%d", ps->worker_network);
	if (ps->worker_network >= 0) {
		argv[n++] = (char *)"--network";
		argv[n++] = network;
	}
	argv[n++] = name;
	argv[n] = NULL;
	r = launch_program(ps->exe_worker, argv, envp, w->theirs,
	    (const int[LAUNCH_KEEP]) { ps->alive, ps->worker_filter,
		ps->worker_network }, &pid, &pidfd, &f);
	fd_close(&w->theirs);
	if (r < 0) {
		snprintf(ret_why, size, "was not started: %s: %s", f.act,
		    strerror(f.error));
		return r;
	}
	w->child = child_new(
	    s, pid, pidfd, "worker", w->name, job_of(w), died, w);
	return 0;
}

static bool
prepare(struct supervisor *s, struct worker *w, char *ret_why, size_t size)
{
	struct processes *ps = s->processes;
	int sv[2], r;

	if (ps->root && !uidpool_take(ps->uids, &w->uid)) {
		snprintf(ret_why, size, "every uid of uid_range is taken");
		return false;
	}
	r = fd_socketpair(sv);
	if (r < 0) {
		snprintf(ret_why, size, "worker: socket: %s", strerror(-r));
		return false;
	}
	w->theirs = sv[1];
	w->link = link_new(
	    s, sv[0], &worker_link_kind, s->conf->max_message, w);
	return true;
}

struct worker *
worker_start(struct supervisor *s, struct session *ss, char *ret_why,
    size_t size)
{
	struct processes *ps = s->processes;
	struct worker *w = mem_zalloc(sizeof(*w));

	worker_attempts_init(&w->attempts);
	w->theirs = -1;
	w->session = ss;
	w->name = ss == NULL ? mem_strdup("plugins")
			     : mem_printf("session %s/%u", ss->job->name,
				 ss->number);
	deadline_init(&w->ping, ping, w);
	deadline_init(&w->kill, kill_now, w);
	if (!prepare(s, w, ret_why, size)) {
		link_free(w->link);
		if (w->uid != 0)
			uidpool_give(ps->uids, w->uid);
		free(w->name);
		free(w);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&ps->workers, w, entry);
	if (ss == NULL)
		ps->plugins = w;
	else
		ss->processes->worker = w;
	send_init(s, w);
	deadline_after(s, &w->ping, PING_EVERY);
	return w;
}

/*
 * A session's first server takes longer to its first byte than its worker does
 * to be ready, so the sandbox goes first.  What is sent to the worker meanwhile
 * waits in its socket.
 */
void
workers_launch(struct supervisor *s)
{
	struct processes *ps = s->processes;
	struct worker *w, *before;
	char why[sizeof(w->why)] = "ended before it was started";

	/* new ones are at the end of the list */
	TAILQ_FOREACH_REVERSE_SAFE(
	    w, &ps->workers, worker_list, entry, before) {
		if (w->child != NULL)
			break;
		if (w->state == WORKER_ENDING
		    || launch(s, w, why, sizeof(why)) < 0)
			bury(s, w, why);
	}
}

struct worker *
worker_of(struct supervisor *s, const struct server *sv)
{
	struct worker *w = sv->session == NULL ? s->processes->plugins
					       : sv->session->processes->worker;

	if (w == NULL || w->state == WORKER_ENDING || w->link == NULL
	    || link_is_closed(w->link))
		return NULL;
	return w;
}

/* Does its worker owe a receipt for a stop: of a call, or of a server? */
static bool
stop_awaited(struct supervisor *s, const struct worker *w)
{
	struct server_list *mine = w->session == NULL
	    ? &s->processes->servers
	    : &w->session->processes->servers;
	const struct attempt *a;
	const struct server *sv;

	TAILQ_FOREACH(sv, mine, entry) {
		if (sv->state == SERVER_STOPPING)
			return true;
		TAILQ_FOREACH(a, &sv->attempts, in_server)
			if (a->cancelling)
				return true;
	}
	return false;
}

/* One that was not read from is judged anew from here on (L9.2). */
static void
hold_back(struct worker *w, bool on)
{
	if (w->link == NULL || link_paused(w->link) == on)
		return;
	if (!on)
		pings_excuse(&w->pings);
	link_pause(w->link, on);
}

bool
worker_is_held(const struct worker *w)
{
	return w != NULL && link_paused(w->link);
}

/*
 * Over the budget results wait in their workers' sockets.  A worker that owes
 * a receipt is read from all the same, since nothing stands before a stop
 * (L1.4a): that costs at most what its running calls still answer.
 */
void
workers_budget(struct supervisor *s)
{
	struct processes *ps = s->processes;
	uint64_t held = control_bytes(s);
	uint64_t budget = s->conf->message_budget;
	struct worker *w;
	bool over = ps->overfull ? held > budget / 4 * 3 : held > budget;

	if (!over && !ps->overfull)
		return;
	if (over != ps->overfull)
		log_debug("messages on their way out: %llu bytes; reading %s",
		    (unsigned long long)held, over ? "held back" : "resumed");
	ps->overfull = over;
	TAILQ_FOREACH(w, &ps->workers, entry)
		hold_back(w, over && !stop_awaited(s, w));
}
