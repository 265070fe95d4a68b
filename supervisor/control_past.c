/*
 * What is no longer in memory: questions to oz0-journal on behalf of requests
 * (job/status, job/list, job/trace, call/status of what has ended).  A
 * connection has one question out at a time, and none while its peer does not
 * read, so that a peer can make the node hold one answer at most.  Runs in
 * oz0d.
 */
#include "supervisor/control_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define ROWS_MAX ((size_t)4 << 20)

static void
on_row(struct supervisor *s, struct journal_reader *r, const char *json,
    size_t len)
{
	struct query *u = r->arg;
	struct json_fault f;
	struct json_value v;

	if (u->more)
		return;
	if (buf_len(&u->rows) > ROWS_MAX) {
		u->more = true;
		return;
	}
	/* oz0-journal's bytes are proven like a worker's */
	if (!json_check(json, len, &v, &f) || memchr(json, '\n', len) != NULL)
		return;
	if (u->keep != NULL && !u->keep(u, v))
		return;
	if (u->count++ > 0)
		buf_putc(&u->rows, ',');
	buf_put(&u->rows, v.p, v.len);
}

static void
on_end(struct supervisor *s, struct journal_reader *r, const char *error,
    bool more)
{
	struct query *u = r->arg;
	struct conn *k = u->q->conn;

	u->asked = false;
	if (more)
		u->more = true;
	k->nquery = 0;
	if (r->error == ENOENT)
		error = NULL; /* an answer, too: there are no rows */
	u->fn(s, u, error); /* answers: u is gone */
	past_next(k);
}

bool
past_may_ask(const struct conn *k)
{
	return !k->dead && k->nquery == 0 && !TAILQ_EMPTY(&k->past) &&
	       chain_len(&k->out) <= CONN_OUT_PAUSE;
}

void
past_next(struct conn *k)
{
	if (k->asking)
		return;
	k->asking = true;
	while (past_may_ask(k)) {
		struct request *q = TAILQ_FIRST(&k->past);
		struct query *u = q->query;

		request_unlisted(q);
		k->nquery = 1;
		u->asked = true;
		journal_query(
		    k->c->s, &u->reader, u->what, u->name, u->since, u->limit);
	}
	k->asking = false;
}

struct query *
past_ask(struct supervisor *s, struct request *q, enum wire_query what,
    const char *name, uint64_t since, uint32_t limit,
    void (*fn)(struct supervisor *s, struct query *u, const char *error))
{
	struct query *u = mem_zalloc(sizeof(*u));

	past_drop(q);
	q->query = u;
	u->q = q;
	u->reader.row = on_row;
	u->reader.end = on_end;
	u->reader.arg = u;
	u->what = what;
	u->name = mem_strdup(name != NULL ? name : "");
	u->since = since;
	u->limit = limit;
	u->fn = fn;
	request_listed(q, &q->conn->past);
	conn_wake(q->conn); /* which asks: the caller may set more of u */
	return u;
}

void
past_drop(struct request *q)
{
	struct query *u = q->query;

	if (u == NULL)
		return;
	q->query = NULL;
	if (u->asked) {
		journal_query_drop(q->conn->c->s, &u->reader);
		q->conn->nquery = 0;
	}
	buf_free(&u->rows);
	free(u->name);
	free(u);
}
