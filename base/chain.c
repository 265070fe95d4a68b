/*
 * Text with blobs in between: each link says behind which byte of the text it
 * comes, counted from the first that was ever put.  Used by oz0d for the
 * answers of a connection (control_leave.c).
 */
#include "base/chain.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct chain_link {
	struct chain_link *next;
	struct blob *blob;
	uint64_t at;
	size_t done; /* bytes of the blob that were taken */
};

void
chain_put_blob(struct chain *c, struct blob *b)
{
	struct chain_link *l = mem_zalloc(sizeof(*l));

	l->blob = blob_ref(b);
	l->at = c->taken + buf_len(&c->text);
	if (c->first == NULL)
		c->first = l;
	else
		c->last->next = l;
	c->last = l;
	c->blobs += blob_len(b);
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t
chain_pieces(const struct chain *c, size_t n, struct iovec *v, size_t max,
    size_t *ret_n)
{
	const struct chain_link *l = c->first;
	size_t k = 0, at = 0, sum = 0;

	while (k < max && sum < n) {
		size_t text = buf_len(&c->text) - at, some;
		const char *p = buf_at(&c->text) + at;

		if (l != NULL)
			text = (size_t)(l->at - c->taken) - at;
		if (text > 0) {
			some = least(text, n - sum);
			at += some;
		} else if (l != NULL) {
			p = blob_at(l->blob) + l->done;
			some = least(blob_len(l->blob) - l->done, n - sum);
			l = l->next;
		} else {
			break;
		}
		v[k].iov_base = (void *)(uintptr_t)p;
		v[k++].iov_len = some;
		sum += some;
	}
	*ret_n = sum;
	return k;
}

static void
drop_first(struct chain *c)
{
	struct chain_link *l = c->first;

	c->first = l->next;
	c->blobs -= blob_len(l->blob) - l->done;
	blob_unref(l->blob);
	free(l);
}

void
chain_take(struct chain *c, size_t n)
{
	while (n > 0) {
		struct chain_link *l = c->first;
		size_t some = least(n, l == NULL ? buf_len(&c->text)
						 : (size_t)(l->at - c->taken));

		if (some > 0) {
			buf_take(&c->text, some);
			c->taken += some;
		} else {
			some = least(n, blob_len(l->blob) - l->done);
			l->done += some;
			c->blobs -= some;
			if (l->done == blob_len(l->blob))
				drop_first(c);
		}
		n -= some;
	}
}

void
chain_free(struct chain *c)
{
	while (c->first != NULL)
		drop_first(c);
	buf_free(&c->text);
	memset(c, 0, sizeof(*c));
}
