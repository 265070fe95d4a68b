/*
 * The methods of node/: who is there, what it does, its processes, and the acts
 * that signals have too.  Runs in oz0d; called by control_rpc.c.
 */
#include "supervisor/control_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "config.h"

/* What this version can do that a client may want to know beforehand. */
static const char *const features[] = {
    "jobs", "sessions", "harness", "events", "trace", "progress", "logs"};

void
node_hello(struct supervisor *s, struct request *q, const struct params *p)
{
	struct jsonw *w = request_answer(q);

	jsonw_object(w, NULL);
	jsonw_string(w, "node", s->conf->node);
	jsonw_string(w, "version", PACKAGE_VERSION);
	jsonw_array(w, "features");
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		jsonw_string(w, NULL, features[i]);
	jsonw_array_end(w);
	jsonw_string(w, "role", role_name(q->conn->role));
	jsonw_object_end(w);
	request_answered(q);
}

void
node_status(struct supervisor *s, struct request *q, const struct params *p)
{
	struct jsonw *w = request_answer(q);

	status_write(s, w->out);
	request_answered(q);
}

struct listing_of {
	struct jsonw *w;
	const char *job; /* NULL: all */
	struct wall now;
};

static void
write_process(void *arg, const struct process_info *p)
{
	struct listing_of *l = arg;
	double age = span_seconds(SPAN_US(l->now.us - p->started.us));

	if (l->job != NULL && (p->job == NULL || strcmp(p->job, l->job) != 0))
		return;
	jsonw_object(l->w, NULL);
	jsonw_int(l->w, "pid", p->pid);
	jsonw_string(l->w, "role", p->role);
	jsonw_string(l->w, "name", p->name);
	jsonw_string(l->w, "job", p->job);
	jsonw_wall(l->w, "started", p->started);
	jsonw_double(l->w, "age_s", age > 0 ? age : 0);
	jsonw_object_end(l->w);
}

void
node_ps(struct supervisor *s, struct request *q, const struct params *p)
{
	CLEANUP_FREE char *job = params_string(p, "job");
	struct jsonw *w = request_answer(q);
	struct listing_of l = {w, job, time_wall()};

	jsonw_object(w, NULL);
	jsonw_array(w, "processes");
	process_each(s, write_process, &l);
	jsonw_array_end(w);
	jsonw_object_end(w);
	request_answered(q);
}

void
node_drain_request(
    struct supervisor *s, struct request *q, const struct params *p)
{
	request_done(q);
	node_drain(s);
}

void
node_reload_request(
    struct supervisor *s, struct request *q, const struct params *p)
{
	char error[1024];

	if (node_reload_ok(s, error, sizeof(error)))
		request_done(q);
	else
		request_error(q, RPC_FAULT, "refused",
		    "the configuration was not changed: %s", error);
}
