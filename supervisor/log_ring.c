/*
 * A ring of log lines, bounded by bytes: the oldest go first.  Run by the
 * supervisor; filled by worker_frame.c from what workers hand on, read by the
 * control socket.
 */
#include "supervisor/log_ring.h"

#include <stdlib.h>
#include <string.h>

#include <sys/queue.h>

#include "base/mem.h"

struct entry {
	TAILQ_ENTRY(entry) entry;
	struct log_line line;
	size_t size;
};

struct log_ring {
	TAILQ_HEAD(, entry) lines;
	size_t bytes, max;
	uint64_t next;
	struct waiter_list waiters;
};

struct log_ring *
log_ring_new(size_t bytes)
{
	struct log_ring *r = mem_zalloc(sizeof(*r));

	TAILQ_INIT(&r->lines);
	TAILQ_INIT(&r->waiters);
	r->max = bytes;
	r->next = 1;
	return r;
}

static void
drop_first(struct log_ring *r)
{
	struct entry *e = TAILQ_FIRST(&r->lines);

	TAILQ_REMOVE(&r->lines, e, entry);
	r->bytes -= e->size;
	free(e);
}

void
log_ring_free(struct log_ring *r)
{
	if (r == NULL)
		return;
	while (!TAILQ_EMPTY(&r->lines))
		drop_first(r);
	free(r);
}

static void
add_piece(struct log_ring *r, const char *from, const char *text, size_t len)
{
	size_t n = strlen(from) + 1;
	struct entry *e = mem_zalloc(sizeof(*e) + n + len + 1);
	char *words = (char *)(e + 1);

	memcpy(words, from, n);
	for (size_t i = 0; i < len; i++)
		words[n + i] = text[i] == '\0' ? '?' : text[i];
	e->line.n = r->next++;
	e->line.time = time_wall();
	e->line.from = words;
	e->line.text = words + n;
	e->size = sizeof(*e) + n + len + 1;
	TAILQ_INSERT_TAIL(&r->lines, e, entry);
	r->bytes += e->size;
	while (r->bytes > r->max && TAILQ_FIRST(&r->lines) != e)
		drop_first(r);
}

void
log_ring_add(
    struct log_ring *r, const char *from, const char *text, size_t len)
{
	do {
		size_t n = len < LOG_RING_LINE ? len : LOG_RING_LINE;

		add_piece(r, from, text, n);
		text += n;
		len -= n;
	} while (len > 0);
}

uint64_t
log_ring_each(const struct log_ring *r, uint64_t since,
    void (*fn)(void *arg, const struct log_line *l), void *arg)
{
	const struct entry *e;

	TAILQ_FOREACH(e, &r->lines, entry)
		if (e->line.n >= since)
			fn(arg, &e->line);
	return r->next;
}

struct waiter_list *
log_ring_waiters(struct log_ring *r)
{
	return &r->waiters;
}

void
log_ring_tell(struct supervisor *s, struct log_ring *r)
{
	struct waiter *w;
	size_t n = 0;

	/* one that waits again goes to the end and is not told twice */
	TAILQ_FOREACH(w, &r->waiters, entry)
		n++;
	while (n-- > 0 && (w = TAILQ_FIRST(&r->waiters)) != NULL) {
		TAILQ_REMOVE(&r->waiters, w, entry);
		w->on = false;
		w->fn(s, w);
	}
}
