#ifndef OZ0_SUPERVISOR_PROCESSES_H
#define OZ0_SUPERVISOR_PROCESSES_H

#include <stdbool.h>
#include <sys/types.h>

#include "supervisor/child.h"
#include "supervisor/link.h"
#include "supervisor/server_process.h"
#include "supervisor/session_process.h"
#include "supervisor/worker.h"

struct event;
struct journal;
struct startup;
struct remover;
struct uidpool;

/* What `ps` shows of oz0d: loop.c. */
struct title {
	bool set;
	unsigned sessions, calls;
	struct mono at;	     /* since when */
	struct deadline due; /* when it may change again */
};

/*
 * What the processes' side of the supervisor holds together; nobody outside
 * it looks in here (process.h is the door).
 */
struct processes {
	struct children *children;
	struct links *links;
	struct journal *journal;
	struct startup *startup; /* NULL once the node is ready */
	struct remover *remover; /* folders being removed */
	struct uidpool *uids;	 /* NULL: an ordinary user's node */

	/* descriptors held open for the life of the node */
	int exe_worker, exe_sandbox, exe_journal;
	int state_dir, sessions_dir, tools_dir;
	int lock, alive, filter, null;
	int worker_filter, worker_network; /* network -1: each its own */
	bool root;
	char *conf_path;   /* of -c; NULL: the default place */
	bool debug;	   /* -dd: at debug level, whatever the file says */
	char *socket_path; /* of -s; NULL: the configuration's */

	struct worker_list workers;
	struct worker *plugins; /* the plugins' worker; NULL: none now */
	struct server_list servers; /* plugins' servers */
	struct session_processes_list sessions;
	unsigned nsessions;
	uint32_t last_server;

	struct event *timer, *signals, *parent;
	int timer_fd, signal_fd, parent_fd;
	struct mono timer_at; /* what the timer is set to */
	struct deadline drain; /* ends a drain */
	struct deadline stop;  /* ends a stop that does not end */
	bool fast, stopped, removing;
	bool drain_early; /* a signal came before the node was ready */
	bool no_start;	  /* it ends before it was ready */
	bool no_space;	  /* the journal had no room for a segment */
	bool stale;	  /* a shared server's configuration has changed */
	bool holding;
	bool overfull; /* reading is held back (L9.6) */
	int exit_code;
	bool done;
	struct title title;
};

/* stop.c */
void stop_init(struct supervisor *s);
/* Ends what has begun to start, with `exit_code`. */
void node_stop_start(struct supervisor *s);
/* Ends everything, without a drain: the launcher died. */
void node_stop_fast(struct supervisor *s, const char *why);
/* Goes on with a drain or stop as far as can be; once a turn. */
void processes_advance(struct supervisor *s);
void processes_free(struct supervisor *s);

#endif
