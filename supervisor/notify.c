/*
 * What a service manager is told, by sd_notify(3)'s protocol: one datagram of
 * NAME=VALUE lines to the socket in NOTIFY_SOCKET (a path, or `@' and an
 * abstract name), nothing without one.  Sending never blocks: a manager that
 * does not read loses a message, the node goes on.  Runs in oz0d.
 */
#include "supervisor/control_internal.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

#define STATUS_EVERY SPAN_S(1)

/* false: there is no manager to tell. */
static bool
manager_address(struct sockaddr_un *ret, socklen_t *ret_len)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t n = path != NULL ? strlen(path) : 0;

	if (n < 2 || n >= sizeof(ret->sun_path) ||
	    (path[0] != '/' && path[0] != '@'))
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	memcpy(ret->sun_path, path, n);
	*ret_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
	if (path[0] == '@')
		ret->sun_path[0] = '\0';
	else
		++*ret_len;
	return true;
}

static void
notify_send(struct supervisor *s, const char *text)
{
	struct sockaddr_un a;
	socklen_t len;
	int fd;

	if (!manager_address(&a, &len))
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 ||
	    sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
		(struct sockaddr *)&a, len) < 0)
		log_debug("NOTIFY_SOCKET: %s", strerror(errno));
	fd_close(&fd);
}

void
notify_ready(struct supervisor *s)
{
	notify_send(s, "READY=1");
	notify_status(s);
}

/* Type=notify-reload wants the monotonic time with it. */
void
notify_reloading(struct supervisor *s)
{
	struct timespec ts;
	char text[80];

	clock_gettime(CLOCK_MONOTONIC, &ts);
	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%lld",
	    (long long)ts.tv_sec * 1000000 + ts.tv_nsec / 1000);
	notify_send(s, text);
}

void
notify_stopping(struct supervisor *s)
{
	notify_send(s, "STOPPING=1");
}

/* ---- STATUS= ---- */

static void
send_status(struct supervisor *s)
{
	char text[400];
	unsigned jobs = 0;
	struct job *j;

	RB_FOREACH(j, job_tree, &s->jobs)
	jobs += !job_state_ended(j->state);
	snprintf(text, sizeof(text),
	    "STATUS=%s: %u jobs, %u calls running, %u queued%s%.200s",
	    node_state_word(s), jobs, s->running, s->queued,
	    s->degraded != NULL ? "; " : "",
	    s->degraded != NULL ? s->degraded : "");
	notify_send(s, text);
}

static void
on_status(struct supervisor *s, void *arg)
{
	struct notify *n = arg;

	n->status_at = time_mono();
	send_status(s);
}

void
notify_status(struct supervisor *s)
{
	struct notify *n = s->control != NULL ? &s->control->notify : NULL;
	struct mono due;

	if (n == NULL || n->status.set || getenv("NOTIFY_SOCKET") == NULL)
		return;
	due = mono_add(n->status_at, STATUS_EVERY);
	if (mono_before(time_mono(), due))
		deadline_set(s, &n->status, due);
	else
		on_status(s, n);
}

/* ---- the watchdog ---- */

static void
on_watchdog(struct supervisor *s, void *arg)
{
	struct notify *n = arg;

	notify_send(s, "WATCHDOG=1");
	deadline_after(s, &n->watchdog, n->watchdog_every);
}

void
notify_start_watchdog(struct supervisor *s)
{
	struct notify *n = s->control != NULL ? &s->control->notify : NULL;
	const char *usec = getenv("WATCHDOG_USEC");
	const char *pid = getenv("WATCHDOG_PID");
	long long us = usec != NULL ? strtoll(usec, NULL, 10) : 0;

	if (n == NULL || us <= 0 || us > 86400000000LL ||
	    (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
		return;
	n->watchdog_every = SPAN_US(us > 1 ? us / 2 : 1);
	on_watchdog(s, n);
}

void
notify_init(struct notify *n)
{
	deadline_init(&n->status, on_status, n);
	deadline_init(&n->watchdog, on_watchdog, n);
}

void
notify_free(struct supervisor *s, struct notify *n)
{
	deadline_clear(s, &n->status);
	deadline_clear(s, &n->watchdog);
}
