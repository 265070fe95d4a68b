/*
 * The control socket as a whole: accepting connections, what happens once a
 * turn, reloads and the end.  Requests become acts of the core by the methods
 * (control_method.c); what is written leaves in control_flush(), after the
 * turn was recorded, and never earlier.  Runs in oz0d.
 */
#include "supervisor/control_internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"

#define ACCEPTS_PER_TURN 64
#define SELDOM SPAN_S(10)
#define CONNS_MIN 64
#define CONNS_MAX 2048

static void
set_limits(struct control *c)
{
	struct rlimit l;
	rlim_t n = CONNS_MAX;

	/* descriptors are for servers too */
	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur / 4 < n)
		n = l.rlim_cur / 4;
	c->max_conns = n < CONNS_MIN ? CONNS_MIN : (unsigned)n;
	c->max_per_uid = c->max_conns - c->max_conns / 4;
}

/* Peers may do it again and again: what it logs is logged every 10 s. */
bool
control_seldom(struct mono *last)
{
	struct mono now = time_mono();

	if (last->us != 0 && mono_since(now, *last).us < SELDOM.us)
		return false;
	*last = now;
	return true;
}

/* A peer that gets one line and nothing else. */
static void
turn_away(struct control *c, int fd, struct peer *p, const char *reason,
    const char *why)
{
	struct conn *k = conn_new(c, fd, p);
	struct jsonw w;

	buf_puts(&k->out.text, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":");
	jsonw_init(&w, &k->out.text);
	jsonw_object(&w, NULL);
	jsonw_int(&w, "code", RPC_FAULT);
	jsonw_string(&w, "message", why);
	jsonw_object(&w, "data");
	jsonw_string(&w, "reason", reason);
	jsonw_object_end(&w);
	jsonw_object_end(&w);
	buf_puts(&k->out.text, "}\n");
	conn_close_after(k);
	conn_watch(k);
}

static void
accepted(struct control *c, int fd)
{
	struct peer p = {0};
	int r = peer_read(fd, &p);

	if (r < 0) {
		log_warning("control: who connected? %s", strerror(-r));
		fd_close(&fd);
		return;
	}
	if (!limit_make_room(c, &p)) {
		if (control_seldom(&c->refused_at))
			log_warning("control: all connections of uid %lu are "
				    "in use: others are refused",
			    (unsigned long)p.uid);
		turn_away(c, fd, &p, "node_full",
		    "all connections of this user are in use");
	} else if (role_of(c->s->conf, &p) == ROLE_NONE) {
		if (control_seldom(&c->refused_at))
			log_notice("control: uid %lu has no role on this node",
			    (unsigned long)p.uid);
		turn_away(c, fd, &p, "not_allowed",
		    "your user has no role on this node (admins, schedulers, "
		    "observers in its configuration)");
	} else {
		conn_new(c, fd, &p);
	}
}

static void
on_acceptable(evutil_socket_t listener, short what, void *arg)
{
	struct control *c = arg;

	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		int fd =
		    accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			accepted(c, fd);
			continue;
		}
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		if (errno != EAGAIN) {
			/* level-triggered: it would spin */
			log_error("control: accept: %s", strerror(errno));
			event_del(c->acceptable);
			c->accepting = false;
			deadline_after(c->s, &c->resume, SPAN_MS(200));
		}
		return;
	}
}

/* Peers that wrote all they had to say, and went away while calls run. */
static unsigned
drop_hung_up(struct control *c)
{
	struct conn *k, *next;
	unsigned left = 0;

	TAILQ_FOREACH_SAFE(k, &c->conns, entry, next)
	{
		struct pollfd p = {.fd = k->fd};

		if (!k->eof)
			continue;
		if (poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR)))
			conn_kill(k, NULL);
		else
			left++;
	}
	return left;
}

static void
on_resume(struct supervisor *s, void *arg)
{
	struct control *c = arg;

	if (!c->accepting && c->acceptable != NULL) {
		event_add(c->acceptable, NULL);
		c->accepting = true;
	}
	if (drop_hung_up(c) > 0)
		deadline_after(s, &c->resume, SPAN_S(1));
	/* control_flush() looks at the budget */
}

int
control_start(struct supervisor *s)
{
	struct control *c = mem_zalloc(sizeof(*c));
	int r;

	c->s = s;
	c->listener = c->lock = -1;
	notify_init(&c->notify);
	TAILQ_INIT(&c->conns);
	TAILQ_INIT(&c->dirty);
	TAILQ_INIT(&c->woken);
	TAILQ_INIT(&c->unsafe);
	TAILQ_INIT(&c->dead);
	TAILQ_INIT(&c->subscribers);
	TAILQ_INIT(&c->starting);
	deadline_init(&c->resume, on_resume, c);
	set_limits(c);
	s->control = c;
	r = aside_init(c);
	if (r == 0)
		r = listen_open(c);
	if (r < 0) {
		control_free(s);
		return r;
	}
	c->acceptable = event_new(
	    s->base, c->listener, EV_READ | EV_PERSIST, on_acceptable, c);
	if (c->acceptable == NULL)
		abort(); /* as mem_alloc() */
	event_add(c->acceptable, NULL);
	c->accepting = true;
	return 0;
}

void
control_stop(struct supervisor *s)
{
	struct control *c = s->control;

	if (c == NULL)
		return;
	if (c->acceptable != NULL)
		event_free(c->acceptable);
	c->acceptable = NULL;
	c->accepting = false;
	listen_close(c);
}

static void
free_dead(struct control *c)
{
	struct conn *k;

	while ((k = TAILQ_FIRST(&c->dead)) != NULL) {
		TAILQ_REMOVE(&c->dead, k, entry);
		conn_free(k);
	}
}

void
control_free(struct supervisor *s)
{
	struct control *c = s->control;
	struct conn *k;

	if (c == NULL)
		return;
	control_stop(s);
	while ((k = TAILQ_FIRST(&c->conns)) != NULL)
		conn_kill(k, NULL);
	free_dead(c);
	deadline_clear(s, &c->resume);
	notify_free(s, &c->notify);
	aside_free(c);
	buf_free(&c->unread);
	free(c->path);
	free(c);
	s->control = NULL;
}

void
control_flush(struct supervisor *s)
{
	struct control *c = s->control;
	struct conn *k;

	if (c == NULL)
		return;
	leave_look(c);
	while ((k = TAILQ_FIRST(&c->dirty)) != NULL) {
		TAILQ_REMOVE(&c->dirty, k, dirty);
		k->is_dirty = false;
		if (!k->dead)
			conn_write(k);
	}
	budget_check(c);
	while ((k = TAILQ_FIRST(&c->woken)) != NULL) {
		TAILQ_REMOVE(&c->woken, k, woken);
		k->is_woken = false;
		if (!k->dead)
			event_active(k->wake, EV_READ, 0);
	}
	free_dead(c);
}

void
control_reload(struct supervisor *s)
{
	struct control *c = s->control;
	struct conn *k, *next;

	if (c == NULL)
		return;
	listen_set_mode(c);
	TAILQ_FOREACH_SAFE(k, &c->conns, entry, next)
	{
		k->role = role_of(s->conf, &k->peer);
		if (k->role == ROLE_NONE)
			conn_kill(k, "its user has no role any more");
	}
}
