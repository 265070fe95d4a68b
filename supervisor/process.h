#ifndef OZ0_SUPERVISOR_PROCESS_H
#define OZ0_SUPERVISOR_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisor/call.h"
#include "supervisor/supervisor.h"
#include "wire/chan.h"

/*
 * What the core (job.c, call.c, dispatch.c) asks of the processes of the node:
 * servers, workers, sessions, the journal.  The core holds no descriptor and
 * no pid; the processes' side decides nothing about calls.
 */

struct listing;

/* ---- tools and servers (server.c) */
struct tool {
	TAILQ_ENTRY(tool) entry;
	char *name;
	struct conf_tool *conf;	 /* counted; replaced by a reload */
	struct server *plugin;	 /* kind plugin: the shared server */
	struct listing *listing; /* last known, of any of its servers */
	bool killed;		 /* L1.9 */
	bool gone;		 /* no longer configured */
	unsigned running;
	struct log_ring *log; /* log_ring.h: bounded stderr of its servers */
	enum wire_era era;    /* last seen of this command; a hint */
	uid_t user;	      /* of "user", looked up with the configuration */
	gid_t user_group;
};
struct tool *tool_find(struct supervisor *s, const char *name);
/* One that a record names, though it may not be configured now: it has no conf
 * then, and is gone. */
struct tool *tool_recorded(struct supervisor *s, const char *name);
/*
 * tool.c: takes over conf, the first one or a reload's.  Servers that run keep
 * what they began with; a shared one is started afresh once it is idle.  0, or
 * -EINVAL with words: then nothing has changed and conf is still the caller's.
 */
int tools_configure(struct supervisor *s, struct conf *conf, char *ret_error,
    size_t size);

enum server_state {
	SERVER_STOPPED,	 /* waits to be wanted */
	SERVER_STARTING, /* waits for its handshake and listing */
	SERVER_READY,
	SERVER_STOPPING, /* waits for its tree to be dead and drained */
	SERVER_BACKOFF,	 /* waits to be started again (plugins) */
	SERVER_STUCK,	 /* three stops in a row not confirmed (L9.3) */
};
const char *server_state_name(enum server_state st);
/* Why it is not ready, in words; NULL: nothing is wrong with it. */
const char *server_broken(const struct server *sv);

struct server {
	TAILQ_ENTRY(server) entry; /* of its session, or of the node */
	uint32_t id;
	struct tool *tool;
	struct session *session; /* NULL: a plugin's */
	enum server_state state;
	struct listing *listing; /* NULL until first listed */
	char era[16];		 /* "2025-11-25"; empty: not known */
	pid_t pid;		 /* of its init; 0: none */
	unsigned restarts;
	struct call_list waiting;      /* calls that wait for it or for room */
	struct attempt_list attempts; /* running ones */
	unsigned running;
	unsigned not_confirmed; /* stops in a row (L9.3) */
	struct server_process *process; /* server.c's own */
};

/* The server that a call of tool goes to; made (STOPPED) if need be. */
struct server *server_get(
    struct supervisor *s, struct tool *tool, struct session *ss);
/* Starts it unless it runs or is on its way: then calls_server_ready() or
 * calls_server_failed() follows. */
void server_want(struct supervisor *s, struct server *sv);
/*
 * The ladder (L1.2): stdin, SIGTERM at 40 %, SIGKILL at 80 % of `time`; ends
 * in calls_server_gone().  Harmless when it is stopping already (the shorter
 * time counts) or stopped.
 */
void server_stop(struct supervisor *s, struct server *sv, struct span time,
    const char *why);
/* `oz0 restart`: a shared server is stopped and started again. */
void server_restart(struct supervisor *s, struct server *sv, const char *why);
/* Every server: plugins' first, then each session's. */
void server_each(struct supervisor *s,
    void (*fn)(void *arg, struct server *sv), void *arg);
/* L9.3: a stop on it was not confirmed, or was. */
void server_confirmed(struct supervisor *s, struct server *sv, bool confirmed);

/* ---- functions (function.c) */
struct function {
	RB_ENTRY(function) entry;
	char *name;
	enum wire_hint read_only, destructive, idempotent, open_world;
	bool honours_key, resume;
	char *refused; /* NULL: callable; else why not */
	char *json;    /* as listed, byte for byte */
	size_t json_len;
};
/* NULL: not listed. */
struct function *function_find(struct listing *l, const char *name);
struct function *function_first(struct listing *l);
struct function *function_after(struct listing *l, struct function *f);

