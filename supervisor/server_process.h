#ifndef OZ0_SUPERVISOR_SERVER_PROCESS_H
#define OZ0_SUPERVISOR_SERVER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/queue.h>

#include "base/buf.h"
#include "supervisor/deadline.h"
#include "supervisor/ladder.h"
#include "supervisor/process.h"

struct box;

TAILQ_HEAD(server_list, server);

/* What the worker said that a server did wrong (WIRE_SERVER_FAILED). */
struct server_fault {
	enum wire_server_fault why; /* 0: nothing */
	char message[512];
};

/* One start of a server: what server.c and server_start.c keep of it. */
struct server_process {
	struct box *box;	/* NULL: nothing of it runs */
	int std[3];		/* the worker's ends, until it has them */
	int stdin_end;		/* duplicate of the worker's end of stdin */
	struct conf_tool *conf; /* what this start began with; counted */
	uint32_t started;	/* how often so far */
	bool at_worker;		/* the worker knows it and has not drained it */
	bool ran;		/* its command was started */
	bool exited, by_signal;
	bool died_early; /* by itself, before it was ready */
	bool ends_itself; /* its stdout ended: most likely it is ending */
	bool said_stopping;
	unsigned code;
	char *failure; /* why the start failed; NULL: it did not */
	char *hidden;  /* an argument that is a path its sandbox lacks; NULL */
	char *broken;  /* how it broke, until it is ready again; NULL */
	bool too_slow; /* start_timeout is over */
	struct server_fault fault;
	bool legacy_hint;  /* it ended on the probe: the next start knows */
	bool wanted;	   /* start it again once it has stopped */
	bool restart;	   /* it is stopped to be started again at once */
	bool stale;	   /* the configuration has changed */
	bool for_good;	   /* its session or the node ends */
	bool stdin_shut;
	char *why;	   /* why it is being stopped; NULL: it is not */
	char *name, *version; /* as it calls itself, until it is ready */
	struct ladder ladder;
	struct deadline timer;	 /* start_timeout, ladder, backoff */
	struct deadline hopeless; /* says that it cannot start, next turn */
	char hopeless_why[256];
	struct listing *coming; /* being listed */
	struct buf line;	/* of stderr, not ended yet */
	struct buf tail;	/* last lines of stderr */
	struct mono ready_at, ended_at;
	struct span backoff;
};

enum server_event {
	SERVER_EV_WANT,	     /* a call waits for it, or it is eager */
	SERVER_EV_READY,     /* handshake and listing are done */
	SERVER_EV_FAIL,	     /* it is not what it should be: stop it */
	SERVER_EV_STOP,	     /* somebody stops it */
	SERVER_EV_TIMER,
	SERVER_EV_DEAD,	     /* its tree is dead */
	SERVER_EV_DRAINED,   /* and all it wrote was seen */
	SERVER_EV_STUCK,     /* three stops in a row not confirmed */
	SERVER_EV_CONFIRMED, /* it answers again */
	SERVER_NEVENTS,
};
#define SERVER_NSTATES 6

void server_event(
    struct supervisor *s, struct server *sv, enum server_event ev);
const char *server_event_name(enum server_event ev);
/* server.c, for server_ask.c: why first, then the ladder begins. */
void server_set_why(struct server_process *p, const char *why);
void server_begin_stopping(
    struct supervisor *s, struct server *sv, struct span time);
void server_timer(struct supervisor *s, void *arg);
void server_say_hopeless(struct supervisor *s, void *arg);
struct server *server_find(struct server_list *l, uint32_t id);
void server_free(struct supervisor *s, struct server *sv);
/* "j1/1 files", "billing"; for logs and ps. */
char *server_title(const struct server *sv);

/* server_start.c: false with p->failure set. */
bool server_start(struct supervisor *s, struct server *sv);
/* What runs goes on under its tool's configuration of now. */
void server_take_conf(struct server *sv);
/* Descriptors and texts of a start that is over. */
void server_process_reset(struct server_process *p);

/* From worker_frame.c, proven: the server is one of that worker's. */
void server_said_ready(struct supervisor *s, struct server *sv,
    const char *era, const char *name, const char *version);
void server_said_failed(struct supervisor *s, struct server *sv,
    enum wire_server_fault why, const char *message);
void server_said_stderr(
    struct supervisor *s, struct server *sv, const char *p, size_t n);
void server_said_drained(struct supervisor *s, struct server *sv);
/* false: the count is not what was listed. */
bool server_said_listed(struct supervisor *s, struct server *sv,
    uint32_t generation, uint32_t count, const char *problem);
/* Its worker is gone: nothing more is to be waited for. */
void server_worker_gone(struct supervisor *s, struct server *sv);
/* No start any more, whatever wants one: its session or the node ends. */
void server_stop_for_good(struct supervisor *s, struct server *sv,
    struct span time, const char *why);
bool server_is_dead(const struct server *sv); /* nothing of it runs */

/* "exit code 3"; and the last line of stderr, "" when there is none. */
/* server_step.c: taken; logged where it is a plugin's, and a new one. */
void server_set_broken(struct server *sv, char *broken);
void server_write_how(const struct server_process *p, char *out, size_t size);
void server_last_line(const struct server_process *p, char *out, size_t size);
/* The steps of a server's life (server_step.c). */
void server_step_started(struct supervisor *s, struct server *sv,
    const char *missing);
void server_step_ready(struct supervisor *s, struct server *sv,
    const char *name, const char *version);
void server_step_stopping(
    struct supervisor *s, struct server *sv, const char *why);
void server_step_ended(struct supervisor *s, struct server *sv);
void server_step_listing(struct supervisor *s, struct server *sv);
void server_step_fault(
    struct supervisor *s, struct server *sv, const char *words);

#endif
