/*
 * Steps in the rows of oz0-journal's database: put together by batch.c, taken
 * apart for the questions of query.c.
 */
#include "journal/steps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "journal/sql.h"

#define NUMBER_MOST 20

static char *
put_number(char *at, uint64_t n)
{
	char digits[NUMBER_MOST], *p = digits + sizeof(digits);
	size_t len;

	do
		*--p = (char)('0' + n % 10);
	while ((n /= 10) != 0);
	len = (size_t)(digits + sizeof(digits) - p);
	memcpy(at, p, len);
	at[len] = ' ';
	return at + len + 1;
}

void
steps_put(struct buf *body, uint64_t seq, const char *json, size_t len)
{
	char *from = buf_room(body, 2 * (NUMBER_MOST + 1) + len + 1);
	char *at = put_number(put_number(from, seq), len);

	memcpy(at, json, len);
	at[len] = '\n';
	buf_added(body, (size_t)(at - from) + len + 1);
}

void
steps_free(struct steps *s)
{
	buf_free(&s->text);
	free(s->one);
	memset(s, 0, sizeof(*s));
}

static bool
get_number(const char **p, const char *end, uint64_t *ret)
{
	const char *from = *p;
	uint64_t n = 0;

	while (*p < end && **p >= '0' && **p <= '9' && *p - from < 19)
		n = n * 10 + (uint64_t)(*(*p)++ - '0');
	if (*p == from || *p == end || *(*p)++ != ' ')
		return false;
	*ret = n;
	return true;
}

static void
add(struct steps *s, uint64_t seq, const char *json, size_t len)
{
	if (s->n == s->room) {
		s->room = s->room != 0 ? 2 * s->room : 64;
		s->one = mem_realloc(s->one, s->room * sizeof(*s->one));
	}
	s->one[s->n++] = (struct steps_one) { seq, buf_len(&s->text), len };
	buf_put(&s->text, json, len);
}

/* Those of a row from since on; false: it is not as steps_put() made it. */
static bool
take_row(struct steps *s, const char *p, size_t n, uint64_t since)
{
	const char *end = p + n;
	uint64_t seq, len;

	while (p < end) {
		if (!get_number(&p, end, &seq) || !get_number(&p, end, &len)
		    || len >= (uint64_t)(end - p) || p[len] != '\n')
			return false;
		if (seq >= since)
			add(s, seq, p, (size_t)len);
		p += len + 1;
	}
	return true;
}

static int
by_seq(const void *a, const void *b)
{
	uint64_t x = ((const struct steps_one *)a)->seq;
	uint64_t y = ((const struct steps_one *)b)->seq;

	return x < y ? -1 : x > y;
}

int
steps_read(struct db *d, int64_t job, uint64_t since, struct steps *ret)
{
	struct steps s = { 0 };
	struct sqlite3_stmt *q;
	int64_t batch = -1;
	int rows = 0;
	int r = job != 0
	    ? db_find(d, &q, SQL_JOB_STEPS, "ii", (int64_t)since, job)
	    : db_find(d, &q, SQL_ALL_STEPS, "i", (int64_t)since);

	while (r == 1) {
		/* what comes before since may fill the rows of a batch */
		if (s.n != 0 && db_int(q, 0) != batch)
			break;
		batch = db_int(q, 0);
		if (!take_row(&s, db_text(q, 1), db_len(q, 1), since)) {
			r = -EUCLEAN;
			break;
		}
		rows++;
		r = db_next(d, q);
	}
	if (r == 1 || r == -EUCLEAN)
		db_done(q);
	if (r < 0) {
		steps_free(&s);
		return r;
	}
	if (s.n == 0) {
		steps_free(&s);
		return 0;
	}
	if (rows > 1)
		qsort(s.one, s.n, sizeof(*s.one), by_seq);
	*ret = s;
	return 1;
}