/* ---- attempts on their way (worker.c): frames are queued, not sent */
bool worker_call(struct supervisor *s, struct attempt *a);
void worker_cancel(struct supervisor *s, struct attempt *a,
    const char *reason, bool stop_server);
/*
 * Its stop was not confirmed, and it is over for the core: an answer that
 * still comes is handed to attempt_answered_late(), once.
 */
void worker_gave_up(struct supervisor *s, const struct attempt *a);

/* ---- sessions (session_process.c) */
/* Makes folder, uid and worker; false with *f (node_full, internal). */
bool session_processes_start(
    struct supervisor *s, struct session *ss, const struct session_open *p,
    struct fault *f);
/* Stops servers by the ladder, then harness, worker, folder; ends in
 * session_all_dead().  time SPAN_NONE: each server its tool's stop_timeout,
 * the harness 2 s. */
void session_processes_stop(
    struct supervisor *s, struct session *ss, struct span time);
void session_processes_free(struct supervisor *s, struct session *ss);
/* A dead worker of a session without a harness is made again at its next
 * call (L9.2): server_get()/server_want() see to it. */

/* session/run (SESSION): std are taken over. */
struct harness_run {
	const char *command;
	char *const *args; /* NULL-terminated */
	char *const *env;  /* "NAME=value", NULL-terminated */
	const char *cwd;   /* NULL: /session */
	bool tty;
	int std[3];
};
struct harness_end {
	bool started;
	bool by_signal;
	int code; /* exit code or signal */
	char message[256]; /* when not started */
};
bool harness_start(struct supervisor *s, struct session *ss,
    struct harness_run *r, struct fault *f);
/* Last end of the session's harness; NULL while it runs or never ran.
 * session->waiters are told when the session is closed after it. */
const struct harness_end *harness_last(const struct session *ss);
bool harness_signal(
    struct supervisor *s, struct session *ss, int signo, struct fault *f);
bool harness_resize(struct supervisor *s, struct session *ss, unsigned rows,
    unsigned cols, struct fault *f);

/* ---- the journal (journal.c) */
struct journal_reader {
	void (*row)(struct supervisor *s, struct journal_reader *r,
	    const char *json, size_t len);
	/* error NULL: all was given (more: the limit cut it) */
	void (*end)(struct supervisor *s, struct journal_reader *r,
	    const char *error, bool more);
	void *arg;
	int error;   /* at the end: errno, ENOENT for what is unknown; 0 */
	uint64_t id; /* journal.c's */
};
void journal_query(struct supervisor *s, struct journal_reader *r,
    enum wire_query what, const char *job, uint64_t since, uint32_t limit);
void journal_query_drop(struct supervisor *s, struct journal_reader *r);
/* The writer began this segment: the next one is to be made. */
void journal_rotated(struct supervisor *s, uint64_t segment);

/* ---- recovery (recover.c, core), called by journal.c at start, in order */
void recover_ready(struct supervisor *s, uint64_t last_seq,
    uint64_t last_call, uint64_t last_attempt);
/* false: not a record of that kind; the journal is ended. */
bool recover_record(struct supervisor *s, const char *p, size_t n);
/* All is read and the last process of the old node is dead: closes what was
 * open as lost (L9.1); then the node is ready. */
void recover_finish(struct supervisor *s);

/* ---- the node (main.c, process.c) */
struct processes *processes_new(struct supervisor *s);
void process_flush(struct supervisor *s); /* frames leave */
void node_drain(struct supervisor *s);	  /* as SIGTERM; twice: fast */
void node_reload(struct supervisor *s, struct buf *ret_words);
bool node_reload_ok(struct supervisor *s, char *ret_error, size_t size);
/* For status and ps: each process with role, pid and age. */
struct process_info {
	const char *role; /* "worker", "sandbox", "journal" */
	const char *name; /* "session j1/1", "j1/1 files" */
	const char *job;  /* NULL: none */
	pid_t pid;
	struct wall started;
};
void process_each(struct supervisor *s,
    void (*fn)(void *arg, const struct process_info *p), void *arg);

#endif
