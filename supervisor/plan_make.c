/*
 * From a configuration to a plan of a sandbox (SESSION, What is in a
 * sandbox).  Run by the supervisor for servers (server_start.c) and harnesses
 * (harness.c); decides nothing but what stands in the table there.
 */
#include "supervisor/plan_make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "sandbox/plan.h"
#include "sandbox/strv.h"

#define PATH_INSIDE \
	"/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

/* Limits that only a cgroup can keep; without one a demand is refused. */
static bool
check_limits(const struct conf_sandbox *c, char *ret_why, size_t size)
{
	const char *what = c->memory != 0 ? "memory"
	    : c->pids != 0		  ? "pids"
	    : c->cpu > 0		  ? "cpu"
					  : NULL;

	if (!c->strict || what == NULL)
		return true;
	snprintf(ret_why, size,
	    "sandbox.%s cannot be kept on this node and sandbox.strict makes it"
	    " a demand: leave out strict, or the limit",
	    what);
	return false;
}

static void
add_env(struct plan *p, const struct plan_input *in)
{
	const char *home = in->folder == NULL ? "/tmp" : in->folder_at;

	plan_add_env(p, "PATH", PATH_INSIDE);
	plan_add_env(p, "HOME", home);
	plan_add_env(p, "LANG", "C.UTF-8");
	plan_add_env(p, "TZ", "UTC");
	plan_add_env(p, "TMPDIR", "/tmp");
	for (size_t i = 0; i < in->nenv; i++)
		plan_add_env(p, in->env[i].name, in->env[i].value);
	for (char *const *e = in->more_env; e != NULL && *e != NULL; e++) {
		CLEANUP_FREE char *name = mem_strdup(*e);
		char *eq = strchr(name, '=');

		if (eq == NULL)
			continue;
		*eq = '\0';
		plan_add_env(p, name, eq + 1);
	}
}

static void
add_argv(struct plan *p, const struct plan_input *in)
{
	size_t n = strv_len(in->args);
	CLEANUP_FREE const char **argv = mem_array(n + 2, sizeof(*argv));

	argv[0] = in->command;
	for (size_t i = 0; i < n; i++)
		argv[i + 1] = in->args[i];
	plan_set_argv(p, argv);
}

static void
add_binds(struct plan *p, char *const *paths, enum plan_mount_kind kind)
{
	for (; paths != NULL && *paths != NULL; paths++)
		plan_add_mount(p, kind, *paths, *paths, 0, false);
}

static bool
add_mounts(struct plan *p, const struct plan_input *in, char *why, size_t size)
{
	const struct conf_sandbox *c = in->sandbox;
	int r;

	if (c == NULL || c->root == NULL) {
		plan_add_base(p);
	} else if ((r = plan_add_root(p, c->root)) < 0) {
		snprintf(why, size, "sandbox.root %s: %s", c->root,
		    strerror(-r));
		return false;
	}
	if (in->folder != NULL) {
		plan_add_mount(
		    p, PLAN_BIND_RW, in->folder, in->folder_at, 0, false);
		plan_pin_mount(p, in->folder_device, in->folder_inode);
	}
	if (c != NULL) {
		add_binds(p, c->read, PLAN_BIND_RO);
		add_binds(p, c->write, PLAN_BIND_RW);
	}
	plan_add_command(p);
	return true;
}

static void
set_cwd(struct plan *p, const struct plan_input *in)
{
	const char *cwd = in->cwd != NULL ? in->cwd
	    : in->folder != NULL	  ? in->folder_at
					  : "/";

	free(p->cwd);
	p->cwd = mem_strdup(cwd);
}

struct plan *
plan_make(const struct plan_input *in, char *ret_why, size_t size)
{
	const struct conf_sandbox *c = in->sandbox;
	const char *why;
	struct plan *p;

	if (c != NULL && !check_limits(c, ret_why, size))
		return NULL;
	p = plan_new();
	free(p->name);
	p->name = mem_strdup(in->name);
	p->uid = in->uid;
	p->gid = in->gid;
	p->best = in->best;
	p->tty = in->tty;
	if (c != NULL) {
		p->network = c->network_host ? PLAN_NET_HOST : PLAN_NET_NONE;
		if (c->tmp != 0)
			p->tmp_size = c->tmp;
		if (c->nofile != 0)
			p->nofile = c->nofile;
	}
	add_argv(p, in);
	add_env(p, in);
	set_cwd(p, in);
	if (!add_mounts(p, in, ret_why, size)) {
		plan_free(p);
		return NULL;
	}
	if (plan_check(p, &why) < 0) {
		snprintf(ret_why, size, "no plan for %s: %s", in->name, why);
		plan_free(p);
		return NULL;
	}
	return p;
}
