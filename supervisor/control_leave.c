/*
 * What a connection waits to write, as far as the log lets it leave: under
 * "durability": "power" each answer and event waits until what was recorded
 * before it is on the disk (commit.h).  Answers go before events; both as
 * whole lines.  Runs in oz0d; called by control_conn.c.
 */
#include "supervisor/control_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "supervisor/record.h"

#define WRITE_PER_TURN ((size_t)4 << 20)
#define PIECES 32 /* of answers in one write */
#define EVENTS_STEP ((size_t)256 * 1024) /* before answers may go again */

/* How many bytes, from the front, the log lets go by now. */
static size_t
may_leave(const struct conn *k, size_t len, struct leave *l)
{
	struct supervisor *s = k->c->s;

	commit_put(&s->commit, &l->queue, l->gone + len,
	    record_flushed_seq(s));
	return (size_t)(commit_passed(&s->commit, &l->queue) - l->gone);
}

/* Whole lines of at most EVENTS_STEP bytes together, or one longer line. */
static size_t
some_lines(const char *p, size_t n)
{
	const char *end;

	if (n <= EVENTS_STEP)
		return n;
	end = memrchr(p, '\n', EVENTS_STEP);
	if (end == NULL)
		end = memchr(p, '\n', n);
	return (size_t)(end - p) + 1;
}

/* Events that were begun, answers, more events: what goes next. */
static void
gather(struct conn *k, size_t n[3])
{
	size_t events = may_leave(k, buf_len(&k->events), &k->events_leave);
	const char *p = buf_at(&k->events);

	n[0] = k->begun;
	n[1] = may_leave(k, chain_len(&k->out), &k->out_leave);
	n[2] = 0;
	if (events > n[0] && n[0] + n[1] < EVENTS_STEP)
		n[2] = some_lines(p + n[0], events - n[0]);
}

static size_t
add(struct iovec *v, const struct buf *b, size_t at, size_t n)
{
	if (n == 0)
		return 0;
	v->iov_base = b->data + b->start + at;
	v->iov_len = n;
	return 1;
}

/* Of n bytes of a part those among the *done that were written. */
static size_t
part(struct leave *l, size_t n, size_t *done)
{
	if (n > *done)
		n = *done;
	*done -= n;
	l->gone += n;
	return n;
}

static size_t
events_gone(struct conn *k, size_t n, size_t *done)
{
	n = part(&k->events_leave, n, done);
	buf_take(&k->events, n);
	if (buf_len(&k->events) == 0)
		buf_free(&k->events);
	return n;
}

static void
out_gone(struct conn *k, size_t n, size_t *done)
{
	chain_take(&k->out, part(&k->out_leave, n, done));
	if (chain_len(&k->out) == 0)
		chain_free(&k->out);
}

/* Writes some of it; the number of bytes, or -errno. */
static ssize_t
write_some(struct conn *k, size_t n[3])
{
	struct iovec v[PIECES + 2];
	struct msghdr m = {.msg_iov = v};
	size_t i, left, first, last, fit;
	ssize_t done;

	i = add(v, &k->events, 0, n[0]);
	i += chain_pieces(&k->out, n[1], v + i, PIECES, &fit);
	if (fit < n[1])
		n[2] = 0; /* events do not cut an answer in two */
	n[1] = fit;
	i += add(v + i, &k->events, n[0], n[2]);
	m.msg_iovlen = i;
	do
		done = sendmsg(k->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (done < 0 && errno == EINTR);
	if (done < 0)
		return -errno;
	left = (size_t)done;
	first = events_gone(k, n[0], &left);
	out_gone(k, n[1], &left);
	last = events_gone(k, n[2], &left);
	k->begun = last > 0 ? n[2] - last : n[0] - first;
	return done;
}

int
leave_turn(struct conn *k)
{
	size_t budget = WRITE_PER_TURN, n[3];

	for (;;) {
		ssize_t done;

		gather(k, n);
		if (n[0] + n[1] + n[2] == 0)
			break;
		done = write_some(k, n);
		if (done < 0)
			return (int)done;
		if ((size_t)done >= budget)
			return -EAGAIN;
		budget -= (size_t)done;
	}
	return chain_len(&k->out) + buf_len(&k->events) == 0 ? 0 : LEAVE_LOG;
}

void
leave_note(struct conn *k, bool waits)
{
	if (waits == k->is_unsafe)
		return;
	k->is_unsafe = waits;
	if (waits)
		TAILQ_INSERT_TAIL(&k->c->unsafe, k, unsafe);
	else
		TAILQ_REMOVE(&k->c->unsafe, k, unsafe);
}

void
leave_look(struct control *c)
{
	const struct commit *log = &c->s->commit;
	struct conn *k;

	if (log->waits && log->synced == c->synced)
		return;
	c->synced = log->synced;
	TAILQ_FOREACH(k, &c->unsafe, unsafe)
	conn_dirty(k);
}
