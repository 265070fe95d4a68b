/*
 * A stdio server in oz0-worker: descriptors and events in, frames out.  Both
 * directions are non-blocking and polled (B038), stderr is read from the first
 * byte on (B036), and nothing is closed before all of it was read (B041).
 */
#include "worker/server_state.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "worker/report.h"
#include "worker/worker.h"

#define READS_A_TURN 4
#define STDERR_CHUNK ((size_t)16 * 1024)
#define STDERR_CHUNKS 4
#define DRAIN_MAX ((size_t)64 * 1024 * 1024)
#define SPARE_FOR SPAN_S(1)
#define LONG_MAX_LINES 16 /* times the limit, and a line has no end */

static void server_arm(struct server *s);

/* ---- stdin ---- */

void
server_flush(struct server *s)
{
	bool want;

	if (writer_flush(&s->writer) < 0) {
		client_input_broken(s->client, worker_now(s->worker));
		server_end_input(s);
		server_arm(s);
	}
	want = s->writer.fd >= 0 && writer_pending(&s->writer);
	if (want && !s->in_armed)
		event_add(s->on_in, NULL);
	else if (!want && s->in_armed)
		event_del(s->on_in);
	s->in_armed = want;
}

static void
stdin_ready(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;

	s->in_armed = false; /* it was for once */
	server_flush(s);
}

/* ---- stdout ---- */

static void
note_held(struct server *s)
{
	if (lines_held(&s->lines) == 0)
		s->held_since = 0;
	else if (s->held_since == 0)
		s->held_since = worker_ticket(s->worker);
}

static void
take_lines(struct server *s)
{
	struct mono now = worker_now(s->worker);
	size_t len;
	int64_t id;
	char *line;

	for (;;) {
		switch (lines_next(&s->lines, &line, &len, &id)) {
		case LINES_LINE:
			client_line(s->client, line, len,
			    lines_notes(&s->lines), now);
			continue;
		case LINES_LONG_ID:
			client_long_id(s->client, id);
			continue;
		case LINES_LONG_END:
			client_long_end(s->client, len);
			continue;
		case LINES_NONE:
			break;
		}
		break;
	}
	if (s->lines.skipping
	    && s->lines.skipped / LONG_MAX_LINES > s->max_message)
		client_endless(s->client);
	if (lines_spare(&s->lines))
		s->spare_until = mono_add(now, SPARE_FOR);
	note_held(s);
}

/* One read: bytes, 0 at the end, or -errno. */
static ssize_t
read_out(struct server *s)
{
	size_t room;
	char *at = lines_room(&s->lines, &room);
	ssize_t n;

	do
		n = read(s->out, at, room);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	lines_added(&s->lines, (size_t)n);
	if (n > 0)
		take_lines(s);
	return n;
}

static void
end_out(struct server *s)
{
	struct mono now = worker_now(s->worker);
	size_t len = 0;
	char *rest;

	if (s->out < 0)
		return;
	event_del(s->on_out);
	fd_close(&s->out);
	rest = lines_rest(&s->lines, &len);
	client_eof(s->client, rest, len, now);
	lines_free(&s->lines);
	lines_init(&s->lines, s->max_message);
	note_held(s);
}

static void
stdout_ready(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;

	for (int i = 0; i < READS_A_TURN; i++) {
		ssize_t n = read_out(s);

		if (n == -EAGAIN)
			break;
		if (n <= 0) {
			end_out(s);
			break;
		}
		if ((size_t)n < 4096)
			break; /* most likely all there was: no read for 0 */
	}
	server_arm(s);
	worker_touch(s->worker);
}

/* ---- stderr ---- */

static ssize_t
read_err(struct server *s)
{
	char chunk[STDERR_CHUNK];
	struct buf pass = { 0 };
	ssize_t n;

	do
		n = read(s->err, chunk, sizeof(chunk));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	tap_pass(&s->tap, chunk, (size_t)n, worker_now(s->worker), &pass);
	report_stderr(worker_chan(s->worker), s->id, buf_at(&pass),
	    buf_len(&pass));
	buf_free(&pass);
	return n;
}

static void
end_err(struct server *s)
{
	struct buf rest = { 0 };

	if (s->err < 0)
		return;
	event_del(s->on_err);
	fd_close(&s->err);
	tap_flush(&s->tap, &rest);
	report_stderr(worker_chan(s->worker), s->id, buf_at(&rest),
	    buf_len(&rest));
	buf_free(&rest);
}

static void
stderr_ready(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;

	for (int i = 0; i < STDERR_CHUNKS; i++) {
		ssize_t n = read_err(s);

		if (n == -EAGAIN)
			break;
		if (n <= 0) {
			end_err(s);
			break;
		}
		if ((size_t)n < STDERR_CHUNK)
			break;
	}
	worker_touch(s->worker);
}

