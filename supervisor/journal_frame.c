/*
 * What oz0-journal says: recovery at start, segments, answers.  Run by the
 * supervisor.  A handler that returns false ends that oz0-journal, and a fresh
 * one goes on (journal.c).
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "supervisor/journal_internal.h"
#include "supervisor/processes.h"
#include "supervisor/record.h"
#include "supervisor/startup.h"

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
	j->backoff = JOURNAL_AGAIN;
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
	why = mem_printf("no room for the log in %s/log: %s%s%s",
	    s->conf->state_dir, words, words[0] == '\0' ? "" : ": ",
	    strerror((int)error));
	record_no_space(s, why);
	s->processes->no_space = true;
	startup_advance(s);
	return true;
}

struct question *
journal_find_question(struct journal *j, uint64_t id)
{
	struct question *q;

	TAILQ_FOREACH(q, &j->questions, entry)
		if (q->id == id)
			return q;
	return NULL;
}

void
journal_free_question(struct journal *j, struct question *q)
{
	TAILQ_REMOVE(&j->questions, q, entry);
	free(q->job);
	free(q);
}

static bool
on_row(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct journal *j = arg;
	struct question *q = journal_find_question(j, wire_get_u64(&f->body));
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
	struct question *q = journal_find_question(j, wire_get_u64(&f->body));
	uint32_t error = wire_get_u32(&f->body);
	CLEANUP_FREE char *words = wire_get_new_str(&f->body, 4096);
	bool more = wire_get_bool(&f->body);
	struct journal_reader *r;

	if (!wire_get_end(&f->body) || q == NULL)
		return false;
	r = q->reader;
	journal_free_question(j, q);
	if (r == NULL)
		return true;
	if (error != 0 && words[0] == '\0') {
		free(words);
		words = mem_strdup(strerror((int)error));
	}
	r->error = (int)error;
	r->end(s, r, error == 0 ? NULL : words, more);
	return true;
}

static bool
on_synced(struct supervisor *s, void *arg, struct chan_frame *f)
{
	uint64_t seq = wire_get_u64(&f->body);

	if (!wire_get_end(&f->body) || seq > s->commit.asked)
		return false;
	if (seq > s->commit.synced)
		s->commit.synced = seq;
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
	calls_lose_waiting(s, why);
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

const struct link_kind journal_link_kind = {
	.peer = WIRE_ROLE_JOURNAL,
	.handlers = handlers,
	.nhandlers = sizeof(handlers) / sizeof(handlers[0]),
	.closed = journal_closed,
};
