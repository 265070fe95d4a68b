/*
 * Names, sizes, globs and random identifiers.
 */
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Each call names a job and a tool: strspn() makes a table each time. */
static bool
is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool
str_is_name(const char *s)
{
	size_t n = 0;

	while (n <= 128 && (is_name_char(s[n]) || s[n] == '.'))
		n++;
	return n >= 1 && n <= 128 && s[n] == '\0';
}

bool
str_is_tool_name(const char *s)
{
	size_t n = 0;

	while (n <= 64 && is_name_char(s[n]))
		n++;
	return n >= 1 && n <= 64 && s[n] == '\0';
}

bool
str_is_call_name(const char *s, uint64_t *ret_number)
{
	size_t n;

	if (s[0] != 'c')
		return false;
	n = strspn(s + 1, "0123456789");
	if (n == 0 || s[1 + n] != '\0')
		return false;
	if (ret_number != NULL)
		*ret_number = strtoull(s + 1, NULL, 10);
	return true;
}

bool
str_parse_size(const char *s, uint64_t *ret)
{
	static const struct {
		const char *unit;
		unsigned shift;
	} units[] = { { "", 0 }, { "B", 0 }, { "KiB", 10 }, { "MiB", 20 },
		{ "GiB", 30 }, { "TiB", 40 } };
	size_t n = strspn(s, "0123456789");
	unsigned long long v;

	if (n == 0 || n > 18)
		return false;
	v = strtoull(s, NULL, 10);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(s + n, units[i].unit) == 0) {
			if (v > (UINT64_MAX >> 1) >> units[i].shift)
				return false;
			*ret = (uint64_t)v << units[i].shift;
			return true;
		}
	return false;
}

bool
str_glob(const char *pattern, const char *s)
{
	const char *star = NULL, *retry = NULL;

	while (*s != '\0') {
		if (*pattern == '*') {
			star = ++pattern;
			retry = s;
		} else if (*pattern == '?' || *pattern == *s) {
			pattern++;
			s++;
		} else if (star != NULL) {
			pattern = star;
			s = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

/* Bytes are drawn many at a time, and each is used once. */
static void
draw(unsigned char *out, size_t n)
{
	static unsigned char pool[256]; /* got whole or not at all */
	static size_t left;

	if (left < n) {
		while (getrandom(pool, sizeof(pool), 0) != sizeof(pool))
			if (errno != EINTR)
				abort();
		left = sizeof(pool);
	}
	left -= n;
	memcpy(out, pool + left, n);
	explicit_bzero(pool + left, n);
}

void
str_random_hex(char *out, size_t nbytes)
{
	static const char hex[] = "0123456789abcdef";
	unsigned char raw[64];

	if (nbytes > sizeof(raw))
		abort();
	draw(raw, nbytes);
	for (size_t i = 0; i < nbytes; i++) {
		out[2 * i] = hex[raw[i] >> 4];
		out[2 * i + 1] = hex[raw[i] & 15];
	}
	out[2 * nbytes] = '\0';
}

bool
str_copy(char *out, size_t size, const char *s)
{
	size_t n = strlen(s);
	bool whole = n < size;

	if (!whole) {
		n = size - 1;
		/* at the first byte of a character, not within */
		for (int i = 0; i < 3 && n > 0; i++)
			if (((unsigned char)s[n] & 0xc0) == 0x80)
				n--;
	}
	memcpy(out, s, n);
	out[n] = '\0';
	return whole;
}
