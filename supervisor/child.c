/*
 * Children by pid.  A child is dead when it was reaped: an init's wait status
 * is to be had only once its whole pid namespace is gone (DESIGN), so that is
 * the proof that nothing of it runs.  Its pidfd wakes the loop also where a
 * SIGCHLD was lost; pids that nobody here knows are reaped and passed over.
 * One that is to die is killed again and again until it is dead: it may be in
 * uninterruptible sleep, or its namespace held by a process that joined it.
 */
#include "supervisor/child.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fatal.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "supervisor/leftover.h"
#include "supervisor/process.h"
#include "supervisor/processes.h"
#include "supervisor/record.h"

#define STRANGERS_MAX 64
#define KILL_FIRST SPAN_MS(250)
#define KILL_CAP SPAN_S(5)
#define KILLS_DEGRADED 4 /* about two seconds after the first */
#define UNDYING_SHOWN 8

struct child {
	RB_ENTRY(child) by_pid;
	struct supervisor *s;
	pid_t pid;
	int pidfd;
	uint64_t start_time;
	char *kind, *name, *job;
	struct wall started;
	struct event *readable;
	bool recorded;
	struct deadline again; /* the next SIGKILL, of one that is to die */
	struct span wait;
	unsigned kills;
	bool undying;
	child_fn *died;
	void *arg;
};

RB_HEAD(child_tree, child);

struct stranger {
	pid_t pid;
	int status;
};

struct children {
	struct child_tree tree;
	unsigned count;
	unsigned expected;
	struct stranger strangers[STRANGERS_MAX];
	unsigned nstrangers;
	unsigned undying;
	char *degraded; /* the words of s->degraded */
};

static int
compare(const struct child *a, const struct child *b)
{
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

RB_GENERATE_INTERNAL(child_tree, child, by_pid, compare,
    __attribute__((unused)) static)

struct children *
children_new(void)
{
	struct children *cs = mem_zalloc(sizeof(*cs));

	RB_INIT(&cs->tree);
	return cs;
}

static void
release(struct child *c)
{
	deadline_clear(c->s, &c->again);
	event_free(c->readable);
	fd_close(&c->pidfd);
	free(c->kind);
	free(c->name);
	free(c->job);
	free(c);
}

void
children_free(struct supervisor *s)
{
	struct children *cs = s->processes->children;
	struct child *c;

	if (cs == NULL)
		return;
	while ((c = RB_MIN(child_tree, &cs->tree)) != NULL) {
		RB_REMOVE(child_tree, &cs->tree, c);
		release(c);
	}
	s->degraded = NULL;
	free(cs->degraded);
	free(cs);
}

static void
record(struct supervisor *s, struct child *c, bool born)
{
	char *role = mem_printf("%s %s", c->kind, c->name);
	struct record r = {
		.type = REC_CHILD,
		.job = c->job,
		.u.child = {
			.role = role,
			.boot_id = s->boot_id,
			.pid = (uint32_t)c->pid,
			.start_time = c->start_time,
			.born = born,
		},
	};

	record_facts(s, &r);
	free(role);
	c->recorded = true;
}

/* ---- what SIGKILL does not end ---- */

static void
describe(const struct child *c, struct buf *out)
{
	CLEANUP(buf_free) struct buf who = { 0 };

	leftover_describe(c->pid, &who);
	buf_printf(out, "%s %s does not die by SIGKILL: ", c->kind, c->name);
	buf_put(out, buf_at(&who), buf_len(&who));
}

/* Says anew which do not die; none: the node is not degraded. */
static void
tell_undying(struct supervisor *s)
{
	struct children *cs = s->processes->children;
	CLEANUP(buf_free) struct buf words = { 0 };
	unsigned shown = 0;
	struct child *c;

	RB_FOREACH(c, child_tree, &cs->tree) {
		if (!c->undying || shown == UNDYING_SHOWN)
			continue;
		buf_puts(&words, shown++ == 0 ? "" : "; ");
		describe(c, &words);
	}
	if (cs->undying > shown)
		buf_printf(&words, "; and %u more", cs->undying - shown);
	free(cs->degraded);
	cs->degraded = NULL;
	if (cs->undying > 0)
		cs->degraded = mem_strndup(buf_at(&words), buf_len(&words));
	s->degraded = cs->degraded;
}

static void
died_after_all(struct child *c)
{
	struct children *cs = c->s->processes->children;

	c->undying = false;
	cs->undying--;
	log_notice("%s %s (pid %d) has died after all%s", c->kind, c->name,
	    (int)c->pid, cs->undying == 0 ? "; no longer degraded" : "");
	tell_undying(c->s);
}

static void
kill_once(struct child *c)
{
	CLEANUP(buf_free) struct buf words = { 0 };

	child_signal(c, SIGKILL);
	deadline_after(c->s, &c->again, c->wait);
	c->wait = span_min(SPAN_US(c->wait.us * 2), KILL_CAP);
	if (++c->kills < KILLS_DEGRADED)
		return;
	if (!c->undying) {
		c->undying = true;
		c->s->processes->children->undying++;
		describe(c, &words);
		buf_putc(&words, '\0');
		log_error("%s", buf_at(&words));
	}
	tell_undying(c->s); /* its state may be another by now */
}

static void
kill_again(struct supervisor *s, void *arg)
{
	kill_once(arg);
}

void
child_kill(struct child *c)
{
	if (c->kills > 0)
		return;
	c->wait = KILL_FIRST;
	kill_once(c);
}

/* ---- born and dead ---- */

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	children_reap(arg);
}

