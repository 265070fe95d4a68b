/*
 * oz0-journal as the supervisor sees it: started, fed, asked, watched, and
 * started again.  What it answers goes to whoever asked; what it recovers goes
 * to recover.c in order, and children of the node before to startup.c.  Only
 * the first one of a node's life recovers: a later one says the same things of
 * a node that lives, and is not listened to.
 */
#include "supervisor/journal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/launch.h"
#include "supervisor/processes.h"
#include "supervisor/record.h"
#include "supervisor/startup.h"
#include "wire/log.h"

#define PING_EVERY SPAN_S(1)
#define PAYLOAD_MAX ((size_t)16 << 20)
#define AGAIN_FIRST SPAN_MS(100)
#define AGAIN_CAP SPAN_S(30)
#define STOP_PATIENCE SPAN_S(5)

/* A question that waits for its answer. */
struct question {
	TAILQ_ENTRY(question) entry;
	uint64_t id;
	struct journal_reader *reader; /* NULL: dropped meanwhile */
	enum wire_query what;
	char *job;
	uint64_t since, rows;
	uint32_t limit;
};

struct journal {
	struct supervisor *s;
	struct child *child;
	struct link *link;
	bool ready;	/* it takes questions */
	bool recovered; /* for good */
	bool has_ready; /* recover_ready() was called, for good */
	bool stopping;
	TAILQ_HEAD(, question) questions;
	uint64_t last_question;
	uint64_t segment; /* now written to; 0: none yet */
	uint64_t sync_asked, synced;
	bool unsafe; /* a sync failed: for good, whoever asks again */
	struct pings pings;
	struct deadline ping, again, kill;
	struct span backoff;
};

static bool launch(struct journal *j, char *ret_why, size_t size);

/* ---- what it says ---- */

static bool
on_ready(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct journal *j = arg;
	uint64_t seq = wire_get_u64(&f->body);
	uint64_t call = wire_get_u64(&f->body);
	uint64_t attempt = wire_get_u64(&f->body);

	if (!wire_get_end(&f->body) || j->ready)
		return false;
	j->ready = true;
	j->backoff = AGAIN_FIRST;
	if (!j->has_ready)
		recover_ready(s, seq, call, attempt);
	j->has_ready = true;
	return true;
}

static bool
on_recover(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct journal *j = arg;

	if (!j->ready)
		return false;
	return j->recovered
	    || recover_record(s, f->payload, f->payload_len);
}


static bool
on_recover_child(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct journal *j = arg;
	struct record r;
	bool good;

	if (!j->ready)
		return false;
	if (j->recovered)
		return true;
	if (record_get(f->payload, f->payload_len, &r) < 0)
		return false;
	good = r.type == REC_CHILD;
	if (good)
		startup_child(s, &r.u.child);
	record_clear(&r);
	return good;
}

static bool
on_recover_done(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct journal *j = arg;

	if (!j->ready)
		return false;
	if (!j->recovered) {
		j->recovered = true;
		startup_advance(s);
	}
	return true;
}

static bool
on_segment(struct supervisor *s, void *arg, struct chan_frame *f)
{
	uint64_t number = wire_get_u64(&f->body);

	if (!wire_get_end(&f->body) || f->nfds != 1)
		return false;
	record_segment(s, number, fd_steal(&f->fds[0]));
	s->processes->no_space = false;
	startup_advance(s);
	return true;
}

static bool
on_no_space(struct supervisor *s, void *arg, struct chan_frame *f)
{
	CLEANUP_FREE char *words = NULL, *why = NULL;
	uint32_t error = wire_get_u32(&f->body);

	words = wire_get_new_str(&f->body, 4096);
	if (!wire_get_end(&f->body))
		return false;
	why = words[0] == '\0' ? mem_strdup(strerror((int)error))
			       : mem_printf("%s: %s", words,
				   strerror((int)error));
	record_no_space(s, why);
	s->processes->no_space = true;
	startup_advance(s);
	return true;
}

static struct question *
find_question(struct journal *j, uint64_t id)
{
	struct question *q;

	TAILQ_FOREACH(q, &j->questions, entry)
		if (q->id == id)
			return q;
	return NULL;
}

static void
free_question(struct journal *j, struct question *q)
{
	TAILQ_REMOVE(&j->questions, q, entry);
	free(q->job);
	free(q);
}

