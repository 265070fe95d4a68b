#ifndef OZ0_SUPERVISOR_WORKER_H
#define OZ0_SUPERVISOR_WORKER_H

#include <stdbool.h>
#include <sys/types.h>

#include <sys/queue.h>

#include "supervisor/supervisor.h"
#include "supervisor/worker_attempts.h"
#include "supervisor/worker_pings.h"

struct child;
struct link;
struct server;
struct session;

/*
 * A worker: the process that speaks MCP to the servers of one session, or to
 * all shared plugin servers (DESIGN).
 */
enum worker_state {
	WORKER_STARTING, /* waits for WORKER_READY */
	WORKER_RUNNING,
	WORKER_ENDING, /* waits for its process to be dead */
};

struct worker {
	TAILQ_ENTRY(worker) entry;
	enum worker_state state;
	struct session *session; /* NULL: the plugins' */
	char *name;		 /* "session j1/1", "plugins" */
	int theirs;		 /* its end, until it is launched; then -1 */
	struct child *child;	 /* NULL before that and once dead */
	struct link *link;
	uid_t uid;		 /* of its own, from the pool; 0: none */
	bool told;		 /* its end was said (step, calls) */
	char why[256];		 /* it is being ended; empty: not */
	struct worker_attempts attempts;
	struct pings pings;
	struct deadline ping;
	struct deadline kill; /* it does not end by itself */
};
TAILQ_HEAD(worker_list, worker);

/* NULL with words when it cannot be started now. */
struct worker *worker_start(struct supervisor *s, struct session *ss,
    char *ret_why, size_t size);
/* Once a turn: launches those that were started in it, behind the sandboxes. */
void workers_launch(struct supervisor *s);
/* Closes its channel: it ends by itself, or is killed. */
void worker_stop(struct supervisor *s, struct worker *w);
/* Ends it at once: it broke a rule, or hangs (L9.2, L9.4). */
void worker_end(struct supervisor *s, struct worker *w, const char *why);
/* The one that a server is spoken to by; NULL: none now. */
struct worker *worker_of(struct supervisor *s, const struct server *sv);

/* worker_frame.c */
extern const struct link_kind worker_link_kind;
void worker_closed(struct supervisor *s, void *arg, bool broken,
    const char *why); /* worker.c */
#define WORKER_PHASE_STARTING 1u
#define WORKER_PHASE_RUNNING 2u

/* Frames to it about a server (server.c). */
bool worker_server_start(struct supervisor *s, struct worker *w,
    struct server *sv, const int fds[3]);
void worker_server_stop(struct worker *w, struct server *sv);
void worker_server_gone(struct worker *w, struct server *sv);
/* Once a turn: holds back or resumes reading (L9.6). */
void workers_budget(struct supervisor *s);
/* Is w, if there is one, not read from: what it says to be judged later? */
bool worker_is_held(const struct worker *w);

#endif
