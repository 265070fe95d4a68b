/*
 * The keys under `node` of the configuration, with their defaults
 * (INTERFACES, Configuration).  Runs in oz0d when the configuration is read.
 */
#include "supervisor/conf_internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

#define UID_RANGE_FIRST 1879048192
#define UID_RANGE_LAST 1879113727

static const char *const node_keys[] = {"name", "slots", "queue", "state_dir",
    "socket", "admins", "schedulers", "observers", "drain_timeout",
    "max_message", "message_budget", "durability", "keep_jobs", "result_limit",
    "kept_results",
    "isolation", "uid_range", "follow_parent", "log_level", NULL};

static void
set_defaults(struct conf *c)
{
	c->slots = 64;
	c->queue = 100000;
	c->drain_timeout = SPAN_S(20);
	c->keep_jobs = SPAN_S(7 * 86400);
	c->max_message = (uint64_t)16 << 20;
	c->message_budget = (uint64_t)512 << 20;
	c->result_limit = (uint64_t)1 << 20;
	c->kept_results = (uint64_t)64 << 20;
	c->uid_first = UID_RANGE_FIRST;
	c->uid_last = UID_RANGE_LAST;
	c->log_level = LOG_LEVEL_INFO;
}

static bool
read_name(struct conf_reader *r, struct conf_at at)
{
	char host[HOST_NAME_MAX + 1] = "";

	if (!conf_get_string(r, at, "name", &r->conf->node))
		return false;
	if (r->conf->node != NULL)
		return str_is_name(r->conf->node) ||
		       conf_fail(r, at, "name",
			   "must be 1 to 128 characters of A-Z a-z 0-9 . _ -");
	if (gethostname(host, sizeof(host) - 1) != 0 || !str_is_name(host))
		return conf_fail(r, at, "name",
		    "the host's own name cannot be used: give one here");
	r->conf->node = mem_strdup(host);
	return true;
}

static bool
read_places(struct conf_reader *r, struct conf_at at)
{
	struct conf *c = r->conf;
	char why[512];

	if (!conf_get_path(r, at, "state_dir", &c->state_dir) ||
	    !conf_get_path(r, at, "socket", &c->socket))
		return false;
	if (c->state_dir == NULL)
		c->state_dir = conf_default_state_dir();
	if (c->state_dir == NULL)
		return conf_fail(r, at, "state_dir",
		    "there is no HOME to put it in: name a folder here");
	if (c->socket == NULL)
		c->socket = conf_default_socket(c->state_dir);
	if (!conf_check_socket(c->socket, why, sizeof(why)))
		return conf_fail(r, at, "socket", "%s", why);
	return true;
}

static bool
read_roles(struct conf_reader *r, struct conf_at at)
{
	struct conf *c = r->conf;

	if (!conf_get_who(r, at, "admins", &c->admins) ||
	    !conf_get_who(r, at, "schedulers", &c->schedulers) ||
	    !conf_get_who(r, at, "observers", &c->observers))
		return false;
	if (c->admins.words != NULL)
		return true;
	conf_who_add_uid(&c->admins, 0);
	if (geteuid() != 0)
		conf_who_add_uid(&c->admins, geteuid());
	return true;
}

/* "1879048192-1879113727": uid 0 and (uid_t)-1 are in no range. */
static bool
read_uid_range(struct conf_reader *r, struct conf_at at)
{
	CLEANUP_FREE char *text = NULL;
	unsigned long long first, last;
	char left;

	if (!conf_get_string(r, at, "uid_range", &text))
		return false;
	if (text == NULL)
		return true;
	if (strspn(text, "0123456789-") != strlen(text) || strlen(text) > 21 ||
	    sscanf(text, "%llu-%llu%c", &first, &last, &left) != 2 ||
	    first < 1 || first > last || last >= UINT32_MAX)
		return conf_fail(r, at, "uid_range",
		    "must be two uids, \"FIRST-LAST\", from 1 to 4294967294");
	r->conf->uid_first = (uid_t)first;
	r->conf->uid_last = (uid_t)last;
	return true;
}

static bool
read_log_level(struct conf_reader *r, struct conf_at at)
{
	CLEANUP_FREE char *word = NULL;

	if (!conf_get_string(r, at, "log_level", &word))
		return false;
	if (word == NULL)
		return true;
	if (!log_level_parse(word, &r->conf->log_level))
		return conf_fail(r, at, "log_level",
		    "must be error, warning, notice, info or debug");
	r->conf->log_level_set = true;
	return true;
}

static bool
read_limits(struct conf_reader *r, struct conf_at at)
{
	struct conf *c = r->conf;

	if (!conf_get_count(r, at, "slots", 1, 100000, &c->slots) ||
	    !conf_get_count(r, at, "queue", 1, 10000000, &c->queue) ||
	    !conf_get_span(r, at, "drain_timeout", SPAN_S(0), SPAN_S(7 * 86400),
		&c->drain_timeout) ||
	    !conf_get_span(r, at, "keep_jobs", SPAN_S(0),
		SPAN_S(3650LL * 86400), &c->keep_jobs) ||
	    !conf_get_size(
		r, at, "max_message", 64 << 10, 1 << 30, &c->max_message) ||
	    !conf_get_size(r, at, "message_budget", 1 << 20, (uint64_t)1 << 40,
		&c->message_budget) ||
	    !conf_get_size(
		r, at, "result_limit", 0, 8 << 20, &c->result_limit) ||
	    !conf_get_size(r, at, "kept_results", 0, (uint64_t)1 << 40,
		&c->kept_results))
		return false;
	if (c->message_budget < 2 * c->max_message)
		return conf_fail(r, at, "message_budget",
		    "must be at least twice max_message (%llu bytes)",
		    (unsigned long long)c->max_message);
	return true;
}

/* at.object NULL: all has its default. */
bool
conf_read_node(struct conf_reader *r, struct conf_at at)
{
	struct conf *c = r->conf;

	set_defaults(c);
	return conf_check_keys(r, at, node_keys) && read_name(r, at) &&
	       read_limits(r, at) && read_places(r, at) && read_roles(r, at) &&
	       read_uid_range(r, at) && read_log_level(r, at) &&
	       conf_get_choice(
		   r, at, "durability", "process", "power", &c->power) &&
	       conf_get_choice(
		   r, at, "isolation", "required", "best", &c->best) &&
	       conf_get_bool(r, at, "follow_parent", &c->follow_parent);
}
