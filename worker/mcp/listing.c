/*
 * tools/list: every page, within bounds, and again whenever the server says
 * that it changed.  Each function goes to the supervisor as it was listed.
 */
#include "worker/mcp/client_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "worker/mcp/compose.h"

#define PAGES_MAX 1000
#define FUNCTIONS_MAX 10000
#define BYTES_MAX ((size_t)32 * 1024 * 1024)
#define CURSOR_MAX ((size_t)64 * 1024)
#define NAME_MAX_LEN 128	/* L2.7 */
#define NAME_SHOWN 512
#define NAMELESS "(no name)"
#define LISTENS_MAX 8
#define DEBOUNCE SPAN_MS(200)
#define LISTEN_AGAIN SPAN_S(1)

struct name {
	RB_ENTRY(name) entry;
	char text[];
};

static int
name_compare(const struct name *a, const struct name *b)
{
	return strcmp(a->text, b->text);
}

RB_HEAD(name_tree, name);
RB_GENERATE_INTERNAL(name_tree, name, entry, name_compare,
    static __attribute__((unused)))

/* false: it was listed before in this generation. */
static bool
name_add(struct listing *l, const char *text)
{
	struct name *n = mem_alloc(sizeof(*n) + strlen(text) + 1);

	strcpy(n->text, text);
	if (RB_INSERT(name_tree, l->names, n) == NULL)
		return true;
	free(n);
	return false;
}

/* What is only needed while a listing is read. */
static void
forget(struct listing *l)
{
	struct name *n, *next;

	for (unsigned i = 0; l->cursors != NULL && l->cursors[i] != NULL; i++)
		free(l->cursors[i]);
	free(l->cursors);
	l->cursors = NULL;
	if (l->names != NULL)
		RB_FOREACH_SAFE(n, name_tree, l->names, next) {
			RB_REMOVE(name_tree, l->names, n);
			free(n);
		}
	free(l->names);
	l->names = NULL;
}

void
listing_forget(struct client *c)
{
	forget(&c->listing);
}

static void
ask(struct client *c, const char *cursor)
{
	struct buf line = { 0 };
	int64_t id = client_request_add(c, &c->list, REQUEST_LIST);

	compose_list(&line, id, c->modern ? buf_at(&c->envelope) : "", cursor);
	client_send(c, &line, id, false);
}

static void
read_afresh(struct client *c)
{
	struct listing *l = &c->listing;

	forget(l);
	l->generation++;
	l->count = 0;
	l->pages = 0;
	l->bytes = 0;
	l->again = false;
	l->due = MONO_NEVER;
	l->cursors = mem_array(PAGES_MAX + 1, sizeof(char *));
	l->names = mem_zalloc(sizeof(*l->names));
	RB_INIT(l->names);
	ask(c, NULL);
}

static void
listen(struct client *c)
{
	struct buf line = { 0 };
	int64_t id;

	if (!c->modern || !c->tells_changes || c->listen.id != 0
	    || c->listing.listens >= LISTENS_MAX)
		return;
	c->listing.listens++;
	id = client_request_add(c, &c->listen, REQUEST_LISTEN);
	compose_listen(&line, id, buf_at(&c->envelope));
	client_send(c, &line, id, false);
}

/* The stream is opened first, so that no change falls between. */
void
listing_start(struct client *c)
{
	listen(c);
	read_afresh(c);
}

/* ---- one function ---- */

static enum wire_hint
hint(struct json_value annotations, const char *name)
{
	bool b;

	if (!json_to_bool(json_member(annotations, name), &b))
		return WIRE_HINT_ABSENT;
	return b ? WIRE_HINT_TRUE : WIRE_HINT_FALSE;
}

static bool
says_true(struct json_value meta, const char *name)
{
	return json_member(meta, name).type == JSON_TRUE;
}

static const char *
refusal(const char *name)
{
	if (strcmp(name, NAMELESS) == 0)
		return "it has no name";
	if (strlen(name) > NAME_MAX_LEN)
		return "its name is longer than 128 characters";
	if (!str_is_name(name))
		return "its name has characters other than A-Z a-z 0-9 . _ -";
	return "";
}

/* The name to call it by, or to show when it cannot be called (L2.7). */
static void
function_name(struct json_value v, char out[NAME_SHOWN])
{
	if (json_to_string(v, out, NAME_SHOWN))
		return;
	out[0] = '\0';
	if (v.type == JSON_STRING)
		snprintf(out, NAME_SHOWN, "%.*s",
		    (int)(v.len - 2 < NAME_SHOWN ? v.len - 2 : NAME_SHOWN),
		    v.p + 1);
	if (out[0] == '\0')
		strcpy(out, NAMELESS);
}

/* NULL, or why the listing cannot go on. */
static const char *
function(struct client *c, struct json_value v)
{
	struct json_want w[] = { { .name = "name" }, { .name = "annotations" },
		{ .name = "_meta" } };
	struct listing *l = &c->listing;
	struct client_function f = { .generation = l->generation, .json = v };
	char name[NAME_SHOWN];

	if (!json_pick(v, w, 3))
		return "a tool is not an object, or has a member twice";
	if (l->count == FUNCTIONS_MAX)
		return "more than 10000 functions";
	function_name(w[0].value, name);
	if (!name_add(l, name)) {
		log_warning("%s: the function %s is listed twice: the second "
			    "is left out", c->tool, name);
		return NULL;
	}
	l->count++; /* of those that are told */
	f.name = name;
	f.refused = refusal(name);
	f.read_only = hint(w[1].value, "readOnlyHint");
	f.destructive = hint(w[1].value, "destructiveHint");
	f.idempotent = hint(w[1].value, "idempotentHint");
	f.open_world = hint(w[1].value, "openWorldHint");
	f.honours_key = says_true(w[2].value, "oz0/idempotency_key");
	f.resume = says_true(w[2].value, "oz0/resume");
	c->ops->function(c->arg, &f);
	return NULL;
}

