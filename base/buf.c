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
buf_grow(struct buf *b, size_t n)
{
	size_t len = buf_len(b), cap;

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
buf_take(struct buf *b, size_t n)
{
	b->start += n;
	if (b->start == b->end)
		buf_clear(b);
}

void
buf_put_uint(struct buf *b, uint64_t n)
{
	char text[20], *p = text + sizeof(text);

	do
		*--p = (char)('0' + n % 10);
	while ((n /= 10) != 0);
	buf_put(b, p, (size_t)(text + sizeof(text) - p));
}

void
buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	size_t room = b->cap - b->end;
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(
	    b->data != NULL ? b->data + b->end : NULL, room, fmt, ap);
	if (n < 0)
		abort();
	if ((size_t)n >= room) {
		room = (size_t)n + 1;
		vsnprintf(buf_room(b, room), room, fmt, again);
	}
	va_end(again);
	b->end += (size_t)n;
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
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
