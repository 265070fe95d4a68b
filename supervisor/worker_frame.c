/*
 * What a worker says, frame by frame.  Run by the supervisor, which takes
 * nothing of it on trust: an attempt or a server must be that worker's own by
 * the supervisor's records, a payload must be proven to be one JSON value in
 * one line before it is handed to the core.  A handler that returns false ends
 * the worker (L9.4).
 */
#include <stdlib.h>
#include <string.h>

#include "base/blob.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "supervisor/listing.h"
#include "supervisor/processes.h"

#define NAME_MAX_BYTES 1024
#define WORDS_MAX 4096

static bool
is_one_json_line(const char *p, size_t n)
{
	struct json_value v;
	struct json_fault f;

	return memchr(p, '\n', n) == NULL && memchr(p, '\r', n) == NULL
	    && json_check_within(JSON_LINE_DEPTH, p, n, &v, &f);
}

/* The server that the frame names, if it is this worker's and it has it. */
static struct server *
own_server(struct supervisor *s, struct worker *w, struct chan_frame *f)
{
	struct server_list *mine = w->session == NULL
	    ? &s->processes->servers
	    : &w->session->processes->servers;
	struct server *sv = server_find(mine, wire_get_u32(&f->body));

	return sv == NULL || !sv->process->at_worker ? NULL : sv;
}

/*
 * The attempt that the frame names, by what this worker was told and owes an
 * end.  *ret is NULL when the core has given it up (its time for stopping was
 * over) or its end was told: then it is nobody's.  false: another worker's,
 * or never was one.
 */
static bool
own_attempt(struct supervisor *s, struct worker *w, struct chan_frame *f,
    struct attempt **ret)
{
	uint64_t id = wire_get_u64(&f->body);
	struct attempt *a = attempt_find(s, id);

	if (id == 0 || id > s->last_attempt)
		return false;
	if (!worker_attempts_has(&w->attempts, id)) {
		*ret = NULL;
		return a == NULL;
	}
	*ret = a;
	return true;
}

static bool
on_ready(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct worker *w = arg;
	uint32_t version = wire_get_u32(&f->body);

	wire_get_u32(&f->body);
	if (!wire_get_end(&f->body) || version != WIRE_VERSION)
		return false;
	if (w->state == WORKER_STARTING)
		w->state = WORKER_RUNNING;
	link_set_phase(w->link, WORKER_PHASE_RUNNING);
	return true;
}

static bool
on_pong(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct worker *w = arg;
	uint64_t n = wire_get_u64(&f->body);

	return wire_get_end(&f->body) && pings_answer(&w->pings, n);
}

static bool
on_log(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct worker *w = arg;
	CLEANUP_FREE char *line = NULL;
	uint8_t level;

	level = wire_get_enum(&f->body, LOG_LEVEL_ERROR, LOG_LEVEL_DEBUG);
	line = wire_get_new_str(&f->body, WORDS_MAX);
	if (!wire_get_end(&f->body))
		return false;
	log_at((enum log_level)level, "worker %s: %s", w->name, line);
	return true;
}

static bool
on_server_ready(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct server *sv = own_server(s, arg, f);
	CLEANUP_FREE char *name = NULL, *version = NULL;
	char era[sizeof(sv->era)];

	wire_get_str(&f->body, era, sizeof(era));
	name = wire_get_new_str(&f->body, NAME_MAX_BYTES);
	version = wire_get_new_str(&f->body, NAME_MAX_BYTES);
	if (!wire_get_end(&f->body) || sv == NULL || era[0] == '\0')
		return false;
	server_said_ready(s, sv, era, name, version);
	return true;
}

