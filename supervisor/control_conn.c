/*
 * One connection of the control socket: bytes and descriptors in, lines to
 * control_rpc.c, answers and events out.  It never blocks, and what a peer can
 * make the node hold is bounded: a line has max_message and some slack, a peer
 * that does not read and goes on asking is not read from (answers are never
 * dropped), one that does not read its events is dropped.  Runs in oz0d;
 * called by control.c.
 */
#include "supervisor/control_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <event2/event.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"

#define READ_ROOM CONTROL_ROOM
#define READ_ROOM_LONG ((size_t)256 * 1024)
#define READS_PER_TURN 4
#define LINES_PER_TURN 256

static void on_readable(evutil_socket_t fd, short what, void *arg);
static void on_writable(evutil_socket_t fd, short what, void *arg);

struct conn *
conn_new(struct control *c, int fd, const struct peer *peer)
{
	struct event_base *base = c->s->base;
	struct conn *k = mem_zalloc(sizeof(*k));

	k->c = c;
	k->fd = fd;
	k->peer = *peer;
	k->role = role_of(c->s->conf, peer);
	k->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, k);
	k->writable =
	    event_new(base, fd, EV_WRITE | EV_PERSIST, on_writable, k);
	k->wake = event_new(base, -1, 0, on_readable, k);
	if (k->readable == NULL || k->writable == NULL || k->wake == NULL)
		abort(); /* as mem_alloc() */
	k->stuck = k->long_since = MONO_NEVER;
	TAILQ_INIT(&k->requests);
	TAILQ_INIT(&k->aside_list);
	TAILQ_INIT(&k->past);
	TAILQ_INSERT_TAIL(&c->conns, k, entry);
	c->nconns++;
	conn_watch(k);
	return k;
}

static void
group_close(struct fd_group *g)
{
	for (unsigned i = 0; i < g->count; i++)
		fd_close(&g->fds[i]);
	g->count = 0;
}

/* Its requests go unanswered; what they began goes on (INTERFACES). */
void
conn_free(struct conn *k)
{
	struct request *q;

	while ((q = TAILQ_FIRST(&k->requests)) != NULL)
		request_free(q);
	subscriber_drop(k);
	if (k->is_dirty)
		TAILQ_REMOVE(&k->c->dirty, k, dirty);
	if (k->is_woken)
		TAILQ_REMOVE(&k->c->woken, k, woken);
	leave_note(k, false);
	for (unsigned i = 0; i < k->ngroups; i++)
		group_close(&k->groups[i]);
	k->c->bytes -= k->share;
	k->c->aside -= k->aside;
	skip_drop(k);
	event_free(k->readable);
	event_free(k->writable);
	event_free(k->wake);
	fd_close(&k->fd);
	buf_free(&k->in);
	chain_free(&k->out);
	buf_free(&k->events);
	peer_clear(&k->peer);
	free(k);
}

void
conn_kill(struct conn *k, const char *why)
{
	struct control *c = k->c;

	if (k->dead)
		return;
	if (why != NULL)
		log_info("control: connection of pid %ld, uid %lu closed: %s",
		    (long)k->peer.pid, (unsigned long)k->peer.uid, why);
	k->dead = true;
	event_del(k->readable);
	event_del(k->writable);
	event_del(k->wake);
	subscriber_drop(k);
	aside_leave(k);
	TAILQ_REMOVE(&c->conns, k, entry);
	TAILQ_INSERT_TAIL(&c->dead, k, entry);
	c->nconns--;
}

void
conn_close_after(struct conn *k)
{
	k->closing = true;
	buf_free(&k->in);
	k->scanned = 0;
	conn_dirty(k);
}

bool
conn_idle(const struct conn *k)
{
	return k->nrequests == 0 && k->sub == SUB_NONE &&
	       chain_len(&k->out) == 0;
}

void
conn_dirty(struct conn *k)
{
	if (k->is_dirty || k->dead)
		return;
	TAILQ_INSERT_TAIL(&k->c->dirty, k, dirty);
	k->is_dirty = true;
}

void
conn_account(struct conn *k)
{
	size_t in = buf_len(&k->in), aside = k->aside_bytes;
	size_t share = in + chain_len(&k->out) + buf_len(&k->events) + aside +
		       k->batch_bytes;

	if (in < CONN_LONG_LINE) {
		k->long_since = MONO_NEVER;
	} else {
		aside += in;
		if (k->long_since.us == MONO_NEVER.us)
			k->long_since = time_mono();
	}
	k->c->bytes += share - k->share;
	k->share = share;
	k->c->aside += aside - k->aside;
	k->aside = aside;
}