static bool
on_row(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct journal *j = arg;
	struct question *q = find_question(j, wire_get_u64(&f->body));
	struct json_value v;
	struct json_fault jf;

	if (!wire_get_end(&f->body) || q == NULL
	    || memchr(f->payload, '\n', f->payload_len) != NULL
	    || !json_check(f->payload, f->payload_len, &v, &jf))
		return false;
	q->rows++;
	if (q->reader != NULL)
		q->reader->row(s, q->reader, f->payload, f->payload_len);
	return true;
}

static bool
on_end(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct journal *j = arg;
	struct question *q = find_question(j, wire_get_u64(&f->body));
	uint32_t error = wire_get_u32(&f->body);
	CLEANUP_FREE char *words = wire_get_new_str(&f->body, 4096);
	bool more = wire_get_bool(&f->body);
	struct journal_reader *r;

	if (!wire_get_end(&f->body) || q == NULL)
		return false;
	r = q->reader;
	free_question(j, q);
	if (r == NULL)
		return true;
	if (error != 0 && words[0] == '\0') {
		free(words);
		words = mem_strdup(strerror((int)error));
	}
	r->end(s, r, error == 0 ? NULL : words, more);
	return true;
}

static bool
on_synced(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct journal *j = arg;
	uint64_t seq = wire_get_u64(&f->body);

	if (!wire_get_end(&f->body) || seq > j->sync_asked)
		return false;
	if (seq > j->synced)
		j->synced = seq;
	return true;
}

/*
 * What the failed sync was to bring to the disk may be lost, and the next one
 * would succeed all the same: nobody waits for one any more.
 */
static bool
on_sync_failed(struct supervisor *s, void *arg, struct chan_frame *f)
{
	CLEANUP_FREE char *words = NULL, *why = NULL;
	struct journal *j = arg;
	uint32_t error = wire_get_u32(&f->body);

	words = wire_get_new_str(&f->body, 4096);
	if (!wire_get_end(&f->body))
		return false;
	why = mem_printf("%s: %s", words, strerror((int)error));
	j->unsafe = true;
	record_unsafe(s, why);
	return true;
}

static bool
on_pong(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct journal *j = arg;
	uint64_t n = wire_get_u64(&f->body);

	return wire_get_end(&f->body) && pings_answer(&j->pings, n);
}

static bool
on_log(struct supervisor *s, void *arg, struct chan_frame *f)
{
	CLEANUP_FREE char *line = NULL;
	uint8_t level;

	level = wire_get_enum(&f->body, LOG_LEVEL_ERROR, LOG_LEVEL_DEBUG);
	line = wire_get_new_str(&f->body, 8192);
	if (!wire_get_end(&f->body))
		return false;
	log_at((enum log_level)level, "journal: %s", line);
	return true;
}

#define ANY 1u
static const struct link_handler handlers[] = {
	{ WIRE_JOURNAL_READY, ANY, on_ready },
	{ WIRE_JOURNAL_SEGMENT, ANY, on_segment },
	{ WIRE_JOURNAL_NO_SPACE, ANY, on_no_space },
	{ WIRE_RECOVER_JOB, ANY, on_recover },
	{ WIRE_RECOVER_SESSION, ANY, on_recover },
	{ WIRE_RECOVER_CALL, ANY, on_recover },
	{ WIRE_RECOVER_TOOL, ANY, on_recover },
	{ WIRE_RECOVER_APPROVAL, ANY, on_recover },
	{ WIRE_RECOVER_CHILD, ANY, on_recover_child },
	{ WIRE_RECOVER_DONE, ANY, on_recover_done },
	{ WIRE_JOURNAL_ROW, ANY, on_row },
	{ WIRE_JOURNAL_END, ANY, on_end },
	{ WIRE_JOURNAL_SYNCED, ANY, on_synced },
	{ WIRE_JOURNAL_SYNC_FAILED, ANY, on_sync_failed },
	{ WIRE_JOURNAL_PONG, ANY, on_pong },
	{ WIRE_JOURNAL_LOG, ANY, on_log },
};

static void
closed(struct supervisor *s, void *arg, bool broken, const char *why)
{
	struct journal *j = arg;

	if (broken)
		log_error("journal: broke the protocol: %s", why);
	if (j->child != NULL)
		child_signal(j->child, SIGKILL);
}

static const struct link_kind kind = {
	.peer = WIRE_ROLE_JOURNAL,
	.handlers = handlers,
	.nhandlers = sizeof(handlers) / sizeof(handlers[0]),
	.closed = closed,
};

