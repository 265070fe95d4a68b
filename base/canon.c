/*
 * The canonical form of JSON (RFC 8785), by which calls with the same
 * arguments know each other, whoever wrote them and how.  Called where a key
 * or the digest of a listing is made, on values that the scanner proved.
 *
 * Linear but for the sorting of names: one walk notes where each container
 * ends, so that a member's value is stepped over at once when its object is
 * sorted.  write_value() calls itself, at most JSON_MAX_DEPTH deep.
 */
#include "base/canon.h"

#include <float.h>
#include <math.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_number.h"
#include "base/json_text.h"
#include "base/mem.h"

/* Where a container ends, and which number the first one behind it has;
 * containers are numbered in the order in which they open. */
struct ending {
	const char *end;
	size_t next;
};

struct canon {
	const char *p; /* what is to be written next */
	const char *end;
	struct ending *endings;
	size_t container; /* the number of the next one to open */
	struct buf *out;
};

/* A member waiting for its place. */
struct member {
	const char *name; /* unescaped; in the text where that is the same */
	size_t len;
	char *own; /* memory of name, or NULL */
	struct json_value raw;
	const char *value;
	size_t container;
};

static bool write_value(struct canon *c);

static void
skip_blanks(struct canon *c)
{
	while (c->p < c->end && json_is_blank(*c->p))
		c->p++;
}

/* p: at the quote of a proven string; returns what is behind it. */
static const char *
string_end(const char *p, const char *end)
{
	return json_text_skip(p + 1, end) + 1;
}

/* Takes the string at c->p. */
static struct json_value
take_string(struct canon *c)
{
	const char *p = c->p;

	c->p = string_end(p, c->end);
	return (struct json_value){JSON_STRING, p, (size_t)(c->p - p)};
}

/* Takes a number, true, false or null. */
static struct json_value
take_word(struct canon *c)
{
	struct json_value v = {JSON_NUMBER, c->p, 0};

	while (c->p < c->end && !json_is_blank(*c->p) && *c->p != ',' &&
	       *c->p != ']' && *c->p != '}')
		c->p++;
	v.len = (size_t)(c->p - v.p);
	return v;
}

/* Is there a container in it, or a string that has such a sign? */
static bool
may_nest(struct json_value v)
{
	return memchr(v.p + 1, '{', v.len - 1) != NULL ||
	       memchr(v.p + 1, '[', v.len - 1) != NULL;
}

static void
note_endings(struct canon *c, struct buf *b)
{
	size_t open[JSON_MAX_DEPTH], depth = 0;
	struct ending *e, empty = {0};

	for (const char *p = c->p; p < c->end;) {
		if (*p == '"') {
			p = string_end(p, c->end);
			continue;
		}
		if (*p == '[' || *p == '{') {
			open[depth++] = buf_len(b) / sizeof(*e);
			buf_put(b, &empty, sizeof(empty));
		} else if (*p == ']' || *p == '}') {
			e = (struct ending *)(void *)b->data + open[--depth];
			e->end = p + 1;
			e->next = buf_len(b) / sizeof(*e);
		}
		p++;
	}
	c->endings = (struct ending *)(void *)b->data;
}

/* RFC 8785 §3.2.2.2: as it is, but for what must be escaped. */
static void
put_char(struct buf *out, uint32_t c)
{
	char text[JSON_ESCAPE_MAX];
	size_t len;

	if (c < 0x20 || c == '"' || c == '\\')
		len = json_text_put_escape((unsigned char)c, text);
	else
		len = json_utf8_put(c, text);
	buf_put(out, text, len);
}

static bool
write_string(struct canon *c, struct json_value v)
{
	const char *p = v.p + 1, *end = v.p + v.len - 1;

	buf_putc(c->out, '"');
	while (p < end) {
		const char *run = p;
		uint32_t ch;

		/* most escapes are as they should be */
		while ((p = memchr(p, '\\', (size_t)(end - p))) != NULL &&
		       p[1] != 'u' && p[1] != '/')
			p += 2;
		if (p == NULL)
			p = end;
		buf_put(c->out, run, (size_t)(p - run));
		if (p == end)
			break;
		ch = json_text_escape(&p, end);
		if (ch == JSON_LONE)
			return false;
		put_char(c->out, ch);
	}
	buf_putc(c->out, '"');
	return true;
}

