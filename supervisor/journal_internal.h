#ifndef OZ0_SUPERVISOR_JOURNAL_INTERNAL_H
#define OZ0_SUPERVISOR_JOURNAL_INTERNAL_H

#include <sys/queue.h>

#include "supervisor/journal.h"
#include "supervisor/link.h"
#include "supervisor/worker_pings.h"

/* What journal.c (its life) and journal_frame.c (what it says) share. */
#define JOURNAL_AGAIN SPAN_MS(100) /* the first wait before a fresh one */

struct child;

/* A question that waits for its answer. */
struct question {
	TAILQ_ENTRY(question) entry;
	uint64_t id;
	struct journal_reader *reader; /* NULL: dropped meanwhile */
	enum wire_query what;
	char *job;
	uint64_t since, rows;
	uint32_t limit;
};

struct journal {
	struct supervisor *s;
	struct child *child;
	struct link *link;
	bool ready;	/* it takes questions */
	bool recovered; /* for good */
	bool has_ready; /* recover_ready() was called, for good */
	bool stopping;
	TAILQ_HEAD(, question) questions;
	uint64_t last_question;
	uint64_t segment; /* now written to; 0: none yet */
	bool unsafe; /* a sync failed: for good, whoever asks again */
	struct pings pings;
	struct deadline ping, again, kill;
	struct span backoff;
};

extern const struct link_kind journal_link_kind;
void journal_closed(
    struct supervisor *s, void *arg, bool broken, const char *why);
struct question *journal_find_question(struct journal *j, uint64_t id);
void journal_free_question(struct journal *j, struct question *q);

#endif