/* ---- time ---- */

static void
server_arm(struct server *s)
{
	struct mono due = client_deadline(s->client);
	struct mono noise = noise_due(&s->noise);
	struct timeval tv;
	int64_t us;

	if (mono_before(noise, due))
		due = noise;
	if (mono_before(s->spare_until, due))
		due = s->spare_until;
	if (due.us == MONO_NEVER.us) {
		if (event_pending(s->timer, EV_TIMEOUT, NULL))
			event_del(s->timer);
		return;
	}
	us = mono_since(due, time_mono()).us;
	if (us < 0)
		us = 0;
	us += 1000; /* not a moment too early */
	tv.tv_sec = us / 1000000;
	tv.tv_usec = us % 1000000;
	event_add(s->timer, &tv);
}

static void
timer_ready(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;
	struct mono now = time_mono();

	client_expire(s->client, now);
	server_tell_noise(s, now, false);
	if (!mono_before(now, s->spare_until)) {
		s->spare_until = MONO_NEVER;
		lines_shrink(&s->lines);
	}
	server_arm(s);
	worker_touch(s->worker);
}

/* ---- the whole ---- */

static struct event *
event_for(struct server *s, int fd, short what, event_callback_fn fn)
{
	struct event *e = event_new(worker_base(s->worker), fd, what, fn, s);

	if (e == NULL)
		abort();
	return e;
}

struct server *
server_new(struct worker *w, const struct server_config *c)
{
	struct client_config cc = { .tool = c->tool, .hint = c->hint,
		.probe = c->probe, .max_message = c->max_message };
	struct server *s = mem_zalloc(sizeof(*s));

	s->worker = w;
	s->id = c->id;
	s->max_message = c->max_message;
	s->spare_until = MONO_NEVER;
	s->out = c->fds[1];
	s->err = c->fds[2];
	for (int i = 0; i < 3; i++)
		fd_nonblock(c->fds[i]);
	writer_init(&s->writer, c->fds[0], &server_writer_ops, s);
	lines_init(&s->lines, c->max_message);
	tap_init(&s->tap, worker_now(w));
	s->client = client_new(&cc, &server_client_ops, s);
	s->on_in = event_for(s, c->fds[0], EV_WRITE, stdin_ready);
	s->on_out = event_for(s, s->out, EV_READ | EV_PERSIST, stdout_ready);
	s->on_err = event_for(s, s->err, EV_READ | EV_PERSIST, stderr_ready);
	s->timer = event_for(s, -1, 0, timer_ready);
	event_add(s->on_out, NULL);
	event_add(s->on_err, NULL);
	client_start(s->client, worker_now(w));
	server_arm(s);
	return s;
}

static void
event_freep(struct event **e)
{
	if (*e != NULL)
		event_free(*e);
	*e = NULL;
}

void
server_free(struct server *s)
{
	if (s == NULL)
		return;
	event_freep(&s->on_in);
	event_freep(&s->on_out);
	event_freep(&s->on_err);
	event_freep(&s->timer);
	s->in_armed = false;
	writer_end(&s->writer);
	fd_close(&s->out);
	fd_close(&s->err);
	client_free(s->client);
	lines_free(&s->lines);
	tap_free(&s->tap);
	free(s);
}

uint32_t
server_id(const struct server *s)
{
	return s->id;
}

struct client *
server_client(struct server *s)
{
	return s->client;
}

/*
 * The tree is dead: what its pipes hold is all there will ever be.  That they
 * are empty is as good as their end, since somebody outside of the tree may
 * have been handed the other end.
 */
void
server_drain(struct server *s)
{
	size_t total = 0;
	ssize_t n;

	client_gone(s->client);
	server_end_input(s);
	while (s->out >= 0 && total < DRAIN_MAX && (n = read_out(s)) > 0)
		total += (size_t)n;
	end_out(s);
	total = 0;
	while (s->err >= 0 && total < DRAIN_MAX && (n = read_err(s)) > 0)
		total += (size_t)n;
	end_err(s);
	server_tell_noise(s, worker_now(s->worker), true);
	report_drained(worker_chan(s->worker), s->id);
}

size_t
server_held(const struct server *s)
{
	return lines_held(&s->lines);
}

uint64_t
server_held_since(const struct server *s)
{
	return s->held_since;
}

void
server_pause(struct server *s, bool pause)
{
	if (s->paused == pause || s->out < 0)
		return;
	s->paused = pause;
	if (pause)
		event_del(s->on_out);
	else
		event_add(s->on_out, NULL);
}
