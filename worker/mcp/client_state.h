#ifndef OZ0_WORKER_MCP_CLIENT_STATE_H
#define OZ0_WORKER_MCP_CLIENT_STATE_H

#include <sys/tree.h>

#include "worker/mcp/client.h"
#include "worker/mcp/message.h"

/*
 * What the files of mcp/ share about a client.  Nobody else includes this.
 */

/* What a connection waits for. */
enum client_state {
	CLIENT_NEW,	/* client_start() */
	CLIENT_PROBING, /* the answer to server/discover */
	CLIENT_GREETING, /* the answer to initialize */
	CLIENT_READY,	/* calls */
	CLIENT_FAILED,	/* the supervisor, which was told, to stop the server */
	CLIENT_NSTATES,
};

enum request_kind {
	REQUEST_DISCOVER,
	REQUEST_INITIALIZE,
	REQUEST_LIST,
	REQUEST_LISTEN,
	REQUEST_CALL,
	REQUEST_NKINDS,
};

/* A request of ours that is not answered.  id 0: not in the table. */
struct request {
	RB_ENTRY(request) entry;
	int64_t id;
	enum request_kind kind;
	bool begun; /* a byte of it was written */
	struct attempt *attempt;
};
RB_HEAD(request_tree, request);

struct attempt {
	RB_ENTRY(attempt) entry;
	uint64_t number;
	struct request request;
	bool sent; /* a byte of any of its requests was written */
	bool cancelled;
	bool cancel_told; /* cancel_sent() was said */
	bool progress;
	bool have_last, untold; /* untold: kept back, see call_progress() */
	double last, total;
	bool has_total;
	struct mono told_at;
	uint32_t dropped;
	unsigned rounds; /* of input_required */
	struct buf text; /* its last request, kept for the next round */
	size_t arguments_at, arguments_len;
	char *function, *key, *traceparent;
};
RB_HEAD(attempt_tree, attempt);

struct listing {
	uint32_t generation;
	uint32_t count;
	unsigned pages;
	size_t bytes;
	char **cursors; /* met in this generation */
	struct name_tree *names;
	bool first_done;
	bool again; /* it changed while it was read */
	struct mono due; /* when to read it afresh */
	unsigned listens; /* streams opened so far */
};

struct client {
	struct client_config config;
	char *tool;
	const struct client_ops *ops;
	void *arg;

	enum client_state state;
	bool modern;
	bool muted;   /* being stopped: only cancels are written */
	bool closed;  /* nothing at all is written */
	bool eof;     /* stdout has ended */
	struct mono deaf_due; /* stdin was closed: when to look at it */
	const char *version;
	struct buf envelope; /* members of _meta, modern, with a comma after */

	int64_t next_id;
	struct request_tree requests;
	struct attempt_tree attempts;
	struct request hello; /* server/discover or initialize */
	struct request list;
	struct request listen;

	struct mono probe_deadline;
	unsigned probes;   /* server/discover written so far */
	unsigned greetings; /* initialize written so far */
	int64_t late_id;   /* of a probe that met silence; 0: none did */
	struct mono progress_due; /* progress is kept back until then */
	bool long_answer;  /* the line being skipped answered something */

	bool has_tools, tells_changes; /* the server's capabilities */
	struct listing listing;
	bool string_ids; /* said so once */

	unsigned noise_lines; /* since the last good message */
	size_t noise_bytes;
};

int request_compare(const struct request *a, const struct request *b);
RB_PROTOTYPE(request_tree, request, entry, request_compare)
int attempt_compare(const struct attempt *a, const struct attempt *b);
RB_PROTOTYPE(attempt_tree, attempt, entry, attempt_compare)

/* client.c */
int64_t client_request_add(
    struct client *c, struct request *r, enum request_kind kind);
void client_request_drop(struct client *c, struct request *r);
struct request *client_request_find(struct client *c, int64_t id);
void client_send(struct client *c, struct buf *text, int64_t tag, bool urgent);
void client_fail(struct client *c, enum wire_server_fault why,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void client_noise(struct client *c, enum wire_noise what, const char *line,
    size_t len, const char *why);
void client_good(struct client *c);

/* handshake.c */
void handshake_start(struct client *c, struct mono now);
void handshake_answer(
    struct client *c, const struct message *m, struct mono now);
void handshake_timeout(struct client *c, struct mono now);

/* listing.c */
void listing_start(struct client *c);
void listing_answer(
    struct client *c, const struct message *m, struct mono now);
void listing_listen_answer(
    struct client *c, const struct message *m, struct mono now);
void listing_changed(
    struct client *c, struct json_value params, struct mono now);
void listing_stream_ended(struct client *c, struct mono now);
void listing_expire(struct client *c, struct mono now);
void listing_forget(struct client *c); /* frees what it holds */

/* call.c */
void call_answer(struct client *c, struct request *r, const struct message *m);
void call_broken_answer(
    struct client *c, struct request *r, enum wire_end how, const char *why);
void call_progress(struct client *c, struct attempt *a,
    const struct json_value *progress, const struct json_value *total,
    struct mono now);
/* Tells what progress was kept back. */
void call_expire(struct client *c, struct mono now);
/* Ends every attempt that is open, or those of which nothing was written. */
void call_end_all(struct client *c, enum wire_end how, bool unsent_only,
    const char *message);
void call_free_all(struct client *c);

/* notify.c */
void notify_read(struct client *c, const struct message *m, struct mono now);

#endif
