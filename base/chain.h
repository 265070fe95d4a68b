#ifndef OZ0_BASE_CHAIN_H
#define OZ0_BASE_CHAIN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/blob.h"
#include "base/buf.h"

/*
 * Bytes on their way out, in order: text, and blobs between it that are not
 * copied.  Text is put onto `text` as onto any buffer.  Zero-initialised is
 * empty.
 */
struct chain_link;
struct chain {
	struct buf text;
	uint64_t taken; /* bytes of text that were taken from the front */
	struct chain_link *first, *last; /* the blobs */
	size_t blobs;	/* bytes that are left of them */
};

static inline size_t
chain_len(const struct chain *c)
{
	return buf_len(&c->text) + c->blobs;
}

void chain_put_blob(struct chain *c, struct blob *b); /* a reference more */
/*
 * The first n bytes in at most max pieces: how many pieces it filled in, and
 * in *ret_n how many bytes they are (fewer than n when max is too few).
 */
size_t chain_pieces(const struct chain *c, size_t n, struct iovec *v,
    size_t max, size_t *ret_n);
/* Drops from the front; n: at most chain_len(). */
void chain_take(struct chain *c, size_t n);
void chain_free(struct chain *c);

#endif
