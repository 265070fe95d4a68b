/*
 * The methods of call/:  A call's arguments stay the bytes that came, and its
 * result the bytes of the server.  call/start is answered when the call has
 * ended; a connection that breaks before cancels nothing.  Runs in oz0d;
 * called by control_rpc.c.
 */
#include "supervisor/control_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "supervisor/call.h"

/* ---- start ---- */

/* A large result is not copied. */
static void
answer_start(struct request *q, const struct call *c)
{
	struct jsonw *w = request_answer(q);
	struct blob *large = call_answer_begin(c, w);

	if (large != NULL)
		request_put_blob(q, large);
	call_answer_end(w);
	request_answered(q);
}

static void
on_call_over(struct supervisor *s, struct waiter *w)
{
	struct request *q = w->arg;

	answer_start(q, q->on.call);
}

/* W3C Trace Context, version 00: 00-<32 hex>-<16 hex>-<2 hex> */
static bool
is_traceparent(const char *s)
{
	static const size_t parts[] = {2, 32, 16, 2};

	for (size_t i = 0; i < 4; i++) {
		if (strspn(s, "0123456789abcdef") != parts[i])
			return false;
		s += parts[i];
		if (i < 3 && *s++ != '-')
			return false;
	}
	return *s == '\0';
}

/* The job must have been started; tenant and run must be its own. */
static bool
named_job(struct supervisor *s, const struct params *p, const char *name,
    const char *tenant, struct job **ret, struct fault *f)
{
	struct job *j = job_find(s, name);
	uint64_t run;

	if (j == NULL)
		return fault_set(f, FAULT_UNKNOWN_JOB,
		    "job %s has not been started on node %s: start it "
		    "first (oz0 job start)",
		    name, s->conf->node);
	run = params_uint(p, "run", j->run);
	if (tenant != NULL && strcmp(tenant, j->tenant) != 0)
		return fault_set(f, FAULT_NOT_ALLOWED,
		    "job %s belongs to the tenant %s", name, j->tenant);
	if (run != j->run)
		return fault_set(f, FAULT_NOT_ALLOWED,
		    "job %s has the run %" PRIu32 ", not %" PRIu64, name,
		    j->run, run);
	*ret = j;
	return true;
}

/* Without a job the call gets one that ends with it. */
static bool
own_job(struct supervisor *s, struct request *q, const struct params *p,
    const char *tenant, struct job **ret, struct fault *f)
{
	char name[4 + 16 + 1] = "cli-";
	struct job_start start = {.job = name,
	    .tenant = tenant,
	    .has_run = params_has(p, "run"),
	    .run = (uint32_t)params_uint(p, "run", 0),
	    .uid = q->conn->peer.uid,
	    .internal = true};

	str_random_hex(name + 4, 8);
	return job_start(s, &start, ret, f);
}

static bool
start(struct supervisor *s, struct request *q, const struct params *p,
    struct call_start *c, struct call **ret, struct fault *f)
{
	CLEANUP_FREE char *job = params_string(p, "job");
	CLEANUP_FREE char *tenant = params_string(p, "tenant");
	struct fault ignored;
	bool ok;

	if (c->traceparent != NULL && !is_traceparent(c->traceparent))
		return fault_set(f, FAULT_PARAMS,
		    "\"traceparent\" must be as W3C Trace Context has it");
	if (job != NULL && !named_job(s, p, job, tenant, &c->job, f))
		return false;
	if (job == NULL && !own_job(s, q, p, tenant, &c->job, f))
		return false;
	ok = call_start(s, c, ret, f);
	if (job == NULL) /* which lets the call end first */
		job_end(s, c->job, !ok, &ignored);
	return ok;
}

