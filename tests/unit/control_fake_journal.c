/*
 * The journal of control_fake.h: steps are rows of an array, and what is asked
 * is answered in the turn after.
 */
#include "tests/unit/control_fake.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct row {
	uint64_t seq;
	char *json;
};
static struct row *rows;
static size_t nrows;

struct asked {
	struct journal_reader *r;
	enum wire_query what;
	char name[129];
	uint64_t since;
	uint32_t limit;
};
static struct asked asked[64];
static size_t nasked;

void
journal_query(struct supervisor *s, struct journal_reader *r,
    enum wire_query what, const char *job, uint64_t since, uint32_t limit)
{
	struct asked *a = &asked[nasked++];

	ck_assert_uint_lt(nasked, 64);
	((struct fake_node *)s)->queries++;
	*a = (struct asked){
	    .r = r, .what = what, .since = since, .limit = limit};
	snprintf(a->name, sizeof(a->name), "%s", job);
}

void
journal_query_drop(struct supervisor *s, struct journal_reader *r)
{
	for (size_t i = 0; i < nasked; i++)
		if (asked[i].r == r)
			asked[i].r = NULL;
}

void
journal_rotated(struct supervisor *s, uint64_t segment)
{
}

static bool
row_fits(const struct asked *a, const struct row *row)
{
	char want[160];

	if (a->what == WIRE_QUERY_EVENTS)
		return row->seq >= a->since;
	if (a->what != WIRE_QUERY_TRACE)
		return false;
	snprintf(want, sizeof(want), "\"job\":\"%s\"", a->name);
	return row->seq >= a->since && strstr(row->json, want) != NULL;
}

static void
answer_one(struct fake_node *n, const struct asked *a)
{
	static const char past_job[] =
	    "{\"job\":\"past\",\"run\":0,\"state\":\"COMPLETED\"}";
	static const char past_call[] =
	    "{\"call\":\"c999\",\"state\":\"failed\"}";
	struct journal_reader *r = a->r;
	uint32_t given = 0;
	bool more = false, known = a->what == WIRE_QUERY_EVENTS;

	if (n->journal_broken) {
		r->end(&n->s, r, "the journal is away", false);
		return;
	}
	for (size_t i = 0; i < nrows; i++) {
		if (!row_fits(a, &rows[i]))
			continue;
		known = true;
		if (given == a->limit) {
			more = true;
			break;
		}
		given++;
		r->row(&n->s, r, rows[i].json, strlen(rows[i].json));
	}
	if ((a->what == WIRE_QUERY_JOB && strcmp(a->name, "past") == 0) ||
	    a->what == WIRE_QUERY_JOBS) {
		r->row(&n->s, r, past_job, sizeof(past_job) - 1);
		known = true;
	}
	if (a->what == WIRE_QUERY_CALL && strcmp(a->name, "c999") == 0) {
		r->row(&n->s, r, past_call, sizeof(past_call) - 1);
		known = true;
	}
	/* as oz0-journal says it */
	r->error = known ? 0 : ENOENT;
	r->end(&n->s, r, known ? NULL : "unknown", more);
}

void
fake_journal_answer(struct fake_node *n)
{
	struct asked now[64];
	size_t count = nasked;

	memcpy(now, asked, sizeof(now));
	nasked = 0;
	for (size_t i = 0; i < count; i++)
		if (now[i].r != NULL)
			answer_one(n, &now[i]);
}

static void
keep_row(void *arg, uint64_t seq, const char *json, size_t len)
{
	if (nrows > 0 && seq <= rows[nrows - 1].seq)
		return;
	if ((nrows & (nrows - 1)) == 0)
		rows = mem_realloc(rows, (2 * nrows + 1) * sizeof(*rows));
	rows[nrows].seq = seq;
	rows[nrows++].json = mem_strndup(json, len);
}

void
fake_journal_keep(struct fake_node *n)
{
	record_recent(
	    &n->s, nrows > 0 ? rows[nrows - 1].seq : 0, keep_row, NULL);
}

void
fake_journal_free(void)
{
	while (nrows > 0)
		free(rows[--nrows].json);
	free(rows);
	rows = NULL;
	nasked = 0;
}