struct child *
child_new(struct supervisor *s, pid_t pid, int pidfd, const char *kind,
    const char *name, const char *job, child_fn *died, void *arg)
{
	struct children *cs = s->processes->children;
	struct child *c = mem_zalloc(sizeof(*c));

	c->s = s;
	c->pid = pid;
	c->pidfd = pidfd;
	deadline_init(&c->again, kill_again, c);
	c->kind = mem_strdup(kind);
	c->name = mem_strdup(name);
	c->job = mem_strdup(job);
	c->died = died;
	c->arg = arg;
	c->started = time_wall();
	/* not reaped yet, so /proc still has it even if it has ended */
	if (leftover_start_time(pid, &c->start_time) < 0)
		log_warning("pid %d: no start time in /proc", (int)pid);
	c->readable = event_new(s->base, pidfd, EV_READ, on_readable, s);
	if (c->readable == NULL || event_add(c->readable, NULL) < 0)
		fatalx(EXIT_CODE_INTERNAL, "the event loop takes no pidfd");
	RB_INSERT(child_tree, &cs->tree, c);
	cs->count++;
	if (s->state != NODE_STARTING)
		record(s, c, true);
	return c;
}

pid_t
child_pid(const struct child *c)
{
	return c->pid;
}

void
child_signal(struct child *c, int signo)
{
	if (syscall(SYS_pidfd_send_signal, c->pidfd, signo, NULL, 0) < 0
	    && errno != ESRCH)
		log_warning("%s %s: signal %d: %s", c->kind, c->name, signo,
		    strerror(errno));
}

void
child_disown(struct child *c)
{
	c->died = NULL;
	c->arg = NULL;
}

static void
buried(struct supervisor *s, struct child *c, int status)
{
	struct children *cs = s->processes->children;
	child_fn *died = c->died;
	void *arg = c->arg;

	log_debug("%s %s (pid %d) is dead, status %#x", c->kind, c->name,
	    (int)c->pid, (unsigned)status);
	RB_REMOVE(child_tree, &cs->tree, c);
	cs->count--;
	if (c->undying)
		died_after_all(c);
	if (c->recorded)
		record(s, c, false);
	release(c);
	if (died != NULL)
		died(s, arg, status);
}

static void
remember(struct children *cs, pid_t pid, int status)
{
	log_debug("reaped pid %d, which nobody here knows", (int)pid);
	if (cs->expected == 0)
		return;
	if (cs->nstrangers == STRANGERS_MAX)
		memmove(cs->strangers, cs->strangers + 1,
		    --cs->nstrangers * sizeof(cs->strangers[0]));
	cs->strangers[cs->nstrangers].pid = pid;
	cs->strangers[cs->nstrangers++].status = status;
}

void
children_reap(struct supervisor *s)
{
	struct children *cs = s->processes->children;
	struct child key, *c;
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0
	    || (pid < 0 && errno == EINTR)) {
		if (pid < 0)
			continue;
		key.pid = pid;
		c = RB_FIND(child_tree, &cs->tree, &key);
		if (c != NULL)
			buried(s, c, status);
		else
			remember(cs, pid, status);
	}
}

void
children_expect(struct supervisor *s, bool on)
{
	struct children *cs = s->processes->children;

	cs->expected += on ? 1 : -1u;
	if (cs->expected == 0)
		cs->nstrangers = 0;
}

bool
children_reaped(struct supervisor *s, pid_t pid, int *ret_status)
{
	struct children *cs = s->processes->children;

	for (unsigned i = 0; i < cs->nstrangers; i++) {
		if (cs->strangers[i].pid != pid)
			continue;
		*ret_status = cs->strangers[i].status;
		return true;
	}
	return false;
}

static bool
has_title(pid_t pid, const char *title)
{
	CLEANUP_FREE char *line = NULL;
	char path[64];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	return fd_read_file(AT_FDCWD, path, 65536, &line, &len) == 0
	    && strcmp(line, title) == 0;
}

pid_t
children_stray(struct supervisor *s, const char *title)
{
	CLEANUP_FREE char *list = NULL;
	char path[64], *p, *save = NULL;
	struct child key;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children",
	    (int)getpid());
	if (fd_read_file(AT_FDCWD, path, 1 << 20, &list, NULL) < 0)
		return 0;
	for (p = strtok_r(list, " ", &save); p != NULL;
	    p = strtok_r(NULL, " ", &save)) {
		key.pid = (pid_t)strtol(p, NULL, 10);
		if (RB_FIND(child_tree, &s->processes->children->tree, &key)
			== NULL
		    && has_title(key.pid, title))
			return key.pid;
	}
	return 0;
}

void
children_record(struct supervisor *s)
{
	struct child *c;

	RB_FOREACH(c, child_tree, &s->processes->children->tree)
		if (!c->recorded)
			record(s, c, true);
}

unsigned
children_count(const struct supervisor *s)
{
	return s->processes->children->count;
}

void
children_each(struct supervisor *s,
    void (*fn)(void *arg, const struct process_info *p), void *arg)
{
	struct child *c;

	RB_FOREACH(c, child_tree, &s->processes->children->tree) {
		struct process_info p = {
			.role = c->kind,
			.name = c->name,
			.job = c->job,
			.pid = c->pid,
			.started = c->started,
		};

		fn(arg, &p);
	}
}
