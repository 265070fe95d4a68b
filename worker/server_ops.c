/*
 * What the MCP client of a stdio server wants done, in oz0-worker: lines to
 * its stdin, frames to the supervisor.
 */
#include "worker/server_state.h"

#include <event2/event.h>

#include "worker/report.h"
#include "worker/worker.h"

static void
op_send(void *arg, struct buf *text, int64_t tag, bool urgent)
{
	struct server *s = arg;

	writer_put(&s->writer, text, tag, urgent);
	worker_touch(s->worker);
}

static bool
op_unsend(void *arg, int64_t tag)
{
	struct server *s = arg;

	return writer_drop(&s->writer, tag);
}

static size_t
op_unsent(void *arg)
{
	struct server *s = arg;

	return s->writer.queued;
}

static void
op_push(void *arg)
{
	server_flush(arg);
}

void
server_end_input(struct server *s)
{
	if (s->on_in != NULL && s->in_armed)
		event_del(s->on_in);
	s->in_armed = false;
	writer_end(&s->writer);
}

static void
op_end_input(void *arg)
{
	server_end_input(arg);
}

static void
op_ready(
    void *arg, const char *era, const char *name, const char *version)
{
	struct server *s = arg;

	report_ready(worker_chan(s->worker), s->id, era, name, version);
}

static void
op_function(void *arg, const struct client_function *f)
{
	struct server *s = arg;

	report_function(worker_chan(s->worker), s->id, f);
}

static void
op_listed(void *arg, uint32_t generation, uint32_t count, const char *problem)
{
	struct server *s = arg;

	report_listed(
	    worker_chan(s->worker), s->id, generation, count, problem);
}

static void
op_failed(void *arg, enum wire_server_fault why, const char *text)
{
	struct server *s = arg;

	report_failed(worker_chan(s->worker), s->id, why, text);
}

void
server_tell_noise(struct server *s, struct mono now, bool all)
{
	enum wire_noise what;
	const char *sample;
	uint64_t count;

	while (noise_take(&s->noise, now, all, &what, &count, &sample))
		report_noise(
		    worker_chan(s->worker), s->id, what, count, sample);
}

static void
op_noise(void *arg, enum wire_noise what, const char *sample)
{
	struct server *s = arg;
	struct mono now = worker_now(s->worker);

	if (noise_add(&s->noise, what, sample, now))
		server_tell_noise(s, now, false);
}

static void
op_call_sent(void *arg, uint64_t attempt)
{
	struct server *s = arg;

	worker_call_sent(s->worker, attempt);
}

static void
op_call_progress(void *arg, uint64_t attempt, double progress, bool has_total,
    double total)
{
	struct server *s = arg;

	report_call_progress(
	    worker_chan(s->worker), attempt, progress, has_total, total);
}

static void
op_call_end(void *arg, const struct client_end *e)
{
	struct server *s = arg;
	struct chan *c = worker_chan(s->worker);

	worker_call_ended(s->worker, e->attempt);
	/* a large result is on its way already */
	chan_give(c, lines_take_copy(&s->lines, e->payload), e->payload.len);
	report_call_end(c, e);
}

static void
op_cancel_sent(void *arg, uint64_t attempt, bool written)
{
	struct server *s = arg;

	report_cancel_sent(worker_chan(s->worker), attempt, written);
}

const struct client_ops server_client_ops = {
	.send = op_send,
	.unsend = op_unsend,
	.unsent = op_unsent,
	.push = op_push,
	.end_input = op_end_input,
	.ready = op_ready,
	.function = op_function,
	.listed = op_listed,
	.failed = op_failed,
	.noise = op_noise,
	.call_sent = op_call_sent,
	.call_progress = op_call_progress,
	.call_end = op_call_end,
	.cancel_sent = op_cancel_sent,
};

static void
on_begun(void *arg, int64_t tag)
{
	struct server *s = arg;

	client_begun(s->client, tag);
}

static void
on_written(void *arg, int64_t tag, struct buf *text)
{
	struct server *s = arg;

	client_written(s->client, tag, text);
}

const struct writer_ops server_writer_ops = { on_begun, on_written };
