#ifndef OZ0_BASE_BUF_H
#define OZ0_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Bytes that grow at the end and are taken from the front.  The content is
 * data[start..end).  Zero-initialised is empty.
 */
struct buf {
	char *data;
	size_t start;
	size_t end;
	size_t cap;
};

static inline const char *
buf_at(const struct buf *b)
{
	return b->start != 0 ? b->data + b->start : b->data; /* no NULL + 0 */
}

static inline size_t
buf_len(const struct buf *b)
{
	return b->end - b->start;
}

void buf_free(struct buf *b);  /* also a CLEANUP function */
void buf_clear(struct buf *b); /* empty, memory kept up to 64 KiB */
char *buf_grow(struct buf *b, size_t n); /* for buf_room() alone */

/* Room for n more bytes; returns where they go.  Then buf_added(). */
static inline char *
buf_room(struct buf *b, size_t n)
{
	return b->cap - b->end >= n ? b->data + b->end : buf_grow(b, n);
}

static inline void
buf_added(struct buf *b, size_t n)
{
	b->end += n;
}

static inline void
buf_putc(struct buf *b, char c)
{
	*buf_room(b, 1) = c;
	b->end++;
}

static inline void
buf_put(struct buf *b, const void *p, size_t n)
{
	if (n == 0)
		return;
	memcpy(buf_room(b, n), p, n);
	b->end += n;
}

static inline void
buf_puts(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void buf_take(struct buf *b, size_t n); /* drops n bytes from the front */
void buf_put_uint(struct buf *b, uint64_t n); /* in decimal digits */
void buf_printf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
/* The content as a NUL-terminated string of its own; the buffer is empty. */
char *buf_steal(struct buf *b, size_t *ret_len);

#endif
