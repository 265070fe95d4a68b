/*
 * oz0-worker's loop: frames from the supervisor are dispatched by a table,
 * servers' events are their own, and each turn ends with one write a server
 * and one flush of the channel.  Identity is the channel itself; everything
 * the supervisor says is believed, but a frame that breaks the rules means
 * that the two do not understand each other, and ends the process.
 */
#include "worker/worker.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "worker/cancels.h"
#include "worker/report.h"
#include "worker/server.h"

#define TOOL_MAX 65
#define NAME_SIZE 129
#define KEY_MAX 1024
#define TRACEPARENT_MAX 256
#define REASON_MAX 1024
#define CHANNEL_HIGH ((size_t)4 * 1024 * 1024)
#define CHANNEL_LOW ((size_t)1024 * 1024)
#define SENT_DELAY_US 20000

struct server_entry {
	LIST_ENTRY(server_entry) entry;
	struct server *server;
	enum wire_server_kind kind;
};

struct worker {
	struct chan *chan;
	struct event_base *base;
	struct event *readable, *writable, *sent_timer;
	enum wire_worker_kind kind;
	bool inited;
	bool done;
	int fault; /* what ended it: 0 or -errno */
	uint64_t max_message, budget;
	LIST_HEAD(, server_entry) servers;
	struct cancels cancels;
	struct buf sent; /* uint64_t each: attempts to tell of */
	uint64_t ticket;
	bool touched, held_back;
};

struct chan *
worker_chan(struct worker *w)
{
	return w->chan;
}

struct event_base *
worker_base(struct worker *w)
{
	return w->base;
}

struct mono
worker_now(const struct worker *w)
{
	return time_mono();
}

void
worker_touch(struct worker *w)
{
	w->touched = true;
}

uint64_t
worker_ticket(struct worker *w)
{
	return ++w->ticket;
}

static void
give_up(struct worker *w, int r)
{
	w->done = true;
	if (w->fault == 0)
		w->fault = r;
}

/* ---- CALL_SENT, which can wait a little ---- */

void
worker_call_sent(struct worker *w, uint64_t attempt)
{
	struct timeval tv = { .tv_usec = SENT_DELAY_US };

	buf_put(&w->sent, &attempt, sizeof(attempt));
	if (!event_pending(w->sent_timer, EV_TIMEOUT, NULL))
		event_add(w->sent_timer, &tv);
}

void
worker_call_ended(struct worker *w, uint64_t attempt)
{
	size_t n = buf_len(&w->sent) / sizeof(attempt);
	uint64_t x;

	for (size_t i = 0; i < n; i++) {
		char *at = w->sent.data + w->sent.start + i * sizeof(x);

		memcpy(&x, at, sizeof(x));
		if (x != attempt)
			continue;
		w->sent.end -= sizeof(x);
		memmove(at, w->sent.data + w->sent.end, sizeof(x));
		return;
	}
}

static void
tell_sent(struct worker *w)
{
	uint64_t x;

	while (buf_len(&w->sent) != 0) {
		memcpy(&x, buf_at(&w->sent), sizeof(x));
		buf_take(&w->sent, sizeof(x));
		report_call_sent(w->chan, x);
	}
}

static void
sent_due(evutil_socket_t fd, short what, void *arg)
{
	tell_sent(arg);
}

/* ---- frames ---- */

static struct server_entry *
find_server(struct worker *w, uint32_t id)
{
	struct server_entry *e;

	LIST_FOREACH(e, &w->servers, entry)
		if (server_id(e->server) == id)
			return e;
	return NULL;
}

/* The handlers: false when the frame is not what it should be. */
static bool
on_init(struct worker *w, struct chan_frame *f)
{
	uint32_t version = wire_get_u32(&f->body);
	uint8_t kind = wire_get_enum(
	    &f->body, WIRE_WORKER_SESSION, WIRE_WORKER_REMOTE);
	char *name = wire_get_new_str(&f->body, 256);
	uint64_t max_message = wire_get_u64(&f->body);
	uint8_t level =
	    wire_get_enum(&f->body, LOG_LEVEL_ERROR, LOG_LEVEL_DEBUG);
	uint64_t budget = wire_get_u64(&f->body);

	free(name); /* the process was named by its arguments */
	if (!wire_get_end(&f->body) || version != WIRE_VERSION
	    || kind != w->kind || max_message == 0 || budget == 0
	    || max_message > UINT32_MAX)
		return false;
	w->inited = true;
	w->max_message = max_message;
	w->budget = budget;
	chan_set_max_payload(w->chan, (size_t)max_message);
	log_set_level((enum log_level)level);
	report_worker_ready(w->chan);
	return true;
}

