/*
 * The entries of `mcpServers`: the map that users paste from any server's
 * README, with what is oz0's own under `oz0` (INTERFACES, Configuration).
 * Unknown keys of an entry are a warning, those under its `oz0` an error.
 * Runs in oz0d when the configuration is read.
 */
#include "supervisor/conf_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

#define LONGEST SPAN_S(3650LL * 86400)

static const char *const entry_keys[] = {
    "command", "args", "env", "cwd", "oz0", NULL};

static const char *const oz0_keys[] = {"kind", "timeout", "start_timeout",
    "call_timeout", "stop_timeout", "approval_timeout", "max_attempts",
    "backoff_base",
    "backoff_cap", "max_running", "eager", "restart_when_stuck", "stdio",
    "sandbox", "trace_payload", NULL};

/* Keys that INTERFACES has and this version does not use: an error too. */
static const struct {
	const char *key;
	const char *words;
} later_keys[] = {
    {"ca", "remote servers are not supported by this version"},
    {"cert", "remote servers are not supported by this version"},
    {"oauth", "remote servers are not supported by this version"},
    {"allow_plain", "remote servers are not supported by this version"},
    {"allow_private", "remote servers are not supported by this version"},
};

static void
tool_defaults(struct conf_tool *t)
{
	t->timeout = SPAN_S(60);
	t->start_timeout = SPAN_S(30);
	t->call_timeout = SPAN_NONE;
	t->stop_timeout = SPAN_S(2);
	t->approval_timeout = SPAN_S(3600);
	t->backoff_base = SPAN_MS(500);
	t->backoff_cap = SPAN_S(30);
	t->max_attempts = 3;
	conf_sandbox_defaults(&t->sandbox);
}

/* Is there another entry of that name? */
static bool
name_taken(struct conf_at at, const char *name)
{
	return json_object_get(at.object, name) != NULL;
}

/* L2.7: a name that is no tool name is an error that proposes one. */
static bool
check_name(struct conf_reader *r, struct conf_at at, const char *name)
{
	char good[65];
	size_t n = 0;

	if (str_is_tool_name(name))
		return true;
	for (const char *p = name; *p != '\0' && n < 60; p++) {
		unsigned char c = (unsigned char)*p;
		bool fits = c < 0x80 && (isalnum(c) || c == '_' || c == '-');

		if (fits)
			good[n++] = (char)c;
		else if (n > 0 && good[n - 1] != '-')
			good[n++] = '-';
	}
	while (n > 0 && good[n - 1] == '-')
		n--;
	good[n] = '\0';
	if (n == 0)
		strcpy(good, "tool");
	n = strlen(good);
	for (unsigned i = 2; name_taken(at, good) && i < 1000; i++)
		snprintf(good + n, sizeof(good) - n, "-%u", i);
	return conf_fail(r, at, name,
	    "is no tool name (1 to 64 characters of A-Z a-z 0-9 _ -): "
	    "call it `%s'",
	    good);
}

static bool
read_args(struct conf_reader *r, struct conf_at at, struct conf_tool *t)
{
	size_t n;

	if (!conf_get_strings(r, at, "args", true, &t->args_written))
		return false;
	n = conf_strings_len(t->args_written);
	t->args = mem_array(n + 1, sizeof(*t->args));
	for (size_t i = 0; i < n; i++) {
		char why[512];
		bool any;

		if (!conf_secret_expand(t->args_written[i], &t->args[i], &any,
			why, sizeof(why)))
			return conf_fail(r, at, "args", "[%zu]: %s", i, why);
	}
	return true;
}

static bool
read_variable(struct conf_reader *r, struct conf_at at, const char *name,
    json_t *value, struct conf_pair *p)
{
	char why[512];

	if (name[0] == '\0' || strchr(name, '=') != NULL)
		return conf_fail(
		    r, at, name, "is no name of an environment variable");
	if (!json_is_string(value))
		return conf_fail(r, at, name, "must be a string");
	p->name = mem_strdup(name);
	p->written = mem_strdup(json_string_value(value));
	if (!conf_secret_expand(
		p->written, &p->value, &p->secret, why, sizeof(why)))
		return conf_fail(r, at, name, "%s", why);
	return true;
}

static bool
read_env(struct conf_reader *r, struct conf_at entry, struct conf_tool *t)
{
	CLEANUP_FREE char *path = NULL;
	struct conf_at at;
	const char *name;
	json_t *value;

	if (!conf_get_object(r, entry, "env", &at))
		return false;
	path = (char *)at.path;
	t->env = mem_array(json_object_size(at.object) + 1, sizeof(*t->env));
	json_object_foreach(
	    at.object, name, value) if (!read_variable(r, at, name, value,
					    &t->env[t->nenv++])) return false;
	return true;
}

