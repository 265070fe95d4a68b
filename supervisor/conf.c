/*
 * The configuration as a whole: finding the file, parsing it with jansson,
 * handing its parts to their readers, and the life of what was read.  Runs in
 * oz0d, at start, with -n, and at SIGHUP, where a bad file changes nothing.
 */
#include "supervisor/conf_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/mem.h"
#include "supervisor/policy.h"

#define CONF_FILE_MAX ((size_t)16 << 20)

static const char *const top_keys[] = {
    "node", "mcpServers", "policy", NULL};

static void
warn_of_keys(struct conf_reader *r, struct conf_at top)
{
	const char *key;
	json_t *value;

	json_object_foreach(top.object, key, value)
	{
		size_t i = 0;

		while (top_keys[i] != NULL && strcmp(key, top_keys[i]) != 0)
			i++;
		if (top_keys[i] == NULL)
			conf_warn(r, top, key, "unknown key, ignored");
	}
}

static bool
read_part(struct conf_reader *r, struct conf_at top, const char *key,
    bool (*read)(struct conf_reader *, struct conf_at))
{
	CLEANUP_FREE char *path = NULL;
	struct conf_at at;

	if (!conf_get_object(r, top, key, &at))
		return false;
	path = (char *)at.path;
	if (at.path == NULL)
		at.path = key;
	return read(r, at);
}

static bool
read_top(struct conf_reader *r, json_t *root)
{
	struct conf_at top = {root, ""};

	if (!json_is_object(root))
		return conf_fail(r, top, NULL, "must be a JSON object");
	warn_of_keys(r, top);
	return read_part(r, top, "node", conf_read_node) &&
	       read_part(r, top, "mcpServers", conf_read_tools) &&
	       conf_read_policy(r, top, &r->conf->policy);
}

int
conf_parse(const char *path, const char *text, size_t len, struct conf **ret,
    struct conf_error *ret_error)
{
	struct conf *c = mem_zalloc(sizeof(*c));
	struct conf_reader r = {.conf = c, .error = ret_error};
	json_error_t error;
	json_t *root;
	bool ok;

	c->path = mem_strdup(path);
	root = json_loadb(
	    text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (root == NULL)
		snprintf(ret_error->text, sizeof(ret_error->text),
		    "line %d, column %d: %s", error.line, error.column,
		    error.text);
	ok = root != NULL && read_top(&r, root);
	json_decref(root);
	if (!ok) {
		conf_free(c);
		return -EINVAL;
	}
	*ret = c;
	return 0;
}

int
conf_load(const char *path, struct conf **ret, struct conf_error *ret_error)
{
	CLEANUP_FREE char *place = NULL, *text = NULL;
	struct conf_error why;
	size_t len;
	int r;

	place = path != NULL ? mem_strdup(path) : conf_default_path();
	if (place == NULL) {
		snprintf(ret_error->text, sizeof(ret_error->text),
		    "there is no HOME to look for oz0.json in: name the file "
		    "with -c");
		return -ENOENT;
	}
	r = fd_read_file(AT_FDCWD, place, CONF_FILE_MAX, &text, &len);
	if (r < 0) {
		snprintf(ret_error->text, sizeof(ret_error->text), "%s: %s%s",
		    place, r == -EFBIG ? "larger than 16 MiB" : strerror(-r),
		    path == NULL && r == -ENOENT
			? ": write one (oz0.json(5)), or name another with -c"
			: "");
		return r;
	}
	r = conf_parse(place, text, len, ret, &why);
	if (r < 0)
		snprintf(ret_error->text, sizeof(ret_error->text),
		    "%.300s: %.700s", place, why.text);
	return r;
}

void
conf_free(struct conf *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < c->ntools; i++)
		conf_tool_unref(c->tools[i]);
	free(c->tools);
	policy_free(c->policy);
	conf_who_clear(&c->admins);
	conf_who_clear(&c->schedulers);
	conf_who_clear(&c->observers);
	conf_strings_free(c->warnings);
	free(c->state_dir);
	free(c->socket);
	free(c->node);
	free(c->path);
	free(c);
}

struct conf_tool *
conf_tool_ref(struct conf_tool *t)
{
	t->refs++;
	return t;
}

/* A secret leaves the memory with its last user. */
static void
forget(char *s)
{
	if (s != NULL)
		explicit_bzero(s, strlen(s));
	free(s);
}

void
conf_tool_unref(struct conf_tool *t)
{
	if (t == NULL || --t->refs > 0)
		return;
	for (size_t i = 0; i < t->nenv; i++) {
		free(t->env[i].name);
		free(t->env[i].written);
		forget(t->env[i].value);
	}
	free(t->env);
	for (size_t i = 0; t->args != NULL && t->args[i] != NULL; i++)
		forget(t->args[i]);
	free(t->args);
	conf_strings_free(t->args_written);
	conf_sandbox_clear(&t->sandbox);
	free(t->cwd);
	free(t->command);
	free(t->name);
	free(t);
}

struct conf_tool *
conf_tool_find(const struct conf *c, const char *name)
{
	for (size_t i = 0; i < c->ntools; i++)
		if (strcmp(c->tools[i]->name, name) == 0)
			return c->tools[i];
	return NULL;
}

static bool
same_env(const struct conf_tool *a, const struct conf_tool *b)
{
	if (a->nenv != b->nenv)
		return false;
	for (size_t i = 0; i < a->nenv; i++)
		if (strcmp(a->env[i].name, b->env[i].name) != 0 ||
		    strcmp(a->env[i].value, b->env[i].value) != 0)
			return false;
	return true;
}

/* Is a server that was started with a as good as one started with b? */
bool
conf_tool_same_start(const struct conf_tool *a, const struct conf_tool *b)
{
	const char *cwd_a = a->cwd != NULL ? a->cwd : "";
	const char *cwd_b = b->cwd != NULL ? b->cwd : "";

	return strcmp(a->name, b->name) == 0 && a->kind == b->kind &&
	       strcmp(a->command, b->command) == 0 &&
	       conf_strings_same(a->args, b->args) && same_env(a, b) &&
	       strcmp(cwd_a, cwd_b) == 0 &&
	       a->stdio_pipe == b->stdio_pipe &&
	       conf_sandbox_same(&a->sandbox, &b->sandbox);
}

static bool
same_times(const struct conf_tool *a, const struct conf_tool *b)
{
	return a->timeout.us == b->timeout.us &&
	       a->start_timeout.us == b->start_timeout.us &&
	       a->call_timeout.us == b->call_timeout.us &&
	       a->stop_timeout.us == b->stop_timeout.us &&
	       a->approval_timeout.us == b->approval_timeout.us &&
	       a->backoff_base.us == b->backoff_base.us &&
	       a->backoff_cap.us == b->backoff_cap.us;
}

bool
conf_tool_same(const struct conf_tool *a, const struct conf_tool *b)
{
	return conf_tool_same_start(a, b) && same_times(a, b) &&
	       a->max_attempts == b->max_attempts &&
	       a->max_running == b->max_running && a->eager == b->eager &&
	       a->restart_when_stuck == b->restart_when_stuck &&
	       a->trace_payload == b->trace_payload;
}
