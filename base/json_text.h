#ifndef OZ0_BASE_JSON_TEXT_H
#define OZ0_BASE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/json.h"

/*
 * What the readers of JSON in base/ (json.c, json_scan.c, json_value.c,
 * canon.c, jsonw.c) share about its characters.  Nobody else includes this.
 */

/* The words of faults; both scanners use the same for the same byte. */
#define JSON_WHY_END "unexpected end"
#define JSON_WHY_CHAR "unexpected character"
#define JSON_WHY_AFTER "text after the value"
#define JSON_WHY_UTF8 "invalid UTF-8"
#define JSON_WHY_CONTROL "control character in a string"
#define JSON_WHY_ESCAPE "invalid escape"
#define JSON_WHY_DEEP "too deep"

static inline bool
json_is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline bool
json_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A byte that a string holds as it is: ASCII, no control, quote, backslash. */
static inline bool
json_is_plain(char c)
{
	return (unsigned char)c >= 0x20 && (unsigned char)c < 0x80 &&
	       c != '"' && c != '\\';
}

/* The value of a hexadecimal digit, or -1. */
static inline int
json_hex(char c)
{
	if (json_is_digit(c))
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}

/* What the letter after a backslash stands for; 0 when for nothing or \u. */
static inline char
json_escape(char c)
{
	switch (c) {
	case '"':
	case '\\':
	case '/':
		return c;
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	default:
		return '\0';
	}
}

/*
 * The first byte of [p, end) that a string cannot hold as it is, or that has
 * to be looked at: a quote, a backslash, a control character, any byte from
 * 0x80 on.  The two forms give the same answer (tests/unit/test_base_json.c).
 */
static inline const char *
json_run_portable(const char *p, const char *end)
{
	const uint64_t ones = 0x0101010101010101u, high = ones << 7;

	while (end - p >= 8) {
		uint64_t w, quote, slash;

		memcpy(&w, p, 8);
		quote = w ^ ones * '"';
		slash = w ^ ones * '\\';
		/* a byte below n borrows into its high bit */
		if (((w - ones * 0x20) | (quote - ones) | (slash - ones) | w) &
		    high)
			break;
		p += 8;
	}
	while (p < end && json_is_plain(*p))
		p++;
	return p;
}

#ifdef __SSE2__
static inline __m128i
json_run_load(const char *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline __m128i
json_run_special(__m128i v)
{
	/* signed: bytes from 0x80 on are below 0x20 too */
	__m128i low = _mm_cmplt_epi8(v, _mm_set1_epi8(0x20));
	__m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
	__m128i slash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));

	return _mm_or_si128(low, _mm_or_si128(quote, slash));
}

static inline unsigned
json_run_mask(const char *p)
{
	return (unsigned)_mm_movemask_epi8(json_run_special(json_run_load(p)));
}

/* Over blocks of 64 bytes without anything special. */
static inline const char *
json_run_long(const char *p, const char *end)
{
	while (end - p >= 64) {
		__m128i a = json_run_special(json_run_load(p));
		__m128i b = json_run_special(json_run_load(p + 16));
		__m128i c = json_run_special(json_run_load(p + 32));
		__m128i d = json_run_special(json_run_load(p + 48));

		a = _mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d));
		if (_mm_movemask_epi8(a) != 0)
			break;
		p += 64;
	}
	return p;
}

static inline const char *
json_run_sse2(const char *p, const char *end)
{
	for (size_t blocks = 0; end - p >= 16; blocks++) {
		unsigned mask = json_run_mask(p);

		if (mask != 0)
			return p + __builtin_ctz(mask);
		p += 16;
		if (blocks == 8)
			p = json_run_long(p, end);
	}
	return json_run_portable(p, end);
}
#endif

static inline const char *
json_run(const char *p, const char *end)
{
#ifdef __SSE2__
	return json_run_sse2(p, end);
#else
	return json_run_portable(p, end);
#endif
}

/*
 * UTF-8 by its first byte: how many bytes follow (0: none may, it begins
 * nothing) and between what the first of them must lie.  That is where
 * overlong forms, surrogates and code points above U+10FFFF are refused;
 * further bytes lie between 0x80 and 0xBF.
 */
struct json_utf8 {
	uint8_t need;
	uint8_t low;
	uint8_t high;
};

static inline struct json_utf8
json_utf8_lead(unsigned char c)
{
	struct json_utf8 u = {0, 0x80, 0xbf};

	if (c >= 0xc2 && c <= 0xdf)
		u.need = 1;
	else if (c >= 0xe0 && c <= 0xef)
		u.need = 2;
	else if (c >= 0xf0 && c <= 0xf4)
		u.need = 3;
	if (c == 0xe0)
		u.low = 0xa0;
	else if (c == 0xed)
		u.high = 0x9f;
	else if (c == 0xf0)
		u.low = 0x90;
	else if (c == 0xf4)
		u.high = 0x8f;
	return u;
}

/*
 * Bytes of the UTF-8 character at p; 0 when it is none, with the first byte
 * that is wrong at *ret_bad (end when more should follow).
 */
static inline size_t
json_utf8_len(const char *p, const char *end, const char **ret_bad)
{
	struct json_utf8 u = json_utf8_lead((unsigned char)*p);
	size_t i;

	*ret_bad = p;
	if (u.need == 0)
		return (unsigned char)*p < 0x80 ? 1 : 0;
	for (i = 1; i <= u.need; i++) {
		unsigned char c;

		*ret_bad = p + i;
		if (p + i == end)
			return 0;
		c = (unsigned char)p[i];
		if (c < u.low || c > u.high)
			return 0;
		u.low = 0x80;
		u.high = 0xbf;
	}
	return i;
}

/* Skips the whole characters from 0x80 on that stand at p, if they are well
 * formed; stops in front of the first that is not, or is cut. */
static inline const char *
json_utf8_run(const char *p, const char *end)
{
	const char *bad;
	size_t n;

	while (p < end && (unsigned char)*p >= 0x80) {
		n = json_utf8_len(p, end, &bad);
		if (n == 0)
			break;
		p += n;
	}
	return p;
}

/* A code point as UTF-8; returns its bytes (1 to 4). */
static inline size_t
json_utf8_put(uint32_t c, char out[4])
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/*
 * Over the inside of a string: to its closing quote, or to the first byte of
 * what is wrong, cut or a control character, or to end.
 */
const char *json_text_skip(const char *p, const char *end);

#define JSON_ESCAPE_MAX 6
/*
 * How a control character, quote or backslash is written: \n, \" or \u001f
 * (also RFC 8785 §3.2.2.2).  Returns the length; no NUL.
 */
size_t json_text_put_escape(unsigned char c, char out[JSON_ESCAPE_MAX]);

/*
 * The code point of the escape at *p (a backslash) in a proven string that
 * ends before end; moves *p behind it, over both halves of a pair.
 * JSON_LONE for a lone surrogate.
 */
#define JSON_LONE UINT32_MAX
uint32_t json_text_escape(const char **p, const char *end);

/*
 * A proven string unescaped, U+0000 allowed, into out if it is not NULL (then
 * of at least the string's length); its length to *ret_len.  false when it
 * holds a lone surrogate.
 */
bool json_text_unescape(struct json_value v, char *out, size_t *ret_len);

#endif