/* ---- what it is told ---- */

static bool
can_send(const struct journal *j)
{
	return j != NULL && j->link != NULL && !link_is_closed(j->link);
}

static void
send_question(struct journal *j, const struct question *q)
{
	struct buf *b = link_begin(j->link, WIRE_JOURNAL_QUERY);

	wire_put_u64(b, q->id);
	wire_put_u8(b, (uint8_t)q->what);
	wire_put_str(b, q->job);
	wire_put_u64(b, q->since);
	wire_put_u32(b, q->limit);
	link_end(j->link, NULL, 0, NULL, 0);
}

void
journal_query(struct supervisor *s, struct journal_reader *r,
    enum wire_query what, const char *job, uint64_t since, uint32_t limit)
{
	struct journal *j = s->processes->journal;
	struct question *q = mem_zalloc(sizeof(*q));

	q->id = r->id = ++j->last_question;
	q->reader = r;
	q->what = what;
	q->job = mem_strdup(job == NULL ? "" : job);
	q->since = since;
	q->limit = limit;
	TAILQ_INSERT_TAIL(&j->questions, q, entry);
	if (can_send(j))
		send_question(j, q); /* else once there is one again (L9.2a) */
}

void
journal_query_drop(struct supervisor *s, struct journal_reader *r)
{
	struct question *q = find_question(s->processes->journal, r->id);

	if (q != NULL && q->reader == r)
		q->reader = NULL;
}

void
journal_forget(struct supervisor *s, const char *job)
{
	struct journal *j = s->processes->journal;

	if (!can_send(j)) {
		log_warning("journal: job %s stays in the database", job);
		return;
	}
	wire_put_str(link_begin(j->link, WIRE_JOURNAL_FORGET), job);
	link_end(j->link, NULL, 0, NULL, 0);
}

static void
send_rotated(struct journal *j)
{
	wire_put_u64(link_begin(j->link, WIRE_JOURNAL_ROTATED), j->segment);
	link_end(j->link, NULL, 0, NULL, 0);
}

void
journal_rotated(struct supervisor *s, uint64_t segment)
{
	struct journal *j = s->processes->journal;

	if (j == NULL)
		return;
	j->segment = segment;
	if (can_send(j))
		send_rotated(j);
}

bool
journal_synced(struct supervisor *s)
{
	struct journal *j = s->processes->journal;
	uint64_t seq = record_flushed_seq(s);

	if (!s->conf->power || s->state == NODE_STARTING || j->stopping
	    || j->unsafe
	    || seq <= j->synced)
		return true;
	if (seq > j->sync_asked && can_send(j)) {
		j->sync_asked = seq;
		wire_put_u64(link_begin(j->link, WIRE_JOURNAL_SYNC), seq);
		link_end(j->link, NULL, 0, NULL, 0);
		link_flush_now(j->link);
	}
	return false;
}

/* ---- its life ---- */

static void
try_again(struct supervisor *s, void *arg)
{
	struct journal *j = arg;
	char why[256];

	if (launch(j, why, sizeof(why)))
		return;
	log_error("journal: not started again: %s", why);
	deadline_after(s, &j->again, j->backoff);
	j->backoff = span_min(SPAN_US(j->backoff.us * 2), AGAIN_CAP);
}

static void
died(struct supervisor *s, void *arg, int status)
{
	struct journal *j = arg;

	j->child = NULL;
	if (j->link != NULL && !link_is_closed(j->link))
		link_drain(j->link);
	link_free(j->link);
	j->link = NULL;
	j->ready = false;
	j->sync_asked = j->synced;
	deadline_clear(s, &j->ping);
	deadline_clear(s, &j->kill);
	if (j->stopping)
		return;
	if (s->state == NODE_STARTING) {
		startup_failed(s, "oz0-journal ended while the node started");
		return;
	}
	log_error("journal: ended (status %#x); it is started again",
	    (unsigned)status);
	deadline_after(s, &j->again, j->backoff);
	j->backoff = span_min(SPAN_US(j->backoff.us * 2), AGAIN_CAP);
}

static void
ping(struct supervisor *s, void *arg)
{
	struct journal *j = arg;
	uint64_t n;

	deadline_after(s, &j->ping, PING_EVERY);
	if (!can_send(j))
		return;
	if (!pings_next(&j->pings, PINGS_JOURNAL, &n)) {
		log_error("journal: hangs: %u pings without an answer",
		    PINGS_JOURNAL);
		child_signal(j->child, SIGKILL);
		return;
	}
	wire_put_u64(link_begin(j->link, WIRE_JOURNAL_PING), n);
	link_end_urgent(j->link);
}

