/*
 * The configuration with its defaults, as JSON that oz0d reads back to the
 * same configuration (`oz0d -n`).  Secrets stand there as their references.
 * Runs in oz0d.
 */
#include "supervisor/conf_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "supervisor/policy.h"

static void
put_string(json_t *o, const char *key, const char *s)
{
	if (s != NULL)
		json_object_set_new(o, key, json_string(s));
}

static void
put_span(json_t *o, const char *key, struct span d)
{
	char text[40];

	if (span_is_none(d))
		return;
	span_format(d, text, sizeof(text));
	put_string(o, key, text);
}

static void
put_size(json_t *o, const char *key, uint64_t n)
{
	static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
	unsigned unit = 0;
	char *text;

	while (n != 0 && n % 1024 == 0 && unit < 4) {
		n /= 1024;
		unit++;
	}
	if (unit == 0) {
		json_object_set_new(o, key, json_integer((json_int_t)n));
		return;
	}
	text = mem_printf("%llu%s", (unsigned long long)n, units[unit]);
	put_string(o, key, text);
	free(text);
}

static void
put_count(json_t *o, const char *key, uint64_t n)
{
	json_object_set_new(o, key, json_integer((json_int_t)n));
}

static void
put_bool(json_t *o, const char *key, bool b)
{
	json_object_set_new(o, key, json_boolean(b));
}

static void
put_strings(json_t *o, const char *key, char *const *v)
{
	json_t *list = json_array();

	for (size_t i = 0; v != NULL && v[i] != NULL; i++)
		json_array_append_new(list, json_string(v[i]));
	json_object_set_new(o, key, list);
}

/* Without words of its own a list has its default: uids. */
static void
put_who(json_t *o, const char *key, const struct conf_who *w)
{
	json_t *list;

	if (w->words != NULL) {
		put_strings(o, key, w->words);
		return;
	}
	list = json_array();
	for (size_t i = 0; i < w->nuids; i++) {
		char *text = mem_printf("%lu", (unsigned long)w->uids[i]);

		json_array_append_new(list, json_string(text));
		free(text);
	}
	json_object_set_new(o, key, list);
}

static const char *
level_word(enum log_level level)
{
	static const char *const words[] = {
	    "error", "warning", "notice", "info", "debug"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		enum log_level l;

		if (log_level_parse(words[i], &l) && l == level)
			return words[i];
	}
	return NULL;
}

static json_t *
node_json(const struct conf *c)
{
	char *range = mem_printf(
	    "%lu-%lu", (unsigned long)c->uid_first, (unsigned long)c->uid_last);
	json_t *o = json_object();

	put_string(o, "name", c->node);
	put_count(o, "slots", c->slots);
	put_count(o, "queue", c->queue);
	put_string(o, "state_dir", c->state_dir);
	put_string(o, "socket", c->socket);
	put_who(o, "admins", &c->admins);
	put_who(o, "schedulers", &c->schedulers);
	put_who(o, "observers", &c->observers);
	put_span(o, "drain_timeout", c->drain_timeout);
	put_size(o, "max_message", c->max_message);
	put_size(o, "message_budget", c->message_budget);
	put_string(o, "durability", c->power ? "power" : "process");
	put_span(o, "keep_jobs", c->keep_jobs);
	put_size(o, "result_limit", c->result_limit);
	put_size(o, "kept_results", c->kept_results);
	put_string(o, "isolation", c->best ? "best" : "required");
	put_string(o, "uid_range", range);
	put_bool(o, "follow_parent", c->follow_parent);
	put_string(o, "log_level", level_word(c->log_level));
	free(range);
	return o;
}

static json_t *
sandbox_json(const struct conf_sandbox *s)
{
	json_t *o = json_object();

	put_strings(o, "read", s->read);
	put_strings(o, "write", s->write);
	put_string(o, "root", s->root);
	put_string(o, "network", s->network_host ? "host" : "none");
	put_string(o, "user", s->user);
	if (s->memory != 0)
		put_size(o, "memory", s->memory);
	if (s->pids != 0)
		put_count(o, "pids", s->pids);
	if (s->cpu != 0)
		json_object_set_new(o, "cpu", json_real(s->cpu));
	put_count(o, "nofile", s->nofile);
	put_size(o, "tmp", s->tmp);
	put_bool(o, "strict", s->strict);
	return o;
}

static json_t *
oz0_json(const struct conf_tool *t)
{
	json_t *o = json_object();

	put_string(o, "kind", t->kind == CONF_PLUGIN ? "plugin" : "job");
	put_span(o, "timeout", t->timeout);
	put_span(o, "start_timeout", t->start_timeout);
	put_span(o, "call_timeout", t->call_timeout);
	put_span(o, "stop_timeout", t->stop_timeout);
	put_span(o, "approval_timeout", t->approval_timeout);
	put_count(o, "max_attempts", t->max_attempts);
	put_span(o, "backoff_base", t->backoff_base);
	put_span(o, "backoff_cap", t->backoff_cap);
	if (t->max_running != 0)
		put_count(o, "max_running", t->max_running);
	put_bool(o, "eager", t->eager);
	put_bool(o, "restart_when_stuck", t->restart_when_stuck);
	put_string(o, "stdio", t->stdio_pipe ? "pipe" : "socket");
	put_bool(o, "trace_payload", t->trace_payload);
	json_object_set_new(o, "sandbox", sandbox_json(&t->sandbox));
	return o;
}

static json_t *
tool_json(const struct conf_tool *t)
{
	json_t *o = json_object(), *env = json_object();

	put_string(o, "command", t->command);
	put_strings(o, "args", t->args_written);
	for (size_t i = 0; i < t->nenv; i++)
		put_string(env, t->env[i].name, t->env[i].written);
	json_object_set_new(o, "env", env);
	put_string(o, "cwd", t->cwd);
	json_object_set_new(o, "oz0", oz0_json(t));
	return o;
}

static json_t *
rule_json(const struct policy_rule *r)
{
	json_t *o = json_object(), *annotations = json_object();

	for (int a = 0; a < POLICY_ANNOTATIONS; a++)
		if (r->want[a] != POLICY_ANY)
			put_bool(annotations,
			    policy_annotation_name((enum policy_annotation)a),
			    r->want[a] == POLICY_TRUE);
	if (r->tenant != NULL)
		put_string(o, "tenant", r->tenant);
	if (r->tool != NULL)
		put_string(o, "tool", r->tool);
	if (r->function != NULL)
		put_string(o, "function", r->function);
	if (json_object_size(annotations) != 0)
		json_object_set(o, "annotations", annotations);
	json_decref(annotations);
	put_string(o, "decision", policy_decision_name(r->decision));
	return o;
}

static json_t *
policy_json(const struct policy *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->nrules; i++)
		json_array_append_new(list, rule_json(&p->rules[i]));
	return list;
}

void
conf_print(const struct conf *c, struct buf *out)
{
	json_t *root = json_object(), *tools = json_object();
	char *text;

	json_object_set_new(root, "node", node_json(c));
	for (size_t i = 0; i < c->ntools; i++)
		json_object_set_new(
		    tools, c->tools[i]->name, tool_json(c->tools[i]));
	json_object_set_new(root, "mcpServers", tools);
	if (!c->policy->absent)
		json_object_set_new(root, "policy", policy_json(c->policy));
	text = json_dumps(root,
	    JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
	if (text != NULL)
		buf_puts(out, text);
	buf_putc(out, '\n');
	free(text);
	json_decref(root);
}
