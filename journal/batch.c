/*
 * What oz0-journal gathers within a transaction.  Rows are what SQLite is
 * paid for, so a batch makes few of them: one for the steps of a job, one for
 * some answers, one for a call whatever happened to it meanwhile.
 */
#include "journal/batch.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/queue.h>

#include "base/buf.h"
#include "base/mem.h"
#include "journal/sql.h"
#include "journal/steps.h"

#define STEPS_MOST ((size_t)256 * 1024) /* in a batch, of all jobs */
#define ANSWERS_MOST ((size_t)16 * 1024) /* in a row */
#define BUCKETS 256

struct batch_job {
	STAILQ_ENTRY(batch_job) entry;
	struct batch_job *same; /* the next of its bucket */
	int64_t id;
	uint64_t first;	   /* seq of its first step here; 0: none */
	int64_t at;	   /* of its newest, for the node's own */
	struct buf steps;
	uint64_t answers_id; /* seq of the first one in there */
	struct buf answers;
	char name[];
};

/* A call as it will stand in its row. */
struct batch_call {
	TAILQ_ENTRY(batch_call) entry;
	struct batch_call *same;
	uint64_t number;
	int64_t job;
	bool begun;   /* in this batch: the row is new */
	bool unknown; /* no row, nor a beginning: there is nothing to write */
	struct rec_call facts; /* if begun; in text */
	char *text;
	uint64_t seq;

	uint8_t state, outcome, stopped, evicted, repeatable;
	uint32_t attempts;
	bool has_progress, has_total;
	double progress, total;
	uint64_t state_seq;
	int64_t answer, answer_at, answer_len;
};

struct batch {
	STAILQ_HEAD(, batch_job) jobs;
	TAILQ_HEAD(, batch_call) calls;
	struct batch_job *jobs_by[BUCKETS];
	struct batch_call *calls_by[BUCKETS];
	uint64_t first;	   /* seq of its first step */
	size_t step_bytes;
};

struct batch *
batch_new(void)
{
	struct batch *b = mem_zalloc(sizeof(*b));

	STAILQ_INIT(&b->jobs);
	TAILQ_INIT(&b->calls);
	return b;
}

void
batch_clear(struct batch *b)
{
	struct batch_job *j;
	struct batch_call *c;

	while ((j = STAILQ_FIRST(&b->jobs)) != NULL) {
		STAILQ_REMOVE_HEAD(&b->jobs, entry);
		buf_free(&j->steps);
		buf_free(&j->answers);
		free(j);
	}
	while ((c = TAILQ_FIRST(&b->calls)) != NULL) {
		TAILQ_REMOVE(&b->calls, c, entry);
		free(c->text);
		free(c);
	}
	memset(b->jobs_by, 0, sizeof(b->jobs_by));
	memset(b->calls_by, 0, sizeof(b->calls_by));
	b->first = 0;
	b->step_bytes = 0;
}

void
batch_free(struct batch *b)
{
	if (b == NULL)
		return;
	batch_clear(b);
	free(b);
}

/* ---- jobs ---- */

static struct batch_job **
job_bucket(struct batch *b, const char *name)
{
	uint32_t h = 2166136261U; /* FNV-1a */

	for (; *name != '\0'; name++)
		h = (h ^ (unsigned char)*name) * 16777619U;
	return &b->jobs_by[(h ^ h >> 16) % BUCKETS];
}

struct batch_job *
batch_job_find(struct batch *b, const char *name)
{
	struct batch_job *j = *job_bucket(b, name);

	while (j != NULL && strcmp(j->name, name) != 0)
		j = j->same;
	return j;
}

struct batch_job *
batch_job_put(struct batch *b, const char *name, int64_t id)
{
	struct batch_job **bucket = job_bucket(b, name);
	size_t len = strlen(name) + 1;
	struct batch_job *j = mem_zalloc(sizeof(*j) + len);

	memcpy(j->name, name, len);
	j->id = id;
	j->same = *bucket;
	*bucket = j;
	STAILQ_INSERT_TAIL(&b->jobs, j, entry);
	return j;
}

int64_t
batch_job_id(const struct batch_job *j)
{
	return j->id;
}

void
batch_job_close(struct batch *b, const char *name)
{
	struct batch_job **at = job_bucket(b, name);

	while (*at != NULL && strcmp((*at)->name, name) != 0)
		at = &(*at)->same;
	if (*at != NULL)
		*at = (*at)->same;
}

/* ---- steps and answers ---- */

static int
write_answers(struct batch_job *j, struct db *d)
{
	int r;

	if (buf_len(&j->answers) == 0)
		return 0;
	r = db_run(d, SQL_ANSWERS_ADD, "iiB", (int64_t)j->answers_id, j->id,
	    buf_at(&j->answers), buf_len(&j->answers));
	buf_clear(&j->answers);
	return r;
}

