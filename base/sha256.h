#ifndef OZ0_BASE_SHA256_H
#define OZ0_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_LEN 32

/* SHA-256 (FIPS 180-4) of n bytes. */
void sha256(const void *p, size_t n, uint8_t ret[SHA256_LEN]);
/* The same by libmd alone, for the tests. */
void sha256_portable(const void *p, size_t n, uint8_t ret[SHA256_LEN]);

#endif
