#ifndef OZ0_SUPERVISOR_CALL_INTERNAL_H
#define OZ0_SUPERVISOR_CALL_INTERNAL_H

#include "supervisor/call.h"
#include "supervisor/call_table.h"
#include "supervisor/record.h"

/* What the files of a call's life share among themselves, and nobody else. */

int activity_compare(const struct call *a, const struct call *b);
RB_PROTOTYPE(activity_tree, call, by_activity, activity_compare);

/* call.c: a queued call that is in no tree or list yet; copies the names, of
 * which function has a dot. */
struct call *call_new(uint64_t number, const char *activity, const char *key,
    const char *function);
/* It takes its activity; the lost call that held it until then, or NULL. */
struct call *call_hold_activity(struct job *j, struct call *c);

/* call.c: the one setter; logs `old -> new, why` (STYLE rule 8). */
void call_set(struct call *c, enum call_event ev, const char *why);
/* What is known of the whole call when its last attempt ended so. */
enum call_outcome call_outcome(const struct call *c, enum call_outcome last);
/* Fills in the facts of REC_CALL_STATE as the call now stands. */
void call_state_facts(const struct call *c, struct record *ret);

/* How a call ends. */
struct call_end {
	enum call_event ev; /* DONE, FAIL, REFUSE, CANCELED, LOSE */
	enum call_reason reason;
	enum call_outcome outcome;
	const char *message;  /* of the error; NULL where there is a result */
	const char *shown;    /* it in the trace and the log; NULL: message */
	const char *result;   /* raw */
	size_t result_len;
	struct blob *blob;    /* where result is; NULL: nowhere to stay */
	const char *limit;    /* name of the limit that was hit */
	double limit_value;   /* seconds, or bytes where limit_bytes */
	bool limit_bytes;
	const char *no_more;  /* why no further attempt follows; NULL: plain */
	bool has_code;
	int64_t code;	      /* of a JSON-RPC error */
};
/* call_answer.c: "nothing was made" and its like, for the trace. */
const char *call_outcome_words(enum call_outcome o);
/* call_end.c: records the end, tells who waits, drops what is not kept. */
void call_end(struct supervisor *s, struct call *c, const struct call_end *e);
/* The end of one that has no attempt running: canceled, lost, refused. */
void call_end_idle(struct supervisor *s, struct call *c, enum call_event ev,
    enum call_reason reason, const char *message);
/* Cancels, whatever it does now; reason as L1.10. */
void call_stop(struct supervisor *s, struct call *c, enum call_reason reason);
/* Keeps the answer of an ended call for a rejoin, and evicts the oldest kept
 * results beyond the node's bound (L2.2); or drops it. */
void answer_keep(struct supervisor *s, struct call *c, bool has_result);
void answer_drop(struct supervisor *s, struct call *c);
/* What stands before a result among the members of an answer. */
#define ANSWER_RESULT "\"result\":"
void call_free(struct supervisor *s, struct call *c);

/* dispatch.c: where a call waits. */
void queue_put(struct supervisor *s, struct call *c);
void queue_take(struct supervisor *s, struct call *c);
/* Room was made on a server: the next that waits for it. */
void queue_server_room(struct supervisor *s, struct server *sv);

/* attempt.c */
void attempt_start(struct supervisor *s, struct call *c);
void attempt_stop(struct supervisor *s, struct attempt *a,
    enum call_reason reason, struct span time);
/* A further cause to stop one that is being stopped. */
void attempt_stop_cause(
    struct supervisor *s, struct attempt *a, enum call_reason reason);
/* attempt_step.c: the trace of an attempt, with the facts of its call. */
void attempt_step_started(struct supervisor *s, const struct attempt *a);
/* Arguments or a result, where the tool's trace_payload asks for them (L8.2);
 * of a long one only the size. */
void step_payload(struct step *st, const struct call *c, const char *name,
    const char *json, size_t len);
void attempt_step_ended(
    struct supervisor *s, const struct attempt *a, const char *words);
void attempt_step_stopped(struct supervisor *s, const struct attempt *a);
void attempt_step_cancelling(
    struct supervisor *s, const struct attempt *a, enum call_reason reason);
void attempt_step_cancel_sent(
    struct supervisor *s, const struct attempt *a, bool written);
/* attempt_late.c: an answer, or that none came? */
bool attempt_is_answer(const struct attempt_end *e);
/* One that comes while the attempt is being stopped (L1.5). */
void attempt_answer_dropped(struct supervisor *s, struct attempt *a,
    const struct attempt_end *e);
/* retry.c: what follows an attempt that ended so. */
void call_after_attempt(struct supervisor *s, struct call *c,
    enum attempt_result result, const struct attempt_end *e,
    const char *message);
void call_retry_due(struct supervisor *s, void *arg);
void call_limit_due(struct supervisor *s, void *arg);
/* Its first attempt starts: from here on its call_timeout runs (L3.8a). */
void call_limit_begin(struct supervisor *s, struct call *c);
void call_limit_clear(struct supervisor *s, struct call *c);

/* job.c: a call or session ended; whether the job has too is looked at once
 * the events of this turn are handled (jobs_settle). */
void job_touch(struct supervisor *s, struct job *j);
void jobs_settle(struct supervisor *s);
struct job *job_new(
    struct supervisor *s, const char *name, const char *tenant);
void job_free(struct supervisor *s, struct job *j);
void job_set(struct supervisor *s, struct job *j, enum job_state state,
    enum step_event event, const char *why);
/* session.c */
void session_settle(struct supervisor *s, struct session *ss);
void session_free(struct supervisor *s, struct session *ss);
void session_note_call(
    struct supervisor *s, struct session *ss, const struct call *c);
bool session_has_tool(const struct session *ss, const char *tool);
struct session *session_new(struct job *j, uint32_t number);
void session_record(struct supervisor *s, struct session *ss,
    enum step_event event, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