static int
write_steps(const struct batch *b, struct batch_job *j, struct db *d)
{
	int r;

	if (j->first == 0)
		return 0;
	r = db_run(d, SQL_STEPS_ADD, j->id != 0 ? "iiinB" : "iiniB",
	    (int64_t)j->first, (int64_t)b->first,
	    j->id != 0 ? j->id : j->at, buf_at(&j->steps),
	    buf_len(&j->steps));
	buf_clear(&j->steps);
	j->first = 0;
	return r;
}

static int
write_all_steps(struct batch *b, struct db *d)
{
	struct batch_job *j;
	int r = 0;

	STAILQ_FOREACH (j, &b->jobs, entry)
		if (r == 0)
			r = write_steps(b, j, d);
	b->first = 0;
	b->step_bytes = 0;
	return r;
}

int
batch_step(struct batch *b, struct db *d, struct batch_job *j,
    const struct record *r, int64_t at)
{
	size_t before = buf_len(&j->steps);

	if (b->first == 0)
		b->first = r->seq;
	if (j->first == 0)
		j->first = r->seq;
	if (at > j->at)
		j->at = at;
	steps_put(&j->steps, r->seq, r->step, r->step_len);
	b->step_bytes += buf_len(&j->steps) - before;
	return b->step_bytes < STEPS_MOST ? 0 : write_all_steps(b, d);
}

/* ---- calls ---- */

static struct batch_call *
find_call(struct batch *b, uint64_t number)
{
	struct batch_call *c = b->calls_by[number % BUCKETS];

	while (c != NULL && c->number != number)
		c = c->same;
	return c;
}

static struct batch_call *
add_call(struct batch *b, uint64_t number)
{
	struct batch_call *c = mem_zalloc(sizeof(*c));

	c->number = number;
	c->same = b->calls_by[number % BUCKETS];
	b->calls_by[number % BUCKETS] = c;
	TAILQ_INSERT_TAIL(&b->calls, c, entry);
	return c;
}

/* One piece of memory for all the strings of a call. */
static void
copy_facts(struct batch_call *c, const struct rec_call *from)
{
	char **const to[] = { &c->facts.activity, &c->facts.function,
		&c->facts.digest, &c->facts.key };
	const char *const s[] = { from->activity, from->function,
		from->digest, from->key };
	size_t len[4], all = 0;
	char *at;

	c->facts = *from;
	c->facts.job = NULL;
	for (size_t i = 0; i < 4; i++)
		all += len[i] = s[i] != NULL ? strlen(s[i]) + 1 : 0;
	at = c->text = mem_alloc(all);
	for (size_t i = 0; i < 4; i++) {
		*to[i] = s[i] != NULL ? memcpy(at, s[i], len[i]) : NULL;
		at += len[i];
	}
}

void
batch_call_begin(
    struct batch *b, const struct batch_job *j, const struct record *r)
{
	const struct rec_call *from = &r->u.call;
	struct batch_call *c = find_call(b, from->call);

	if (c != NULL && !c->unknown)
		return; /* numbers are not used twice */
	if (c == NULL)
		c = add_call(b, from->call);
	c->unknown = false;
	c->begun = true;
	c->job = j->id;
	c->state = CALL_QUEUED;
	c->seq = c->state_seq = r->seq;
	c->repeatable = from->repeatable;
	copy_facts(c, from);
}

static int
load_call(struct batch_call *c, struct db *d)
{
	struct sqlite3_stmt *q;
	int r = db_find(d, &q, SQL_CALL_LOAD, "i", (int64_t)c->number);

	c->unknown = r == 0;
	if (r <= 0)
		return r;
	c->job = db_int(q, 0);
	c->attempts = (uint32_t)db_int(q, 1);
	c->has_progress = !db_is_null(q, 2);
	c->has_total = !db_is_null(q, 3);
	c->progress = db_double(q, 2);
	c->total = db_double(q, 3);
	c->stopped = (uint8_t)db_int(q, 4);
	c->evicted = db_int(q, 5) != 0;
	c->answer = db_int(q, 6);
	c->answer_at = db_int(q, 7);
	c->answer_len = db_int(q, 8);
	c->repeatable = db_int(q, 9) != 0;
	db_done(q);
	return 0;
}

/* The call of a record; its attempts are counted. */
static int
touch_call(struct batch *b, struct db *d, uint64_t number, uint32_t attempts,
    uint64_t *all_attempts, struct batch_call **ret)
{
	struct batch_call *c = find_call(b, number);
	int r = 0;

	if (c == NULL) {
		c = add_call(b, number);
		r = load_call(c, d);
	}
	if (r < 0)
		return r;
	if (!c->unknown && attempts > c->attempts)
		*all_attempts += attempts - c->attempts;
	c->attempts = attempts;
	*ret = c;
	return 0;
}

