#ifndef OZ0_SUPERVISOR_CHILD_H
#define OZ0_SUPERVISOR_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <sys/tree.h>

#include "supervisor/supervisor.h"

struct event;
struct process_info;

/*
 * The processes that the supervisor is the parent of: workers, inits, their
 * helpers, the journal.  Each is recorded when born and when dead, so that the
 * next oz0d can end what this one leaves (SESSION, locks).
 */
struct child;
struct children;

/* Dead and reaped: wait status.  The child is gone after this call. */
typedef void child_fn(struct supervisor *s, void *arg, int status);

struct children *children_new(void);
void children_free(struct supervisor *s);

/*
 * Takes over pidfd.  kind and name as in process_info; job NULL: none's.
 */
struct child *child_new(struct supervisor *s, pid_t pid, int pidfd,
    const char *kind, const char *name, const char *job, child_fn *died,
    void *arg);
pid_t child_pid(const struct child *c);
/* By pidfd, never by number. */
void child_signal(struct child *c, int signo);
/*
 * SIGKILL, repeated with backoff until it is dead and reaped; one that does not
 * die makes the node degraded, s->degraded has each with pid, state and reason
 * (L1.4b).  A second time: harmless.
 */
void child_kill(struct child *c);
/* Its owner goes away before it does: it is reaped all the same. */
void child_disown(struct child *c);

/* Reaps whatever has ended, known or not (B027, B029). */
void children_reap(struct supervisor *s);
/*
 * A helper of oz0-sandbox makes children that are not known before it tells:
 * what is reaped unknown between begin and end is remembered.
 */
void children_expect(struct supervisor *s, bool on);
/* Was pid reaped before it was known?  Then with which status. */
bool children_reaped(struct supervisor *s, pid_t pid, int *ret_status);
/*
 * A child that nobody here knows and whose command line begins with title, as
 * a helper leaves one that was killed before it told; 0: none.
 */
pid_t children_stray(struct supervisor *s, const char *title);
/* At the end of the start: the numbers of records are known only then. */
void children_record(struct supervisor *s);
unsigned children_count(const struct supervisor *s);
void children_each(struct supervisor *s,
    void (*fn)(void *arg, const struct process_info *p), void *arg);

#endif
