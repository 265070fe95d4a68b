#ifndef OZ0_SUPERVISOR_CONTROL_INTERNAL_H
#define OZ0_SUPERVISOR_CONTROL_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/chain.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "supervisor/control.h"
#include "supervisor/job.h"
#include "supervisor/process.h"
#include "supervisor/role.h"

/*
 * What the files of the control socket (control*.c, event.c) share: its
 * connections, the requests on them, and how they are answered.
 */

struct call_prior;
struct event;
struct conn;
struct request;

/* Bounds of one connection (control_conn.c says what happens at each). */
#define CONN_LINE_SLACK ((size_t)64 * 1024) /* a line: max_message + this */
#define CONN_OUT_PAUSE ((size_t)1 << 20)    /* waits to be read: much */
#define CONN_OUT_MORE ((size_t)1 << 20)     /* answered then: pause it */
#define CONN_LONG_LINE ((size_t)64 * 1024)
#define CONN_STUCK ((size_t)64 * 1024) /* waits to be read: it may be stuck */
#define CONN_UNSTUCK ((size_t)1 << 20) /* read since: it was not */
#define CONN_EVENTS_MAX ((size_t)4 << 20)   /* then it is dropped */
#define CONN_REQUESTS_MAX 131072
#define CONN_GROUP_FDS 3 /* descriptors of a session/run */
#define CONN_GROUPS_MAX 8
#define BATCH_MAX 1024
#define ID_MAX ((size_t)1024)

/* JSON-RPC 2.0, Error object */
#define RPC_PARSE (-32700)
#define RPC_REQUEST (-32600)
#define RPC_METHOD (-32601)
#define RPC_PARAMS (-32602)
#define RPC_FAULT 1 /* with data.reason (INTERFACES) */

TAILQ_HEAD(conn_list, conn);
TAILQ_HEAD(request_list, request);

/* ---- requests */

/* A batch is answered by one line, once its last request is answered. */
struct batch {
	unsigned open; /* requests not answered, and its reader */
	bool some;     /* an answer is in text */
	struct buf text;
	size_t counted; /* of text, in conn->batch_bytes */
};

struct request {
	TAILQ_ENTRY(request) entry;   /* conn->requests */
	TAILQ_ENTRY(request) in_list; /* one list of who it waits for */
	struct request_list *list;    /* that list; NULL: none */
	struct conn *conn;
	const struct method *method;
	char *id; /* as it was sent; NULL: a notification */
	struct batch *batch;
	struct waiter waiter;
	struct waiter_list *waits; /* the one that waiter is in */
	union {
		struct job *job;
		struct call *call;
		struct session *session;
		struct tool *tool;
	} on;
	char *params;	     /* put aside with them, or NULL */
	size_t params_len;
	uint64_t asked;	     /* put aside after this step; 0: it was not */
	uint64_t since;	     /* of tool/logs */
	struct query *query; /* control_past.c */
};

/* ---- connections */

/* Descriptors that came with the byte `at` of the connection. */
struct fd_group {
	uint64_t at;
	int fds[CONN_GROUP_FDS];
	unsigned count;
	bool cut; /* there were more, or they could not be had */
};

enum subscription {
	SUB_NONE,
	SUB_PAST, /* events from oz0-journal, a page at a time */
	SUB_LIVE,
};

/* How far the log lets the bytes of a buffer go (commit.h). */
struct leave {
	uint64_t gone; /* bytes that were ever taken from its front */
	struct commit_queue queue;
};

/* A line that is read to its end and refused (control_skip.c). */
struct skip {
	bool on;
	bool string, escape; /* within one */
	bool cut;	     /* head has not all that belongs there */
	unsigned depth;
	size_t len;
	struct buf head;
};

