#ifndef OZ0_WORKER_SERVER_STATE_H
#define OZ0_WORKER_SERVER_STATE_H

#include "worker/noise.h"
#include "worker/server.h"
#include "worker/stdio/lines.h"
#include "worker/stdio/tap.h"
#include "worker/stdio/writer.h"

/*
 * What server.c and server_ops.c share.  Nobody else includes this.
 */
struct event;

struct server {
	struct worker *worker;
	uint32_t id;
	int out, err; /* -1: ended */
	struct event *on_out, *on_err, *on_in, *timer;
	struct writer writer;
	struct lines lines;
	struct tap tap;
	struct noise noise;
	struct client *client;
	size_t max_message;
	uint64_t held_since;
	struct mono spare_until; /* memory of a large line is kept till then */
	bool in_armed;
	bool paused;
};

/* server_ops.c: what the client and the writer of a server call. */
extern const struct client_ops server_client_ops;
extern const struct writer_ops server_writer_ops;
/* stdin takes nothing more; a line begun is abandoned. */
void server_end_input(struct server *s);
/* Tells of noise that is due, or (all) of all there is. */
void server_tell_noise(struct server *s, struct mono now, bool all);

#endif
