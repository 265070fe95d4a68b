/*
 * Processes of the node before: found by boot id, pid and start time, killed by
 * pidfd, waited for in the event loop.  Run by the supervisor at its start
 * (startup.c), and by child.c and box.c to say who a process is.
 */
#include "supervisor/leftover.h"

#include <ctype.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"

#define DESCRIBE_MAX 16

struct leftover {
	TAILQ_ENTRY(leftover) entry;
	struct leftovers *all;
	char *role;
	pid_t pid;
	int pidfd;
	struct event *readable;
};

struct leftovers {
	TAILQ_HEAD(, leftover) list;
	unsigned left;
};

/* The name in parentheses may hold anything, so count from its end. */
int
leftover_parse_stat(
    const char *text, char *ret_state, uint64_t *ret_start_time)
{
	const char *p = strrchr(text, ')');
	unsigned long long start;
	char state;
	int field;

	if (p == NULL || p[1] != ' ' || p[2] == '\0')
		return -EINVAL;
	p += 2;
	state = *p;
	for (field = 3; field < 22; field++) {
		p = strchr(p, ' ');
		if (p == NULL)
			return -EINVAL;
		p++;
	}
	if (!isdigit((unsigned char)*p))
		return -EINVAL;
	start = strtoull(p, NULL, 10);
	*ret_state = state;
	*ret_start_time = start;
	return 0;
}

static int
read_stat(pid_t pid, char *ret_state, uint64_t *ret_start_time)
{
	CLEANUP_FREE char *text = NULL;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	r = fd_read_file(AT_FDCWD, path, 4096, &text, NULL);
	if (r < 0)
		return r;
	return leftover_parse_stat(text, ret_state, ret_start_time);
}

int
leftover_start_time(pid_t pid, uint64_t *ret)
{
	char state;

	return read_stat(pid, &state, ret);
}

int
leftover_boot_id(char ret[37])
{
	CLEANUP_FREE char *text = NULL;
	size_t len;
	int r;

	r = fd_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64,
	    &text, &len);
	if (r < 0)
		return r;
	if (len < 36)
		return -EINVAL;
	memcpy(ret, text, 36);
	ret[36] = '\0';
	return 0;
}

int
leftover_open(const struct rec_child *c, const char *boot_id)
{
	CLEANUP_CLOSE int fd = -1;
	uint64_t start;
	char state;

	if (strcmp(c->boot_id, boot_id) != 0 || c->pid == 0
	    || c->pid > INT32_MAX)
		return -ESRCH;
	fd = (int)syscall(SYS_pidfd_open, (pid_t)c->pid, 0);
	if (fd < 0)
		return errno == EINVAL ? -ESRCH : -errno;
	/* the pidfd holds whoever has the number now: is it the one? */
	if (read_stat((pid_t)c->pid, &state, &start) < 0
	    || start != c->start_time || state == 'X')
		return -ESRCH;
	return fd_steal(&fd);
}

static void
describe(pid_t pid, struct buf *out, unsigned *left)
{
	CLEANUP_FREE char *children = NULL, *wchan = NULL;
	char path[96], state, *p, *save = NULL;
	uint64_t start;

	if (*left == 0 || read_stat(pid, &state, &start) < 0)
		return;
	(*left)--;
	snprintf(path, sizeof(path), "/proc/%d/wchan", (int)pid);
	if (fd_read_file(AT_FDCWD, path, 256, &wchan, NULL) < 0
	    || wchan[0] == '\0' || strcmp(wchan, "0") == 0)
		buf_printf(out, "%spid %d (%c)", buf_len(out) ? ", " : "",
		    (int)pid, state);
	else
		buf_printf(out, "%spid %d (%c, in %s)",
		    buf_len(out) ? ", " : "", (int)pid, state, wchan);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
	    (int)pid);
	if (fd_read_file(AT_FDCWD, path, 65536, &children, NULL) < 0)
		return;
	for (p = strtok_r(children, " ", &save); p != NULL;
	    p = strtok_r(NULL, " ", &save))
		describe((pid_t)strtol(p, NULL, 10), out, left);
}

void
leftover_describe(pid_t pid, struct buf *out)
{
	unsigned left = DESCRIBE_MAX;

	describe(pid, out, &left);
}

struct leftovers *
leftovers_new(void)
{
	struct leftovers *l = mem_zalloc(sizeof(*l));

	TAILQ_INIT(&l->list);
	return l;
}

static void
drop(struct leftover *o)
{
	TAILQ_REMOVE(&o->all->list, o, entry);
	o->all->left--;
	event_free(o->readable);
	fd_close(&o->pidfd);
	free(o->role);
	free(o);
}

void
leftovers_free(struct leftovers *l)
{
	struct leftover *o;

	if (l == NULL)
		return;
	while ((o = TAILQ_FIRST(&l->list)) != NULL)
		drop(o);
	free(l);
}

static void
on_dead(evutil_socket_t fd, short what, void *arg)
{
	struct leftover *o = arg;

	log_info("left by the node before and now dead: pid %d, %s",
	    (int)o->pid, o->role);
	drop(o);
}

static void
kill_one(struct leftover *o)
{
	if (syscall(SYS_pidfd_send_signal, o->pidfd, SIGKILL, NULL, 0) < 0
	    && errno != ESRCH)
		log_warning("pid %d, %s, left by the node before: %s",
		    (int)o->pid, o->role, strerror(errno));
}

void
leftovers_add(
    struct supervisor *s, struct leftovers *l, const struct rec_child *c)
{
	struct leftover *o;
	int fd = leftover_open(c, s->boot_id);

	if (fd == -ESRCH)
		return;
	if (fd < 0) {
		log_warning("pid %u, %s, left by the node before: %s", c->pid,
		    c->role, strerror(-fd));
		return;
	}
	o = mem_zalloc(sizeof(*o));
	o->all = l;
	o->pid = (pid_t)c->pid;
	o->pidfd = fd;
	o->role = mem_strdup(c->role);
	o->readable = event_new(s->base, fd, EV_READ, on_dead, o);
	event_add(o->readable, NULL);
	TAILQ_INSERT_TAIL(&l->list, o, entry);
	l->left++;
	kill_one(o);
}

unsigned
leftovers_left(const struct leftovers *l)
{
	return l->left;
}

void
leftovers_kill(struct leftovers *l)
{
	struct leftover *o;

	TAILQ_FOREACH(o, &l->list, entry)
		kill_one(o);
}

void
leftovers_name(const struct leftovers *l, struct buf *out)
{
	const struct leftover *o;

	TAILQ_FOREACH(o, &l->list, entry)
		buf_printf(out, "%spid %d (%s)", buf_len(out) ? ", " : "",
		    (int)o->pid, o->role);
}
