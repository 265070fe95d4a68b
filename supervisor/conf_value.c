/*
 * Typed readings of the configuration's JSON: each takes one key, checks type
 * and range, and on an error says which key it is and what it may be.  Used
 * by the readers of the configuration only (conf_*.c); runs in oz0d when it
 * starts and at SIGHUP, and in its unit tests and fuzzer.
 */
#include "supervisor/conf_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

char *
conf_path(struct conf_at at, const char *key)
{
	if (key == NULL)
		return mem_strdup(at.path[0] != '\0' ? at.path : "the file");
	if (at.path[0] == '\0')
		return mem_strdup(key);
	return mem_printf("%s.%s", at.path, key);
}

bool
conf_fail(struct conf_reader *r, struct conf_at at, const char *key,
    const char *fmt, ...)
{
	char *path = conf_path(at, key), *words;
	va_list ap;

	va_start(ap, fmt);
	words = mem_vprintf(fmt, ap);
	va_end(ap);
	snprintf(
	    r->error->text, sizeof(r->error->text), "%.500s: %s", path, words);
	free(words);
	free(path);
	return false;
}

void
conf_warn(struct conf_reader *r, struct conf_at at, const char *key,
    const char *fmt, ...)
{
	size_t n = conf_strings_len(r->conf->warnings);
	char *path = conf_path(at, key), *words;
	va_list ap;

	va_start(ap, fmt);
	words = mem_vprintf(fmt, ap);
	va_end(ap);
	r->conf->warnings =
	    mem_realloc(r->conf->warnings, (n + 2) * sizeof(char *));
	r->conf->warnings[n] = mem_printf("%s: %s", path, words);
	r->conf->warnings[n + 1] = NULL;
	free(words);
	free(path);
}

bool
conf_check_keys(
    struct conf_reader *r, struct conf_at at, const char *const *known)
{
	const char *key;
	json_t *value;

	json_object_foreach(at.object, key, value)
	{
		size_t i = 0;

		while (known[i] != NULL && strcmp(known[i], key) != 0)
			i++;
		if (known[i] == NULL)
			return conf_fail(r, at, key, "unknown key");
	}
	return true;
}

bool
conf_get_object(struct conf_reader *r, struct conf_at at, const char *key,
    struct conf_at *ret)
{
	json_t *v = json_object_get(at.object, key);

	ret->object = NULL;
	ret->path = NULL;
	if (v == NULL)
		return true;
	if (!json_is_object(v))
		return conf_fail(r, at, key, "must be an object");
	ret->object = v;
	ret->path = conf_path(at, key);
	return true;
}

bool
conf_get_string(
    struct conf_reader *r, struct conf_at at, const char *key, char **ret)
{
	json_t *v = json_object_get(at.object, key);

	if (v == NULL)
		return true;
	if (!json_is_string(v) || json_string_length(v) == 0)
		return conf_fail(
		    r, at, key, "must be a string that is not empty");
	free(*ret);
	*ret = mem_strdup(json_string_value(v));
	return true;
}

/* Has the path a part that is "." or ".."? */
static bool
path_has_dots(const char *path)
{
	while (*path != '\0') {
		size_t n = strcspn(path, "/");

		if ((n == 1 || n == 2) && strncmp(path, "..", n) == 0)
			return true;
		path += n;
		path += strspn(path, "/");
	}
	return false;
}

static bool
check_path(
    struct conf_reader *r, struct conf_at at, const char *key, const char *path)
{
	if (path[0] != '/')
		return conf_fail(
		    r, at, key, "must be an absolute path, not `%s'", path);
	if (path_has_dots(path))
		return conf_fail(
		    r, at, key, "must have no `.' and `..' in it: `%s'", path);
	return true;
}

bool
conf_get_path(
    struct conf_reader *r, struct conf_at at, const char *key, char **ret)
{
	return conf_get_string(r, at, key, ret) &&
	       (json_object_get(at.object, key) == NULL ||
		   check_path(r, at, key, *ret));
}

bool
conf_get_bool(
    struct conf_reader *r, struct conf_at at, const char *key, bool *ret)
{
	json_t *v = json_object_get(at.object, key);

	if (v == NULL)
		return true;
	if (!json_is_boolean(v))
		return conf_fail(r, at, key, "must be true or false");
	*ret = json_is_true(v);
	return true;
}

