/*
 * The params of a request: checked against its method's own list, strictly
 * (an unknown or repeated member, or a value of another type, is an error
 * that names it), and read one by one.  Values are views into the line.
 * Runs in oz0d; called by control_rpc.c and the methods.
 */
#include "supervisor/control_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "supervisor/call.h"

#define STRING_MAX ((size_t)4096)
#define LIST_STRING_MAX ((size_t)131072) /* MAX_ARG_STRLEN of Linux */
#define LIST_MAX 16384
#define SESSION_MAX 1000000

static bool
is_name(struct json_value v)
{
	char s[129];

	return json_to_string(v, s, sizeof(s)) && str_is_name(s);
}

static bool
is_call(struct json_value v)
{
	char s[32];

	return json_to_string(v, s, sizeof(s)) && str_is_call_name(s, NULL);
}

static bool
is_uint(struct json_value v, uint64_t min, uint64_t max)
{
	uint64_t n;

	return json_to_uint64(v, &n) && n >= min && n <= max;
}

static bool
to_span(struct json_value v, struct span *ret)
{
	char s[40];
	double d;

	if (json_to_double(v, &d))
		return span_from_seconds(d, ret) && ret->us > 0;
	return json_to_string(v, s, sizeof(s)) && span_parse(s, ret) &&
	       ret->us > 0;
}

/* A name of the environment: NAME=VALUE is to mean that and nothing else. */
static bool
is_variable(struct json_value key)
{
	CLEANUP_FREE char *name = NULL;

	return json_to_new_string(key, LIST_STRING_MAX, &name) &&
	       name[0] != '\0' && strchr(name, '=') == NULL;
}

static bool
is_container(struct json_value v, enum json_type type)
{
	struct json_value key, one;
	struct json_iter it;
	unsigned n = 0;

	if (v.type != type)
		return false;
	json_iter_init(&it, v);
	while (json_iter_next(&it, &key, &one))
		if (++n > LIST_MAX || !json_fits_string(one, LIST_STRING_MAX) ||
		    (type == JSON_OBJECT && !is_variable(key)))
			return false;
	return true;
}

/* Each member once, and no other. */
static bool
to_prior(struct json_value v, struct call_prior *ret)
{
	struct json_value key, one;
	bool progress = false, token = false;
	struct json_iter it;

	memset(ret, 0, sizeof(*ret));
	if (v.type != JSON_OBJECT)
		return false;
	json_iter_init(&it, v);
	while (json_iter_next(&it, &key, &one)) {
		bool *seen, ok;

		if (json_string_is(key, "progress")) {
			seen = &progress;
			ok = json_to_double(one, &ret->progress);
		} else if (json_string_is(key, "total")) {
			seen = &ret->has_total;
			ok = json_to_double(one, &ret->total);
		} else {
			seen = &token;
			ok = json_string_is(key, "token") &&
			     json_fits_string(one, STRING_MAX - 1);
		}
		if (!ok || *seen)
			return false;
		*seen = true;
	}
	return progress;
}

/* What a value of each type must be. */
static const char *const words[] = {
    [PARAM_NAME] = "1 to 128 characters of A-Z a-z 0-9 . _ -",
    [PARAM_CALL] = "a call, as \"c12\"",
    [PARAM_STRING] = "a string of 1 to 4095 bytes",
    [PARAM_BOOL] = "true or false",
    [PARAM_U32] = "a whole number from 0 to 4294967295",
    [PARAM_U64] = "a whole number, not negative",
    [PARAM_SESSION] = "a whole number from 1 to 1000000",
    [PARAM_SPAN] = "a time above 0, in seconds or as \"1.5s\"",
    [PARAM_OBJECT] = "an object",
    [PARAM_STRINGS] = "a list of strings",
    [PARAM_OBJECTS] = "a list of objects",
    [PARAM_MAP] = "an object of strings, whose names have no =",
    [PARAM_PRIOR] = ("an object of a number \"progress\" and, if known, a "
		     "number \"total\" and a string \"token\""),
};

static bool
fits(struct json_value v, enum param_type type)
{
	struct call_prior prior;
	struct span d;
	bool b;

	switch (type) {
	case PARAM_NAME:
		return is_name(v);
	case PARAM_CALL:
		return is_call(v);
	case PARAM_STRING:
		return json_fits_string(v, STRING_MAX - 1) && v.len > 2;
	case PARAM_BOOL:
		return json_to_bool(v, &b);
	case PARAM_U32:
		return is_uint(v, 0, UINT32_MAX);
	case PARAM_U64:
		return is_uint(v, 0, UINT64_MAX);
	case PARAM_SESSION:
		return is_uint(v, 1, SESSION_MAX);
	case PARAM_SPAN:
		return to_span(v, &d);
	case PARAM_OBJECT:
		return v.type == JSON_OBJECT;
	case PARAM_STRINGS:
		return is_container(v, JSON_ARRAY);
	case PARAM_OBJECTS: /* its reader looks at each */
		return v.type == JSON_ARRAY;
	case PARAM_MAP:
		return is_container(v, JSON_OBJECT);
	case PARAM_PRIOR:
		return to_prior(v, &prior);
	}
	return false;
}

