#ifndef OZ0_SUPERVISOR_JOB_H
#define OZ0_SUPERVISOR_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/jsonw.h"
#include "supervisor/fault.h"
#include "supervisor/supervisor.h"
#include "wire/record.h"

struct session;

/*
 * A client that is told when something has ended or changed; it lies in the
 * connection's own request and may be taken out at any time.
 */
struct waiter {
	TAILQ_ENTRY(waiter) entry;
	bool on; /* in a list */
	void (*fn)(struct supervisor *s, struct waiter *w);
	void *arg;
};
TAILQ_HEAD(waiter_list, waiter);
void waiter_add(struct waiter_list *l, struct waiter *w);
void waiters_tell(struct supervisor *s, struct waiter_list *l);

TAILQ_HEAD(call_list, call);
RB_HEAD(activity_tree, call);
TAILQ_HEAD(session_list, session);

/* An approval that was given: it holds for the call under that key, a restart
 * of the node included, while that rule of the policy stands. */
struct approval {
	TAILQ_ENTRY(approval) entry;
	char *key, *rule;
};
TAILQ_HEAD(approval_list, approval);

struct job {
	RB_ENTRY(job) by_name;
	TAILQ_ENTRY(job) ring; /* s->ready, while ready is not empty */
	bool in_ring;
	TAILQ_ENTRY(job) settle; /* s->settling */
	bool in_settling;
	char *name, *tenant;
	uint32_t run;
	uid_t uid; /* of the peer that started it */
	uint64_t after_call; /* its calls have higher numbers */
	uint64_t started; /* the step of its last start; 0: of no run here */
	enum job_state state;
	enum job_state ending; /* once calls and sessions are gone; 0: not */
	bool internal;	       /* "cli-...": ends with its call */
	struct activity_tree activities; /* calls by run and activity */
	struct call_list calls;	 /* all in memory, oldest first */
	struct call_list made_up; /* ended, under an activity nobody named */
	unsigned nmade_up;
	struct call_list ready;	 /* queued ones whose server is ready */
	unsigned live;		 /* calls not ended */
	struct session_list sessions;
	struct approval_list approvals; /* given, by key (L6.3) */
	struct waiter_list waiters; /* told when it has ended */
};

/* A session of a job: its worker, servers and harness (SESSION). */
struct session {
	TAILQ_ENTRY(session) entry;
	struct job *job;
	uint32_t number; /* from 1 */
	enum session_state state;
	enum session_state ending; /* CLOSED or LOST, while closing */
	bool restartable;
	bool has_harness;
	char **tools;	 /* NULL: all; else NULL-terminated names */
	char *workspace; /* NULL: a folder of its own */
	bool all_dead;	 /* every process of it is dead and reaped */
	struct waiter_list waiters; /* told when it is closed or lost */
	struct session_processes *processes; /* process.h */
};

int job_compare(const struct job *a, const struct job *b);
RB_PROTOTYPE(job_tree, job, by_name, job_compare);

/* Notes an approval; a later one under the same key replaces it. */
void job_approval(struct job *j, const char *key, const char *rule);
const char *job_approved(const struct job *j, const char *key); /* or NULL */
struct job *job_find(struct supervisor *s, const char *name);

/* The rules of INTERFACES on joining, going on, continuing as new. */
struct job_start {
	const char *job;
	const char *tenant; /* NULL: "default" */
	bool has_run;
	uint32_t run;
	uid_t uid;
	bool internal;
};
bool job_start(struct supervisor *s, const struct job_start *p,
    struct job **ret, struct fault *f);
/*
 * Begins the cancel (L1.3); the job's waiters are told once it is CANCELED.
 * false with FAULT_ALREADY_ENDED and the state in the message when it ended.
 */
bool job_cancel(struct supervisor *s, struct job *j, struct fault *f);
bool job_end(
    struct supervisor *s, struct job *j, bool failed, struct fault *f);
/* Drops an ended job from memory and database. */
bool job_forget(struct supervisor *s, const char *name, struct fault *f);
/* Members of `oz0 --json status JOB`, written into an open object. */
void job_write(const struct job *j, struct jsonw *w);
/* Node wide: drain, fast stop. */
void jobs_drain(struct supervisor *s);
void jobs_stop(struct supervisor *s);
void jobs_free(struct supervisor *s); /* at the very end */
bool jobs_idle(const struct supervisor *s); /* no call lives, none open */

struct session_open {
	uint32_t number;
	char *const *tools;    /* NULL: all */
	const char *workspace; /* NULL: none; checked by session_open() */
	uid_t peer_uid;
	bool peer_admin;
	bool force; /* a lost session that is not restartable */
};
struct session *session_find(struct job *j, uint32_t number);
bool session_open(struct supervisor *s, struct job *j,
    const struct session_open *p, struct session **ret, struct fault *f);
/* Begins the end; waiters are told once it is closed (or lost). */
void session_close(
    struct supervisor *s, struct session *ss, enum session_state ending,
    const char *why);
void session_write(const struct session *ss, struct jsonw *w);
/* From process.c: the last process of the session is dead and reaped. */
void session_all_dead(struct supervisor *s, struct session *ss);

#endif
