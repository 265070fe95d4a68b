/*
 * What a worker is told: servers, calls, cancels (PROTOCOL, supervisor to
 * worker).  Run by the supervisor.  Frames are queued and leave at the end of
 * the turn, once the log has what they follow from.
 */
#include <string.h>

#include "base/log.h"
#include "supervisor/processes.h"

#define PROBE_MAX SPAN_S(10) /* cold starts of 4 s exist */

bool
worker_server_start(struct supervisor *s, struct worker *w,
    struct server *sv, const int fds[3])
{
	struct span start = sv->process->conf->start_timeout;
	struct span probe = span_min(
	    PROBE_MAX, span_is_none(start) ? PROBE_MAX : SPAN_US(start.us / 2));
	struct buf *b = link_begin(w->link, WIRE_SERVER_START);
	enum wire_era hint = sv->process->legacy_hint ? WIRE_ERA_LEGACY
						      : sv->tool->era;

	wire_put_u32(b, sv->id);
	wire_put_str(b, sv->tool->name);
	wire_put_u8(b, sv->session == NULL ? WIRE_SERVER_PLUGIN
					   : WIRE_SERVER_JOB);
	wire_put_u8(b, (uint8_t)hint);
	wire_put_u64(b, (uint64_t)probe.us);
	return link_end(w->link, NULL, 0, fds, 3) == 0;
}

void
worker_server_stop(struct worker *w, struct server *sv)
{
	wire_put_u32(link_begin(w->link, WIRE_SERVER_STOP), sv->id);
	/* it must not pass its own start, which may wait in the queue */
	if (sv->state == SERVER_STARTING)
		link_end(w->link, NULL, 0, NULL, 0);
	else
		link_end_urgent(w->link);
}

void
worker_server_gone(struct worker *w, struct server *sv)
{
	wire_put_u32(link_begin(w->link, WIRE_SERVER_GONE), sv->id);
	link_end(w->link, NULL, 0, NULL, 0);
}

bool
worker_call(struct supervisor *s, struct attempt *a)
{
	struct call *c = a->call;
	struct worker *w = worker_of(s, a->server);
	struct buf *b;
	int r;

	if (w == NULL || !a->server->process->at_worker)
		return false;
	b = link_begin(w->link, WIRE_CALL);
	wire_put_u64(b, a->id);
	wire_put_u32(b, a->server->id);
	wire_put_str(b, c->bare);
	wire_put_str(b, c->key);
	wire_put_u8(b, c->repeatable || c->want_progress);
	wire_put_str(b, c->traceparent);
	r = link_end(w->link, c->arguments, c->arguments_len, NULL, 0);
	if (r < 0)
		log_warning("call c%llu: not sent to worker %s: %s",
		    (unsigned long long)c->number, w->name, strerror(-r));
	else
		worker_attempts_add(&w->attempts, a->id, a->server->id);
	return r == 0;
}

void
worker_gave_up(struct supervisor *s, const struct attempt *a)
{
	const struct call *c = a->call;
	struct attempt_late l = {
		.job = c->job->name,
		.call = c->number,
		.number = a->number,
	};
	struct worker *w = worker_of(s, a->server);

	if (w != NULL)
		worker_attempts_give_up(&w->attempts, a->id, &l);
}

void
worker_cancel(struct supervisor *s, struct attempt *a, const char *reason,
    bool stop_server)
{
	struct worker *w = worker_of(s, a->server);
	struct buf *b;

	if (w == NULL)
		return; /* its servers are being stopped */
	b = link_begin(w->link, WIRE_CALL_CANCEL);
	wire_put_u64(b, a->id);
	wire_put_str(b, reason);
	wire_put_u8(b, stop_server);
	link_end_urgent(w->link);
}
