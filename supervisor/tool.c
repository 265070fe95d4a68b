/*
 * Tools: one for each entry of the configuration, over reloads.  A reload is a
 * transaction: the new file is read and proven, every name in it looked up,
 * and only then anything changes (INTERFACES, SIGHUP).  Run by the supervisor.
 */
#include "supervisor/tool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "supervisor/control.h"
#include "supervisor/listing.h"
#include "supervisor/log_ring.h"
#include "supervisor/policy_gate.h"
#include "supervisor/processes.h"
#include "supervisor/uidpool.h"

struct tool *
tool_find(struct supervisor *s, const char *name)
{
	struct tool *t;

	TAILQ_FOREACH(t, &s->tools, entry)
		if (strcmp(t->name, name) == 0)
			return t->gone ? NULL : t;
	return NULL;
}

static struct tool *
find_any(struct supervisor *s, const char *name)
{
	struct tool *t;

	TAILQ_FOREACH(t, &s->tools, entry)
		if (strcmp(t->name, name) == 0)
			return t;
	return NULL;
}

static struct tool *
make(struct supervisor *s, const char *name)
{
	struct tool *t = mem_zalloc(sizeof(*t));

	t->name = mem_strdup(name);
	t->log = log_ring_new(LOG_RING_BYTES);
	TAILQ_INSERT_TAIL(&s->tools, t, entry);
	return t;
}

struct tool *
tool_recorded(struct supervisor *s, const char *name)
{
	struct tool *t = find_any(s, name);

	if (t == NULL) {
		t = make(s, name);
		t->gone = true;
	}
	return t;
}

/* "user" of the configuration: a name or a number, never uid or gid 0. */
static int
look_up(const struct conf_tool *c, uid_t *ret_uid, gid_t *ret_gid,
    char *ret_error, size_t size)
{
	const char *name = c->sandbox.user;
	struct passwd *pw;
	char *end;
	unsigned long n;

	if (name == NULL)
		return 0;
	n = strtoul(name, &end, 10);
	pw = *name >= '0' && *name <= '9' && *end == '\0' && n < UINT32_MAX
	    ? getpwuid((uid_t)n)
	    : getpwnam(name);
	if (pw == NULL) {
		snprintf(ret_error, size,
		    "mcpServers.%s.oz0.sandbox.user: no user %s", c->name,
		    name);
		return -EINVAL;
	}
	if (pw->pw_uid == 0 || pw->pw_gid == 0) {
		snprintf(ret_error, size,
		    "mcpServers.%s.oz0.sandbox.user: %s has uid or gid 0,"
		    " which no server may have",
		    c->name, name);
		return -EINVAL;
	}
	*ret_uid = pw->pw_uid;
	*ret_gid = pw->pw_gid;
	return 0;
}

struct found {
	uid_t uid;
	gid_t gid;
};

static void
mark_stale(struct supervisor *s, struct tool *t)
{
	if (t->plugin == NULL || server_is_dead(t->plugin))
		return;
	t->plugin->process->stale = true;
	s->processes->stale = true;
}

static void
configure_one(
    struct supervisor *s, struct conf_tool *c, const struct found *f)
{
	struct tool *t = find_any(s, c->name);

	if (t == NULL)
		t = make(s, c->name);
	t->gone = false;
	t->user = f->uid;
	t->user_group = f->gid;
	if (t->conf != NULL && !conf_tool_same_start(t->conf, c)) {
		t->era = WIRE_ERA_UNKNOWN;
		mark_stale(s, t);
	}
	conf_tool_unref(t->conf);
	t->conf = conf_tool_ref(c);
	/* times and counts hold at once, without a new start */
	if (t->plugin != NULL && !t->plugin->process->stale)
		server_take_conf(t->plugin);
}

static void
drop_missing(struct supervisor *s, const struct conf *conf)
{
	struct tool *t;

	TAILQ_FOREACH(t, &s->tools, entry) {
		if (t->gone || conf_tool_find(conf, t->name) != NULL)
			continue;
		t->gone = true;
		mark_stale(s, t);
	}
}

int
tools_configure(struct supervisor *s, struct conf *conf, char *ret_error,
    size_t size)
{
	CLEANUP_FREE struct found *found = mem_array(
	    conf->ntools + 1, sizeof(*found));
	struct conf *old = s->conf;

	for (size_t i = 0; i < conf->ntools; i++)
		if (look_up(conf->tools[i], &found[i].uid, &found[i].gid,
			ret_error, size) < 0)
			return -EINVAL;
	/* from here on nothing can fail */
	for (size_t i = 0; i < conf->ntools; i++)
		configure_one(s, conf->tools[i], &found[i]);
	drop_missing(s, conf);
	s->conf = conf;
	if (old != NULL)
		conf_free(old);
	return 0;
}