struct conn {
	TAILQ_ENTRY(conn) entry; /* control->conns: longest idle first */
	TAILQ_ENTRY(conn) dirty; /* control->dirty: something to write */
	TAILQ_ENTRY(conn) woken; /* control->woken: goes on next turn */
	TAILQ_ENTRY(conn) unsafe; /* control->unsafe: waits for the log */
	TAILQ_ENTRY(conn) subscriber;
	TAILQ_ENTRY(conn) waiting; /* control->waiting: puts requests aside */
	bool is_dirty, is_woken, is_unsafe;
	struct control *c;
	int fd;
	struct event *readable, *writable, *wake;
	bool reading, writing; /* the events are on */
	struct peer peer;
	enum role role;
	struct buf in;	   /* lines not handled yet */
	size_t scanned;	   /* of in: no newline in it */
	uint64_t taken;	   /* bytes of lines that were handled */
	struct chain out;  /* answers */
	struct buf events; /* whole lines, but for a first one that was begun */
	size_t begun;	   /* of events: to be written before answers again */
	struct leave out_leave, events_leave;
	size_t beyond;	   /* answered since CONN_OUT_PAUSE was passed */
	size_t share;	   /* of control->bytes */
	size_t aside;	   /* of control->aside */
	struct mono stuck; /* since when its peer reads too little */
	uint64_t stuck_at; /* of the bytes that it was given, then */
	struct request_list requests;
	unsigned nrequests;
	struct request_list aside_list; /* in their order */
	size_t aside_bytes;
	size_t batch_bytes; /* of batches that are not answered whole */
	struct skip skip;
	struct mono long_since; /* since when a long line is not ended */
	unsigned nquery;	  /* 1: a question to oz0-journal is out */
	struct request_list past; /* wait for their turn to ask */
	struct fd_group groups[CONN_GROUPS_MAX];
	unsigned ngroups;
	uint64_t lines;
	bool more;    /* lines are left for the next turn */
	bool eof;     /* the peer writes nothing more */
	bool closing; /* close it once all is written */
	bool dead;    /* close it now */
	enum subscription sub;
	uint64_t seen;	   /* last event queued for it */
	uint64_t asked_at; /* all up to it is in what oz0-journal was asked */
	struct journal_reader reader;
	bool reading_past;
	bool asking; /* past_next() is at work */
};

struct notify {
	struct mono status_at;
	struct deadline status, watchdog;
	struct span watchdog_every;
};

#define CONTROL_ROOM ((size_t)16 * 1024)

struct control {
	struct supervisor *s;
	int listener, lock;
	char *path;	   /* NULL: handed over by LISTEN_FDS */
	uint64_t dev, ino; /* of the socket file that is ours */
	struct event *acceptable;
	struct deadline resume; /* accept again; look at what is held */
	struct conn_list conns, dirty, woken, unsafe, subscribers, dead;
	uint64_t synced; /* the log was, when unsafe was last looked at */
	unsigned nconns, max_conns, max_per_uid;
	size_t bytes; /* in buffers of connections, and put aside */
	bool over;    /* the budget is used up */
	struct mono over_since;
	struct conn_list waiting; /* their requests begin in turn */
	struct event *begin;	  /* some of them do */
	size_t aside;		  /* bytes put aside, and of long lines */
	unsigned naside;
	bool accepting;
	struct mono evicted_at, refused_at; /* when that was last logged */
	struct request_list starting; /* session/run until it is started */
	struct jsonw w;		      /* of the answer being written */
	struct buf unread;	      /* answers to notifications */
	struct notify notify;
	char room[CONTROL_ROOM];      /* for what is read first of a line */
};

/* control.c: may this be logged (again)? */
bool control_seldom(struct mono *last);

/* notify.c */
void notify_init(struct notify *n);
void notify_free(struct supervisor *s, struct notify *n);

/* control_listen.c: 0 or -errno, logged. */
int listen_open(struct control *c);
void listen_close(struct control *c);
void listen_set_mode(struct control *c);

