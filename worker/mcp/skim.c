/*
 * Skimming a line for the id it answers; see skim.h.  oz0-worker only.
 */
#include "worker/mcp/skim.h"

#include <string.h>

#include "worker/mcp/message.h"

enum where {
	BEFORE,	   /* the outermost brace */
	KEY,	   /* of the outermost object is expected */
	KEY_TEXT,  /* in that key */
	COLON,	   /* behind it */
	VALUE,	   /* of the outermost object: not begun, or no string */
	VALUE_TEXT /* in a string of a value, however deep */
};

void
skim_init(struct skim *s)
{
	memset(s, 0, sizeof(*s));
}

static void
keep(struct skim *s, char c)
{
	if (s->len < sizeof(s->text))
		s->text[s->len++] = c;
	else
		s->len = UINT8_MAX; /* too long for anything we look for */
}

static void
keep_value(struct skim *s, char c)
{
	if (s->is_id && s->depth == 1 && s->len != UINT8_MAX)
		keep(s, c);
}

static bool
text_is(const struct skim *s, const char *word)
{
	return s->len == strlen(word) && memcmp(s->text, word, s->len) == 0;
}

static void
value_begin(struct skim *s)
{
	s->is_id = text_is(s, "id");
	if (text_is(s, "method"))
		s->method = true;
	s->len = 0;
	s->where = VALUE;
}

static void
value_end(struct skim *s)
{
	if (s->is_id && s->id == 0 && s->len != UINT8_MAX)
		s->id = message_id_text(s->text, s->len);
	s->is_id = false;
	s->len = 0;
	s->where = KEY;
}

/* A character of a value that is outside of strings. */
static void
value_char(struct skim *s, char c)
{
	switch (c) {
	case '{':
	case '[':
		s->depth++;
		s->is_id = false;
		break;
	case '}':
	case ']':
		if (s->depth-- == 1) {
			value_end(s);
			s->done = true;
		}
		break;
	case '"':
		s->where = VALUE_TEXT;
		break;
	case ',':
		if (s->depth == 1)
			value_end(s);
		break;
	case ' ':
	case '\t':
	case '\r':
	case '\n':
		break;
	default:
		keep_value(s, c);
	}
}

/* A character of a string: true when it ends it. */
static bool
string_char(struct skim *s, char c)
{
	if (s->escape)
		s->escape = false;
	else if (c == '\\')
		s->escape = true;
	else
		return c == '"';
	return false;
}

static void
skim_char(struct skim *s, char c)
{
	switch (s->where) {
	case BEFORE:
		if (c == '{') {
			s->depth = 1;
			s->where = KEY;
		} else if (c != ' ' && c != '\t' && c != '\r') {
			s->done = true;
		}
		break;
	case KEY:
		s->len = 0;
		if (c == '"')
			s->where = KEY_TEXT;
		else if (c == '}')
			s->done = true;
		break;
	case KEY_TEXT:
		if (string_char(s, c))
			s->where = COLON;
		else if (s->len != UINT8_MAX)
			keep(s, c);
		break;
	case COLON:
		if (c == ':')
			value_begin(s);
		break;
	case VALUE:
		value_char(s, c);
		break;
	case VALUE_TEXT:
		if (string_char(s, c))
			s->where = VALUE;
		else
			keep_value(s, c);
		break;
	}
}

void
skim_feed(struct skim *s, const char *p, size_t len)
{
	const char *end = p + len;

	for (; p < end && !s->done; p++) {
		/* most of a large line is plain characters of strings */
		if (s->where == VALUE_TEXT && !s->is_id && !s->escape)
			while (p < end - 1 && *p != '"' && *p != '\\')
				p++;
		skim_char(s, *p);
	}
}

int64_t
skim_id(const struct skim *s)
{
	return s->method ? 0 : s->id;
}
