#ifndef OZ0_EXAMPLES_DEMO_LEDGER_H
#define OZ0_EXAMPLES_DEMO_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/jsonw.h"

/*
 * What happened, one JSON line an event, each by a single write to a file
 * opened for appending, so that it survives any kill and may be shared by
 * several servers.  It is also the server's memory of idempotency keys.
 * Without a file the effects, busy answers and faults of this process are
 * kept in memory and nothing else is recorded.
 */

struct ledger;

/* What the ledger knows of one key. */
struct ledger_key {
	char *key;
	char *answer;	/* of the effect made under it; NULL: none made */
	int64_t busy;	/* busy answers given under it */
	int64_t faults; /* failures on purpose under it */
};

/* file NULL: in memory.  Ends the process when it cannot be opened. */
struct ledger *ledger_open(const char *file);
void ledger_close(struct ledger *l);
int ledger_fd(const struct ledger *l);
/* Are events recorded, or effects alone and in memory? */
bool ledger_is_file(const struct ledger *l);

/* A line: begin, add members to w, end.  begin is false: not recorded. */
bool ledger_begin(struct ledger *l, struct jsonw *w, const char *event);
void ledger_end(struct ledger *l, struct jsonw *w);

/*
 * A decision by key: lock, look (also at what others wrote), record what was
 * decided, unlock.  The record stays valid until the next look.
 */
void ledger_lock(struct ledger *l);
const struct ledger_key *ledger_look(struct ledger *l, const char *key);
/* event is "effect", "busy" or "fault"; answer only with an effect. */
void ledger_keep(struct ledger *l, const char *event, const char *key,
    const char *function, const char *answer);
void ledger_unlock(struct ledger *l);
/* The effects made so far, as a JSON array of {key, function, answer}. */
void ledger_effects(struct ledger *l, struct buf *out);

#endif
