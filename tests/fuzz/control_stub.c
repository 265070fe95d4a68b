/*
 * The stubs of control_stub.h.
 */
#include "tests/fuzz/control_stub.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "supervisor/control_internal.h"

static void
put_strings(struct jsonw *w, const char *name, char **v)
{
	jsonw_array(w, name);
	for (size_t i = 0; v != NULL && v[i] != NULL; i++)
		jsonw_string(w, NULL, v[i]);
	jsonw_array_end(w);
	strings_free(v);
}

/* Reads all there is, in every way, and shows it. */
static void
read_all(struct supervisor *s, struct request *q, const struct params *p)
{
	static const char *const texts[] = {"name", "call", "string"};
	struct jsonw *w = request_answer(q);
	struct span d;

	jsonw_object(w, NULL);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *text = params_string(p, texts[i]);

		if (params_has(p, texts[i]) && text == NULL)
			abort(); /* it was checked to be one */
		jsonw_string(w, texts[i], text);
		free(text);
	}
	jsonw_bool(w, "bool", params_bool(p, "bool", false));
	jsonw_uint(w, "u32", params_uint(p, "u32", 1));
	jsonw_uint(w, "u64", params_uint(p, "u64", 1));
	jsonw_uint(w, "session", params_uint(p, "session", 1));
	if (params_uint(p, "session", 1) == 0)
		abort();
	if (params_has(p, "span")) {
		if (!params_span(p, "span", &d) || d.us <= 0)
			abort();
		jsonw_span(w, "span", d);
	}
	jsonw_value(w, "object", params_value(p, "object"));
	put_strings(w, "strings", params_strings(p, "strings"));
	put_strings(w, "map", params_map(p, "map"));
	jsonw_object_end(w);
	request_answered(q);
}

static void
fail(struct supervisor *s, struct request *q, const struct params *p)
{
	request_error(q, RPC_FAULT, "unknown_job", "no job");
}

static const struct method method_m = {"m", ROLE_OBSERVER, read_all, NULL,
    {{"name", PARAM_NAME, false}, {"call", PARAM_CALL, false},
	{"string", PARAM_STRING, false}, {"bool", PARAM_BOOL, false},
	{"u32", PARAM_U32, false}, {"u64", PARAM_U64, false},
	{"session", PARAM_SESSION, false}, {"span", PARAM_SPAN, false},
	{"object", PARAM_OBJECT, false}, {"strings", PARAM_STRINGS, false},
	{"map", PARAM_MAP, false}, {"prior", PARAM_PRIOR, false}}};
static const struct method method_f = {
    "f", ROLE_OBSERVER, fail, NULL, {{"n", PARAM_NAME, true}}};
static const struct method method_a = {"a", ROLE_ADMIN, fail, NULL, {{0}}};
static const struct method method_l = {
    "l", ROLE_OBSERVER, NULL, "not yet", {{0}}};

const struct method *
method_find(struct json_value name)
{
	static const struct method *const all[] = {
	    &method_m, &method_f, &method_a, &method_l};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (json_string_is(name, all[i]->name))
			return all[i];
	return NULL;
}

void
conn_dirty(struct conn *k)
{
}

void
conn_account(struct conn *k)
{
}

/* Nothing is put aside: the budget of the fuzzer is never used up. */
bool
aside_wanted(const struct conn *k, const struct method *m)
{
	return false;
}

void
aside_put(struct request *q, struct json_value params)
{
	abort();
}

void
aside_drop(struct request *q)
{
}

bool
aside_is_late(const struct request *q, const struct params *p)
{
	return false;
}

void
aside_full_words(struct control *c, char *ret, size_t size)
{
	str_copy(ret, size, "full");
}

void
past_drop(struct request *q)
{
}

bool
budget_over(const struct control *c)
{
	return false;
}

void
waiter_add(struct waiter_list *l, struct waiter *w)
{
	abort(); /* no method of the fuzzer waits */
}

const char *
role_name(enum role r)
{
	return "some";
}