/* ---- pages ---- */

/* It changed while it was read. */
static void
look_again(struct listing *l, struct mono now)
{
	if (l->again)
		l->due = mono_add(now, DEBOUNCE);
}

static void
done(struct client *c, struct mono now)
{
	struct listing *l = &c->listing;

	l->first_done = true;
	c->ops->listed(c->arg, l->generation, l->count, "");
	forget(l);
	look_again(l, now);
}

/* The first listing is part of the start; a later one leaves the old one. */
static void
problem(struct client *c, const char *why, struct mono now)
{
	struct listing *l = &c->listing;

	if (!l->first_done)
		client_fail(c, WIRE_FAULT_LISTING, "tools/list: %s", why);
	else
		c->ops->listed(c->arg, l->generation, l->count, why);
	forget(l);
	look_again(l, now);
}

/* NULL and the cursor kept, or why the listing cannot go on. */
static const char *
next_cursor(struct listing *l, struct json_value v)
{
	if (v.type != JSON_STRING)
		return "nextCursor is not a string";
	if (v.len > CURSOR_MAX)
		return "nextCursor is longer than 64 KiB";
	if (l->pages == PAGES_MAX)
		return "more than 1000 pages";
	for (unsigned i = 0; i + 1 < l->pages; i++)
		if (strlen(l->cursors[i]) == v.len
		    && memcmp(l->cursors[i], v.p, v.len) == 0)
			return "nextCursor came before: the listing has no "
			       "end";
	l->cursors[l->pages - 1] = mem_strndup(v.p, v.len);
	return NULL;
}

static const char *
page(struct client *c, struct json_value body, bool *ret_more)
{
	struct json_want w[] = { { .name = "tools" },
		{ .name = "nextCursor" } };
	struct listing *l = &c->listing;
	struct json_value key, v;
	struct json_iter it;
	const char *why;

	if (!json_pick(body, w, 2) || w[0].value.type != JSON_ARRAY)
		return "the answer has no tools";
	l->pages++;
	l->bytes += body.len;
	if (l->bytes > BYTES_MAX)
		return "more than 32 MiB";
	json_iter_init(&it, w[0].value);
	while (json_iter_next(&it, &key, &v)) {
		why = function(c, v);
		if (why != NULL)
			return why;
	}
	*ret_more = w[1].value.type != JSON_NONE
	    && w[1].value.type != JSON_NULL;
	return *ret_more ? next_cursor(l, w[1].value) : NULL;
}

static void
error(struct client *c, const struct message *m, struct mono now)
{
	char text[256] = "an error without a message", why[320];
	int64_t code = 0;

	json_to_int64(json_member(m->body, "code"), &code);
	json_to_string(json_member(m->body, "message"), text, sizeof(text));
	if (!c->has_tools && code == -32601) {
		done(c, now); /* it never said that it had any */
		return;
	}
	if (m->body.type == JSON_NONE)
		snprintf(why, sizeof(why), "a broken answer");
	else
		snprintf(why, sizeof(why), "%s (%lld)", text, (long long)code);
	problem(c, why, now);
}

void
listing_answer(struct client *c, const struct message *m, struct mono now)
{
	const char *why;
	bool more = false;

	client_request_drop(c, &c->list);
	if (m->kind != MESSAGE_RESULT) {
		error(c, m, now);
		return;
	}
	why = page(c, m->body, &more);
	if (why != NULL)
		problem(c, why, now);
	else if (more)
		ask(c, c->listing.cursors[c->listing.pages - 1]);
	else
		done(c, now);
}

/* ---- changes ---- */

/* An answer ends the stream; an error means there is none. */
void
listing_listen_answer(
    struct client *c, const struct message *m, struct mono now)
{
	if (m->kind == MESSAGE_RESULT) {
		listing_stream_ended(c, now);
		return;
	}
	client_request_drop(c, &c->listen);
	c->listing.listens = LISTENS_MAX;
}

void
listing_stream_ended(struct client *c, struct mono now)
{
	client_request_drop(c, &c->listen);
	if (c->listing.listens < LISTENS_MAX)
		c->listing.due = mono_add(now, LISTEN_AGAIN);
}

/* MCP 2026-07-28 basic/patterns/subscriptions: only on our own stream. */
static bool
is_ours(const struct client *c, struct json_value params)
{
	struct json_value id = json_member(json_member(params, "_meta"),
	    "io.modelcontextprotocol/subscriptionId");

	return c->listen.id != 0 && message_id(id) == c->listen.id;
}

void
listing_changed(struct client *c, struct json_value params, struct mono now)
{
	struct listing *l = &c->listing;

	if (c->state != CLIENT_READY || (c->modern && !is_ours(c, params)))
		return;
	if (c->list.id != 0)
		l->again = true;
	else if (l->due.us == MONO_NEVER.us)
		l->due = mono_add(now, DEBOUNCE);
}

void
listing_expire(struct client *c, struct mono now)
{
	if (mono_before(now, c->listing.due))
		return;
	c->listing.due = MONO_NEVER;
	if (c->state != CLIENT_READY || c->closed || c->muted)
		return;
	listen(c);
	if (c->list.id == 0)
		read_afresh(c);
}
