#ifndef OZ0_WIRE_LOG_H
#define OZ0_WIRE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "wire/record.h"

/*
 * The log: segments of fixed size in state_dir/log, named by their number as
 * 16 hex digits.  A segment is LOG_HEADER bytes of header, then records:
 *
 *   u32 length   of content, > 0; 0 ends the segment so far
 *   u32 sum      low half of XXH3 (64 bits, xxHash) of content, its length
 *                as the seed
 *   content      record_put()
 *
 * The supervisor alone writes (one pwritev a batch), oz0-journal alone reads.
 */
#define LOG_HEADER 32
#define LOG_MAGIC "oz0log2\n"
#define LOG_SEGMENT_SIZE ((uint64_t)16 << 20)
#define LOG_RECORD_MAX ((size_t)15 << 20)

/* Appends one framed record to a batch. */
void log_record_put(struct buf *batch, const struct record *r);

/* The segment's header: magic, u64 number, u64 first seq, u64 reserved. */
void log_header_put(struct buf *b, uint64_t number, uint64_t first_seq);
bool log_header_get(const void *p, size_t n, uint64_t *ret_number,
    uint64_t *ret_first_seq);

enum log_read {
	LOG_READ_RECORD, /* one whole, good record */
	LOG_READ_END,	 /* zeroes: nothing more yet */
	LOG_READ_TORN,	 /* not whole or not good: read again while the writer
			    lives, else the segment ends here (DESIGN) */
};
/*
 * The record at p, n bytes being all that is left of the segment; its whole
 * size on disk in *ret_size.
 */
enum log_read log_record_read(
    const void *p, size_t n, struct record *ret, size_t *ret_size);

/* The bytes of whole records at the front of a batch's first n bytes. */
size_t log_whole(const void *batch, size_t n);

void log_segment_name(uint64_t number, char out[17]);
bool log_segment_parse(const char *name, uint64_t *ret_number);

#endif
