/*
 * A long line for which there is no room (LIFECYCLE L9.6) is read to its end
 * all the same, since a cancel may stand behind it (L1.4a), but only its outer
 * members are kept: they name the request that is refused.  Runs in oz0d;
 * called by control_conn.c.
 */
#include "supervisor/control_internal.h"

#include <string.h>

#define HEAD_MAX ((size_t)8 * 1024)

/* The outer object or array stays, with the brackets of what it holds. */
static void
keep(struct skip *s, char c, unsigned depth)
{
	if (depth > 2)
		return;
	if (buf_len(&s->head) < HEAD_MAX)
		buf_putc(&s->head, c);
	else
		s->cut = true;
}

static void
take_char(struct skip *s, char c)
{
	if (s->string) {
		keep(s, c, s->depth + 1);
		if (s->escape)
			s->escape = false;
		else if (c == '\\')
			s->escape = true;
		else if (c == '"')
			s->string = false;
	} else if (c == '{' || c == '[') {
		keep(s, c, ++s->depth);
	} else if (c == '}' || c == ']') {
		keep(s, c, s->depth);
		if (s->depth > 0)
			s->depth--;
	} else {
		s->string = c == '"';
		keep(s, c, s->depth + 1);
	}
}

void
skip_begin(struct conn *k)
{
	k->skip = (struct skip){.on = true};
}

void
skip_drop(struct conn *k)
{
	buf_free(&k->skip.head);
	k->skip.on = false;
}

bool
skip_take(struct conn *k)
{
	struct skip *s = &k->skip;
	size_t have = buf_len(&k->in), n = have;
	const char *p = buf_at(&k->in), *end;

	if (have == 0)
		return false;
	end = memchr(p, '\n', have);
	if (end != NULL)
		n = (size_t)(end - p);
	for (size_t i = 0; i < n; i++)
		take_char(s, p[i]);
	s->len += n;
	if (s->len > conn_line_max(k))
		return false; /* its end is not waited for */
	if (end != NULL) {
		rpc_line_skipped(k, buf_at(&s->head),
		    s->cut ? 0 : buf_len(&s->head));
		skip_drop(k);
		k->lines++;
		n++;
	}
	k->taken += n;
	k->scanned = 0;
	buf_take(&k->in, n);
	return end != NULL;
}
