/*
 * Growable byte buffers.  Taking from the front moves no byte: the content is
 * moved only when room is needed and at least half of the memory lies free in
 * front, so that a long line in many small pieces costs linear time.
 */
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BUF_KEEP ((size_t)64 * 1024)

void
buf_free(struct buf *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

void
buf_clear(struct buf *b)
{
	if (b->cap > BUF_KEEP)
		buf_free(b);
	b->start = b->end = 0;
}

char *
buf_room(struct buf *b, size_t n)
{
	size_t len = buf_len(b), cap;

	if (b->cap - b->end >= n)
		return b->data + b->end;
	if (b->start > b->cap / 2 && b->cap - len >= n) {
		memmove(b->data, b->data + b->start, len);
	} else {
		char *data;

		cap = b->cap != 0 ? b->cap : 256;
		while (cap - len < n)
			cap *= 2;
		data = mem_alloc(cap);
		if (len != 0)
			memcpy(data, b->data + b->start, len);
		free(b->data);
		b->data = data;
		b->cap = cap;
	}
	b->start = 0;
	b->end = len;
	return b->data + b->end;
}

void
buf_added(struct buf *b, size_t n)
{
	b->end += n;
}

void
buf_take(struct buf *b, size_t n)
{
	b->start += n;
	if (b->start == b->end)
		buf_clear(b);
}

void
buf_put(struct buf *b, const void *p, size_t n)
{
	if (n == 0)
		return;
	memcpy(buf_room(b, n), p, n);
	b->end += n;
}

void
buf_puts(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void
buf_putc(struct buf *b, char c)
{
	*buf_room(b, 1) = c;
	b->end++;
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = mem_vprintf(fmt, ap);
	va_end(ap);
	buf_puts(b, s);
	free(s);
}

char *
buf_steal(struct buf *b, size_t *ret_len)
{
	size_t len = buf_len(b);
	char *s;

	buf_putc(b, '\0');
	if (b->start != 0)
		memmove(b->data, b->data + b->start, len + 1);
	s = b->data;
	memset(b, 0, sizeof(*b));
	if (ret_len != NULL)
		*ret_len = len;
	return s;
}
