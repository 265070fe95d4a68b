/*
 * The recorder: numbers every step, keeps the batch of the turn, and writes it
 * into the log's segment before anything leaves the supervisor (DESIGN,
 * Recording).  Segments come from oz0-journal as descriptors, made and
 * preallocated, so that a full disk is known before it hurts.
 */
#include "supervisor/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "supervisor/call.h"
#include "supervisor/control.h"
#include "supervisor/process.h"
#include "wire/log.h"

#define SEGMENTS_MOST 8 /* that lie ready */
#define RECENT_COUNT 8192
#define RECENT_BYTES ((size_t)4 * 1024 * 1024)
/* With less than this in the last segment only ends are taken (L9.5). */
#define ROOM_FOR_ENDS ((uint64_t)4 << 20)

/* A step kept: in the ring of their texts, from at on. */
struct recent {
	uint64_t seq;
	size_t at, len;
};

/* The step being made: one at a time, so that its memory is used again. */
struct step {
	struct supervisor *s;
	struct buf json;
	struct jsonw w;
	uint64_t seq;
	uint64_t call;
	bool asked;	 /* a client has asked for what happened */
	const char *job; /* the caller's, until the commit */
	struct buf text; /* empty: none */
};

struct segment {
	uint64_t number;
	int fd;
};

struct recorder {
	uint64_t seq;	  /* last given out */
	uint64_t flushed; /* last on the disk */
	struct buf batch; /* framed records, not written yet */
	struct buf one;	  /* the record being framed */
	struct segment now;
	struct segment next[SEGMENTS_MOST]; /* by number */
	size_t nnext;
	uint64_t used;	 /* bytes of now that are written */
	bool rotated;	 /* a segment begun in this turn */
	char *no_space;	 /* NULL, or what oz0-journal said */
	char *broken;	 /* NULL, or why writing failed */
	char *unsafe;	 /* NULL, or why nothing is synced any more */
	bool stalled;	 /* the last flush could not write all */
	struct step step;
	bool open; /* step is being made */
	bool timed; /* time is that of the batch */
	char time[TIME_WALL_LEN];
	struct recent recent[RECENT_COUNT];
	size_t first, count;
	char *texts; /* of RECENT_BYTES, once there is one; a ring */
	size_t texts_at; /* where the next one goes */
	uint64_t dropped; /* last seq no longer among the recent ones */
};

static const char *const event_names[] = {
	[STEP_JOB_STARTED] = "job_started",
	[STEP_JOB_CANCELLING] = "job_cancelling",
	[STEP_JOB_CANCELED] = "job_canceled",
	[STEP_JOB_ENDED] = "job_ended",
	[STEP_SESSION_OPENED] = "session_opened",
	[STEP_SESSION_RESTARTABLE] = "session_restartable",
	[STEP_SESSION_CLOSED] = "session_closed",
	[STEP_SESSION_LOST] = "session_lost",
	[STEP_HARNESS_STARTED] = "harness_started",
	[STEP_HARNESS_ENDED] = "harness_ended",
	[STEP_WORKER_ENDED] = "worker_ended",
	[STEP_SERVER_STARTED] = "server_started",
	[STEP_SERVER_READY] = "server_ready",
	[STEP_SERVER_STOPPING] = "server_stopping",
	[STEP_SERVER_ENDED] = "server_ended",
	[STEP_CALL_ACCEPTED] = "call_accepted",
	[STEP_CALL_QUEUED] = "call_queued",
	[STEP_CALL_WAITING_APPROVAL] = "call_waiting_approval",
	[STEP_CALL_APPROVED] = "call_approved",
	[STEP_CALL_DENIED] = "call_denied",
	[STEP_CALL_CANCELLING] = "call_cancelling",
	[STEP_ATTEMPT_STARTED] = "attempt_started",
	[STEP_ATTEMPT_ENDED] = "attempt_ended",
	[STEP_ATTEMPT_STOPPED] = "attempt_stopped",
	[STEP_CANCEL_SENT] = "cancel_sent",
	[STEP_RETRY_WAITING] = "retry_waiting",
	[STEP_POLICY_CHECKED] = "policy_checked",
	[STEP_LATE_ANSWER] = "late_answer",
	[STEP_CALL_ENDED] = "call_ended",
	[STEP_LISTING_CHANGED] = "listing_changed",
	[STEP_TOOL_KILLED] = "tool_killed",
	[STEP_TOOL_UNKILLED] = "tool_unkilled",
	[STEP_POLICY_CHANGED] = "policy_changed",
	[STEP_FAULT] = "fault",
};

