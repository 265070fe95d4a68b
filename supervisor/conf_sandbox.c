/*
 * The keys under a tool's `oz0.sandbox` (SESSION, What is in a sandbox).
 * Runs in oz0d when the configuration is read.
 */
#include "supervisor/conf_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

static const char *const sandbox_keys[] = {"read", "write", "root", "network",
    "user", "memory", "pids", "cpu", "nofile", "tmp", "strict", NULL};

void
conf_sandbox_defaults(struct conf_sandbox *s)
{
	s->nofile = 1024;
	s->tmp = (uint64_t)256 << 20;
}

void
conf_sandbox_clear(struct conf_sandbox *s)
{
	conf_strings_free(s->read);
	conf_strings_free(s->write);
	free(s->root);
	free(s->user);
}

static bool
same_string(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool
conf_sandbox_same(const struct conf_sandbox *a, const struct conf_sandbox *b)
{
	return conf_strings_same(a->read, b->read) &&
	       conf_strings_same(a->write, b->write) &&
	       same_string(a->root, b->root) && same_string(a->user, b->user) &&
	       a->uid == b->uid && a->gid == b->gid &&
	       a->network_host == b->network_host && a->strict == b->strict &&
	       a->memory == b->memory && a->pids == b->pids &&
	       a->nofile == b->nofile && a->tmp == b->tmp && a->cpu == b->cpu;
}

/* Paths that are bound at the same place inside. */
static bool
read_binds(
    struct conf_reader *r, struct conf_at at, const char *key, char ***ret)
{
	if (!conf_get_strings(r, at, key, false, ret))
		return false;
	for (size_t i = 0; *ret != NULL && (*ret)[i] != NULL; i++)
		if ((*ret)[i][0] != '/' || strstr((*ret)[i], "/../") != NULL)
			return conf_fail(r, at, key,
			    "[%zu]: must be an absolute path without `..'", i);
	return true;
}

static bool
read_network(struct conf_reader *r, struct conf_at at, bool *ret_host)
{
	if (json_is_array(json_object_get(at.object, "network")))
		return conf_fail(r, at, "network",
		    "a list of what may be reached is not supported by this "
		    "version: use \"none\" or \"host\"");
	/* the default is the caller's, by kind */
	return conf_get_choice(r, at, "network", "none", "host", ret_host);
}

static bool
read_user(struct conf_reader *r, struct conf_at at, struct conf_sandbox *s)
{
	if (!conf_get_string(r, at, "user", &s->user))
		return false;
	if (s->user == NULL)
		return true;
	if (!conf_user_find(s->user, &s->uid, &s->gid))
		return conf_fail(
		    r, at, "user", "there is no user `%s'", s->user);
	if (s->uid == 0)
		return conf_fail(r, at, "user",
		    "a sandbox never runs as uid 0: name another user");
	if (geteuid() != 0 && s->uid != geteuid())
		return conf_fail(r, at, "user",
		    "only a node that root started can run as `%s'", s->user);
	return true;
}

/* Limits that need a cgroup are best effort; a demand cannot be met. */
static bool
check_strict(
    struct conf_reader *r, struct conf_at at, const struct conf_sandbox *s)
{
	const char *key = s->memory != 0 ? "memory"
			  : s->pids != 0 ? "pids"
			  : s->cpu != 0	 ? "cpu"
					 : NULL;

	if (!s->strict || key == NULL)
		return true;
	return conf_fail(r, at, key,
	    "\"strict\" demands this limit, and this version cannot give "
	    "it (no cgroups yet): leave out \"strict\", or the limit");
}

bool
conf_read_sandbox(
    struct conf_reader *r, struct conf_at at, struct conf_sandbox *s)
{
	return conf_check_keys(r, at, sandbox_keys) &&
	       read_binds(r, at, "read", &s->read) &&
	       read_binds(r, at, "write", &s->write) &&
	       conf_get_path(r, at, "root", &s->root) &&
	       read_network(r, at, &s->network_host) && read_user(r, at, s) &&
	       conf_get_size(
		   r, at, "memory", 1 << 20, (uint64_t)1 << 50, &s->memory) &&
	       conf_get_size(r, at, "tmp", 4096, (uint64_t)1 << 50, &s->tmp) &&
	       conf_get_size(r, at, "pids", 1, 4194304, &s->pids) &&
	       conf_get_size(r, at, "nofile", 16, 1048576, &s->nofile) &&
	       conf_get_double(r, at, "cpu", 0.01, 65536, &s->cpu) &&
	       conf_get_bool(r, at, "strict", &s->strict) &&
	       check_strict(r, at, s);
}
