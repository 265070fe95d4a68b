/*
 * The removal of sessions' folders: a queue, a few processes at a time, each
 * with the uid that the folder's content has and a descriptor of the folder
 * and nothing else.  The supervisor itself only removes the empty directory.
 * What could not be removed stays for the next start, and its uid with it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/launch.h"
#include "supervisor/folder.h"
#include "supervisor/processes.h"
#include "supervisor/uidpool.h"

#define AT_ONCE 4
#define TRY_AGAIN SPAN_S(5) /* where no process is to be had */

struct removal {
	TAILQ_ENTRY(removal) entry;
	struct supervisor *s;
	char *name;
	uid_t uid;
	gid_t gid;
	bool give_uid;
	struct child *child;
};

struct remover {
	TAILQ_HEAD(, removal) waiting, running;
	unsigned nrunning;
	struct deadline again;
};

static void next(struct supervisor *s, void *arg);

struct remover *
remover_new(void)
{
	struct remover *r = mem_zalloc(sizeof(*r));

	TAILQ_INIT(&r->waiting);
	TAILQ_INIT(&r->running);
	deadline_init(&r->again, next, NULL);
	return r;
}

static void
free_removal(struct removal *m)
{
	free(m->name);
	free(m);
}

void
remover_free(struct supervisor *s, struct remover *r)
{
	struct removal *m;

	if (r == NULL)
		return;
	deadline_clear(s, &r->again);
	while ((m = TAILQ_FIRST(&r->waiting)) != NULL) {
		TAILQ_REMOVE(&r->waiting, m, entry);
		free_removal(m);
	}
	while ((m = TAILQ_FIRST(&r->running)) != NULL) {
		TAILQ_REMOVE(&r->running, m, entry);
		child_disown(m->child);
		free_removal(m);
	}
	free(r);
}

static void
finished(struct supervisor *s, struct removal *m)
{
	struct processes *ps = s->processes;

	if (unlinkat(ps->sessions_dir, m->name, AT_REMOVEDIR) < 0
	    && errno != ENOENT)
		log_warning("session folder %s was not removed: %s", m->name,
		    strerror(errno));
	else if (m->give_uid)
		uidpool_give(ps->uids, m->uid);
	free_removal(m);
}

static void
died(struct supervisor *s, void *arg, int status)
{
	struct removal *m = arg;
	struct remover *r = s->processes->remover;

	TAILQ_REMOVE(&r->running, m, entry);
	r->nrunning--;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		log_debug("removal of %s: status %#x", m->name,
		    (unsigned)status);
	finished(s, m);
	next(s, NULL);
}

/* 0, 1 when there is nothing to remove, or -errno. */
static int
launch(struct supervisor *s, struct removal *m)
{
	struct processes *ps = s->processes;
	CLEANUP_FREE char *title = mem_printf("oz0-sandbox: remove %s",
	    m->name);
	CLEANUP_CLOSE int dir = -1;
	char uid[16], gid[16], *envp[] = { NULL };
	char *argv[] = { title, (char *)"--remove", uid, gid, NULL };
	struct launch_fault f;
	int pidfd, r;
	pid_t pid;

	if (unlinkat(ps->sessions_dir, m->name, AT_REMOVEDIR) == 0)
		return 1; /* it was empty */
	dir = openat(ps->sessions_dir, m->name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return errno == EMFILE || errno == ENFILE ? -errno : 1;
	snprintf(uid, sizeof(uid), "%u", (unsigned)m->uid);
	snprintf(gid, sizeof(gid), "%u", (unsigned)m->gid);
	r = launch_program(ps->exe_sandbox, argv, envp, dir,
	    (const int[LAUNCH_KEEP]) { -1, -1, -1 }, &pid, &pidfd, &f);
	if (r < 0)
		return r;
	m->child = child_new(
	    s, pid, pidfd, "remover", m->name, NULL, died, m);
	return 0;
}

static void
next(struct supervisor *s, void *arg)
{
	struct remover *r = s->processes->remover;
	struct removal *m;

	while (r->nrunning < AT_ONCE
	    && (m = TAILQ_FIRST(&r->waiting)) != NULL) {
		int e = launch(s, m);

		if (e < 0) {
			deadline_after(s, &r->again, TRY_AGAIN);
			return;
		}
		TAILQ_REMOVE(&r->waiting, m, entry);
		if (e > 0) {
			finished(s, m);
			continue;
		}
		TAILQ_INSERT_TAIL(&r->running, m, entry);
		r->nrunning++;
	}
}

void
remover_add(struct supervisor *s, const char *name, uid_t uid, gid_t gid,
    bool give_uid)
{
	struct removal *m;

	if (s->processes->done)
		return; /* it stays for the next start */
	m = mem_zalloc(sizeof(*m));
	m->s = s;
	m->name = mem_strdup(name);
	m->uid = uid;
	m->gid = gid;
	m->give_uid = give_uid;
	TAILQ_INSERT_TAIL(&s->processes->remover->waiting, m, entry);
	next(s, NULL);
}

void
remover_sweep(struct supervisor *s)
{
	struct processes *ps = s->processes;
	int fd = openat(ps->sessions_dir, ".", O_RDONLY | O_DIRECTORY
	    | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	if (d == NULL) {
		fd_close(&fd);
		return;
	}
	while ((e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0
		    || strcmp(e->d_name, "..") == 0
		    || fstatat(ps->sessions_dir, e->d_name, &st,
			AT_SYMLINK_NOFOLLOW) < 0
		    || !S_ISDIR(st.st_mode))
			continue;
		remover_add(s, e->d_name, st.st_uid, st.st_gid,
		    ps->uids != NULL && uidpool_reserve(ps->uids, st.st_uid));
	}
	closedir(d);
}

bool
remover_idle(const struct supervisor *s)
{
	return TAILQ_EMPTY(&s->processes->remover->waiting)
	    && TAILQ_EMPTY(&s->processes->remover->running);
}