struct recorder *
recorder_new(void)
{
	struct recorder *r = mem_zalloc(sizeof(*r));

	r->now.fd = -1;
	return r;
}

static void
drop_oldest(struct recorder *r)
{
	r->dropped = r->recent[r->first].seq;
	r->first = (r->first + 1) % RECENT_COUNT;
	r->count--;
}

void
recorder_free(struct recorder *r)
{
	if (r == NULL)
		return;
	fd_close(&r->now.fd);
	while (r->nnext > 0)
		fd_close(&r->next[--r->nnext].fd);
	buf_free(&r->batch);
	buf_free(&r->one);
	buf_free(&r->step.json);
	buf_free(&r->step.text);
	free(r->texts);
	free(r->no_space);
	free(r->broken);
	free(r->unsafe);
	free(r);
}

const char *
step_event_name(enum step_event e)
{
	return event_names[e];
}

/* The steps between two flushes have one time, which is spelled once. */
static const char *
time_text(struct recorder *r)
{
	if (!r->timed)
		wall_format(time_wall(), r->time);
	r->timed = true;
	return r->time;
}

struct step *
step_new(struct supervisor *s, enum step_event event, const char *job)
{
	struct recorder *r = s->recorder;
	struct step *st = &r->step;

	if (r->open)
		abort(); /* a number was given out and not used */
	r->open = true;
	st->s = s;
	st->seq = ++r->seq;
	st->call = 0;
	st->asked = false;
	st->job = job;
	jsonw_init(&st->w, &st->json);
	jsonw_object(&st->w, NULL);
	jsonw_uint(&st->w, "seq", st->seq);
	jsonw_string_n(&st->w, "time", time_text(r), TIME_WALL_LEN - 1);
	jsonw_string(&st->w, "job", job);
	jsonw_string(&st->w, "event", event_names[event]);
	return st;
}

struct jsonw *
step_json(struct step *st)
{
	return &st->w;
}

void
step_asked(struct step *st)
{
	if (st->s->asker.on)
		jsonw_uint(&st->w, "by", st->s->asker.uid);
	st->asked = st->s->asker.on;
}

void
step_call(struct step *st, const struct call *c)
{
	step_call_number(st, c->number);
}

void
step_call_number(struct step *st, uint64_t call)
{
	st->call = call;
	jsonw_id(&st->w, "call", 'c', call);
}

void
step_text(struct step *st, const char *fmt, ...)
{
	va_list ap;

	buf_clear(&st->text);
	va_start(ap, fmt);
	buf_vprintf(&st->text, fmt, ap);
	va_end(ap);
}

struct buf *
step_words(struct step *st)
{
	buf_clear(&st->text);
	return &st->text;
}

/* Bytes of the ring that are free behind texts_at, up to its end or the
 * oldest text. */
static size_t
free_behind(const struct recorder *r)
{
	size_t oldest = r->recent[r->first].at;

	return r->count == 0 || oldest < r->texts_at
	    ? RECENT_BYTES - r->texts_at
	    : oldest - r->texts_at;
}

static void
keep_recent(struct recorder *r, uint64_t seq, const char *json, size_t len)
{
	struct recent *n;

	if (len > RECENT_BYTES) { /* no step before it can be shown alone */
		r->count = 0;
		r->dropped = seq;
		return;
	}
	if (r->texts == NULL)
		r->texts = mem_alloc(RECENT_BYTES);
	if (r->count == RECENT_COUNT)
		drop_oldest(r);
	while (free_behind(r) < len) {
		/* the ring's end is too near: on from its beginning */
		if (r->count == 0 || r->recent[r->first].at < r->texts_at)
			r->texts_at = 0;
		else
			drop_oldest(r);
	}
	n = &r->recent[(r->first + r->count) % RECENT_COUNT];
	n->seq = seq;
	n->at = r->texts_at;
	n->len = len;
	memcpy(r->texts + n->at, json, len);
	r->texts_at += len;
	r->count++;
}

