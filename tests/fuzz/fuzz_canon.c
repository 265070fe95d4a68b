/*
 * Fuzzer of the canonical form: it is JSON and its own canonical form, and the
 * digest of a text is that of its form.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/canon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool fact)
{
	if (!fact)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char digest[CANON_DIGEST_LEN], again_digest[CANON_DIGEST_LEN];
	struct buf form = {0}, again = {0};
	struct json_value v;

	if (!json_check((const char *)data, size, &v, NULL))
		return 0;
	canon_digest(v, digest);
	must(strspn(digest, "0123456789abcdef") == CANON_DIGEST_LEN - 1);
	if (canon_write(v, &form)) {
		must(json_check(buf_at(&form), buf_len(&form), &v, NULL));
		must(v.len == buf_len(&form));
		must(canon_write(v, &again));
		must(buf_len(&again) == buf_len(&form));
		must(memcmp(buf_at(&again), buf_at(&form), v.len) == 0);
		canon_digest(v, again_digest);
		must(strcmp(digest, again_digest) == 0);
	}
	buf_free(&form);
	buf_free(&again);
	return 0;
}