static int
send_init(struct journal *j)
{
	struct supervisor *s = j->s;
	struct question *q;
	struct buf *b = link_begin(j->link, WIRE_JOURNAL_INIT);
	int r;

	wire_put_u32(b, WIRE_VERSION);
	wire_put_u64(b, (uint64_t)s->conf->keep_jobs.us);
	wire_put_u8(b, s->conf->power);
	wire_put_u64(b, LOG_SEGMENT_SIZE);
	r = link_end(j->link, NULL, 0, &s->processes->state_dir, 1);
	if (r < 0)
		return r;
	if (j->segment != 0)
		send_rotated(j);
	TAILQ_FOREACH(q, &j->questions, entry) {
		if (q->rows > 0 && q->reader != NULL) {
			/* half an answer was given: it says so */
			struct journal_reader *reader = q->reader;

			q->reader = NULL;
			reader->end(s, reader, "oz0-journal ended", true);
		}
		send_question(j, q);
	}
	return 0;
}

static bool
launch(struct journal *j, char *ret_why, size_t size)
{
	struct supervisor *s = j->s;
	struct processes *ps = s->processes;
	CLEANUP_CLOSE int theirs = -1;
	char *envp[] = { NULL };
	char *argv[] = { (char *)"oz0-journal",
		s->conf->best ? (char *)"--best" : NULL, NULL };
	struct launch_fault f;
	int sv[2], pidfd, r;
	pid_t pid;

	r = fd_socketpair(sv);
	if (r < 0) {
		snprintf(ret_why, size, "socket: %s", strerror(-r));
		return false;
	}
	theirs = sv[1];
	r = launch_program(ps->exe_journal, argv, envp, theirs, ps->alive,
	    &pid, &pidfd, &f);
	if (r < 0) {
		fd_close(&sv[0]);
		snprintf(ret_why, size, "%s: %s", f.act, strerror(f.error));
		return false;
	}
	j->child = child_new(
	    s, pid, pidfd, "journal", "oz0-journal", NULL, died, j);
	j->link = link_new(s, sv[0], &kind, PAYLOAD_MAX, j);
	memset(&j->pings, 0, sizeof(j->pings));
	deadline_after(s, &j->ping, PING_EVERY);
	r = send_init(j);
	if (r < 0)
		child_signal(j->child, SIGKILL); /* died() tries again */
	return true;
}

static void
kill_now(struct supervisor *s, void *arg)
{
	struct journal *j = arg;

	log_warning("journal: does not end by itself");
	if (j->child != NULL)
		child_signal(j->child, SIGKILL);
}

int
journal_start(struct supervisor *s, char *ret_why, size_t size)
{
	struct journal *j = mem_zalloc(sizeof(*j));

	j->s = s;
	j->backoff = AGAIN_FIRST;
	TAILQ_INIT(&j->questions);
	deadline_init(&j->ping, ping, j);
	deadline_init(&j->again, try_again, j);
	deadline_init(&j->kill, kill_now, j);
	s->processes->journal = j;
	return launch(j, ret_why, size) ? 0 : -EIO;
}

bool
journal_recovered(const struct supervisor *s)
{
	return s->processes->journal->recovered;
}

void
journal_stop(struct supervisor *s)
{
	struct journal *j = s->processes->journal;

	if (j == NULL || j->stopping)
		return;
	j->stopping = true;
	deadline_clear(s, &j->ping);
	deadline_clear(s, &j->again);
	link_free(j->link); /* its end is what it waits for */
	j->link = NULL;
	if (j->child != NULL)
		deadline_after(s, &j->kill, STOP_PATIENCE);
}

bool
journal_is_dead(const struct supervisor *s)
{
	return s->processes->journal == NULL
	    || s->processes->journal->child == NULL;
}

void
journal_free(struct supervisor *s)
{
	struct journal *j = s->processes->journal;
	struct question *q;

	if (j == NULL)
		return;
	deadline_clear(s, &j->ping);
	deadline_clear(s, &j->again);
	deadline_clear(s, &j->kill);
	if (j->child != NULL)
		child_disown(j->child);
	while ((q = TAILQ_FIRST(&j->questions)) != NULL)
		free_question(j, q);
	link_free(j->link);
	free(j);
	s->processes->journal = NULL;
}