static uint64_t
room(const struct recorder *r)
{
	return r->now.fd < 0 ? 0 : LOG_SEGMENT_SIZE - r->used;
}

/* Into the next segment, with what could not be written to this one. */
static void
move_on(struct recorder *r)
{
	struct buf waiting = r->batch;

	/* Not even the header could be written there. */
	if (r->now.fd >= 0 && r->used == 0)
		buf_take(&waiting, LOG_HEADER);
	fd_close(&r->now.fd);
	r->now = r->next[0];
	memmove(r->next, r->next + 1, --r->nnext * sizeof(r->next[0]));
	r->used = 0;
	r->rotated = true;
	memset(&r->batch, 0, sizeof(r->batch));
	log_header_put(&r->batch, r->now.number, r->flushed + 1);
	buf_put(&r->batch, buf_at(&waiting), buf_len(&waiting));
	buf_free(&waiting);
}

/*
 * The first n bytes of the batch were written, then came an error.  Whole
 * records among them are in the log and must not come again; the rest is
 * written once more, to the same place or to another segment.
 */
static void
write_failed(struct recorder *r, size_t n, int error)
{
	size_t head = r->used == 0 ? LOG_HEADER : 0;

	if (n > head) {
		n = head + log_whole(buf_at(&r->batch) + head, n - head);
		buf_take(&r->batch, n);
		r->used += n;
	}
	if (r->broken == NULL)
		log_error("cannot write log segment %016" PRIx64 ": %s",
		    r->now.number, strerror(error));
	free(r->broken);
	r->broken = mem_printf("cannot write the log: %s", strerror(error));
}

/* What is in the batch, to the present segment; false: it could not be. */
static bool
write_batch(struct recorder *r, uint64_t up_to)
{
	size_t n = buf_len(&r->batch), done = 0;

	while (done < n) {
		ssize_t k = pwrite(r->now.fd, buf_at(&r->batch) + done,
		    n - done, (off_t)(r->used + done));

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0) {
			write_failed(r, done, k < 0 ? errno : ENOSPC);
			return false;
		}
		done += (size_t)k;
	}
	buf_clear(&r->batch);
	r->used += n;
	r->flushed = up_to;
	if (r->broken != NULL) {
		log_notice("the log can be written again");
		free(r->broken);
		r->broken = NULL;
	}
	return true;
}

/* All that is recorded so far: where there is room, else where there is. */
static void
write_out(struct recorder *r, uint64_t up_to)
{
	if (buf_len(&r->batch) != 0 && r->now.fd >= 0
	    && (buf_len(&r->batch) > room(r) || !write_batch(r, up_to))
	    && r->nnext > 0) {
		move_on(r);
		write_batch(r, up_to);
	}
	if (!r->stalled && buf_len(&r->batch) != 0 && r->broken != NULL)
		log_error("%s; new work is refused until it can be written",
		    r->broken);
	r->stalled = buf_len(&r->batch) != 0;
}

static void
append(struct supervisor *s, const struct record *rec)
{
	struct recorder *r = s->recorder;

	log_record_put(&r->one, rec);
	if (!r->stalled && buf_len(&r->batch) + buf_len(&r->one) > room(r))
		write_out(r, rec->seq - 1);
	buf_put(&r->batch, buf_at(&r->one), buf_len(&r->one));
	buf_clear(&r->one);
}

static void
log_step(const struct step *st)
{
	const struct buf *b = buf_len(&st->text) != 0 ? &st->text : &st->json;

	log_debug("%.*s", (int)buf_len(b), buf_at(b));
}

void
step_commit_facts(struct step *st, struct record *facts)
{
	struct supervisor *s = st->s;
	struct recorder *r = s->recorder;

	if (st->asked)
		buf_printf(&st->text, " (by uid %lu)",
		    (unsigned long)s->asker.uid);
	if (buf_len(&st->text) != 0)
		jsonw_string_n(&st->w, "text", buf_at(&st->text),
		    buf_len(&st->text));
	jsonw_object_end(&st->w);
	facts->seq = st->seq;
	facts->job = (char *)(uintptr_t)st->job;
	facts->call = st->call;
	facts->step = buf_at(&st->json);
	facts->step_len = buf_len(&st->json);
	append(s, facts);
	log_step(st);
	keep_recent(r, st->seq, facts->step, facts->step_len);
	r->open = false;
	control_event(s, st->seq, facts->step, facts->step_len);
	buf_clear(&st->json);
	buf_clear(&st->text);
}

