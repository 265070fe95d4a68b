/*
 * The characters of JSON strings, for the readers in base/: how far a string
 * is well formed, and what its escapes stand for.  A leaf; it is told where
 * the text ends and reads nothing behind that.
 */
#include "base/json_text.h"

#ifdef __SSE2__
static inline __m128i
either(__m128i v, char a, char b)
{
	return _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(a)),
	    _mm_cmpeq_epi8(v, _mm_set1_epi8(b)));
}

/* Which bytes of v may stand behind a backslash by themselves. */
static inline unsigned
escape_letters(__m128i v)
{
	__m128i signs = _mm_or_si128(
	    either(v, '"', '\\'), _mm_cmpeq_epi8(v, _mm_set1_epi8('/')));
	__m128i letters = _mm_or_si128(
	    either(v, 'b', 'f'), _mm_or_si128(either(v, 'n', 'r'),
				     _mm_cmpeq_epi8(v, _mm_set1_epi8('t'))));

	return (unsigned)_mm_movemask_epi8(_mm_or_si128(signs, letters));
}

/*
 * Over blocks with escapes of one letter, from a backslash on; JSON within
 * JSON is full of them.  Stops where anything else needs a look, never within
 * an escape.
 */
static const char *
skip_escapes(const char *p, const char *end)
{
	while (end - p >= 16) {
		__m128i v = json_run_load(p);
		unsigned slashes = (unsigned)_mm_movemask_epi8(
		    _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
		unsigned stops =
		    (unsigned)_mm_movemask_epi8(json_run_special(v));
		unsigned first, escaped = 0;

		if (slashes == 0)
			break;
		for (unsigned rest = slashes; rest != 0;
		     rest &= ~(first | first << 1)) {
			first = rest & -rest;
			escaped |= first << 1;
		}
		stops = (stops & ~slashes & ~escaped) |
			(escaped & 0xffff & ~escape_letters(v));
		if (stops != 0) {
			unsigned at = (unsigned)__builtin_ctz(stops);

			return p + at - (escaped >> at & 1);
		}
		/* the last byte may be a backslash that begins an escape */
		p += 16 - (escaped >> 16);
	}
	return p;
}
#else
static const char *
skip_escapes(const char *p, const char *end)
{
	return p;
}
#endif

/* The bytes of the escape at p; 0 when it is none or is cut. */
static size_t
escape_len(const char *p, const char *end)
{
	if (end - p < 2)
		return 0;
	if (p[1] != 'u')
		return json_escape(p[1]) != '\0' ? 2 : 0;
	if (end - p < 6)
		return 0;
	for (int i = 2; i < 6; i++)
		if (json_hex(p[i]) < 0)
			return 0;
	return 6;
}

const char *
json_text_skip(const char *p, const char *end)
{
	const char *at, *escape = NULL; /* behind the last escape */

	for (;;) {
		p = json_run(p, end);
		if (p == end)
			return p;
		if (*p != '\\') {
			at = json_utf8_run(p, end);
		} else {
			/* blocks are worth it where escapes stand close */
			at = p;
			if (escape != NULL && p - escape < 16)
				at = skip_escapes(p, end);
			if (at == p)
				at += escape_len(p, end);
			escape = at;
		}
		if (at == p)
			return p;
		p = at;
	}
}

size_t
json_text_put_escape(unsigned char c, char out[JSON_ESCAPE_MAX])
{
	static const char letters[] = "btnvfr"; /* from \b on; JSON has no \v */
	static const char hex[] = "0123456789abcdef";

	out[0] = '\\';
	if (c == '"' || c == '\\') {
		out[1] = (char)c;
		return 2;
	}
	if (c >= '\b' && c <= '\r' && c != '\v') {
		out[1] = letters[c - '\b'];
		return 2;
	}
	memcpy(out + 1, "u00", 3);
	out[4] = hex[c >> 4];
	out[5] = hex[c & 0xf];
	return 6;
}

/* The four hexadecimal digits at p, which are proven. */
static uint32_t
hex4(const char *p)
{
	uint32_t c = 0;

	for (int i = 0; i < 4; i++)
		c = c << 4 | ((uint32_t)json_hex(p[i]) & 0xf);
	return c;
}

uint32_t
json_text_escape(const char **p, const char *end)
{
	const char *at = *p;
	uint32_t c, low;

	if (at[1] != 'u') {
		*p = at + 2;
		return (unsigned char)json_escape(at[1]);
	}
	c = hex4(at + 2);
	*p = at + 6;
	if (c < 0xd800 || c > 0xdfff)
		return c;
	if (c > 0xdbff || end - at < 12 || at[6] != '\\' || at[7] != 'u')
		return JSON_LONE;
	low = hex4(at + 8);
	if (low < 0xdc00 || low > 0xdfff)
		return JSON_LONE;
	*p = at + 12;
	return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
}

bool
json_text_unescape(struct json_value v, char *out, size_t *ret_len)
{
	const char *p = v.p + 1, *end = v.p + v.len - 1;
	size_t len = 0;

	while (p < end) {
		const char *slash = memchr(p, '\\', (size_t)(end - p));
		size_t run = (size_t)((slash != NULL ? slash : end) - p);
		char utf8[4];
		uint32_t c;

		if (out != NULL)
			memcpy(out + len, p, run);
		len += run;
		p += run;
		if (slash == NULL)
			break;
		c = json_text_escape(&p, end);
		if (c == JSON_LONE)
			return false;
		run = json_utf8_put(c, utf8);
		if (out != NULL)
			memcpy(out + len, utf8, run);
		len += run;
	}
	*ret_len = len;
	return true;
}
