/*
 * oz0-journal as the supervisor sees it: started, fed, asked, watched, and
 * started again.  What it answers goes to whoever asked; what it recovers goes
 * to recover.c in order, and children of the node before to startup.c.  Only
 * the first one of a node's life recovers: a later one says the same things of
 * a node that lives, and is not listened to.
 */
#include "supervisor/journal_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/launch.h"
#include "supervisor/call.h"
#include "supervisor/processes.h"
#include "supervisor/record.h"
#include "supervisor/startup.h"
#include "wire/log.h"

#define PING_EVERY SPAN_S(1)
#define PAYLOAD_MAX ((size_t)16 << 20)
#define AGAIN_CAP SPAN_S(30)
#define STOP_PATIENCE SPAN_S(5)

static bool launch(struct journal *j, char *ret_why, size_t size);

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
	struct question *q =
	    journal_find_question(s->processes->journal, r->id);

	if (q != NULL && q->reader == r)
		q->reader = NULL;
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

void
journal_commit(struct supervisor *s)
{
	struct journal *j = s->processes->journal;
	struct commit *c = &s->commit;
	uint64_t seq = record_flushed_seq(s);

	c->waits = s->conf->power && s->state != NODE_STARTING && !j->stopping
	    && !j->unsafe;
	if (!c->waits || seq <= c->synced || c->asked > c->synced
	    || !can_send(j))
		return;
	c->asked = seq;
	wire_put_u64(link_begin(j->link, WIRE_JOURNAL_SYNC), seq);
	link_end(j->link, NULL, 0, NULL, 0);
	link_flush_now(j->link);
}

bool
journal_synced(struct supervisor *s)
{
	journal_commit(s);
	return !s->commit.waits || record_flushed_seq(s) <= s->commit.synced;
}

/* ---- its life ---- */

void
journal_closed(
    struct supervisor *s, void *arg, bool broken, const char *why)
{
	struct journal *j = arg;

	if (broken)
		log_error("journal: broke the protocol: %s", why);
	if (j->child != NULL)
		child_kill(j->child);
}

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
	s->commit.asked = s->commit.synced; /* a fresh one is asked again */
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
		child_kill(j->child);
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
	r = launch_program(ps->exe_journal, argv, envp, theirs,
	    (const int[LAUNCH_KEEP]) { ps->alive, -1, -1 }, &pid, &pidfd,
	    &f);
	if (r < 0) {
		fd_close(&sv[0]);
		snprintf(ret_why, size, "%s: %s", f.act, strerror(f.error));
		return false;
	}
	j->child = child_new(
	    s, pid, pidfd, "journal", "oz0-journal", NULL, died, j);
	j->link = link_new(s, sv[0], &journal_link_kind, PAYLOAD_MAX, j);
	memset(&j->pings, 0, sizeof(j->pings));
	deadline_after(s, &j->ping, PING_EVERY);
	r = send_init(j);
	if (r < 0)
		child_kill(j->child); /* died() tries again */
	return true;
}

static void
kill_now(struct supervisor *s, void *arg)
{
	struct journal *j = arg;

	log_warning("journal: does not end by itself");
	if (j->child != NULL)
		child_kill(j->child);
}

int
journal_start(struct supervisor *s, char *ret_why, size_t size)
{
	struct journal *j = mem_zalloc(sizeof(*j));

	j->s = s;
	j->backoff = JOURNAL_AGAIN;
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
		journal_free_question(j, q);
	link_free(j->link);
	free(j);
	s->processes->journal = NULL;
}