void
step_commit(struct step *st)
{
	struct record facts = { .type = REC_STEP };

	step_commit_facts(st, &facts);
}

void
record_facts(struct supervisor *s, struct record *facts)
{
	if (s->recorder->open)
		abort();
	facts->seq = ++s->recorder->seq;
	append(s, facts);
}

/* In the order of their numbers; one offered again takes its own place. */
static void
add_next(struct recorder *r, uint64_t number, int fd)
{
	size_t i = r->nnext;

	while (i > 0 && r->next[i - 1].number >= number)
		i--;
	if (i < r->nnext && r->next[i].number == number) {
		fd_close(&r->next[i].fd);
		r->next[i].fd = fd;
		return;
	}
	if (r->nnext == SEGMENTS_MOST) { /* never asked for */
		fd_close(&fd);
		return;
	}
	memmove(r->next + i + 1, r->next + i,
	    (r->nnext - i) * sizeof(r->next[0]));
	r->next[i] = (struct segment) { number, fd };
	r->nnext++;
}

void
record_segment(struct supervisor *s, uint64_t number, int fd)
{
	struct recorder *r = s->recorder;

	free(r->no_space);
	r->no_space = NULL;
	/* A journal that was started again offers what was begun meanwhile. */
	if (r->now.fd >= 0 && number <= r->now.number) {
		fd_close(&fd);
		return;
	}
	add_next(r, number, fd);
	if (r->now.fd < 0)
		move_on(r);
	if (r->stalled)
		write_out(r, r->seq);
}

void
record_no_space(struct supervisor *s, const char *why)
{
	struct recorder *r = s->recorder;

	if (r->no_space == NULL)
		log_error("%s; new work is refused until there is", why);
	free(r->no_space);
	r->no_space = mem_strdup(why);
}

void
record_unsafe(struct supervisor *s, const char *why)
{
	struct recorder *r = s->recorder;

	if (r->unsafe != NULL)
		return;
	log_error("%s: no attempt begins and new work is refused until the "
		  "node is started again", why);
	r->unsafe = mem_strdup(why);
}

bool
record_is_safe(const struct supervisor *s)
{
	return s->recorder->unsafe == NULL;
}

bool
record_holds(const struct supervisor *s)
{
	return s->recorder->stalled || s->recorder->unsafe != NULL;
}

const char *
record_refuses(const struct supervisor *s)
{
	const struct recorder *r = s->recorder;

	if (r->unsafe != NULL)
		return r->unsafe;
	if (r->broken != NULL)
		return r->broken;
	if (r->now.fd < 0)
		return "the log has no segment yet";
	if (r->nnext == 0 && r->no_space != NULL)
		return r->no_space;
	if (r->nnext == 0 && room(r) < ROOM_FOR_ENDS)
		return "the log's next segment is missing";
	return NULL;
}

void
record_flush(struct supervisor *s)
{
	struct recorder *r = s->recorder;

	r->timed = false;
	write_out(r, r->seq);
	if (r->rotated) {
		r->rotated = false;
		journal_rotated(s, r->now.number);
	}
}

uint64_t
record_last_seq(const struct supervisor *s)
{
	return s->recorder->seq;
}

uint64_t
record_flushed_seq(const struct supervisor *s)
{
	return s->recorder->flushed;
}

void
record_start_at(struct supervisor *s, uint64_t last_seq)
{
	struct recorder *r = s->recorder;

	r->seq = r->flushed = r->dropped = last_seq;
}

bool
record_recent(const struct supervisor *s, uint64_t since,
    void (*fn)(void *arg, uint64_t seq, const char *json, size_t len),
    void *arg)
{
	const struct recorder *r = s->recorder;

	if (since < r->dropped)
		return false;
	for (size_t i = 0; i < r->count; i++) {
		const struct recent *n =
		    &r->recent[(r->first + i) % RECENT_COUNT];

		if (n->seq > since)
			fn(arg, n->seq, r->texts + n->at, n->len);
	}
	return true;
}
