/*
 * Fuzzer of the two scanners: the verdict, its place and its words are the
 * same for a text whole and in pieces, and what is proven can be walked and
 * read.  The first byte says how long the pieces are.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool fact)
{
	if (!fact)
		abort();
}

static bool
scan(const char *p, size_t len, size_t piece, struct json_fault *ret)
{
	struct json_scan s;

	json_scan_init(&s);
	for (size_t at = 0; at < len; at += piece) {
		size_t n = len - at < piece ? len - at : piece;
		char *copy = malloc(n); /* so that ASan sees its ends */

		memcpy(copy, p + at, n);
		json_scan_feed(&s, copy, n);
		free(copy);
	}
	return json_scan_end(&s, ret);
}

static void
read_value(struct json_value v)
{
	struct json_value inner;
	char text[64], *own;
	uint64_t u = 0;
	int64_t i = 0;
	double d;

	must(json_check(v.p, v.len, &inner, NULL));
	must(inner.type == v.type && inner.p == v.p && inner.len == v.len);
	if (json_to_int64(v, &i) && json_to_double(v, &d) && i < 1 << 30 &&
	    i > -(1 << 30))
		must((double)i == d);
	if (json_to_uint64(v, &u) && u <= INT64_MAX)
		must(json_to_int64(v, &i) && (uint64_t)i == u);
	if (json_to_string(v, text, sizeof(text)))
		must(json_string_is(v, text));
	if (json_to_new_string(v, 1 << 20, &own)) {
		must(json_string_is(v, own));
		must(strlen(own) >= sizeof(text) ||
		     json_to_string(v, text, sizeof(text)));
		free(own);
	}
}

/* Two levels down: every container goes through the same code. */
static void
walk(struct json_value v, int levels)
{
	struct json_value key, item;
	struct json_iter it;

	read_value(v);
	json_iter_init(&it, v);
	while (levels > 0 && json_iter_next(&it, &key, &item)) {
		must((key.type == JSON_STRING) == (v.type == JSON_OBJECT));
		walk(item, levels - 1);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_fault whole = {0}, pieces = {0}, bytes = {0};
	struct json_value v;
	const char *p = (const char *)data + 1;
	bool ok;

	if (size == 0)
		return 0;
	ok = json_check(p, size - 1, &v, &whole);
	/* byte by byte no two characters are looked at together */
	must(scan(p, size - 1, 1, &bytes) == ok);
	must(scan(p, size - 1, (size_t)data[0] % 40 + 1, &pieces) == ok);
	if (ok) {
		walk(v, 2);
	} else {
		must(whole.offset == pieces.offset);
		must(whole.offset == bytes.offset);
		must(strcmp(whole.why, pieces.why) == 0);
		must(strcmp(whole.why, bytes.why) == 0);
		must(whole.offset <= size - 1);
	}
	return 0;
}
