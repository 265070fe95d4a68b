/*
 * Channels in the event loop of the supervisor.  A link is freed by its owner
 * alone, also while one of its frames is being handled: then its memory goes
 * when the handler has returned.  Frames are checked by wire/ against the
 * table of messages, then here against the phase that the link is in, then by
 * their handler against the supervisor's own records.
 */
#include "supervisor/link.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fatal.h"
#include "base/log.h"
#include "base/mem.h"
#include "supervisor/processes.h"

struct link {
	TAILQ_ENTRY(link) dirty;
	struct supervisor *s;
	struct chan *chan;
	struct event *readable, *writable;
	const struct link_kind *kind;
	void *arg;
	unsigned phase;
	unsigned busy; /* handlers that run */
	bool is_dirty, paused, closed, doomed;
};

struct links {
	TAILQ_HEAD(, link) dirty;
};

struct links *
links_new(void)
{
	struct links *ls = mem_zalloc(sizeof(*ls));

	TAILQ_INIT(&ls->dirty);
	return ls;
}

void
links_free(struct links *ls)
{
	free(ls);
}

static void
unlink_dirty(struct link *l)
{
	if (l->is_dirty)
		TAILQ_REMOVE(&l->s->processes->links->dirty, l, dirty);
	l->is_dirty = false;
}

static void
release(struct link *l)
{
	event_free(l->readable);
	event_free(l->writable);
	chan_free(l->chan);
	free(l);
}

void
link_free(struct link *l)
{
	if (l == NULL || l->doomed)
		return;
	unlink_dirty(l);
	event_del(l->readable);
	event_del(l->writable);
	l->doomed = true;
	if (l->busy == 0)
		release(l);
}

static void
tell_closed(struct link *l, bool broken, const char *why)
{
	if (l->closed || l->doomed)
		return;
	l->closed = true;
	unlink_dirty(l);
	event_del(l->readable);
	event_del(l->writable);
	l->kind->closed(l->s, l->arg, broken, why);
}

static const struct link_handler *
find_handler(const struct link *l, enum wire_type type)
{
	for (size_t i = 0; i < l->kind->nhandlers; i++)
		if (l->kind->handlers[i].type == type)
			return &l->kind->handlers[i];
	return NULL;
}

static void
refuse(struct link *l, enum wire_type type, const char *why)
{
	const struct wire_message *m = wire_message_find((uint16_t)type);
	char words[256];

	snprintf(words, sizeof(words), "%s: %s", m == NULL ? "?" : m->name,
	    why);
	tell_closed(l, true, words);
}

static void
handle(struct link *l, struct chan_frame *f)
{
	const struct link_handler *h = find_handler(l, f->type);

	if (h == NULL || (h->phases & l->phase) == 0) {
		refuse(l, f->type, "not expected now");
		return;
	}
	if (!h->fn(l->s, l->arg, f))
		refuse(l, f->type, "claims what is not so");
}

/* Every whole frame that was read. */
static void
handle_frames(struct link *l)
{
	struct chan_frame *f;
	const char *why = "bad frame";
	int r;

	while (!l->doomed && !l->closed && !l->paused) {
		r = chan_next(l->chan, &f, &why);
		if (r == 0)
			return;
		if (r < 0) {
			tell_closed(l, true, r == -EBADMSG ? why
							    : strerror(-r));
			return;
		}
		handle(l, f);
	}
}

/* One read and its frames; false: there was nothing to read. */
static bool
read_some(struct link *l)
{
	int r = chan_read(l->chan);

	if (r == -EAGAIN || r == -EINTR)
		return false;
	if (r < 0 && r != -ECONNRESET) {
		tell_closed(l, r == -EBADMSG, strerror(-r));
		return false;
	}
	if (r <= 0) {
		tell_closed(l, false, "closed its end");
		return false;
	}
	handle_frames(l);
	return true;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;

	l->busy++;
	handle_frames(l); /* left by a pause */
	if (!l->doomed && !l->closed && !l->paused)
		read_some(l);
	if (--l->busy == 0 && l->doomed)
		release(l);
}

bool
link_drain(struct link *l)
{
	bool freed;

	l->busy++;
	if (!l->doomed && !l->closed) {
		link_pause(l, false);
		handle_frames(l);
		while (!l->doomed && !l->closed && read_some(l))
			;
	}
	freed = l->doomed;
	if (--l->busy == 0 && freed)
		release(l);
	return !freed;
}

static void
flush(struct link *l)
{
	int r;

	if (l->closed || l->doomed)
		return;
	r = chan_flush(l->chan);
	/* a peer that is gone is noticed by reading, with its last words */
	if (r < 0) {
		log_debug("a link of role %d: %s", (int)l->kind->peer,
		    strerror(-r));
		event_del(l->writable);
		return;
	}
	if (chan_pending(l->chan))
		event_add(l->writable, NULL);
	else
		event_del(l->writable);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	flush(arg);
}

struct link *
link_new(struct supervisor *s, int fd, const struct link_kind *k,
    size_t max_payload, void *arg)
{
	struct link *l = mem_zalloc(sizeof(*l));

	l->s = s;
	l->kind = k;
	l->arg = arg;
	l->phase = 1;
	l->chan = chan_new(fd, WIRE_ROLE_SUPERVISOR, k->peer, max_payload);
	l->readable = event_new(
	    s->base, fd, EV_READ | EV_PERSIST, on_readable, l);
	l->writable = event_new(
	    s->base, fd, EV_WRITE | EV_PERSIST, on_writable, l);
	if (l->readable == NULL || l->writable == NULL
	    || event_add(l->readable, NULL) < 0)
		fatalx(EXIT_CODE_INTERNAL, "the event loop takes no link");
	return l;
}

void
link_set_phase(struct link *l, unsigned bit)
{
	l->phase = bit;
}

void
link_pause(struct link *l, bool on)
{
	if (l->paused == on || l->closed || l->doomed)
		return;
	l->paused = on;
	if (on) {
		event_del(l->readable);
		return;
	}
	event_add(l->readable, NULL);
	/* frames that were read before the pause; no byte may follow them */
	event_active(l->readable, EV_READ, 1);
}

bool
link_paused(const struct link *l)
{
	return l->paused;
}

bool
link_is_closed(const struct link *l)
{
	return l == NULL || l->closed || l->doomed;
}

size_t
link_queued(const struct link *l)
{
	return chan_queued(l->chan);
}

struct buf *
link_begin(struct link *l, enum wire_type type)
{
	return chan_begin(l->chan, type);
}

static void
mark_dirty(struct link *l)
{
	if (l->is_dirty || l->closed || l->doomed)
		return;
	l->is_dirty = true;
	TAILQ_INSERT_TAIL(&l->s->processes->links->dirty, l, dirty);
}

int
link_end(struct link *l, const char *payload, size_t len, const int *fds,
    size_t nfds)
{
	int r = chan_end(l->chan, payload, len, fds, nfds);

	if (r == 0)
		mark_dirty(l);
	return r;
}

int
link_end_urgent(struct link *l)
{
	int r = chan_end_urgent(l->chan);

	if (r == 0)
		mark_dirty(l);
	return r;
}

void
link_flush_now(struct link *l)
{
	unlink_dirty(l);
	flush(l);
}

void
links_flush(struct supervisor *s, struct links *ls)
{
	struct link *l;

	while ((l = TAILQ_FIRST(&ls->dirty)) != NULL)
		link_flush_now(l);
}