void
tools_start_eager(struct supervisor *s)
{
	struct tool *t;

	TAILQ_FOREACH(t, &s->tools, entry)
		if (!t->gone && !t->killed && t->conf->kind == CONF_PLUGIN
		    && t->conf->eager)
			server_want(s, server_get(s, t, NULL));
}

void
tools_restart_stale(struct supervisor *s)
{
	struct tool *t;
	bool left = false;

	if (!s->processes->stale)
		return;
	TAILQ_FOREACH(t, &s->tools, entry) {
		struct server *sv = t->plugin;

		if (sv == NULL || !sv->process->stale || server_is_dead(sv))
			continue;
		if (sv->running > 0) {
			left = true;
			continue;
		}
		sv->process->stale = false;
		if (t->gone)
			server_stop(s, sv, t->conf->stop_timeout,
			    "the tool is no longer configured");
		else
			server_restart(s, sv, "its configuration has changed");
	}
	s->processes->stale = left;
}

void
tools_reserve_uids(struct supervisor *s)
{
	struct processes *ps = s->processes;
	int fd = openat(
	    ps->tools_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	if (d == NULL) {
		fd_close(&fd);
		return;
	}
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] != '.'
		    && fstatat(ps->tools_dir, e->d_name, &st,
			   AT_SYMLINK_NOFOLLOW) == 0)
			uidpool_reserve(ps->uids, st.st_uid);
	closedir(d);
}

void
tools_free(struct supervisor *s)
{
	struct tool *t;

	while ((t = TAILQ_FIRST(&s->tools)) != NULL) {
		TAILQ_REMOVE(&s->tools, t, entry);
		if (t->plugin != NULL)
			server_free(s, t->plugin);
		listing_unref(t->listing);
		log_ring_free(t->log);
		conf_tool_unref(t->conf);
		free(t->name);
		free(t);
	}
}

/* ---- reload ---- */

/* What processes that run were started with: a reload does not reach it. */
static const char *
what_is_fixed(const struct conf *a, const struct conf *b)
{
	if (strcmp(a->state_dir, b->state_dir) != 0)
		return "node.state_dir";
	if (strcmp(a->socket, b->socket) != 0)
		return "node.socket";
	if (a->uid_first != b->uid_first || a->uid_last != b->uid_last)
		return "node.uid_range";
	if (a->power != b->power)
		return "node.durability";
	if (a->max_message != b->max_message)
		return "node.max_message";
	if (a->message_budget != b->message_budget)
		return "node.message_budget";
	if (a->keep_jobs.us != b->keep_jobs.us)
		return "node.keep_jobs";
	if (a->follow_parent != b->follow_parent)
		return "node.follow_parent";
	return NULL;
}

bool
node_reload_ok(struct supervisor *s, char *ret_error, size_t size)
{
	struct conf_error e;
	struct conf *conf;
	const char *fixed;

	if (conf_load(s->processes->conf_path, &conf, &e) < 0) {
		snprintf(ret_error, size, "%s", e.text);
		return false;
	}
	if (s->processes->socket_path != NULL
	    && conf_set_socket(conf, s->processes->socket_path, &e) < 0) {
		snprintf(ret_error, size, "%s", e.text);
		conf_free(conf);
		return false;
	}
	fixed = what_is_fixed(s->conf, conf);
	if (fixed != NULL)
		snprintf(ret_error, size,
		    "%s has changed, which takes a new start of oz0d", fixed);
	if (fixed != NULL || tools_configure(s, conf, ret_error, size) < 0) {
		conf_free(conf);
		return false;
	}
	if (s->conf->log_level_set && !s->processes->debug)
		log_set_level(s->conf->log_level);
	control_reload(s);
	policy_set(s, NULL); /* L6.2: what was set holds until now */
	tools_start_eager(s);
	return true;
}

void
node_reload(struct supervisor *s, struct buf *ret_words)
{
	char why[1024];
	bool ok;

	notify_reloading(s);
	ok = node_reload_ok(s, why, sizeof(why));
	notify_ready(s);
	buf_printf(ret_words, "%s",
	    ok ? "configuration read again" : "nothing has changed: ");
	if (!ok)
		buf_puts(ret_words, why);
	log_at(ok ? LOG_LEVEL_NOTICE : LOG_LEVEL_ERROR, "reload: %.*s",
	    (int)buf_len(ret_words), buf_at(ret_words));
}
