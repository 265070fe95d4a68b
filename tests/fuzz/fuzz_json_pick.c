/*
 * Fuzzer of json_object_pick(): it proves as json_check() does, and finds what
 * a plain walk over all members finds.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define N 4

static void
must(bool fact)
{
	if (!fact)
		abort();
}

/* The members by a walk; how often each stands there. */
static void
model(struct json_value object, struct json_want *wants, unsigned *count)
{
	struct json_value key, value;
	struct json_iter it;

	json_iter_init(&it, object);
	while (json_iter_next(&it, &key, &value))
		for (size_t i = 0; i < N; i++)
			if (json_string_is(key, wants[i].name) &&
			    count[i]++ == 0)
				wants[i].value = value;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_want picked[N] = {{.name = "id"}, {.name = "method"},
	    {.name = "\xc3\xa9"}, {.name = ""}};
	struct json_want walked[N];
	unsigned count[N] = {0};
	struct json_fault f = {0}, g = {0};
	struct json_value v = {0};
	const char *p = (const char *)data;
	bool is_json, ok, want_ok;

	memcpy(walked, picked, sizeof(walked));
	ok = json_object_pick(p, size, picked, N, &f);
	is_json = json_check(p, size, &v, &g);
	if (!is_json) {
		must(!ok && !f.is_json && f.offset == g.offset);
		must(strcmp(f.why, g.why) == 0);
		for (size_t i = 0; i < N; i++)
			must(picked[i].value.type == JSON_NONE);
		return 0;
	}
	want_ok = v.type == JSON_OBJECT;
	if (want_ok)
		model(v, walked, count);
	for (size_t i = 0; i < N; i++) {
		struct json_value one = json_member(v, picked[i].name);

		must(picked[i].value.p == walked[i].value.p);
		must(picked[i].value.len == walked[i].value.len);
		must(one.p == (count[i] == 1 ? walked[i].value.p : NULL));
		want_ok = want_ok && count[i] <= 1;
	}
	must(ok == want_ok && (ok || f.is_json));
	return 0;
}