static bool
on_function(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct server *sv = own_server(s, arg, f);
	uint32_t generation = wire_get_u32(&f->body);
	CLEANUP_FREE char *name = NULL, *refused = NULL, *json = NULL;
	struct function fn = { 0 };
	enum wire_hint *hints[4] = { &fn.read_only, &fn.destructive,
		&fn.idempotent, &fn.open_world };

	name = wire_get_new_str(&f->body, NAME_MAX_BYTES);
	for (size_t i = 0; i < 4; i++)
		*hints[i] = wire_get_enum(
		    &f->body, WIRE_HINT_ABSENT, WIRE_HINT_TRUE);
	fn.honours_key = wire_get_bool(&f->body);
	fn.resume = wire_get_bool(&f->body);
	refused = wire_get_new_str(&f->body, WORDS_MAX);
	if (!wire_get_end(&f->body) || sv == NULL || name[0] == '\0'
	    || !is_one_json_line(f->payload, f->payload_len))
		return false;
	if (sv->process->coming == NULL
	    || listing_generation(sv->process->coming) != generation) {
		listing_unref(sv->process->coming);
		sv->process->coming = listing_new(generation);
	}
	json = mem_strndup(f->payload, f->payload_len);
	fn.name = name;
	fn.refused = refused[0] == '\0' ? NULL : refused;
	fn.json = json;
	fn.json_len = f->payload_len;
	if (!listing_add(sv->process->coming, &fn))
		return false;
	(void)STEAL_PTR(name);
	(void)STEAL_PTR(json);
	if (fn.refused != NULL)
		(void)STEAL_PTR(refused);
	return true;
}

static bool
on_listed(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct server *sv = own_server(s, arg, f);
	uint32_t generation = wire_get_u32(&f->body);
	uint32_t count = wire_get_u32(&f->body);
	CLEANUP_FREE char *problem = NULL;

	problem = wire_get_new_str(&f->body, WORDS_MAX);
	if (!wire_get_end(&f->body) || sv == NULL)
		return false;
	return server_said_listed(s, sv, generation, count, problem);
}

static bool
on_server_failed(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct server *sv = own_server(s, arg, f);
	CLEANUP_FREE char *words = NULL;
	uint8_t why;

	why = wire_get_enum(&f->body, WIRE_FAULT_EOF, WIRE_FAULT_INPUT);
	words = wire_get_new_str(&f->body, WORDS_MAX);
	if (!wire_get_end(&f->body) || sv == NULL)
		return false;
	server_said_failed(s, sv, (enum wire_server_fault)why, words);
	return true;
}

static bool
on_stderr(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct server *sv = own_server(s, arg, f);

	if (!wire_get_end(&f->body) || sv == NULL)
		return false;
	server_said_stderr(s, sv, f->payload, f->payload_len);
	return true;
}

static bool
on_drained(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct server *sv = own_server(s, arg, f);

	if (!wire_get_end(&f->body) || sv == NULL || sv->process->box != NULL)
		return false; /* something of it still runs */
	worker_attempts_drop(&((struct worker *)arg)->attempts, sv->id);
	server_said_drained(s, sv);
	return true;
}

static bool
on_noise(struct supervisor *s, void *arg, struct chan_frame *f)
{
	static const char *const words[] = {
		[WIRE_NOISE_NOT_JSON] = "lines that are no JSON",
		[WIRE_NOISE_UTF8] = "lines with invalid UTF-8",
		[WIRE_NOISE_NOT_RPC] = "lines that are no JSON-RPC message",
		[WIRE_NOISE_UNKNOWN_ID] = "answers to ids that were never ours",
		[WIRE_NOISE_TWICE] = "answers given twice",
		[WIRE_NOISE_TOO_LONG] = "lines that are too long",
		[WIRE_NOISE_REQUEST] = "requests its version does not have",
		[WIRE_NOISE_PROGRESS] = "progress that does not count",
		[WIRE_NOISE_LATE] = "late answers",
	};
	struct server *sv = own_server(s, arg, f);
	uint8_t what = wire_get_enum(
	    &f->body, WIRE_NOISE_NOT_JSON, WIRE_NOISE_LATE);
	uint64_t count = wire_get_u64(&f->body);
	CLEANUP_FREE char *sample = NULL, *title = NULL;

	sample = wire_get_new_str(&f->body, WORDS_MAX);
	if (!wire_get_end(&f->body) || sv == NULL)
		return false;
	title = server_title(sv);
	/* the sample is the server's own text: for debugging alone (L8.2) */
	log_info("server %s: %s: %llu", title, words[what],
	    (unsigned long long)count);
	if (sv->tool->conf->trace_payload)
		log_debug("server %s: %s: %s", title, words[what], sample);
	return true;
}

static bool
on_call_sent(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct attempt *a;

	if (!own_attempt(s, arg, f, &a) || !wire_get_end(&f->body))
		return false;
	if (a != NULL)
		attempt_sent(s, a);
	return true;
}

