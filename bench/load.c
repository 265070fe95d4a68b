/*
 * Load on a chain of relays or on a node, and its measurement.  Part of
 * oz0-bench.
 *
 * Each request goes out by a write of its own, as from callers that know
 * nothing of each other.  An answer is looked at just as far as is needed to
 * know that it is the one hoped for.
 */
#include "bench/load.h"

#include <err.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define READ_SIZE ((size_t)1 << 18)

static void
answered(struct load *l)
{
	size_t n = l->have < LOAD_HEAD ? l->have : LOAD_HEAD;

	l->head[n] = '\0';
	if (l->expect != NULL && strstr(l->head, l->expect) == NULL)
		errx(1, "answer without %s: %.400s", l->expect, l->head);
	l->answer_len = l->have;
	l->have = 0;
}

/* Takes in n bytes; how many answers ended in them? */
static size_t
take(struct load *l, const char *p, size_t n)
{
	size_t done = 0;

	while (n > 0) {
		const char *nl = memchr(p, '\n', n);
		size_t part = nl != NULL ? (size_t)(nl - p) + 1 : n;

		if (l->have < LOAD_HEAD) {
			size_t room = LOAD_HEAD - l->have;

			memcpy(l->head + l->have, p, part < room ? part : room);
		}
		l->have += part;
		if (nl != NULL) {
			answered(l);
			done++;
		}
		p += part;
		n -= part;
	}
	return done;
}

/* Waits for bytes; how many answers ended in them? */
static size_t
more(struct load *l)
{
	static char buf[READ_SIZE];
	ssize_t n;

	do
		n = read(l->fd, buf, sizeof(buf));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		err(1, "read an answer");
	if (n == 0)
		errx(1, "the other end is gone");
	return take(l, buf, (size_t)n);
}

static void
put(struct load *l, const char *p, size_t n)
{
	int r = fd_write_all(l->fd, p, n);

	if (r < 0) {
		errno = -r;
		err(1, "write a request");
	}
}

void
load_one_by_one(struct load *l, size_t n, struct sample *ret_us)
{
	char line[LOAD_LINE_MAX];

	for (size_t i = 0; i < n; i++) {
		double begin;

		l->request_len = l->request(l->arg, line);
		begin = now_us();
		put(l, line, l->request_len);
		while (more(l) == 0)
			;
		sample_add(ret_us, now_us() - begin);
	}
}

double
load_in_flight(struct load *l, size_t n, size_t window)
{
	char line[LOAD_LINE_MAX];
	size_t sent = 0, done = 0;
	double begin = now_us();

	while (done < n) {
		for (; sent < n && sent - done < window; sent++)
			put(l, line, l->request(l->arg, line));
		done += more(l);
	}
	return (double)n / (now_us() - begin) * 1e6;
}