/* Its place among the method's params, or -1. */
static int
param_index(const struct method *m, struct json_value key)
{
	for (int i = 0; i < PARAMS_MAX && m->params[i].name != NULL; i++)
		if (json_string_is(key, m->params[i].name))
			return i;
	return -1;
}

static bool
read_member(const struct method *m, struct json_value key, struct json_value v,
    struct params *p, struct fault *f)
{
	int i = param_index(m, key);

	if (i < 0)
		return fault_set(f, FAULT_PARAMS, "unknown member %.*s",
		    key.len > 80 ? 80 : (int)key.len, key.p);
	if (p->v[i].type != JSON_NONE)
		return fault_set(f, FAULT_PARAMS, "\"%s\" stands there twice",
		    m->params[i].name);
	if (!fits(v, m->params[i].type))
		return fault_set(f, FAULT_PARAMS, "\"%s\" must be %s",
		    m->params[i].name, words[m->params[i].type]);
	p->v[i] = v;
	p->given[p->ngiven++] = (uint8_t)i;
	return true;
}

bool
params_read(const struct method *m, struct json_value params,
    struct params *ret, struct fault *f)
{
	struct json_value key, v;
	struct json_iter it;

	ret->spec = m->params;
	memset(ret->v, 0, sizeof(ret->v));
	ret->ngiven = 0;
	if (params.type != JSON_NONE && params.type != JSON_OBJECT)
		return fault_set(f, FAULT_PARAMS, "params must be an object");
	if (params.type == JSON_OBJECT) {
		json_iter_init(&it, params);
		while (json_iter_next(&it, &key, &v))
			if (!read_member(m, key, v, ret, f))
				return false;
	}
	for (int i = 0; i < PARAMS_MAX && m->params[i].name != NULL; i++)
		if (m->params[i].required && ret->v[i].type == JSON_NONE)
			return fault_set(f, FAULT_PARAMS, "\"%s\" is missing",
			    m->params[i].name);
	return true;
}

/* ---- reading what was checked ---- */

struct json_value
params_value(const struct params *p, const char *name)
{
	for (unsigned n = 0; n < p->ngiven; n++)
		if (strcmp(p->spec[p->given[n]].name, name) == 0)
			return p->v[p->given[n]];
	return (struct json_value){JSON_NONE, NULL, 0};
}

bool
params_has(const struct params *p, const char *name)
{
	return params_value(p, name).type != JSON_NONE;
}

char *
params_string(const struct params *p, const char *name)
{
	char *s = NULL;

	json_to_new_string(params_value(p, name), STRING_MAX, &s);
	return s;
}

bool
params_bool(const struct params *p, const char *name, bool absent)
{
	json_to_bool(params_value(p, name), &absent);
	return absent;
}

uint64_t
params_uint(const struct params *p, const char *name, uint64_t absent)
{
	json_to_uint64(params_value(p, name), &absent);
	return absent;
}

bool
params_span(const struct params *p, const char *name, struct span *ret)
{
	return to_span(params_value(p, name), ret);
}

bool
params_prior(
    const struct params *p, const char *name, struct call_prior *ret)
{
	return to_prior(params_value(p, name), ret);
}

static char **
read_list(struct json_value list, bool pairs)
{
	struct json_value key, one;
	struct json_iter it;
	size_t n = 0;
	char **v;

	json_iter_init(&it, list);
	while (json_iter_next(&it, &key, &one))
		n++;
	v = mem_array(n + 1, sizeof(*v));
	n = 0;
	json_iter_init(&it, list);
	while (json_iter_next(&it, &key, &one)) {
		CLEANUP_FREE char *name = NULL, *value = NULL;

		if (!json_to_new_string(one, LIST_STRING_MAX, &value))
			continue;
		if (!pairs)
			v[n++] = STEAL_PTR(value);
		else if (json_to_new_string(key, LIST_STRING_MAX, &name))
			v[n++] = mem_printf("%s=%s", name, value);
	}
	return v;
}

char **
params_strings(const struct params *p, const char *name)
{
	struct json_value v = params_value(p, name);

	return v.type == JSON_NONE ? NULL : read_list(v, false);
}

char **
params_map(const struct params *p, const char *name)
{
	struct json_value v = params_value(p, name);

	return v.type == JSON_NONE ? NULL : read_list(v, true);
}

void
strings_free(char **v)
{
	for (size_t i = 0; v != NULL && v[i] != NULL; i++)
		free(v[i]);
	free(v);
}