bool
conf_get_choice(struct conf_reader *r, struct conf_at at, const char *key,
    const char *first, const char *second, bool *ret)
{
	json_t *v = json_object_get(at.object, key);
	const char *s = json_string_value(v);

	if (v == NULL)
		return true;
	if (s == NULL || (strcmp(s, first) != 0 && strcmp(s, second) != 0))
		return conf_fail(
		    r, at, key, "must be \"%s\" or \"%s\"", first, second);
	*ret = strcmp(s, second) == 0;
	return true;
}

bool
conf_get_count(struct conf_reader *r, struct conf_at at, const char *key,
    unsigned min, unsigned max, unsigned *ret)
{
	json_t *v = json_object_get(at.object, key);

	if (v == NULL)
		return true;
	if (!json_is_integer(v) || json_integer_value(v) < (json_int_t)min ||
	    json_integer_value(v) > (json_int_t)max)
		return conf_fail(r, at, key,
		    "must be a whole number from %u to %u", min, max);
	*ret = (unsigned)json_integer_value(v);
	return true;
}

bool
conf_get_size(struct conf_reader *r, struct conf_at at, const char *key,
    uint64_t min, uint64_t max, uint64_t *ret)
{
	json_t *v = json_object_get(at.object, key);
	uint64_t n = 0;
	bool ok;

	if (v == NULL)
		return true;
	if (json_is_integer(v)) {
		ok = json_integer_value(v) >= 0;
		n = (uint64_t)json_integer_value(v);
	} else {
		ok = json_is_string(v) &&
		     str_parse_size(json_string_value(v), &n);
	}
	if (!ok)
		return conf_fail(r, at, key,
		    "must be a size: a number of bytes, or \"64KiB\", "
		    "\"16MiB\", \"1GiB\"");
	if (n < min || n > max)
		return conf_fail(r, at, key, "must be from %llu to %llu bytes",
		    (unsigned long long)min, (unsigned long long)max);
	*ret = n;
	return true;
}

bool
conf_get_span(struct conf_reader *r, struct conf_at at, const char *key,
    struct span min, struct span max, struct span *ret)
{
	json_t *v = json_object_get(at.object, key);
	char low[40], high[40];
	struct span d;
	bool ok;

	if (v == NULL)
		return true;
	if (json_is_number(v))
		ok = span_from_seconds(json_number_value(v), &d);
	else
		ok = json_is_string(v) && span_parse(json_string_value(v), &d);
	if (ok && d.us >= min.us && d.us <= max.us) {
		*ret = d;
		return true;
	}
	span_format(min, low, sizeof(low));
	span_format(max, high, sizeof(high));
	return conf_fail(r, at, key,
	    "must be a time from %s to %s: a number of seconds, or \"200ms\", "
	    "\"1.5s\", \"2m\", \"1h\", \"7d\"",
	    low, high);
}

bool
conf_get_double(struct conf_reader *r, struct conf_at at, const char *key,
    double min, double max, double *ret)
{
	json_t *v = json_object_get(at.object, key);
	double d;

	if (v == NULL)
		return true;
	d = json_number_value(v);
	if (!json_is_number(v) || !isfinite(d) || d < min || d > max)
		return conf_fail(
		    r, at, key, "must be a number from %g to %g", min, max);
	*ret = d;
	return true;
}

bool
conf_get_strings(struct conf_reader *r, struct conf_at at, const char *key,
    bool empty_ok, char ***ret)
{
	json_t *v = json_object_get(at.object, key), *one;
	char **list;
	size_t i;

	if (v == NULL)
		return true;
	if (!json_is_array(v))
		return conf_fail(r, at, key, "must be a list of strings");
	json_array_foreach(v, i, one)
	{
		if (!json_is_string(one))
			return conf_fail(
			    r, at, key, "[%zu]: must be a string", i);
		if (!empty_ok && json_string_length(one) == 0)
			return conf_fail(
			    r, at, key, "[%zu]: must not be empty", i);
	}
	list = mem_array(json_array_size(v) + 1, sizeof(*list));
	json_array_foreach(v, i, one) list[i] =
	    mem_strdup(json_string_value(one));
	conf_strings_free(*ret);
	*ret = list;
	return true;
}

void
conf_strings_free(char **v)
{
	for (size_t i = 0; v != NULL && v[i] != NULL; i++)
		free(v[i]);
	free(v);
}

size_t
conf_strings_len(char *const *v)
{
	size_t n = 0;

	while (v != NULL && v[n] != NULL)
		n++;
	return n;
}

bool
conf_strings_same(char *const *a, char *const *b)
{
	size_t n = conf_strings_len(a);

	if (n != conf_strings_len(b))
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(a[i], b[i]) != 0)
			return false;
	return true;
}
