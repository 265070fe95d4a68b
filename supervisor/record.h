#ifndef OZ0_SUPERVISOR_RECORD_H
#define OZ0_SUPERVISOR_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/jsonw.h"
#include "supervisor/supervisor.h"
#include "wire/record.h"

/*
 * Writing down what happened: a step is one line of a job's trace, one event
 * for subscribers, and one record of the log, under one number (INTERFACES).
 *
 *	struct step *st = step_new(s, STEP_SERVER_READY, job_name_or_NULL);
 *	jsonw_string(step_json(st), "tool", tool->name);
 *	step_text(st, "server %s is ready", tool->name);
 *	step_commit(st);
 *
 * The job's name must stay until the commit.  Steps of one turn may have the
 * same time; their order is that of their numbers.
 *
 * Nothing is on the disk before record_flush(), and nothing leaves the
 * supervisor before that.  The text and fields never hold arguments, results,
 * secrets or progress messages (L8.2).
 */
enum step_event {
	STEP_JOB_STARTED,
	STEP_JOB_CANCELLING,
	STEP_JOB_CANCELED,
	STEP_JOB_ENDED,
	STEP_SESSION_OPENED,
	STEP_SESSION_RESTARTABLE,
	STEP_SESSION_CLOSED,
	STEP_SESSION_LOST,
	STEP_HARNESS_STARTED,
	STEP_HARNESS_ENDED,
	STEP_WORKER_ENDED,
	STEP_SERVER_STARTED,
	STEP_SERVER_READY,
	STEP_SERVER_STOPPING,
	STEP_SERVER_ENDED,
	STEP_CALL_ACCEPTED,
	STEP_CALL_QUEUED,
	STEP_CALL_WAITING_APPROVAL,
	STEP_CALL_APPROVED,
	STEP_CALL_DENIED,
	STEP_CALL_CANCELLING,
	STEP_ATTEMPT_STARTED,
	STEP_ATTEMPT_ENDED,
	STEP_ATTEMPT_STOPPED,
	STEP_CANCEL_SENT,
	STEP_RETRY_WAITING,
	STEP_POLICY_CHECKED,
	STEP_LATE_ANSWER,
	STEP_CALL_ENDED,
	STEP_LISTING_CHANGED,
	STEP_TOOL_KILLED,
	STEP_TOOL_UNKILLED,
	STEP_POLICY_CHANGED,
	STEP_FAULT,
};

struct step;

struct recorder *recorder_new(void);
void recorder_free(struct recorder *r);

const char *step_event_name(enum step_event e);
struct step *step_new(
    struct supervisor *s, enum step_event event, const char *job);
struct jsonw *step_json(struct step *st); /* open object: add members */
void step_call(struct step *st, const struct call *c); /* "call":"c12" */
void step_call_number(struct step *st, uint64_t call);
/* "by": the uid whose request is being carried out, in the text too; nothing
 * where the node acts on its own account. */
void step_asked(struct step *st);
void step_text(struct step *st, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The text, empty, to be appended to: for the steps that each call has. */
struct buf *step_words(struct step *st);
void step_commit(struct step *st);
/* The same with the facts that the step changes (type and u of facts). */
void step_commit_facts(struct step *st, struct record *facts);
/* Facts without a step: REC_CHILD, REC_NODE. */
void record_facts(struct supervisor *s, struct record *facts);

/* A fresh segment from oz0-journal; takes over fd. */
void record_segment(struct supervisor *s, uint64_t number, int fd);
/* oz0-journal could not make one: new work is refused meanwhile. */
void record_no_space(struct supervisor *s, const char *why);
/* The log cannot be synced to its disk ("power"): so until the node ends. */
void record_unsafe(struct supervisor *s, const char *why);
bool record_is_safe(const struct supervisor *s);
/*
 * The log lacks what was to be recorded: no attempt may begin, and none that
 * has begun may be sent (L2.6, L9.5).
 */
bool record_holds(const struct supervisor *s);
/* NULL, or why nothing new can be taken (L9.5). */
const char *record_refuses(const struct supervisor *s);
/* Writes the batch.  Called once a turn, before anything leaves. */
void record_flush(struct supervisor *s);
uint64_t record_last_seq(const struct supervisor *s);
void record_start_at(struct supervisor *s, uint64_t last_seq);
uint64_t record_flushed_seq(const struct supervisor *s);

/*
 * Recent steps kept in memory, newest last, for subscribers that come back
 * (events/subscribe {since}): false when `since` is older than what is kept,
 * then ask oz0-journal (process.h journal_query).
 */
bool record_recent(const struct supervisor *s, uint64_t since,
    void (*fn)(void *arg, uint64_t seq, const char *json, size_t len),
    void *arg);

#endif