size_t
conn_line_max(const struct conn *k)
{
	return (size_t)k->c->s->conf->max_message + CONN_LINE_SLACK;
}

/* By control_flush(): an event that a callback makes active is handled in
 * the same turn still. */
void
conn_wake(struct conn *k)
{
	if (k->dead || k->is_woken)
		return;
	TAILQ_INSERT_TAIL(&k->c->woken, k, woken);
	k->is_woken = true;
}

/*
 * Much waits to be read by its peer, and more was answered since: large results
 * alone must not keep a cancel from being read (L1.4a).
 */
static bool
is_full(const struct conn *k)
{
	return chain_len(&k->out) > CONN_OUT_PAUSE && k->beyond > CONN_OUT_MORE;
}

static bool
may_read(const struct conn *k)
{
	return !k->dead && !k->eof && !k->closing && !k->more && !is_full(k);
}

void
conn_watch(struct conn *k)
{
	bool want = may_read(k);

	if (k->dead || want == k->reading)
		return;
	if (want)
		event_add(k->readable, NULL);
	else
		event_del(k->readable);
	k->reading = want;
}

/* ---- in ---- */

static void
take_control(struct conn *k, struct msghdr *m, uint64_t at)
{
	struct fd_group g = {.at = at, .cut = m->msg_flags & MSG_CTRUNC};
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(m); c != NULL; c = CMSG_NXTHDR(m, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (g.count < CONN_GROUP_FDS) {
				g.fds[g.count++] = fd;
			} else {
				fd_close(&fd);
				g.cut = true;
			}
		}
	}
	if (g.count == 0 && !g.cut)
		return;
	if (k->ngroups == CONN_GROUPS_MAX)
		group_close(&g);
	else
		k->groups[k->ngroups++] = g;
}

bool
conn_take_fds(
    struct conn *k, uint64_t begin, uint64_t end, struct fd_group *ret)
{
	while (k->ngroups > 0 && k->groups[0].at <= end) {
		struct fd_group g = k->groups[0];

		memmove(k->groups, k->groups + 1,
		    --k->ngroups * sizeof(k->groups[0]));
		if (g.at >= begin) {
			*ret = g;
			return true;
		}
		group_close(&g);
	}
	return false;
}

