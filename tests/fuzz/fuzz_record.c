/*
 * Fuzzes what reads the log: a segment's header and the records behind it.
 * Whatever the bytes are: no record is read past the end, a record that is
 * taken is put again as the very bytes that were read.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "wire/log.h"

static void
read_bare(const uint8_t *data, size_t size)
{
	struct buf again = { 0 };
	struct record r;

	if (record_get(data, size, &r) < 0)
		return;
	record_put(&again, &r);
	if (buf_len(&again) != size
	    || memcmp(buf_at(&again), data, size) != 0)
		abort();
	record_clear(&r);
	buf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t number, first_seq;
	size_t at = LOG_HEADER, len = 0;
	struct record r;

	read_bare(data, size);
	if (!log_header_get(data, size, &number, &first_seq))
		return 0;
	while (log_record_read(data + at, size - at, &r, &len)
	    == LOG_READ_RECORD) {
		if (len == 0 || len > size - at)
			abort();
		at += len;
		record_clear(&r);
	}
	return 0;
}
