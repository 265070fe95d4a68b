/*
 * The format of the log's segments: their names, their header, and records
 * framed by length and checksum.  Pure functions on memory: oz0d writes what
 * they make, oz0-journal reads it back, tests do both.
 */
#include "wire/log.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#define FRAME 8 /* length and checksum in front of a record's content */
#define MAGIC_LEN (sizeof(LOG_MAGIC) - 1)

/* Of the content, begun with its length. */
static uint32_t
checksum(const void *content, size_t n)
{
	return (uint32_t)XXH3_64bits_withSeed(content, n, n);
}

static uint32_t
get_u32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

void
log_record_put(struct buf *batch, const struct record *r)
{
	static const char blank[FRAME];
	size_t at = buf_len(batch);
	uint32_t length, sum;
	char *frame;
	size_t n;

	buf_put(batch, blank, sizeof(blank));
	record_put(batch, r);
	n = buf_len(batch) - at - FRAME;
	frame = batch->data + batch->start + at;
	length = htole32((uint32_t)n);
	sum = htole32(checksum(frame + FRAME, n));
	memcpy(frame, &length, sizeof(length));
	memcpy(frame + 4, &sum, sizeof(sum));
}

void
log_header_put(struct buf *b, uint64_t number, uint64_t first_seq)
{
	buf_put(b, LOG_MAGIC, MAGIC_LEN);
	wire_put_u64(b, number);
	wire_put_u64(b, first_seq);
	wire_put_u64(b, 0);
}

bool
log_header_get(const void *p, size_t n, uint64_t *ret_number,
    uint64_t *ret_first_seq)
{
	struct wire_reader r;
	uint64_t number, first_seq;

	if (n < LOG_HEADER || memcmp(p, LOG_MAGIC, MAGIC_LEN) != 0)
		return false;
	wire_reader_init(&r, (const char *)p + MAGIC_LEN,
	    LOG_HEADER - MAGIC_LEN);
	number = wire_get_u64(&r);
	first_seq = wire_get_u64(&r);
	if (wire_get_u64(&r) != 0 || !wire_get_end(&r))
		return false;
	*ret_number = number;
	*ret_first_seq = first_seq;
	return true;
}

enum log_read
log_record_read(
    const void *p, size_t n, struct record *ret, size_t *ret_size)
{
	const char *at = p;
	uint32_t length;

	/* Less than a frame is left: no record was ever begun there. */
	if (n < FRAME)
		return LOG_READ_END;
	length = get_u32(at);
	if (length == 0)
		return get_u32(at + 4) == 0 ? LOG_READ_END : LOG_READ_TORN;
	if (length > LOG_RECORD_MAX || length > n - FRAME)
		return LOG_READ_TORN;
	if (checksum(at + FRAME, length) != get_u32(at + 4))
		return LOG_READ_TORN;
	if (record_get(at + FRAME, length, ret) < 0)
		return LOG_READ_TORN;
	*ret_size = (size_t)FRAME + length;
	return LOG_READ_RECORD;
}

size_t
log_whole(const void *batch, size_t n)
{
	const char *p = batch;
	size_t at = 0;

	while (n - at >= FRAME && get_u32(p + at) <= n - at - FRAME)
		at += FRAME + get_u32(p + at);
	return at;
}

void
log_segment_name(uint64_t number, char out[17])
{
	snprintf(out, 17, "%016" PRIx64, number);
}

bool
log_segment_parse(const char *name, uint64_t *ret_number)
{
	uint64_t number = 0;
	size_t i;

	for (i = 0; name[i] != '\0'; i++) {
		const char *digits = "0123456789abcdef";
		const char *d = strchr(digits, name[i]);

		if (d == NULL || i == 16)
			return false;
		number = number << 4 | (uint64_t)(d - digits);
	}
	if (i != 16)
		return false;
	*ret_number = number;
	return true;
}
