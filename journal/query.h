#ifndef OZ0_JOURNAL_QUERY_H
#define OZ0_JOURNAL_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/db.h"
#include "journal/logdir.h"
#include "journal/store.h"
#include "wire/chan.h"

/*
 * The supervisor's questions, answered side by side in pages: no page holds a
 * transaction over frames, and none is made while a mebibyte waits to be
 * sent.  A question is answered once the log was taken in up to where it
 * stood when the question came.
 */
#define QUERY_QUEUE_MOST ((size_t)1 << 20)

struct queries;

struct queries *queries_new(void);
void queries_free(struct queries *qs); /* NULL is fine */
void queries_add(struct queries *qs, uint64_t id, enum wire_query what,
    const char *job, uint64_t since, uint32_t limit);
bool queries_waiting(const struct queries *qs); /* for queries_ready() */
/* All that came so far may be answered now. */
void queries_ready(struct queries *qs);

/*
 * Where answers come from.  log_from is where the log goes on behind the
 * database when that takes nothing in (a full disk): steps that are only
 * there are served from there; NULL: the database has it all.
 */
struct query_source {
	struct db *db;
	struct logdir *log;
	const struct store_meta *log_from;
};
/* One page of each; true when there is more to do now. */
bool queries_turn(
    struct queries *qs, const struct query_source *from, struct chan *c);

#endif
