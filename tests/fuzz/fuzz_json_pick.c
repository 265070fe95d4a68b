/*
 * Fuzzer of json_object_pick(): it proves as json_check() does, and finds what
 * a plain walk over all members finds; and so do the notes of a scan in
 * pieces, of the text and of the objects in it.
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

static void
same(const struct json_want *a, const struct json_want *b)
{
	for (size_t i = 0; i < N; i++) {
		must(a[i].value.type == b[i].value.type);
		must(a[i].value.p == b[i].value.p);
		must(a[i].value.len == b[i].value.len);
	}
}

/* Members of members, picked in the same pass. */
static void
by_inner(const char *p, size_t size, bool ok, const struct json_want *picked)
{
	struct json_want outer[N], inner[N][N], want[N];

	memcpy(outer, picked, sizeof(outer));
	for (size_t i = 0; i < N; i++) {
		memcpy(inner[i], picked, sizeof(inner[i]));
		outer[i].inner = inner[i];
		outer[i].ninner = N;
		outer[i].inner_good = true;
	}
	must(json_object_pick(p, size, outer, N, NULL) == ok);
	same(outer, picked);
	for (size_t i = 0; i < N; i++) {
		memcpy(want, picked, sizeof(want));
		must(json_pick(outer[i].value, want, N) ==
		     outer[i].inner_good);
		same(inner[i], want);
	}
}

/* ok: json_object_pick() found picked in p. */
static void
by_notes(const char *p, size_t size, bool ok, const struct json_want *picked)
{
	size_t piece = size % 7 + 1;
	struct json_notes notes;
	struct json_scan s;

	json_scan_init(&s);
	json_scan_note(&s, &notes);
	for (size_t at = 0; at < size; at += piece)
		json_scan_feed(&s, p + at,
		    size - at < piece ? size - at : piece);
	must(json_scan_end(&s, NULL));
	must(notes.breaks == (memchr(p, '\r', size) != NULL ||
				 memchr(p, '\n', size) != NULL));
	for (size_t i = 0; i <= N; i++) {
		const struct json_value *v =
		    i < N ? &picked[i].value : NULL;
		struct json_want noted[N], want[N];
		bool found = ok;

		memcpy(noted, picked, sizeof(noted));
		memcpy(want, picked, sizeof(want));
		if (v != NULL)
			found = json_pick(*v, want, N);
		if (json_notes_pick(&notes, p, v, noted, N)) {
			must(found);
			same(noted, want);
		} else {
			must(!found || notes.too_many || notes.n == 0);
		}
	}
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
	by_notes(p, size, ok, picked);
	by_inner(p, size, ok, picked);
	return 0;
}
