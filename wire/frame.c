/*
 * Typed fields, written and read.
 */
#include "wire/frame.h"

#include <endian.h>
#include <string.h>

#include "base/mem.h"

void
wire_reader_init(struct wire_reader *r, const void *p, size_t n)
{
	r->p = p;
	r->end = n != 0 ? r->p + n : r->p;
	r->bad = false;
}

static bool
get(struct wire_reader *r, void *out, size_t n)
{
	if (r->bad || (size_t)(r->end - r->p) < n) {
		r->bad = true;
		memset(out, 0, n);
		return false;
	}
	memcpy(out, r->p, n);
	r->p += n;
	return true;
}

uint8_t
wire_get_u8(struct wire_reader *r)
{
	uint8_t v;

	get(r, &v, sizeof(v));
	return v;
}

uint16_t
wire_get_u16(struct wire_reader *r)
{
	uint16_t v;

	get(r, &v, sizeof(v));
	return le16toh(v);
}

uint32_t
wire_get_u32(struct wire_reader *r)
{
	uint32_t v;

	get(r, &v, sizeof(v));
	return le32toh(v);
}

uint64_t
wire_get_u64(struct wire_reader *r)
{
	uint64_t v;

	get(r, &v, sizeof(v));
	return le64toh(v);
}

int64_t
wire_get_i64(struct wire_reader *r)
{
	return (int64_t)wire_get_u64(r);
}

double
wire_get_f64(struct wire_reader *r)
{
	uint64_t bits = wire_get_u64(r);
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

uint8_t
wire_get_enum(struct wire_reader *r, uint8_t min, uint8_t max)
{
	uint8_t v = wire_get_u8(r);

	if (v < min || v > max) {
		r->bad = true;
		return min;
	}
	return v;
}

bool
wire_get_bool(struct wire_reader *r)
{
	return wire_get_enum(r, 0, 1) == 1;
}

const char *
wire_get_bytes(struct wire_reader *r, size_t max, size_t *ret_len)
{
	uint32_t n = wire_get_u32(r);
	const char *at = (const char *)r->p;

	*ret_len = 0;
	if (r->bad || n > max || (size_t)(r->end - r->p) < n) {
		r->bad = true;
		return "";
	}
	r->p += n;
	*ret_len = n;
	return at;
}

void
wire_get_str(struct wire_reader *r, char *out, size_t size)
{
	size_t n;
	const char *p = wire_get_bytes(r, size - 1, &n);

	if (n != 0 && memchr(p, '\0', n) != NULL) {
		r->bad = true;
		n = 0;
	}
	memcpy(out, p, n);
	out[n] = '\0';
}

char *
wire_get_new_str(struct wire_reader *r, size_t max)
{
	size_t n;
	const char *p = wire_get_bytes(r, max, &n);

	if (n != 0 && memchr(p, '\0', n) != NULL) {
		r->bad = true;
		n = 0;
	}
	return mem_strndup(p, n);
}

bool
wire_get_end(struct wire_reader *r)
{
	return !r->bad && r->p == r->end;
}
