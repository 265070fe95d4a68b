/*
 * The scanner for texts that arrive in pieces: what json.c does for whole
 * texts, one byte at a time with a state between any two, and runs of string
 * characters at once.  Used where a message is proven while it passes.
 * Verdict, offset and words are those of json_check() for every way to cut.
 */
#include "base/json.h"

#include <string.h>

#include "base/json_text.h"

enum state {
	VALUE,	    /* a value must begin */
	FIRST_ITEM, /* a value or ] */
	FIRST_NAME, /* a name or } */
	NAME,	    /* a name */
	COLON,
	REST,	/* a value ended: comma or end of the container */
	STRING, /* within a value */
	STRING_NAME,
	ESCAPE,	     /* behind a backslash; also in a name */
	ESCAPE_NAME, /* ESCAPE + 1 as STRING_NAME is STRING + 1 */
	HEX,	     /* utf8_need more hexadecimal digits */
	HEX_NAME,
	UTF8, /* utf8_need more bytes, the next one in utf8's range */
	UTF8_NAME,
	WORD,  /* the rest of true, false or null: s->word */
	MINUS, /* a digit must follow */
	ZERO,  /* 0: no digit may follow */
	DIGITS,
	POINT, /* a digit must follow */
	FRACTION,
	EXP, /* a sign or a digit must follow */
	EXP_SIGN,
	EXP_DIGITS,
};

static bool
fault(struct json_scan *s, const char *why)
{
	s->fault.why = why;
	return false;
}

static bool
in_object(const struct json_scan *s)
{
	unsigned i = s->depth - 1;

	return s->stack[i / 64] >> i % 64 & 1;
}

static bool
open_container(struct json_scan *s, bool object)
{
	uint64_t bit = (uint64_t)1 << s->depth % 64;

	if (s->depth == s->max_depth)
		return fault(s, JSON_WHY_DEEP);
	if (object)
		s->stack[s->depth / 64] |= bit;
	else
		s->stack[s->depth / 64] &= ~bit;
	s->depth++;
	s->state = object ? FIRST_NAME : FIRST_ITEM;
	return true;
}

static bool
begin_word(struct json_scan *s, const char *rest)
{
	s->word = rest;
	s->state = WORD;
	return true;
}

/* ---- notes ---- */

void
json_scan_note(struct json_scan *s, struct json_notes *notes)
{
	notes->n = notes->outer = 0;
	notes->too_many = notes->breaks = false;
	s->notes = notes;
}

/* Of the member that is being scanned at this depth; NULL: nobody asked. */
static struct json_note *
note_here(const struct json_scan *s)
{
	struct json_notes *n = s->notes;

	if (n == NULL || s->depth > 2 || n->n == 0 || n->too_many)
		return NULL;
	if (s->depth == 1)
		return &n->notes[n->outer];
	return n->notes[n->n - 1].depth == 2 ? &n->notes[n->n - 1] : NULL;
}

static void
note_name(struct json_scan *s)
{
	struct json_notes *n = s->notes;

	if (n == NULL || s->depth > 2 || n->too_many)
		return;
	if (s->depth == 2 && n->n == 0)
		return; /* the outermost is an array */
	if (n->n == JSON_NOTES_MAX) {
		n->too_many = true;
		return;
	}
	if (s->depth == 1)
		n->outer = n->n;
	n->notes[n->n++] =
	    (struct json_note){.depth = s->depth, .name = s->at};
}

static void
note_name_end(struct json_scan *s)
{
	struct json_note *n = note_here(s);

	if (n != NULL)
		n->name_end = s->at + 1;
}

static void
note_value(struct json_scan *s)
{
	struct json_note *n = s->depth != 0 && in_object(s) ? note_here(s)
							     : NULL;

	if (n != NULL)
		n->value = s->at;
}

/* A comma or brace stands behind the value of a member. */
static void
note_end(struct json_scan *s)
{
	struct json_note *n = note_here(s);

	if (n != NULL && n->end == 0)
		n->end = s->ended;
}

bool
json_notes_in(const struct json_notes *notes, const char *text,
    const char *name, size_t *ret_value)
{
	const struct json_note *n = &notes->notes[notes->outer];

	if (notes->n == 0 || notes->too_many || n->value == 0 || n->end != 0 ||
	    n->name_end - n->name != strlen(name) + 2 ||
	    memcmp(text + n->name + 1, name, strlen(name)) != 0)
		return false;
	*ret_value = n->value;
	return true;
}

/* ---- tokens ---- */

static bool
begin_value(struct json_scan *s, char c)
{
	if (s->notes != NULL)
		note_value(s);
	switch (c) {
	case '{':
	case '[':
		return open_container(s, c == '{');
	case '"':
		s->state = STRING;
		return true;
	case 't':
		return begin_word(s, "rue");
	case 'f':
		return begin_word(s, "alse");
	case 'n':
		return begin_word(s, "ull");
	case '-':
		s->state = MINUS;
		return true;
	case '0':
		s->state = ZERO;
		return true;
	default:
		s->state = DIGITS;
		return json_is_digit(c) || fault(s, JSON_WHY_CHAR);
	}
}

static bool
begin_name(struct json_scan *s, char c)
{
	s->state = STRING_NAME;
	note_name(s);
	return c == '"' || fault(s, JSON_WHY_CHAR);
}

static bool
value_ended(struct json_scan *s, size_t behind)
{
	s->state = REST;
	s->ended = behind;
	return true;
}

