/*
 * Listings: the functions of a server by name.  Run by the supervisor; filled
 * by worker_frame.c, read by the core and the control socket.  A function's
 * own JSON is kept byte for byte and never looked into here.
 */
#include <stdlib.h>
#include <string.h>

#include <sys/tree.h>

#include "base/mem.h"
#include "supervisor/listing.h"

RB_HEAD(function_tree, function);

struct listing {
	unsigned refs;
	uint32_t generation, count;
	size_t bytes;
	struct function_tree tree;
};

static int
compare(const struct function *a, const struct function *b)
{
	return strcmp(a->name, b->name);
}

RB_GENERATE_INTERNAL(function_tree, function, entry, compare,
    __attribute__((unused)) static)

struct listing *
listing_new(uint32_t generation)
{
	struct listing *l = mem_zalloc(sizeof(*l));

	l->refs = 1;
	l->generation = generation;
	RB_INIT(&l->tree);
	return l;
}

struct listing *
listing_ref(struct listing *l)
{
	l->refs++;
	return l;
}

static void
free_function(struct function *f)
{
	free(f->name);
	free(f->refused);
	free(f->json);
	free(f);
}

void
listing_unref(struct listing *l)
{
	struct function *f;

	if (l == NULL || --l->refs > 0)
		return;
	while ((f = RB_MIN(function_tree, &l->tree)) != NULL) {
		RB_REMOVE(function_tree, &l->tree, f);
		free_function(f);
	}
	free(l);
}

uint32_t
listing_generation(const struct listing *l)
{
	return l->generation;
}

uint32_t
listing_count(const struct listing *l)
{
	return l->count;
}

static size_t
cost(const struct function *f)
{
	return sizeof(*f) + strlen(f->name) + f->json_len;
}

bool
listing_add(struct listing *l, const struct function *f)
{
	struct function *mine;

	if (l->count == LISTING_MAX_FUNCTIONS
	    || cost(f) > LISTING_MAX_BYTES - l->bytes)
		return false;
	mine = mem_dup(f, sizeof(*f));
	if (RB_INSERT(function_tree, &l->tree, mine) != NULL) {
		free(mine);
		return false;
	}
	l->count++;
	l->bytes += cost(mine);
	return true;
}

struct function *
function_find(struct listing *l, const char *name)
{
	struct function key = { .name = (char *)(uintptr_t)name };

	return l == NULL ? NULL : RB_FIND(function_tree, &l->tree, &key);
}

struct function *
function_first(struct listing *l)
{
	return l == NULL ? NULL : RB_MIN(function_tree, &l->tree);
}

struct function *
function_after(struct listing *l, struct function *f)
{
	return RB_NEXT(function_tree, &l->tree, f);
}

bool
listing_same(struct listing *a, struct listing *b)
{
	struct function *f, *g;

	if (a == NULL || b == NULL || a->count != b->count)
		return a == b;
	for (f = function_first(a), g = function_first(b); f != NULL;
	    f = function_after(a, f), g = function_after(b, g))
		if (strcmp(f->name, g->name) != 0 || f->json_len != g->json_len
		    || memcmp(f->json, g->json, f->json_len) != 0)
			return false;
	return true;
}
