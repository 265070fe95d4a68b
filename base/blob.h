#ifndef OZ0_BASE_BLOB_H
#define OZ0_BASE_BLOB_H

#include <stddef.h>

/*
 * Bytes that never change, in a mapping that is shared by all who hold it:
 * a large payload is kept, recorded and written from one place.
 */
struct blob;

/* Takes over the mapping; one reference. */
struct blob *blob_of_map(void *map, size_t len);
struct blob *blob_ref(struct blob *b);
void blob_unref(struct blob *b); /* the last one unmaps; NULL is fine */
const char *blob_at(const struct blob *b);
size_t blob_len(const struct blob *b);

#endif
