/*
 * The methods of tool/: what is configured, what its functions are and what the
 * node made of them, what its servers wrote to stderr, and a restart.  Runs in
 * oz0d; called by control_rpc.c.
 */
#include "supervisor/control_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "supervisor/call_table.h"
#include "supervisor/log_ring.h"

/* The tool that is named; answered with an error when there is none. */
struct tool *
tool_named(struct supervisor *s, struct request *q, const struct params *p)
{
	CLEANUP_FREE char *name = params_string(p, "tool");
	struct tool *t = tool_find(s, name);

	if (t == NULL)
		request_error(q, RPC_FAULT, "unknown_tool",
		    "no tool %s is configured on node %s", name, s->conf->node);
	return t;
}

static void
write_tool(const struct tool *t, struct jsonw *w)
{
	jsonw_object(w, NULL);
	jsonw_string(w, "tool", t->name);
	jsonw_string(w, "kind", tool_kind_word(t->conf->kind));
	if (t->plugin != NULL)
		jsonw_string(w, "state", server_state_name(t->plugin->state));
	jsonw_uint(w, "running", t->running);
	jsonw_bool(w, "killed", t->killed);
	if (t->gone)
		jsonw_bool(w, "gone", true);
	jsonw_span(w, "timeout", t->conf->timeout);
	jsonw_span(w, "call_timeout", t->conf->call_timeout);
	jsonw_uint(w, "max_attempts", t->conf->max_attempts);
	if (t->conf->max_running != 0)
		jsonw_uint(w, "max_running", t->conf->max_running);
	jsonw_object_end(w);
}

void
tool_list(struct supervisor *s, struct request *q, const struct params *p)
{
	struct jsonw *w = request_answer(q);
	struct tool *t;

	jsonw_object(w, NULL);
	jsonw_array(w, "tools");
	TAILQ_FOREACH(t, &s->tools, entry)
	if (t->conf != NULL)
		write_tool(t, w);
	jsonw_array_end(w);
	jsonw_object_end(w);
	request_answered(q);
}

/* ---- functions ---- */

static void
write_hint(struct jsonw *w, const char *name, enum wire_hint h)
{
	if (h != WIRE_HINT_ABSENT)
		jsonw_bool(w, name, h == WIRE_HINT_TRUE);
}

static void
write_function(const struct tool *t, const struct function *f, struct jsonw *w)
{
	const char *why = NULL;
	bool repeatable = call_repeatable(f, &why);

	jsonw_object(w, NULL);
	jsonw_string(w, "tool", t->name);
	jsonw_stringf(w, "function", "%s.%s", t->name, f->name);
	jsonw_bool(w, "callable", f->refused == NULL);
	jsonw_string(w, "refused", f->refused);
	jsonw_bool(w, "repeatable", repeatable);
	jsonw_string(w, "why", why);
	write_hint(w, "read_only", f->read_only);
	write_hint(w, "destructive", f->destructive);
	write_hint(w, "idempotent", f->idempotent);
	write_hint(w, "open_world", f->open_world);
	jsonw_bool(w, "honours_key", f->honours_key);
	/* as the server lists it: name, description, schemas, annotations */
	jsonw_raw(w, "listed", f->json, f->json_len);
	jsonw_object_end(w);
}

static void
write_functions(const struct tool *t, struct jsonw *w)
{
	struct function *f;

	if (t->listing == NULL)
		return;
	for (f = function_first(t->listing); f != NULL;
	     f = function_after(t->listing, f))
		write_function(t, f, w);
}

/* Tools whose server was never started have not been listed. */
static void
write_not_listed(struct supervisor *s, const struct tool *only, struct jsonw *w)
{
	struct tool *t;

	jsonw_array(w, "not_listed");
	TAILQ_FOREACH(t, &s->tools, entry)
	if ((only == NULL ? !t->gone : t == only) && t->listing == NULL)
		jsonw_string(w, NULL, t->name);
	jsonw_array_end(w);
}

void
tool_functions(struct supervisor *s, struct request *q, const struct params *p)
{
	struct tool *only = NULL, *t;
	struct jsonw *w;

	if (params_has(p, "tool")) {
		only = tool_named(s, q, p);
		if (only == NULL)
			return;
	}
	w = request_answer(q);
	jsonw_object(w, NULL);
	jsonw_array(w, "functions");
	TAILQ_FOREACH(t, &s->tools, entry)
	if (only == NULL || t == only)
		write_functions(t, w);
	jsonw_array_end(w);
	write_not_listed(s, only, w);
	jsonw_object_end(w);
	request_answered(q);
}

/* ---- logs ---- */

struct log_answer {
	struct jsonw *w;
	struct buf text; /* the same for people */
};

static void
write_line(void *arg, const struct log_line *l)
{
	struct log_answer *a = arg;

	jsonw_object(a->w, NULL);
	jsonw_uint(a->w, "n", l->n);
	jsonw_wall(a->w, "time", l->time);
	jsonw_string(a->w, "from", l->from);
	jsonw_string(a->w, "line", l->text);
	jsonw_object_end(a->w);
	buf_printf(&a->text, "%s: %s\n", l->from, l->text);
}

static void
skip_line(void *arg, const struct log_line *l)
{
}

static void
answer_logs(struct request *q, const struct tool *t, uint64_t since)
{
	struct jsonw *w = request_answer(q);
	struct log_answer a = {.w = w};
	uint64_t next;

	jsonw_object(w, NULL);
	jsonw_string(w, "tool", t->name);
	jsonw_array(w, "lines");
	next = log_ring_each(t->log, since, write_line, &a);
	jsonw_array_end(w);
	jsonw_uint(w, "next", next);
	jsonw_string_n(w, "text", buf_at(&a.text), buf_len(&a.text));
	buf_free(&a.text);
	jsonw_object_end(w);
	request_answered(q);
}

static void
on_lines(struct supervisor *s, struct waiter *w)
{
	struct request *q = w->arg;

	answer_logs(q, q->on.tool, q->since);
}

/* since: the first line wanted; wait: answered once there is one. */
void
tool_logs(struct supervisor *s, struct request *q, const struct params *p)
{
	uint64_t since = params_uint(p, "since", 1);
	struct tool *t = tool_named(s, q, p);

	if (t == NULL)
		return;
	if (!params_bool(p, "wait", false) ||
	    log_ring_each(t->log, since, skip_line, NULL) > since) {
		answer_logs(q, t, since);
		return;
	}
	q->on.tool = t;
	q->since = since;
	request_wait(q, log_ring_waiters(t->log), on_lines);
}

void
tool_restart(struct supervisor *s, struct request *q, const struct params *p)
{
	struct tool *t = tool_named(s, q, p);

	if (t == NULL)
		return;
	if (t->conf->kind != CONF_PLUGIN) {
		request_error(q, RPC_FAULT, "not_allowed",
		    "%s is of kind job: its servers belong to sessions; only "
		    "a plugin's server can be restarted",
		    t->name);
		return;
	}
	server_restart(s, server_get(s, t, NULL), "a restart was asked for");
	request_done(q);
}