/* control_conn.c */
struct conn *conn_new(struct control *c, int fd, const struct peer *peer);
void conn_free(struct conn *k);
void conn_dirty(struct conn *k);
void conn_account(struct conn *k);
void conn_lines(struct conn *k); /* handles whole lines that are there */
void conn_watch(struct conn *k); /* events on and off as it needs */
void conn_write(struct conn *k);
void conn_wake(struct conn *k); /* goes on in the next turn */
size_t conn_line_max(const struct conn *k);
/* Nothing more is read; what waits is written, then it is closed. */
void conn_close_after(struct conn *k);
/* Closed at the end of the turn, whatever waits. */
void conn_kill(struct conn *k, const char *why);
bool conn_idle(const struct conn *k);
/* The descriptors of the line that ends at byte `end`; false: none. */
bool conn_take_fds(
    struct conn *k, uint64_t begin, uint64_t end, struct fd_group *ret);

/* control_leave.c */
#define LEAVE_LOG 1
/* Writes; 0: all is written, LEAVE_LOG: but for what the log keeps, -errno. */
int leave_turn(struct conn *k);
void leave_note(struct conn *k, bool waits); /* for the log, or no more */
void leave_look(struct control *c); /* is more of it synced? */

/* control_rpc.c */
/* One line without its newline. */
void rpc_line(struct conn *k, char *line, size_t len);
/* One that was not kept: head has its outer members, or nothing. */
void rpc_line_skipped(struct conn *k, const char *head, size_t len);
/* One that was put aside, with the params that it came with. */
void request_begin(struct request *q, char *params, size_t len);
void request_free(struct request *q);
/* The result is what is written between the two calls, one JSON value. */
struct jsonw *request_answer(struct request *q);
void request_put_blob(struct request *q, struct blob *b); /* a part of it */
void request_answered(struct request *q);
void request_result_raw(struct request *q, const char *json, size_t len);
void request_error(struct request *q, int code, const char *reason,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void request_fault(struct request *q, const struct fault *f, const char *state);
void request_done(struct request *q); /* result {} */
/* Told once by fn, with q as arg. */
void request_wait(struct request *q, struct waiter_list *l,
    void (*fn)(struct supervisor *s, struct waiter *w));
void request_listed(struct request *q, struct request_list *l);
void request_unlisted(struct request *q);

/* ---- methods: control_method.c has the table */

enum param_type {
	PARAM_NAME,   /* job, activity, tenant: L2.7 */
	PARAM_CALL,   /* "c12" */
	PARAM_STRING, /* not empty, at most 4096 bytes */
	PARAM_BOOL,
	PARAM_U32,
	PARAM_U64,
	PARAM_SESSION, /* 1 to 1000000 */
	PARAM_SPAN,    /* seconds, or "1.5s" */
	PARAM_OBJECT,
	PARAM_STRINGS, /* a list of strings */
	PARAM_OBJECTS, /* a list of objects */
	PARAM_MAP,     /* an object of strings */
	PARAM_PRIOR,   /* progress, total?, token?: struct call_prior */
};

#define PARAMS_MAX 12

struct param {
	const char *name;
	enum param_type type;
	bool required;
};

/* The values of a request, in the order of its method's params; views. */
struct params {
	const struct param *spec;
	struct json_value v[PARAMS_MAX];
	uint8_t given[PARAMS_MAX]; /* which of them are there, ngiven */
	unsigned ngiven;
	uint64_t line_begin, line_end; /* where its line stands */
};

struct method {
	const char *name;
	enum role role;
	void (*fn)(
	    struct supervisor *s, struct request *q, const struct params *p);
	const char *later; /* fn NULL: why not */
	struct param params[PARAMS_MAX];
};

const struct method *method_find(struct json_value name);
const struct method *method_at(size_t i); /* NULL past the last */

/* control_tool.c: the tool that is named; answered with an error, NULL: none */
struct tool *tool_named(
    struct supervisor *s, struct request *q, const struct params *p);

/* control_params.c; false with *f (FAULT_PARAMS) */
bool params_read(const struct method *m, struct json_value params,
    struct params *ret, struct fault *f);
bool params_has(const struct params *p, const char *name);
struct json_value params_value(const struct params *p, const char *name);
/* Absent: NULL, or what is given.  New memory. */
char *params_string(const struct params *p, const char *name);
bool params_bool(const struct params *p, const char *name, bool absent);
uint64_t params_uint(const struct params *p, const char *name, uint64_t absent);
bool params_span(const struct params *p, const char *name, struct span *ret);
bool params_prior(
    const struct params *p, const char *name, struct call_prior *ret);
char **params_strings(const struct params *p, const char *name);
/* "NAME=value", NULL-terminated. */
char **params_map(const struct params *p, const char *name);
void strings_free(char **v);
static inline void
cleanup_stringsp(char ***v)
{
	strings_free(*v);
}

/* One function a method; the file of each group. */
typedef void method_fn(
    struct supervisor *s, struct request *q, const struct params *p);
method_fn node_hello, node_status, node_ps, node_drain_request,
    node_reload_request; /* control_node.c */
method_fn tool_list, tool_functions, tool_logs,
    tool_restart; /* control_tool.c */
method_fn job_start_request, job_cancel_request, job_end_request,
    job_forget_request, job_list, job_status, job_trace; /* control_job.c */
method_fn session_open_request, session_run, session_signal, session_resize,
    session_close_request; /* control_session.c */
method_fn call_start_request, call_cancel_request,
    call_status;	    /* control_call.c */
method_fn events_subscribe; /* status.c */
const char *node_state_word(const struct supervisor *s);
const char *tool_kind_word(enum conf_kind kind);

/* event.c */

/* control_session.c: a step may tell how a session/run went. */
void session_run_event(struct control *c, const char *json, size_t len);

/* ---- the past: control_past.c */

/*
 * Asks oz0-journal on behalf of a request; one question at a time for each
 * connection.  At the end fn is called, with the rows that came (each one JSON
 * value) or the words of an error.
 */
struct query {
	struct journal_reader reader;
	struct request *q;
	bool asked;
	enum wire_query what;
	char *name;
	uint64_t since;
	uint32_t limit;
	struct buf rows; /* with commas between */
	unsigned count;
	bool more; /* the limit cut it */
	bool (*keep)(struct query *u, struct json_value row); /* NULL: all */
	void (*fn)(struct supervisor *s, struct query *u, const char *error);
};
struct query *past_ask(struct supervisor *s, struct request *q,
    enum wire_query what, const char *name, uint64_t since, uint32_t limit,
    void (*fn)(struct supervisor *s, struct query *u, const char *error));
bool past_may_ask(const struct conn *k);
void past_next(struct conn *k); /* asks what waits, if it may */
void past_drop(struct request *q);

/* status.c */
const char *node_state_word(const struct supervisor *s);
const char *tool_kind_word(enum conf_kind kind);

/* event.c */
bool subscriber_wants(const struct conn *k); /* room in its buffers: more */
void subscriber_more(struct conn *k);	     /* the next page, if it does */
void subscriber_drop(struct conn *k);
void event_line(struct buf *out, const char *json, size_t len);

/* control_aside.c: requests that wait for room in the budget (L9.6) */
int aside_init(struct control *c); /* 0 or -errno */
void aside_free(struct control *c);
/* May so many bytes of this connection wait: requests, and its line? */
bool aside_fits(const struct conn *k, size_t bytes);
bool aside_wanted(const struct conn *k, const struct method *m);
void aside_put(struct request *q, struct json_value params); /* or refuses */
void aside_drop(struct request *q); /* of one that may be none of them */
/* Was its job started after it had been asked for? */
bool aside_is_late(const struct request *q, const struct params *p);
void aside_leave(struct conn *k);
void aside_check(struct control *c); /* once a turn: do some begin? */
void aside_full_words(struct control *c, char *ret, size_t size);

/* control_skip.c */
void skip_begin(struct conn *k); /* with what there is of its line */
bool skip_take(struct conn *k);	 /* what came; true: the line has ended */
void skip_drop(struct conn *k);

/* control_budget.c (L9.6) */
void budget_check(struct control *c);
bool budget_over(const struct control *c);
/* Room for one more connection of this peer; false: refuse it. */
bool limit_make_room(struct control *c, const struct peer *p);

#endif
