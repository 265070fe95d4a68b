/*
 * Mappings with a count of those who hold them.  oz0d alone keeps any: a
 * result that came as a memfd, for its call, the log and each connection.
 */
#include "base/blob.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/mem.h"

struct blob {
	unsigned refs;
	void *map;
	size_t len;
};

struct blob *
blob_of_map(void *map, size_t len)
{
	struct blob *b = mem_zalloc(sizeof(*b));

	b->refs = 1;
	b->map = map;
	b->len = len;
	return b;
}

struct blob *
blob_ref(struct blob *b)
{
	b->refs++;
	return b;
}

void
blob_unref(struct blob *b)
{
	if (b == NULL || --b->refs > 0)
		return;
	munmap(b->map, b->len);
	free(b);
}

const char *
blob_at(const struct blob *b)
{
	return b->map;
}

size_t
blob_len(const struct blob *b)
{
	return b->len;
}
