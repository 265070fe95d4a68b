/*
 * Idempotency keys, as servers see them in _meta["oz0/idempotency_key"]
 * (LIFECYCLE L2).  Pure functions and one set; runs in oz0d, called where a
 * call is accepted, where its first attempt is recorded and where it ends.
 */
#include "supervisor/key.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/tree.h>

#include "base/mem.h"

#define WORD_BITS 64

/* One function with one digest: bit i of its words is the number i + 1. */
struct taken {
	RB_ENTRY(taken) entry;
	char *function, *digest;
	uint64_t *words;
	size_t nwords;
	size_t first; /* no word before this one has a free bit */
};

RB_HEAD(taken_tree, taken);

struct key_set {
	struct taken_tree tree;
};

static int
taken_compare(const struct taken *a, const struct taken *b)
{
	int r = strcmp(a->digest, b->digest);

	return r != 0 ? r : strcmp(a->function, b->function);
}

RB_GENERATE_INTERNAL(taken_tree, taken, entry, taken_compare,
    __attribute__((unused)) static)

void
key_plain(char ret[KEY_PLAIN_SIZE], const char *job, uint32_t run,
    const char *activity)
{
	int n;

	if (run == 0)
		n = snprintf(ret, KEY_PLAIN_SIZE, "%s/%s", job, activity);
	else
		n = snprintf(ret, KEY_PLAIN_SIZE, "%s/anr%" PRIu32 "/%s", job,
		    run, activity);
	/* one that was cut could be another call's */
	if (n < 0 || (size_t)n >= KEY_PLAIN_SIZE)
		abort();
}

char *
key_harness(const char *job, uint32_t run, uint32_t session,
    const char *function, const char *digest, uint64_t k)
{
	if (run == 0)
		return mem_printf("%s/s%" PRIu32 "/%s#%s/%" PRIu64, job,
		    session, function, digest, k);
	return mem_printf("%s/r%" PRIu32 "/s%" PRIu32 "/%s#%s/%" PRIu64, job,
	    run, session, function, digest, k);
}

struct key_set *
key_set_new(void)
{
	struct key_set *ks = mem_zalloc(sizeof(*ks));

	RB_INIT(&ks->tree);
	return ks;
}

static void
drop(struct key_set *ks, struct taken *t)
{
	RB_REMOVE(taken_tree, &ks->tree, t);
	free(t->function);
	free(t->digest);
	free(t->words);
	free(t);
}

void
key_set_free(struct key_set *ks)
{
	struct taken *t;

	if (ks == NULL)
		return;
	while ((t = RB_MIN(taken_tree, &ks->tree)) != NULL)
		drop(ks, t);
	free(ks);
}

static struct taken *
find(struct key_set *ks, const char *function, const char *digest)
{
	struct taken key = { .function = (char *)(uintptr_t)function,
		.digest = (char *)(uintptr_t)digest };

	return RB_FIND(taken_tree, &ks->tree, &key);
}

static struct taken *
add(struct key_set *ks, const char *function, const char *digest)
{
	struct taken *t = mem_zalloc(sizeof(*t));

	t->function = mem_strdup(function);
	t->digest = mem_strdup(digest);
	RB_INSERT(taken_tree, &ks->tree, t);
	return t;
}

/* Twice the words, the new ones empty. */
static void
grow(struct taken *t)
{
	size_t n = t->nwords == 0 ? 1 : 2 * t->nwords;
	uint64_t *words = mem_array(n, sizeof(*words));

	if (t->nwords != 0)
		memcpy(words, t->words, t->nwords * sizeof(*words));
	free(t->words);
	t->words = words;
	t->nwords = n;
}

uint64_t
key_set_take(struct key_set *ks, const char *function, const char *digest)
{
	struct taken *t = find(ks, function, digest);
	unsigned bit;

	if (t == NULL)
		t = add(ks, function, digest);
	while (t->first < t->nwords && t->words[t->first] == UINT64_MAX)
		t->first++;
	if (t->first == t->nwords)
		grow(t);
	bit = (unsigned)__builtin_ctzll(~t->words[t->first]);
	t->words[t->first] |= UINT64_C(1) << bit;
	return (uint64_t)t->first * WORD_BITS + bit + 1;
}

void
key_set_give_back(struct key_set *ks, const char *function, const char *digest,
    uint64_t k)
{
	struct taken *t = find(ks, function, digest);
	uint64_t at = (k - 1) / WORD_BITS;

	if (t == NULL || k == 0 || at >= t->nwords)
		return;
	t->words[at] &= ~(UINT64_C(1) << (k - 1) % WORD_BITS);
	if (at < t->first)
		t->first = (size_t)at;
	for (size_t i = 0; i < t->nwords; i++)
		if (t->words[i] != 0)
			return;
	drop(ks, t);
}