static bool
on_progress(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct attempt *a;
	bool ours = own_attempt(s, arg, f, &a);
	double progress = wire_get_f64(&f->body);
	bool has_total = wire_get_bool(&f->body);
	double total = wire_get_f64(&f->body);

	if (!ours || !wire_get_end(&f->body))
		return false;
	if (a != NULL)
		attempt_progress(s, a, progress, has_total, total);
	return true;
}

static bool
has_payload(enum wire_end how)
{
	return how == WIRE_END_RESULT || how == WIRE_END_RPC_ERROR;
}

static bool
on_call_end(struct supervisor *s, void *arg, struct chan_frame *f)
{
	char message[WORDS_MAX + 1];
	struct worker *w = arg;
	struct attempt_end e = { 0 };
	uint64_t id = wire_get_u64(&f->body);
	struct attempt *a = attempt_find(s, id);
	CLEANUP(worker_late_free) struct worker_late *late = NULL;
	bool ours = worker_attempts_end(&w->attempts, id, &late); /* once */

	e.how = wire_get_enum(&f->body, WIRE_END_RESULT, WIRE_END_CANCELED);
	e.sent = wire_get_bool(&f->body);
	e.after_cancel = wire_get_bool(&f->body);
	e.is_error = wire_get_bool(&f->body);
	e.busy = wire_get_enum(&f->body, WIRE_BUSY_NO, WIRE_BUSY_BAD_FLAG);
	e.retry_after = wire_get_f64(&f->body);
	e.code = wire_get_i64(&f->body);
	wire_get_u32(&f->body); /* dropped progress: the worker logs it */
	wire_get_str(&f->body, message, sizeof(message));
	if (!ours || !wire_get_end(&f->body)
	    || !(e.retry_after <= 1e12)) /* also NaN */
		return false;
	if (has_payload(e.how)
	    && !is_one_json_line(f->payload, f->payload_len))
		return false;
	if (a == NULL) {
		if (late != NULL)
			attempt_answered_late(s, &late->attempt, &e);
		return true;
	}
	e.message = message;
	e.payload = has_payload(e.how) ? f->payload : NULL;
	e.payload_len = has_payload(e.how) ? f->payload_len : 0;
	/* a large one is kept where it is */
	if (e.payload != NULL && f->map != NULL)
		e.blob = blob_of_map(STEAL_PTR(f->map), f->payload_len);
	attempt_ended(s, a, &e);
	blob_unref(e.blob);
	return true;
}

static bool
on_cancel_sent(struct supervisor *s, void *arg, struct chan_frame *f)
{
	struct attempt *a;
	bool ours = own_attempt(s, arg, f, &a);
	bool written = wire_get_bool(&f->body);

	if (!ours || !wire_get_end(&f->body))
		return false;
	if (a != NULL)
		attempt_cancel_sent(s, a, written);
	return true;
}

#define START WORKER_PHASE_STARTING
#define RUN WORKER_PHASE_RUNNING
static const struct link_handler handlers[] = {
	{ WIRE_WORKER_READY, START, on_ready },
	{ WIRE_WORKER_PONG, START | RUN, on_pong },
	{ WIRE_WORKER_LOG, START | RUN, on_log },
	{ WIRE_SERVER_READY, RUN, on_server_ready },
	{ WIRE_SERVER_FUNCTION, RUN, on_function },
	{ WIRE_SERVER_LISTED, RUN, on_listed },
	{ WIRE_SERVER_FAILED, RUN, on_server_failed },
	{ WIRE_SERVER_STDERR, RUN, on_stderr },
	{ WIRE_SERVER_DRAINED, RUN, on_drained },
	{ WIRE_SERVER_NOISE, RUN, on_noise },
	{ WIRE_CALL_SENT, RUN, on_call_sent },
	{ WIRE_CALL_PROGRESS, RUN, on_progress },
	{ WIRE_CALL_END, RUN, on_call_end },
	{ WIRE_CALL_CANCEL_SENT, RUN, on_cancel_sent },
};

const struct link_kind worker_link_kind = {
	.peer = WIRE_ROLE_WORKER,
	.handlers = handlers,
	.nhandlers = sizeof(handlers) / sizeof(handlers[0]),
	.closed = worker_closed,
};
