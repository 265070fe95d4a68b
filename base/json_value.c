/*
 * Typed readings of values that the scanner found.  Called by every process
 * that acts on a part of a message.  Nothing is read that does not fit
 * exactly: no rounding to an integer, no cut string.
 */
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_number.h"
#include "base/json_text.h"
#include "base/mem.h"

bool
json_is(struct json_value v, enum json_type type)
{
	return v.type == type;
}

bool
json_to_bool(struct json_value v, bool *ret)
{
	if (v.type != JSON_TRUE && v.type != JSON_FALSE)
		return false;
	*ret = v.type == JSON_TRUE;
	return true;
}

/* The magnitude of a number that is an integer and fits. */
static bool
decimal_integer(const struct json_decimal *d, uint64_t *ret)
{
	uint64_t n = 0;
	const char *p = d->p;

	/* digits behind the point, or 21 and more before it */
	if (d->count != 0 && (d->point < (int64_t)d->count || d->point > 20))
		return false;
	for (int64_t i = 0; d->count != 0 && i < d->point; i++) {
		unsigned digit = 0;

		if (i < (int64_t)d->count) {
			if (*p == '.')
				p++;
			digit = (unsigned)(*p++ - '0');
		}
		if (n > (UINT64_MAX - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*ret = n;
	return true;
}

bool
json_to_int64(struct json_value v, int64_t *ret)
{
	struct json_decimal d;
	uint64_t n;

	if (!json_decimal_read(v, &d) || !decimal_integer(&d, &n) ||
	    n > (uint64_t)INT64_MAX + d.negative)
		return false;
	*ret = d.negative ? (int64_t)(0 - n) : (int64_t)n;
	return true;
}

bool
json_to_uint64(struct json_value v, uint64_t *ret)
{
	struct json_decimal d;
	uint64_t n;

	if (!json_decimal_read(v, &d) || !decimal_integer(&d, &n) ||
	    (d.negative && n != 0))
		return false;
	*ret = n;
	return true;
}

bool
json_to_double(struct json_value v, double *ret)
{
	struct json_decimal d;
	double x;

	if (!json_decimal_read(v, &d))
		return false;
	x = json_decimal_double(&d);
	if (!isfinite(x))
		return false;
	*ret = x;
	return true;
}

/* Is U+0000 in a proven string?  It can only be escaped. */
static bool
has_nul(struct json_value v)
{
	const char *p = v.p + 1, *end = v.p + v.len - 1;

	while ((p = memchr(p, '\\', (size_t)(end - p))) != NULL)
		if (json_text_escape(&p, end) == 0)
			return true;
	return false;
}

/* Does this proven string stand there as it is? */
static bool
is_unescaped(struct json_value v)
{
	return memchr(v.p + 1, '\\', v.len - 2) == NULL;
}

/* The length of a string that C can hold, at most max. */
static bool
string_length(struct json_value v, size_t max, size_t *ret)
{
	if (v.type != JSON_STRING)
		return false;
	if (is_unescaped(v))
		*ret = v.len - 2;
	else if (!json_text_unescape(v, NULL, ret) || has_nul(v))
		return false;
	return *ret <= max;
}

/* len: as string_length() has it; as long as the text, it has no escape. */
static void
copy_string(struct json_value v, char *out, size_t len)
{
	if (len == v.len - 2)
		memcpy(out, v.p + 1, len);
	else
		json_text_unescape(v, out, &len);
	out[len] = '\0';
}

bool
json_fits_string(struct json_value v, size_t max)
{
	size_t len;

	return string_length(v, max, &len);
}

bool
json_to_string(struct json_value v, char *out, size_t size)
{
	size_t len;

	if (size == 0 || !string_length(v, size - 1, &len))
		return false;
	copy_string(v, out, len);
	return true;
}

bool
json_to_new_string(struct json_value v, size_t max, char **ret)
{
	size_t len;
	char *s;

	if (!string_length(v, max, &len))
		return false;
	s = mem_alloc(len + 1);
	copy_string(v, s, len);
	*ret = s;
	return true;
}

bool
json_string_is(struct json_value v, const char *s)
{
	const char *p, *end;
	size_t n = strlen(s);

	if (v.type != JSON_STRING || v.len - 2 < n)
		return false; /* an escape is longer than what it stands for */
	p = v.p + 1;
	end = v.p + v.len - 1;
	if (n > 0 && *p != *s && *p != '\\')
		return false;
	if (is_unescaped(v))
		return v.len - 2 == n && memcmp(p, s, n) == 0;
	while (p < end && *s != '\0') {
		char utf8[4];
		uint32_t c;

		if (*p != '\\') {
			if (*p++ != *s++)
				return false;
			continue;
		}
		c = json_text_escape(&p, end);
		if (c == JSON_LONE || c == 0)
			return false;
		n = json_utf8_put(c, utf8);
		if (strncmp(s, utf8, n) != 0)
			return false;
		s += n;
	}
	return p == end && *s == '\0';
}

void
json_one_line(char *p, size_t len)
{
	static const char breaks[] = {'\n', '\r'};

	for (size_t i = 0; i < sizeof(breaks) && len != 0; i++) {
		char *at = p, *end = p + len;

		while ((at = memchr(at, breaks[i], (size_t)(end - at))) != NULL)
			*at++ = ' ';
	}
}