int
batch_call_state(struct batch *b, struct db *d, const struct record *r,
    uint64_t *attempts)
{
	const struct rec_call_state *s = &r->u.call_state;
	struct batch_call *c;
	int e = touch_call(b, d, s->call, s->attempts, attempts, &c);

	if (e < 0)
		return e;
	c->state = s->state;
	c->outcome = s->outcome;
	c->has_progress = s->has_progress;
	c->has_total = s->has_progress && s->has_total;
	c->progress = s->progress;
	c->total = s->total;
	c->repeatable = s->repeatable;
	c->state_seq = r->seq;
	return 0;
}

static int
keep_answer(struct db *d, struct batch_job *j, struct batch_call *c,
    const struct record *r)
{
	const struct rec_call_end *end = &r->u.call_end;

	if (j == NULL || j->id != c->job)
		return 0; /* its job was forgotten: nobody can ask */
	if (buf_len(&j->answers) == 0)
		j->answers_id = r->seq;
	c->answer = (int64_t)j->answers_id;
	c->answer_at = (int64_t)buf_len(&j->answers);
	c->answer_len = (int64_t)end->answer_len;
	buf_put(&j->answers, end->answer, end->answer_len);
	return buf_len(&j->answers) < ANSWERS_MOST ? 0 : write_answers(j, d);
}

int
batch_call_end(struct batch *b, struct db *d, struct batch_job *j,
    const struct record *r, uint64_t *attempts)
{
	const struct rec_call_end *end = &r->u.call_end;
	struct batch_call *c;
	int e = touch_call(b, d, end->call, end->attempts, attempts, &c);

	if (e < 0)
		return e;
	c->state = end->state;
	c->outcome = end->outcome;
	c->stopped = end->stopped;
	c->evicted = end->evicted != 0;
	c->state_seq = r->seq;
	if (end->answer_len == 0 || c->unknown)
		return 0;
	return keep_answer(d, j, c, r);
}

/* As a row of a statement that adds some, from its parameter first on. */
static int
bind_new_call(const struct batch_call *c, struct db *d, int sql, int first)
{
	char types[] = "iiiitttti" "iiiiidd" "iiiii";
	const struct rec_call *f = &c->facts;

	types[14] = c->has_progress ? 'd' : 'N';
	types[15] = c->has_total ? 'd' : 'N';
	return db_bind(d, sql, first, types, (int64_t)c->number, c->job,
	    (int64_t)f->run, (int64_t)f->session, f->activity, f->function,
	    f->digest, f->key, (int64_t)c->repeatable, (int64_t)c->state,
	    (int64_t)c->attempts, (int64_t)c->outcome, (int64_t)c->stopped,
	    (int64_t)c->evicted, c->progress, c->total, (int64_t)c->seq,
	    (int64_t)c->state_seq, c->answer, c->answer_at, c->answer_len);
}

/* n calls that begin in this batch, with one statement for each or all. */
static int
write_new_calls(struct batch_call *const *calls, size_t n, struct db *d)
{
	bool whole = n == SQL_CALLS_ROWS;
	int sql = whole ? SQL_CALLS_ADD : SQL_CALL_ADD, r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		int row = whole ? (int)i * SQL_CALL_COLUMNS : 0;

		r = bind_new_call(calls[i], d, sql, row + 1);
		if (r == 0 && (!whole || i + 1 == n))
			r = db_run(d, sql, "");
	}
	return r;
}

static int
write_call(const struct batch_call *c, struct db *d)
{
	char types[] = "iiiiii" "dd" "iiiii";

	if (c->unknown)
		return 0;
	types[6] = c->has_progress ? 'd' : 'N';
	types[7] = c->has_total ? 'd' : 'N';
	return db_run(d, SQL_CALL_SET, types, (int64_t)c->number,
	    (int64_t)c->state, (int64_t)c->attempts, (int64_t)c->outcome,
	    (int64_t)c->stopped, (int64_t)c->evicted, c->progress, c->total,
	    (int64_t)c->state_seq, c->answer, c->answer_at, c->answer_len,
	    (int64_t)c->repeatable);
}

static int
write_all_calls(struct batch *b, struct db *d)
{
	struct batch_call *c, *fresh[SQL_CALLS_ROWS];
	size_t n = 0;
	int r = 0;

	TAILQ_FOREACH (c, &b->calls, entry) {
		if (c->begun)
			fresh[n++] = c;
		else if (r == 0)
			r = write_call(c, d);
		if (n == SQL_CALLS_ROWS) {
			if (r == 0)
				r = write_new_calls(fresh, n, d);
			n = 0;
		}
	}
	return r < 0 ? r : write_new_calls(fresh, n, d);
}

int
batch_flush(struct batch *b, struct db *d)
{
	struct batch_job *j;
	int r = write_all_steps(b, d);

	STAILQ_FOREACH (j, &b->jobs, entry)
		if (r == 0)
			r = write_answers(j, d);
	if (r == 0)
		r = write_all_calls(b, d);
	batch_clear(b);
	return r;
}
