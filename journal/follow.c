/*
 * The follower of oz0-journal.  It never knows whether the writer lives, and
 * need not: what is torn is waited for until a later segment was begun, which
 * a new writer always does.
 */
#include "journal/follow.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "wire/log.h"

#define FRAME 8
#define READ_FIRST ((size_t)64 * 1024)
#define READ_MORE ((size_t)256 * 1024)
#define READ_TRIES 10 /* of what cannot be read, once it can be given up */

struct follow {
	struct logdir *log;
	uint64_t number;
	int fd;
	uint64_t size;	 /* of the segment's file */
	uint64_t offset; /* of the next record; 0: header not read yet */
	uint64_t seq;	 /* the last one in this segment, at least */
	size_t used;	 /* bytes of window that the last record took */
	struct buf window; /* the file from offset on, as far as was read */
	bool closing;	   /* a later segment was begun before the last read */
	unsigned failed;
};

struct follow *
follow_new(
    struct logdir *l, uint64_t segment, uint64_t offset, uint64_t last_seq)
{
	struct follow *f = mem_zalloc(sizeof(*f));

	f->log = l;
	f->number = segment;
	f->offset = offset;
	f->seq = offset != 0 ? last_seq : 0;
	f->fd = -1;
	return f;
}

void
follow_free(struct follow *f)
{
	if (f == NULL)
		return;
	fd_close(&f->fd);
	buf_free(&f->window);
	free(f);
}

uint64_t
follow_segment(const struct follow *f)
{
	return f->number;
}

uint64_t
follow_offset(const struct follow *f)
{
	return f->offset + f->used;
}

static void
move_to(struct follow *f, uint64_t number)
{
	fd_close(&f->fd);
	buf_clear(&f->window);
	f->used = 0;
	f->number = number;
	f->offset = 0;
	f->seq = 0;
	f->closing = false;
	f->failed = 0;
}

/* 1: there is a segment to read; 0: none begun yet. */
static int
open_segment(struct follow *f)
{
	struct stat st;
	int r;

	if (f->fd >= 0)
		return 1;
	if (f->number == 0 || logdir_next(f->log, f->number - 1) != f->number) {
		uint64_t next = logdir_next_begun(f->log, f->number);

		if (next == 0)
			return 0;
		move_to(f, next);
	}
	r = logdir_open_segment(f->log, f->number, &f->fd);
	if (r < 0)
		return r;
	if (fstat(f->fd, &st) < 0) {
		r = -errno;
		fd_close(&f->fd);
		return r;
	}
	f->size = (uint64_t)st.st_size;
	return 1;
}

/* Reads until need bytes are in the window, or all there are. */
static int
fill(struct follow *f, size_t need)
{
	while (buf_len(&f->window) < need) {
		size_t have = buf_len(&f->window);
		size_t want = need > READ_FIRST ? READ_MORE : READ_FIRST;
		ssize_t n;

		if (want < need - have)
			want = need - have;
		n = pread(f->fd, buf_room(&f->window, want), want,
		    (off_t)(f->offset + have));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		buf_added(&f->window, (size_t)n);
	}
	return 0;
}

static enum log_read
read_header(struct follow *f)
{
	uint64_t number, first_seq;

	if (buf_len(&f->window) < LOG_HEADER
	    || !log_header_get(buf_at(&f->window), buf_len(&f->window),
		&number, &first_seq)
	    || number != f->number)
		return LOG_READ_TORN;
	f->offset = LOG_HEADER;
	f->seq = first_seq != 0 ? first_seq - 1 : 0;
	buf_take(&f->window, LOG_HEADER);
	return LOG_READ_RECORD;
}

static int
read_here(struct follow *f, struct record *ret, enum log_read *ret_how)
{
	uint64_t left = f->size > f->offset ? f->size - f->offset : 0;
	uint32_t length;
	int r = fill(f, f->offset == 0 ? LOG_HEADER : FRAME);

	if (r == 0 && f->offset == 0) {
		*ret_how = read_header(f);
		if (*ret_how != LOG_READ_RECORD)
			return 0;
		left = f->size - f->offset;
		r = fill(f, FRAME);
	}
	if (r < 0)
		return r;
	if (buf_len(&f->window) >= FRAME) {
		memcpy(&length, buf_at(&f->window), sizeof(length));
		length = le32toh(length);
		if (length <= LOG_RECORD_MAX && FRAME + length <= left)
			r = fill(f, FRAME + (size_t)length);
	}
	if (r < 0)
		return r;
	if (left > buf_len(&f->window))
		left = buf_len(&f->window);
	*ret_how = log_record_read(
	    buf_at(&f->window), (size_t)left, ret, &f->used);
	if (*ret_how == LOG_READ_RECORD && ret->seq <= f->seq) {
		record_clear(ret);
		f->used = 0;
		*ret_how = LOG_READ_TORN;
	}
	return 0;
}

/* The segment is over: what stands behind its last record is no record. */
static void
finish(struct follow *f, enum log_read how)
{
	if (how == LOG_READ_TORN)
		log_notice("log segment %016" PRIx64 " ends at %" PRIu64
			   " in a record that is not whole",
		    f->number, f->offset);
	move_to(f, logdir_next_begun(f->log, f->number));
}

static void
consume(struct follow *f)
{
	buf_take(&f->window, f->used);
	f->offset += f->used;
	f->used = 0;
}

int
follow_next(struct follow *f, struct record *ret)
{
	enum log_read how = LOG_READ_END;
	int r;

	consume(f);
	for (;;) {
		r = open_segment(f);
		if (r <= 0)
			return r;
		r = read_here(f, ret, &how);
		if (r == 0 && how == LOG_READ_RECORD) {
			f->seq = ret->seq;
			f->failed = 0;
			return 1;
		}
		/* What was read here may be written still. */
		buf_clear(&f->window);
		if (r < 0 && (!f->closing || ++f->failed < READ_TRIES)) {
			f->closing =
			    logdir_next_begun(f->log, f->number) != 0;
			return r;
		}
		if (f->closing)
			finish(f, r < 0 ? LOG_READ_TORN : how);
		else if (logdir_next_begun(f->log, f->number) != 0)
			f->closing = true; /* and read it once more */
		else
			return 0;
	}
}
