/*
 * Writing lines to a server's stdin, for oz0-worker: many lines in one
 * writev(), the line begun first, then the urgent ones, then the others.
 */
#include "worker/stdio/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/fd.h"
#include "base/mem.h"

#define BATCH 64

void
writer_init(
    struct writer *w, int fd, const struct writer_ops *ops, void *arg)
{
	memset(w, 0, sizeof(*w));
	w->fd = fd;
	w->ops = ops;
	w->arg = arg;
	TAILQ_INIT(&w->urgent);
	TAILQ_INIT(&w->normal);
}

static void
line_free(struct writer *w, struct writer_line *l)
{
	w->queued -= buf_len(&l->text);
	buf_free(&l->text);
	free(l);
}

void
writer_put(struct writer *w, struct buf *text, int64_t tag, bool urgent)
{
	struct writer_line *l;

	if (w->fd < 0) {
		buf_free(text);
		return;
	}
	l = mem_zalloc(sizeof(*l));
	l->text = *text;
	memset(text, 0, sizeof(*text));
	l->tag = tag;
	w->queued += buf_len(&l->text);
	if (urgent)
		TAILQ_INSERT_TAIL(&w->urgent, l, entry);
	else
		TAILQ_INSERT_TAIL(&w->normal, l, entry);
}

static bool
queue_drop(struct writer *w, struct writer_queue *q, int64_t tag)
{
	struct writer_line *l;

	TAILQ_FOREACH(l, q, entry)
		if (l->tag == tag) {
			TAILQ_REMOVE(q, l, entry);
			line_free(w, l);
			return true;
		}
	return false;
}

bool
writer_drop(struct writer *w, int64_t tag)
{
	return queue_drop(w, &w->normal, tag) || queue_drop(w, &w->urgent, tag);
}

bool
writer_pending(const struct writer *w)
{
	return w->mid != NULL || !TAILQ_EMPTY(&w->urgent)
	    || !TAILQ_EMPTY(&w->normal);
}

static void
add(struct writer_line *l, struct iovec *iov, int *n)
{
	iov[*n].iov_base = l->text.data + l->text.start;
	iov[*n].iov_len = buf_len(&l->text);
	(*n)++;
}

static int
batch(struct writer *w, struct iovec *iov)
{
	struct writer_line *l;
	int n = 0;

	if (w->mid != NULL)
		add(w->mid, iov, &n);
	TAILQ_FOREACH(l, &w->urgent, entry) {
		if (n == BATCH)
			return n;
		add(l, iov, &n);
	}
	TAILQ_FOREACH(l, &w->normal, entry) {
		if (n == BATCH)
			return n;
		add(l, iov, &n);
	}
	return n;
}

/* The line that the next byte belongs to, taken out of its queue. */
static struct writer_line *
next_line(struct writer *w)
{
	struct writer_queue *q =
	    TAILQ_EMPTY(&w->urgent) ? &w->normal : &w->urgent;
	struct writer_line *l = w->mid;

	if (l != NULL) {
		w->mid = NULL;
		return l;
	}
	l = TAILQ_FIRST(q);
	TAILQ_REMOVE(q, l, entry);
	return l;
}

/* n bytes went out.  The order of the lines is that of batch(). */
static void
account(struct writer *w, size_t n)
{
	while (n > 0) {
		struct writer_line *l = next_line(w);
		size_t len = buf_len(&l->text);
		bool first = !l->begun;

		l->begun = true;
		if (n < len) {
			l->text.start += n;
			w->queued -= n;
			w->mid = l;
			n = 0;
		} else {
			n -= len;
			w->queued -= len;
			len = 0;
		}
		if (first && l->tag != 0)
			w->ops->begun(w->arg, l->tag);
		if (len != 0)
			return;
		/* the whole text again, for whoever keeps it */
		l->text.start = 0;
		if (l->tag != 0)
			w->ops->written(w->arg, l->tag, &l->text);
		buf_free(&l->text);
		free(l);
	}
}

int
writer_flush(struct writer *w)
{
	while (w->fd >= 0 && writer_pending(w)) {
		struct iovec iov[BATCH];
		int n = batch(w, iov);
		size_t want = 0;
		ssize_t r;

		for (int i = 0; i < n; i++)
			want += iov[i].iov_len;
		r = writev(w->fd, iov, n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return errno == EAGAIN ? 0 : -errno;
		account(w, (size_t)r);
		if ((size_t)r < want)
			return 0;
	}
	return 0;
}

static void
queue_free(struct writer *w, struct writer_queue *q)
{
	struct writer_line *l;

	while ((l = TAILQ_FIRST(q)) != NULL) {
		TAILQ_REMOVE(q, l, entry);
		line_free(w, l);
	}
}

void
writer_end(struct writer *w)
{
	if (w->fd >= 0)
		shutdown(w->fd, SHUT_WR); /* ENOTSOCK: a pipe, close does it */
	fd_close(&w->fd);
	if (w->mid != NULL)
		line_free(w, w->mid);
	w->mid = NULL;
	queue_free(w, &w->urgent);
	queue_free(w, &w->normal);
}