void
call_start_request(
    struct supervisor *s, struct request *q, const struct params *p)
{
	CLEANUP_FREE char *activity = params_string(p, "activity");
	CLEANUP_FREE char *function = params_string(p, "function");
	CLEANUP_FREE char *traceparent = params_string(p, "traceparent");
	struct json_value arguments = params_value(p, "arguments");
	struct call_start c = {
	    .session = (uint32_t)params_uint(p, "session", 0),
	    .activity = activity,
	    .function = function,
	    .arguments = arguments.p,
	    .arguments_len = arguments.len,
	    .has_timeout = params_has(p, "timeout"),
	    .want_progress = params_bool(p, "progress", false),
	    .traceparent = traceparent,
	    .peer_uid = q->conn->peer.uid,
	    .peer_admin = q->conn->role == ROLE_ADMIN,
	};
	struct call_prior prior;
	struct call *call;
	struct fault f;

	params_span(p, "timeout", &c.timeout);
	if (params_prior(p, "prior", &prior))
		c.prior = &prior;
	if (arguments.type != JSON_NONE) /* the line is the connection's own */
		json_one_line((char *)(uintptr_t)arguments.p, arguments.len);
	if (!start(s, q, p, &c, &call, &f)) {
		request_fault(q, &f, NULL);
		return;
	}
	q->on.call = call;
	if (call_state_ended(call->state)) {
		answer_start(q, call);
	} else {
		request_wait(q, &call->waiters, on_call_over);
	}
}

/* ---- cancel and status ---- */

static void
answer_call(struct request *q, const struct call *c)
{
	struct jsonw *w = request_answer(q);

	jsonw_object(w, NULL);
	call_write(c, w);
	jsonw_object_end(w);
	request_answered(q);
}

static void
on_call_stopped(struct supervisor *s, struct waiter *w)
{
	struct request *q = w->arg;

	answer_call(q, q->on.call);
}

static void
unknown_call(struct supervisor *s, struct request *q, const char *name)
{
	request_error(q, RPC_FAULT, "unknown_call",
	    "no call %s is known on node %s", name, s->conf->node);
}

static void
on_past_cancel(struct supervisor *s, struct query *u, const char *error)
{
	char state[32] = "";
	struct json_value row;
	struct json_fault jf;
	struct fault f;

	if (error != NULL) {
		request_error(u->q, RPC_FAULT, "internal", "%s", error);
		return;
	}
	if (u->count == 0 ||
	    !json_check(buf_at(&u->rows), buf_len(&u->rows), &row, &jf)) {
		unknown_call(s, u->q, u->name);
		return;
	}
	json_to_string(json_member(row, "state"), state, sizeof(state));
	fault_set(
	    &f, FAULT_ALREADY_ENDED, "call %s has ended: %s", u->name, state);
	request_fault(u->q, &f, state);
}

void
call_cancel_request(
    struct supervisor *s, struct request *q, const struct params *p)
{
	CLEANUP_FREE char *name = params_string(p, "call");
	struct call *c = call_find(s, name);
	struct fault f;

	if (c == NULL) {
		past_ask(s, q, WIRE_QUERY_CALL, name, 0, 1, on_past_cancel);
		return;
	}
	if (!call_cancel(s, c, &f)) {
		request_fault(q, &f, call_state_name(c->state));
		return;
	}
	if (!params_bool(p, "wait", true) || call_state_ended(c->state)) {
		answer_call(q, c);
		return;
	}
	q->on.call = c;
	request_wait(q, &c->waiters, on_call_stopped);
}

static void
on_past_call(struct supervisor *s, struct query *u, const char *error)
{
	if (error != NULL)
		request_error(u->q, RPC_FAULT, "internal", "%s", error);
	else if (u->count == 0)
		unknown_call(s, u->q, u->name);
	else
		request_result_raw(u->q, buf_at(&u->rows), buf_len(&u->rows));
}

void
call_status(struct supervisor *s, struct request *q, const struct params *p)
{
	CLEANUP_FREE char *name = params_string(p, "call");
	struct call *c = call_find(s, name);

	if (c != NULL)
		answer_call(q, c);
	else
		past_ask(s, q, WIRE_QUERY_CALL, name, 0, 1, on_past_call);
}