static bool
on_ping(struct worker *w, struct chan_frame *f)
{
	uint64_t n = wire_get_u64(&f->body);

	if (!wire_get_end(&f->body))
		return false;
	report_pong(w->chan, n);
	return true;
}

static bool
on_server_start(struct worker *w, struct chan_frame *f)
{
	struct server_config c = { .max_message = (size_t)w->max_message };
	struct server_entry *e;
	char tool[TOOL_MAX];
	uint64_t probe;

	c.id = wire_get_u32(&f->body);
	wire_get_str(&f->body, tool, sizeof(tool));
	c.tool = tool;
	c.kind = (enum wire_server_kind)wire_get_enum(
	    &f->body, WIRE_SERVER_JOB, WIRE_SERVER_PLUGIN);
	c.hint = (enum wire_era)wire_get_enum(
	    &f->body, WIRE_ERA_UNKNOWN, WIRE_ERA_LEGACY);
	probe = wire_get_u64(&f->body);
	if (!wire_get_end(&f->body) || find_server(w, c.id) != NULL
	    || probe > INT64_MAX)
		return false;
	c.probe = SPAN_US(probe);
	for (int i = 0; i < 3; i++)
		c.fds[i] = fd_steal(&f->fds[i]);
	e = mem_zalloc(sizeof(*e));
	e->kind = c.kind;
	e->server = server_new(w, &c);
	LIST_INSERT_HEAD(&w->servers, e, entry);
	return true;
}

/* One that is gone already is the race of two processes, not a fault. */
static bool
on_server_stop(struct worker *w, struct chan_frame *f)
{
	struct server_entry *e = find_server(w, wire_get_u32(&f->body));

	if (!wire_get_end(&f->body))
		return false;
	if (e != NULL)
		client_stop(server_client(e->server));
	return true;
}

static bool
on_server_gone(struct worker *w, struct chan_frame *f)
{
	struct server_entry *e = find_server(w, wire_get_u32(&f->body));

	if (!wire_get_end(&f->body))
		return false;
	if (e == NULL)
		return true;
	server_drain(e->server);
	LIST_REMOVE(e, entry);
	server_free(e->server);
	free(e);
	return true;
}

/* An end for what no server was asked. */
static void
refuse(struct worker *w, uint64_t attempt, enum wire_end how, bool cancelled,
    const char *why)
{
	struct client_end e = { .attempt = attempt, .how = how,
		.after_cancel = cancelled, .retry_after = -1, .message = why };

	if (cancelled)
		report_cancel_sent(w->chan, attempt, false);
	report_call_end(w->chan, &e);
}

static bool
on_call(struct worker *w, struct chan_frame *f)
{
	uint64_t attempt = wire_get_u64(&f->body);
	struct server_entry *e = find_server(w, wire_get_u32(&f->body));
	char function[NAME_SIZE], key[KEY_MAX], trace[TRACEPARENT_MAX];
	struct client_call call = { .attempt = attempt, .function = function,
		.key = key, .traceparent = trace, .arguments = f->payload,
		.arguments_len = f->payload_len };

	wire_get_str(&f->body, function, sizeof(function));
	wire_get_str(&f->body, key, sizeof(key));
	call.progress = wire_get_bool(&f->body);
	wire_get_str(&f->body, trace, sizeof(trace));
	if (!wire_get_end(&f->body))
		return false;
	if (cancels_take(&w->cancels, attempt)) {
		refuse(w, attempt, WIRE_END_CANCELED, true,
		    "cancelled before the request was written");
		return true;
	}
	if (e == NULL) {
		refuse(w, attempt, WIRE_END_SERVER, false,
		    "the server is gone");
		return true;
	}
	return client_call(server_client(e->server), &call);
}

static bool
on_call_cancel(struct worker *w, struct chan_frame *f)
{
	uint64_t attempt = wire_get_u64(&f->body);
	char reason[REASON_MAX];
	struct server_entry *e;
	bool stop;

	wire_get_str(&f->body, reason, sizeof(reason));
	stop = wire_get_bool(&f->body);
	if (!wire_get_end(&f->body))
		return false;
	LIST_FOREACH(e, &w->servers, entry)
		if (client_cancel(
			server_client(e->server), attempt, reason, stop))
			return true;
	cancels_add(&w->cancels, attempt);
	return true;
}

static const struct {
	enum wire_type type;
	bool early; /* before WORKER_INIT; all others only after it */
	bool (*fn)(struct worker *, struct chan_frame *);
} frames[] = {
	{ WIRE_WORKER_INIT, true, on_init },
	{ WIRE_WORKER_PING, false, on_ping },
	{ WIRE_SERVER_START, false, on_server_start },
	{ WIRE_SERVER_STOP, false, on_server_stop },
	{ WIRE_SERVER_GONE, false, on_server_gone },
	{ WIRE_CALL, false, on_call },
	{ WIRE_CALL_CANCEL, false, on_call_cancel },
};

