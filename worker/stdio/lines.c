/*
 * Lines out of a byte stream, for oz0-worker.  Every byte is looked at once
 * (memchr), moved at most a constant number of times (buf.c), and no line
 * takes more than max bytes of memory.
 */
#include "worker/stdio/lines.h"

#include <string.h>

#define READ_SMALL ((size_t)64 * 1024)
#define READ_LARGE ((size_t)256 * 1024)
#define PROVE_FROM ((size_t)64 * 1024)

void
lines_init(struct lines *l, size_t max)
{
	memset(l, 0, sizeof(*l));
	l->max = max;
	l->prove_from = PROVE_FROM;
	proof_init(&l->proof);
}

void
lines_free(struct lines *l)
{
	buf_free(&l->in);
	proof_clear(&l->proof);
}

char *
lines_room(struct lines *l, size_t *ret_size)
{
	if (buf_len(&l->in) == 0)
		l->in.start = l->in.end = 0;
	*ret_size = buf_len(&l->in) >= READ_SMALL ? READ_LARGE : READ_SMALL;
	return buf_room(&l->in, *ret_size);
}

void
lines_added(struct lines *l, size_t n)
{
	buf_added(&l->in, n);
}

/* The line is too long: from here on it is only skimmed. */
static void
skip_begin(struct lines *l)
{
	l->skipping = true;
	l->told = false;
	l->skipped = 0;
	skim_init(&l->skim);
	proof_clear(&l->proof);
}

/* Drops what is there of the line being skipped, up to its LF. */
static enum lines_what
skip(struct lines *l, size_t *ret_len, int64_t *ret_id)
{
	const char *p = buf_at(&l->in);
	size_t n = buf_len(&l->in);
	const char *lf = n != 0 ? memchr(p, '\n', n) : NULL;
	size_t part = lf != NULL ? (size_t)(lf - p) : n;

	skim_feed(&l->skim, p, part);
	l->skipped += part;
	l->seen = 0;
	buf_take(&l->in, part); /* the LF stays, so that this is met again */
	if (!l->told && skim_id(&l->skim) != 0) {
		l->told = true;
		*ret_id = skim_id(&l->skim);
		return LINES_LONG_ID;
	}
	if (lf == NULL)
		return LINES_NONE;
	buf_take(&l->in, 1);
	l->skipping = false;
	*ret_len = (size_t)l->skipped;
	return LINES_LONG_END;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* A byte order mark at the very start, and blanks. */
static char *
trim_front(const struct lines *l, char *p, size_t *len)
{
	size_t n = *len;

	if (!l->started && n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
		p += 3;
		n -= 3;
	}
	while (n > 0 && is_blank(*p)) {
		p++;
		n--;
	}
	*len = n;
	return p;
}

/* The whole line. */
static char *
trim(struct lines *l, char *p, size_t *len)
{
	p = trim_front(l, p, len);
	l->started = true;
	while (*len > 0 && is_blank(p[*len - 1]))
		(*len)--;
	return p;
}

/* len bytes of a line are there, and it goes on. */
static void
prove(struct lines *l, char *p, size_t len)
{
	if (len <= l->prove_from)
		return;
	p = trim_front(l, p, &len);
	if (len != 0)
		proof_feed(&l->proof, p, len);
}

/* A line that is given out; what was proven of it so far is completed. */
static void
complete(struct lines *l, char *p, size_t len)
{
	if (l->proof.on)
		proof_feed(&l->proof, p, len);
	l->line = p;
	l->notes = l->proof.on ? proof_end(&l->proof, p, len) : NULL;
	l->proof.on = false;
}

enum lines_what
lines_next(struct lines *l, char **ret_line, size_t *ret_len, int64_t *ret_id)
{
	l->notes = NULL;
	if (!l->proof.on)
		proof_clear(&l->proof); /* a copy that nobody took */
	while (buf_len(&l->in) != 0) {
		char *p = l->in.data + l->in.start, *lf;
		size_t n = buf_len(&l->in), len;

		if (l->skipping)
			return skip(l, ret_len, ret_id);
		lf = n > l->seen ? memchr(p + l->seen, '\n', n - l->seen)
				 : NULL;
		len = lf != NULL ? (size_t)(lf - p) : n;
		if (len > l->max) {
			skip_begin(l);
			continue;
		}
		l->seen = len;
		if (lf == NULL) {
			prove(l, p, len);
			return LINES_NONE;
		}
		l->seen = 0;
		/* buf_take() may free: the last line goes with the next read */
		l->in.start += len + 1;
		p = trim(l, p, &len);
		if (len == 0)
			continue;
		complete(l, p, len);
		*ret_line = p;
		*ret_len = len;
		return LINES_LINE;
	}
	return LINES_NONE;
}

char *
lines_rest(struct lines *l, size_t *ret_len)
{
	size_t n = buf_len(&l->in);
	char *p;

	if (l->skipping || n == 0)
		return NULL;
	p = l->in.data + l->in.start;
	l->in.start = l->in.end;
	l->seen = 0;
	p = trim(l, p, &n);
	l->notes = NULL;
	proof_clear(&l->proof);
	*ret_len = n;
	return n != 0 ? p : NULL;
}

const struct json_notes *
lines_notes(const struct lines *l)
{
	return l->notes;
}

int
lines_take_copy(struct lines *l, struct json_value payload)
{
	return proof_take(&l->proof, l->line, payload);
}

bool
lines_spare(const struct lines *l)
{
	return buf_len(&l->in) == 0 && l->in.cap > READ_SMALL;
}

void
lines_shrink(struct lines *l)
{
	if (lines_spare(l))
		buf_free(&l->in);
}

size_t
lines_held(const struct lines *l)
{
	return buf_len(&l->in) + proof_held(&l->proof);
}