/* The number of bytes, 0 at the end of the stream, or -errno. */
static ssize_t
read_some(struct conn *k)
{
	/* what begins a line goes by way of the room that all share */
	bool fresh = buf_len(&k->in) == 0;
	/* a long line will be longer */
	size_t n = buf_len(&k->in) < CONN_LONG_LINE ? READ_ROOM
						    : READ_ROOM_LONG;
	union {
		char space[CMSG_SPACE((CONN_GROUP_FDS + 1) * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {fresh ? k->c->room : buf_room(&k->in, n), n};
	struct msghdr m = {.msg_iov = &iov,
	    .msg_iovlen = 1,
	    .msg_control = control.space,
	    .msg_controllen = sizeof(control.space)};
	ssize_t got;

	do
		got = recvmsg(k->fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return got < 0 ? -errno : 0;
	if (fresh)
		buf_put(&k->in, k->c->room, (size_t)got);
	else
		buf_added(&k->in, (size_t)got);
	/* descriptors came with the last of these bytes (unix(7)) */
	take_control(k, &m, k->taken + buf_len(&k->in) - 1);
	return got;
}

static bool
is_blank(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != ' ' && p[i] != '\t' && p[i] != '\r')
			return false;
	return true;
}

static void
too_long(struct conn *k)
{
	buf_printf(&k->out.text,
	    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":%d,"
	    "\"message\":\"a line of more than %zu bytes; the connection "
	    "is closed\"}}\n",
	    RPC_REQUEST, conn_line_max(k));
	conn_close_after(k);
}

/* More of a line that is not kept; true: it has ended. */
static bool
skipped(struct conn *k)
{
	bool ended = skip_take(k);

	if (!ended && k->skip.len > conn_line_max(k))
		too_long(k);
	return ended;
}

/* Takes one line, if there is a whole one; false: nothing more to do now. */
static bool
one_line(struct conn *k)
{
	size_t have = buf_len(&k->in), len;
	char *line, *end = NULL;

	if (k->skip.on)
		return skipped(k);
	if (have == 0)
		return false;
	line = k->in.data + k->in.start;
	if (have > k->scanned)
		end = memchr(line + k->scanned, '\n', have - k->scanned);
	len = end != NULL ? (size_t)(end - line) : have;
	k->scanned = len;
	if (len > conn_line_max(k)) {
		too_long(k);
		return false;
	}
	if (end == NULL) {
		/* no room for such a line: to its end without keeping it */
		if (!k->c->over || have < CONN_LONG_LINE ||
		    aside_fits(k, k->aside_bytes + have))
			return false;
		skip_begin(k);
		return skipped(k);
	}
	if (!is_blank(line, len)) {
		rpc_line(k, line, len);
		k->lines++;
	}
	k->long_since = MONO_NEVER;
	k->taken += len + 1;
	k->scanned = 0;
	/* rpc_line() may have ended it all */
	if (buf_len(&k->in) > len)
		buf_take(&k->in, len + 1);
	if (buf_len(&k->in) == 0)
		buf_free(&k->in);
	return true;
}

void
conn_lines(struct conn *k)
{
	unsigned n = 0;

	k->more = false;
	while (!k->dead && !k->closing && !is_full(k)) {
		size_t before = chain_len(&k->out);

		if (n++ == LINES_PER_TURN) {
			k->more = true;
			conn_wake(k);
			break;
		}
		if (!one_line(k))
			break;
		if (before > CONN_OUT_PAUSE)
			k->beyond += chain_len(&k->out) - before;
	}
	/* descriptors that came with a line which did not want them */
	while (k->ngroups > 0 && k->groups[0].at < k->taken) {
		group_close(&k->groups[0]);
		memmove(k->groups, k->groups + 1,
		    --k->ngroups * sizeof(k->groups[0]));
	}
}

static void
at_end(struct conn *k)
{
	k->eof = true;
	conn_dirty(k); /* conn_write() closes it once nothing is due */
	deadline_after(k->c->s, &k->c->resume, SPAN_S(1));
}

static void
read_turn(struct conn *k)
{
	for (int i = 0; i < READS_PER_TURN && may_read(k); i++) {
		ssize_t got = read_some(k);

		if (got == -EAGAIN)
			break;
		if (got < 0)
			conn_kill(k, strerror((int)-got));
		else if (got == 0)
			at_end(k);
		conn_lines(k);
		if (got < (ssize_t)READ_ROOM) /* all there was: no read for 0 */
			break;
	}
	if (buf_len(&k->in) == 0)
		buf_free(&k->in);
}

/* Also called by conn_wake(), to go on with what was put off. */
static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *k = arg;
	struct control *c = k->c;

	TAILQ_REMOVE(&c->conns, k, entry);
	TAILQ_INSERT_TAIL(&c->conns, k, entry);
	conn_lines(k);
	read_turn(k);
	past_next(k);
	subscriber_more(k);
	if (k->closing || k->eof)
		conn_dirty(k);
	conn_account(k);
	conn_watch(k);
}

/* ---- out ---- */

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *k = arg;

	event_del(k->writable);
	k->writing = false;
	conn_dirty(k); /* written at the end of the turn */
}

static bool
lines_left(const struct conn *k)
{
	return buf_len(&k->in) > k->scanned;
}

/* A peer that reads a little now and then is stuck all the same. */
static void
note_stuck(struct conn *k, bool full)
{
	uint64_t gone = k->out_leave.gone + k->events_leave.gone;

	if (!full || chain_len(&k->out) + buf_len(&k->events) <= CONN_STUCK) {
		k->stuck = MONO_NEVER;
	} else if (k->stuck.us == MONO_NEVER.us ||
		   gone - k->stuck_at >= CONN_UNSTUCK) {
		k->stuck = time_mono();
		k->stuck_at = gone;
	}
}

/* Only control_flush() calls this: what is written was recorded before. */
void
conn_write(struct conn *k)
{
	bool much = chain_len(&k->out) > CONN_OUT_PAUSE;
	int r = leave_turn(k);

	leave_note(k, r == LEAVE_LOG);
	if (r < 0 && r != -EAGAIN) {
		conn_kill(k, r == -EPIPE ? NULL : strerror(-r));
		return;
	}
	note_stuck(k, r == -EAGAIN);
	if (k->writing != (r == -EAGAIN)) {
		k->writing = r == -EAGAIN;
		if (k->writing)
			event_add(k->writable, NULL);
		else
			event_del(k->writable);
	}
	conn_account(k);
	if (r == 0 &&
	    (k->closing || (k->eof && conn_idle(k) && !lines_left(k)))) {
		conn_kill(k, NULL);
		return;
	}
	if (chain_len(&k->out) <= CONN_OUT_PAUSE)
		k->beyond = 0;
	if ((much && chain_len(&k->out) <= CONN_OUT_PAUSE) ||
	    past_may_ask(k) || subscriber_wants(k))
		conn_wake(k);
	conn_watch(k);
}