/* Is this integer exactly x?  Compared digit by digit: no size is too large. */
static bool
is_exactly(const struct json_decimal *d, double x)
{
	char text[400]; /* the largest double has 309 digits */
	int n = snprintf(text, sizeof(text), "%.0f", fabs(x));

	return n == d->point && strncmp(text, d->p, d->count) == 0 &&
	       strspn(text + d->count, "0") == (size_t)n - d->count;
}

/* The digits of a number beyond the doubles, in the form of 1.5e+400. */
static void
write_huge(struct canon *c, const struct json_decimal *d)
{
	const char *p = d->p;

	if (d->negative)
		buf_putc(c->out, '-');
	for (size_t n = 0; n < d->count; p++) {
		if (*p == '.')
			continue;
		if (n == 1)
			buf_putc(c->out, '.');
		buf_putc(c->out, *p);
		n++;
	}
	buf_printf(c->out, "e+%lld", (long long)d->point - 1);
}

/*
 * RFC 8785 §3.2.2.3, and LIFECYCLE L2.3 for what is no double.  An integer is
 * there what is written as one, without fraction and exponent, as 64-bit ids
 * are: 9007199254740993 keeps all its digits, and so does 10^23 written out,
 * which is no double.  10^21 written out is one and becomes 1e+21; 1e23 is
 * the double nearest to it, as for RFC 8785, and stays 1e+23.  Only a number
 * too large is beyond the range: 1e400 and 10E399 are 1e+400; what is too
 * small becomes 0, as the nearest double is.  An exponent that has no room
 * even in 64 bits is refused.
 */
static bool
write_number(struct canon *c, struct json_value v)
{
	struct json_decimal d;
	char text[JSON_NUMBER_LEN];
	size_t len;
	double x;

	json_decimal_read(v, &d);
	/* what most are: short, and not past 2^53 as an integer */
	if (!d.integer || d.point <= DBL_DIG) {
		len = json_decimal_format(&d, true, text);
		if (len != 0) {
			buf_put(c->out, text, len);
			return true;
		}
	}
	x = json_decimal_double(&d);
	if (d.integer && d.count != 0 && (!isfinite(x) || !is_exactly(&d, x)))
		buf_put(c->out, v.p, v.len);
	else if (isfinite(x))
		buf_put(c->out, text, json_double_format(x, true, text));
	else if (d.point < JSON_POINT_EXACT)
		write_huge(c, &d);
	else
		return false;
	return true;
}

/*
 * RFC 8785 §3.2.3: names sort by their UTF-16 units.  That is the order of
 * their UTF-8 bytes but for this: what needs a pair of surrogates (first byte
 * F0 on) comes before U+E000 to U+FFFF (first byte EE or EF).
 */
static int
compare_members(const void *pa, const void *pb)
{
	const struct member *a = pa, *b = pb;
	size_t n = a->len < b->len ? a->len : b->len, i;

	for (i = 0; i < n && a->name[i] == b->name[i]; i++)
		continue;
	if (i < n) {
		unsigned char x = (unsigned char)a->name[i];
		unsigned char y = (unsigned char)b->name[i];

		if (x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0))
			return x >= 0xf0 ? -1 : 1;
		return x < y ? -1 : 1;
	}
	return (a->len > b->len) - (a->len < b->len);
}

static bool
member_name(struct member *m)
{
	m->name = m->raw.p + 1;
	m->len = m->raw.len - 2;
	if (memchr(m->name, '\\', m->len) == NULL)
		return true;
	m->own = mem_alloc(m->len);
	m->name = m->own;
	return json_text_unescape(m->raw, m->own, &m->len);
}

/* Steps over a value. */
static void
skip_value(struct canon *c)
{
	if (*c->p == '"') {
		c->p = string_end(c->p, c->end);
	} else if (*c->p == '[' || *c->p == '{') {
		c->p = c->endings[c->container].end;
		c->container = c->endings[c->container].next;
	} else {
		take_word(c);
	}
}