/* Between tokens. */
static bool
step_between(struct json_scan *s, char c)
{
	bool object;

	if (json_is_blank(c)) {
		if (s->notes != NULL && (c == '\r' || c == '\n'))
			s->notes->breaks = true;
		return true;
	}
	switch (s->state) {
	case VALUE:
		return begin_value(s, c);
	case NAME:
		return begin_name(s, c);
	case COLON:
		s->state = VALUE;
		return c == ':' || fault(s, JSON_WHY_CHAR);
	case FIRST_ITEM:
		if (c != ']')
			return begin_value(s, c);
		break;
	case FIRST_NAME:
		if (c != '}')
			return begin_name(s, c);
		break;
	default:
		if (s->depth == 0)
			return fault(s, JSON_WHY_AFTER);
		object = in_object(s);
		if (s->notes != NULL && object && (c == ',' || c == '}'))
			note_end(s);
		if (c == ',') {
			s->state = object ? NAME : VALUE;
			return true;
		}
		if (c != (object ? '}' : ']'))
			return fault(s, JSON_WHY_CHAR);
	}
	s->depth--;
	return value_ended(s, s->at + 1);
}

/*
 * Within a string; name: 1 in a name, 0 in a value, which is also what each
 * of these states has added.
 */
static bool
step_string(struct json_scan *s, char c, unsigned name)
{
	struct json_utf8 u;
	unsigned char b = (unsigned char)c;

	switch (s->state - name) {
	case STRING:
		if (c == '"' && name != 0) {
			s->state = COLON;
			note_name_end(s);
		} else if (c == '"') {
			return value_ended(s, s->at + 1);
		} else if (c == '\\') {
			s->state = ESCAPE + name;
		} else if (b < 0x20) {
			return fault(s, JSON_WHY_CONTROL);
		} else if (b >= 0x80) {
			u = json_utf8_lead(b);
			if (u.need == 0)
				return fault(s, JSON_WHY_UTF8);
			s->utf8_need = u.need;
			s->utf8 = (unsigned)u.high << 8 | u.low;
			s->state = UTF8 + name;
		}
		return true;
	case ESCAPE:
		s->utf8_need = 4;
		s->state = (c == 'u' ? HEX : STRING) + name;
		return c == 'u' || json_escape(c) != '\0' ||
		       fault(s, JSON_WHY_ESCAPE);
	case HEX:
		if (json_hex(c) < 0)
			return fault(s, JSON_WHY_ESCAPE);
		break;
	default:
		if (b < (s->utf8 & 0xff) || b > s->utf8 >> 8)
			return fault(s, JSON_WHY_UTF8);
		s->utf8 = 0xbf80;
	}
	if (--s->utf8_need == 0)
		s->state = STRING + name;
	return true;
}

/* Within a number or word; a number ends in front of what is none of it. */
static bool
step_scalar(struct json_scan *s, char c)
{
	bool digit = json_is_digit(c);

	switch (s->state) {
	case WORD:
		if (c != *s->word)
			return fault(s, JSON_WHY_CHAR);
		if (*++s->word == '\0')
			value_ended(s, s->at + 1);
		return true;
	case MINUS:
		s->state = c == '0' ? ZERO : DIGITS;
		return digit || fault(s, JSON_WHY_CHAR);
	case POINT:
		s->state = FRACTION;
		return digit || fault(s, JSON_WHY_CHAR);
	case EXP:
		s->state = digit ? EXP_DIGITS : EXP_SIGN;
		return digit || c == '+' || c == '-' || fault(s, JSON_WHY_CHAR);
	case EXP_SIGN:
		s->state = EXP_DIGITS;
		return digit || fault(s, JSON_WHY_CHAR);
	default:
		break;
	}
	if (digit && s->state != ZERO)
		return true;
	if (c == '.' && (s->state == ZERO || s->state == DIGITS))
		s->state = POINT;
	else if ((c == 'e' || c == 'E') && s->state != EXP_DIGITS)
		s->state = EXP;
	else {
		value_ended(s, s->at);
		return step_between(s, c);
	}
	return true;
}

static bool
step(struct json_scan *s, char c)
{
	if (s->state <= REST)
		return step_between(s, c);
	if (s->state <= UTF8_NAME)
		return step_string(s, c, (s->state - STRING) & 1);
	return step_scalar(s, c);
}

void
json_scan_init(struct json_scan *s)
{
	*s = (struct json_scan){
	    .state = VALUE, .max_depth = JSON_MAX_DEPTH};
}

bool
json_scan_feed(struct json_scan *s, const char *p, size_t len)
{
	const char *at = p, *end;

	if (s->fault.why != NULL)
		return false;
	if (len == 0)
		return true;
	for (end = p + len; at < end; at++) {
		if (s->state == STRING || s->state == STRING_NAME)
			at = json_text_skip(at, end);
		if (at == end)
			break;
		s->at = s->offset + (size_t)(at - p);
		if (!step(s, *at)) {
			s->fault.offset = s->at;
			return false;
		}
	}
	s->offset += len;
	return true;
}

bool
json_scan_end(struct json_scan *s, struct json_fault *ret_fault)
{
	bool ended =
	    s->depth == 0 &&
	    (s->state == REST || s->state == ZERO || s->state == DIGITS ||
		s->state == FRACTION || s->state == EXP_DIGITS);

	if (s->fault.why == NULL && !ended) {
		s->fault.offset = s->offset;
		s->fault.why = JSON_WHY_END;
	}
	if (s->fault.why != NULL && ret_fault != NULL)
		*ret_fault = s->fault;
	return s->fault.why == NULL;
}
