#ifndef OZ0_WIRE_FRAME_H
#define OZ0_WIRE_FRAME_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

/*
 * How a message stands on the wire, all numbers little-endian:
 *
 *   u32 length    of the whole frame, this header and inline payload included
 *   u16 type      enum wire_type
 *   u8  nfds      descriptors that travel with it (payload memfd included)
 *   u8  flags     WIRE_FLAG_*
 *   u32 body      bytes of typed fields that follow
 *   u32 payload   bytes of payload: inline after the body, or in a memfd
 *
 * Fields of a body: u8 u16 u32 u64 i64, f64 (IEEE 754), str (u32 length and
 * its bytes, no NUL within).  Records of the log use the same fields.
 */
#define WIRE_HEADER 16
#define WIRE_FLAG_MEMFD 0x01 /* the payload is the last descriptor */
#define WIRE_INLINE_MAX ((size_t)64 * 1024)

/* Writing fields. */
static inline void
wire_put_u8(struct buf *b, uint8_t v)
{
	buf_putc(b, (char)v);
}

static inline void
wire_put_u16(struct buf *b, uint16_t v)
{
	v = htole16(v);
	buf_put(b, &v, sizeof(v));
}

static inline void
wire_put_u32(struct buf *b, uint32_t v)
{
	v = htole32(v);
	buf_put(b, &v, sizeof(v));
}

static inline void
wire_put_u64(struct buf *b, uint64_t v)
{
	v = htole64(v);
	buf_put(b, &v, sizeof(v));
}

static inline void
wire_put_i64(struct buf *b, int64_t v)
{
	wire_put_u64(b, (uint64_t)v);
}

static inline void
wire_put_f64(struct buf *b, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	wire_put_u64(b, bits);
}

static inline void
wire_put_bytes(struct buf *b, const void *p, size_t n)
{
	wire_put_u32(b, (uint32_t)n);
	buf_put(b, p, n);
}

static inline void
wire_put_str(struct buf *b, const char *s) /* NULL: empty */
{
	wire_put_bytes(b, s, s != NULL ? strlen(s) : 0);
}

/*
 * Reading fields.  Nothing is read past the end: a reader that ran short, or
 * met what it may not hold, is bad for good and gives zeroes.  Close each
 * reading with wire_get_end(): true when all was good and nothing is left.
 */
struct wire_reader {
	const uint8_t *p;
	const uint8_t *end;
	bool bad;
};

void wire_reader_init(struct wire_reader *r, const void *p, size_t n);
uint8_t wire_get_u8(struct wire_reader *r);
uint16_t wire_get_u16(struct wire_reader *r);
uint32_t wire_get_u32(struct wire_reader *r);
uint64_t wire_get_u64(struct wire_reader *r);
int64_t wire_get_i64(struct wire_reader *r);
double wire_get_f64(struct wire_reader *r);
bool wire_get_bool(struct wire_reader *r);		/* 0 or 1, else bad */
uint8_t wire_get_enum(struct wire_reader *r, uint8_t min, uint8_t max);
/* Copied with a NUL; longer than size - 1, or a NUL within: bad. */
void wire_get_str(struct wire_reader *r, char *out, size_t size);
char *wire_get_new_str(struct wire_reader *r, size_t max); /* never NULL */
/* A view into the message, no copy. */
const char *wire_get_bytes(struct wire_reader *r, size_t max, size_t *ret_len);
bool wire_get_end(struct wire_reader *r);

#endif