/* Takes the members of an object, its brace being taken, with its end. */
static bool
take_members(struct canon *c, struct buf *b)
{
	bool ok = true;

	for (;;) {
		struct member m = {0};

		skip_blanks(c);
		if (*c->p++ == '}')
			return ok;
		/* a comma, or the quote of the first name */
		if (c->p[-1] == '"')
			c->p--;
		skip_blanks(c);
		m.raw = take_string(c);
		ok = member_name(&m) && ok;
		skip_blanks(c);
		c->p++; /* the colon */
		skip_blanks(c);
		m.value = c->p;
		m.container = c->container;
		skip_value(c);
		buf_put(b, &m, sizeof(m));
	}
}

static bool
write_members(struct canon *c, struct member *m, size_t n)
{
	buf_putc(c->out, '{');
	for (size_t i = 0; i < n; i++) {
		/* §3.1: no name twice */
		if (i > 0 && compare_members(&m[i - 1], &m[i]) == 0)
			return false;
		if (i > 0)
			buf_putc(c->out, ',');
		if (!write_string(c, m[i].raw))
			return false;
		buf_putc(c->out, ':');
		c->p = m[i].value;
		c->container = m[i].container;
		if (!write_value(c))
			return false;
	}
	buf_putc(c->out, '}');
	return true;
}

static bool
write_object(struct canon *c)
{
	struct buf b = {0};
	bool ok = take_members(c, &b);
	const char *end = c->p;
	size_t container = c->container,
	       n = buf_len(&b) / sizeof(struct member);
	struct member *m = (struct member *)(void *)b.data;

	if (ok && n > 1)
		qsort(m, n, sizeof(*m), compare_members);
	ok = ok && write_members(c, m, n);
	for (size_t i = 0; i < n; i++)
		free(m[i].own);
	buf_free(&b);
	c->p = end;
	c->container = container;
	return ok;
}

static bool
write_array(struct canon *c)
{
	buf_putc(c->out, '[');
	for (;;) {
		skip_blanks(c);
		if (*c->p == ']')
			break;
		if (*c->p == ',') {
			buf_putc(c->out, *c->p++);
			skip_blanks(c);
		}
		if (!write_value(c))
			return false;
	}
	buf_putc(c->out, *c->p++);
	return true;
}

/* Writes the value at c->p and takes it. */
static bool
write_value(struct canon *c)
{
	struct json_value v;

	switch (*c->p) {
	case '{':
		c->p++;
		c->container++;
		return write_object(c);
	case '[':
		c->p++;
		c->container++;
		return write_array(c);
	case '"':
		return write_string(c, take_string(c));
	case 't':
	case 'f':
	case 'n':
		v = take_word(c);
		buf_put(c->out, v.p, v.len);
		return true;
	default:
		return write_number(c, take_word(c));
	}
}

bool
canon_write(struct json_value v, struct buf *out)
{
	struct canon c = {.p = v.p, .end = v.p, .out = out};
	struct buf endings = {0};
	bool ok;

	if (v.type == JSON_NONE)
		return false;
	c.end += v.len;
	if (may_nest(v))
		note_endings(&c, &endings);
	ok = write_value(&c);
	buf_free(&endings);
	return ok;
}

/* LIFECYCLE L2.3. */
void
canon_digest(struct json_value arguments, char ret[CANON_DIGEST_LEN])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t hash[SHA256_DIGEST_LENGTH];
	struct buf out = {0};
	SHA2_CTX sha;

	if (arguments.type == JSON_NONE)
		arguments = (struct json_value){JSON_OBJECT, "{}", 2};
	SHA256Init(&sha);
	if (canon_write(arguments, &out))
		SHA256Update(
		    &sha, (const uint8_t *)buf_at(&out), buf_len(&out));
	else
		SHA256Update(&sha, (const uint8_t *)arguments.p, arguments.len);
	SHA256Final(hash, &sha);
	buf_free(&out);
	for (size_t i = 0; i < CANON_DIGEST_LEN / 2; i++) {
		ret[2 * i] = hex[hash[i] >> 4];
		ret[2 * i + 1] = hex[hash[i] & 0xf];
	}
	ret[CANON_DIGEST_LEN - 1] = '\0';
}