static bool
dispatch(struct worker *w, struct chan_frame *f)
{
	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
		if (frames[i].type == f->type)
			return frames[i].early != w->inited
			    && frames[i].fn(w, f);
	return false;
}

static void
chan_readable(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;
	struct chan_frame *f;
	const char *why = "";
	int r = chan_read(w->chan);

	if (r == -EAGAIN)
		return;
	if (r <= 0) {
		/* the supervisor is gone, perhaps with frames left unread */
		give_up(w, r == -ECONNRESET ? 0 : r);
		return;
	}
	while ((r = chan_next(w->chan, &f, &why)) > 0) {
		if (!dispatch(w, f)) {
			log_error("a frame from the supervisor that cannot "
				  "be: %s", wire_message_find(f->type)->name);
			give_up(w, -EBADMSG);
			return;
		}
	}
	if (r < 0) {
		log_error("a bad frame from the supervisor: %s", why);
		give_up(w, r);
	}
	w->touched = true;
}

static void
chan_writable(evutil_socket_t fd, short what, void *arg)
{
	/* the turn's end writes */
}

/* ---- the end of a turn ---- */

static size_t
held(struct worker *w, struct server_entry **ret_first)
{
	struct server_entry *e;
	uint64_t first = UINT64_MAX;
	size_t sum = 0;

	*ret_first = NULL;
	LIST_FOREACH(e, &w->servers, entry) {
		uint64_t since = server_held_since(e->server);

		sum += server_held(e->server);
		if (since != 0 && since < first) {
			first = since;
			*ret_first = e;
		}
	}
	return sum;
}

/*
 * LIFECYCLE L9.6: when the supervisor does not read, or unfinished lines take
 * more than the budget, servers' output is left in their pipes.  The one whose
 * line is the oldest goes on all the same, so that lines do end.
 */
static void
hold_back(struct worker *w)
{
	struct server_entry *e, *first;
	size_t queued = chan_queued(w->chan), lines = held(w, &first);
	bool channel = queued > (w->held_back ? CHANNEL_LOW : CHANNEL_HIGH);
	bool over = queued + lines > w->budget;

	if (!channel && !over && !w->held_back)
		return;
	w->held_back = channel || over;
	LIST_FOREACH(e, &w->servers, entry)
		server_pause(e->server, channel || (over && e != first));
}

static void
turn_end(struct worker *w)
{
	struct server_entry *e;
	int r;

	if (w->touched)
		LIST_FOREACH(e, &w->servers, entry)
			server_flush(e->server);
	w->touched = false;
	r = chan_flush(w->chan);
	if (r < 0)
		give_up(w, r == -EPIPE || r == -ECONNRESET ? 0 : r);
	hold_back(w);
	if (chan_pending(w->chan))
		event_add(w->writable, NULL);
}

int
worker_run(struct worker *w)
{
	while (!w->done) {
		if (event_base_loop(w->base, EVLOOP_ONCE) < 0)
			give_up(w, -EIO);
		turn_end(w);
	}
	return w->fault;
}

/* ---- the whole ---- */

struct worker *
worker_new(int fd, enum wire_worker_kind kind)
{
	struct worker *w = mem_zalloc(sizeof(*w));

	LIST_INIT(&w->servers);
	cancels_init(&w->cancels);
	w->kind = kind;
	w->chan = chan_new(fd, WIRE_ROLE_WORKER, WIRE_ROLE_SUPERVISOR,
	    WIRE_INLINE_MAX);
	w->base = event_base_new();
	if (w->base != NULL) {
		w->readable = event_new(w->base, fd, EV_READ | EV_PERSIST,
		    chan_readable, w);
		w->writable =
		    event_new(w->base, fd, EV_WRITE, chan_writable, w);
		w->sent_timer = evtimer_new(w->base, sent_due, w);
	}
	if (w->readable == NULL || w->writable == NULL
	    || w->sent_timer == NULL || event_add(w->readable, NULL) < 0) {
		worker_free(w);
		return NULL;
	}
	return w;
}

static void
event_freep(struct event **e)
{
	if (*e != NULL)
		event_free(*e);
	*e = NULL;
}

void
worker_free(struct worker *w)
{
	struct server_entry *e;

	if (w == NULL)
		return;
	while ((e = LIST_FIRST(&w->servers)) != NULL) {
		LIST_REMOVE(e, entry);
		server_free(e->server);
		free(e);
	}
	event_freep(&w->readable);
	event_freep(&w->writable);
	event_freep(&w->sent_timer);
	if (w->base != NULL)
		event_base_free(w->base);
	cancels_free(&w->cancels);
	buf_free(&w->sent);
	chan_free(w->chan);
	free(w);
}