static bool
read_kind(struct conf_reader *r, struct conf_at at, struct conf_tool *t)
{
	bool plugin = false;
	const char *word =
	    json_string_value(json_object_get(at.object, "kind"));

	if (word != NULL && strcmp(word, "remote") == 0)
		return conf_fail(r, at, "kind",
		    "remote is for a `url', and remote servers are not "
		    "supported by this version");
	if (!conf_get_choice(r, at, "kind", "job", "plugin", &plugin))
		return false;
	t->kind = plugin ? CONF_PLUGIN : CONF_JOB;
	t->sandbox.network_host = plugin; /* SESSION: network */
	return true;
}

static bool
read_times(struct conf_reader *r, struct conf_at at, struct conf_tool *t)
{
	const struct span ms = SPAN_MS(1), hour = SPAN_S(3600);

	if (!conf_get_span(r, at, "timeout", ms, LONGEST, &t->timeout) ||
	    !conf_get_span(
		r, at, "start_timeout", ms, hour, &t->start_timeout) ||
	    !conf_get_span(
		r, at, "call_timeout", ms, LONGEST, &t->call_timeout) ||
	    !conf_get_span(
		r, at, "stop_timeout", SPAN_MS(10), hour, &t->stop_timeout) ||
	    !conf_get_span(
		r, at, "approval_timeout", ms, LONGEST, &t->approval_timeout) ||
	    !conf_get_span(r, at, "backoff_base", ms, hour, &t->backoff_base) ||
	    !conf_get_span(
		r, at, "backoff_cap", ms, SPAN_S(86400), &t->backoff_cap))
		return false;
	if (t->backoff_cap.us < t->backoff_base.us)
		return conf_fail(
		    r, at, "backoff_cap", "must not be below backoff_base");
	return true;
}

static bool
read_oz0(struct conf_reader *r, struct conf_at at, struct conf_tool *t)
{
	CLEANUP_FREE char *path = NULL;
	struct conf_at sandbox;

	for (size_t i = 0; i < sizeof(later_keys) / sizeof(later_keys[0]); i++)
		if (json_object_get(at.object, later_keys[i].key) != NULL)
			return conf_fail(r, at, later_keys[i].key, "%s",
			    later_keys[i].words);
	if (!conf_check_keys(r, at, oz0_keys) || !read_kind(r, at, t) ||
	    !read_times(r, at, t) ||
	    !conf_get_count(r, at, "max_attempts", 1, 1000, &t->max_attempts) ||
	    !conf_get_count(r, at, "max_running", 1, 100000, &t->max_running) ||
	    !conf_get_bool(r, at, "eager", &t->eager) ||
	    !conf_get_bool(
		r, at, "restart_when_stuck", &t->restart_when_stuck) ||
	    !conf_get_choice(
		r, at, "stdio", "socket", "pipe", &t->stdio_pipe) ||
	    !conf_get_bool(r, at, "trace_payload", &t->trace_payload) ||
	    !conf_get_object(r, at, "sandbox", &sandbox))
		return false;
	path = (char *)sandbox.path;
	return conf_read_sandbox(r, sandbox, &t->sandbox);
}

static void
warn_of_keys(struct conf_reader *r, struct conf_at at)
{
	const char *key;
	json_t *value;

	json_object_foreach(at.object, key, value)
	{
		size_t i = 0;

		while (entry_keys[i] != NULL && strcmp(entry_keys[i], key) != 0)
			i++;
		if (entry_keys[i] == NULL)
			conf_warn(r, at, key, "unknown key, ignored");
	}
}

static bool
read_entry(struct conf_reader *r, struct conf_at at, struct conf_tool *t)
{
	CLEANUP_FREE char *path = NULL;
	struct conf_at oz0;

	tool_defaults(t);
	if (json_object_get(at.object, "url") != NULL)
		return conf_fail(r, at, "url",
		    "remote servers are not supported by this version");
	if (!conf_get_string(r, at, "command", &t->command))
		return false;
	if (t->command == NULL)
		return conf_fail(r, at, NULL, "must have a `command'");
	if (!read_args(r, at, t) || !read_env(r, at, t) ||
	    !conf_get_path(r, at, "cwd", &t->cwd) ||
	    !conf_get_object(r, at, "oz0", &oz0))
		return false;
	path = (char *)oz0.path;
	warn_of_keys(r, at);
	return read_oz0(r, oz0, t);
}

bool
conf_read_tools(struct conf_reader *r, struct conf_at at)
{
	struct conf *c = r->conf;
	const char *name;
	json_t *value;

	c->tools =
	    mem_array(json_object_size(at.object) + 1, sizeof(*c->tools));
	json_object_foreach(at.object, name, value)
	{
		struct conf_tool *t;
		struct conf_at entry;
		bool ok;

		if (!check_name(r, at, name) ||
		    !conf_get_object(r, at, name, &entry))
			return false;
		t = mem_zalloc(sizeof(*t));
		t->refs = 1;
		t->name = mem_strdup(name);
		c->tools[c->ntools++] = t;
		ok = read_entry(r, entry, t);
		free((char *)entry.path);
		if (!ok)
			return false;
	}
	return true;
}
