#ifndef OZ0_SUPERVISOR_JOURNAL_H
#define OZ0_SUPERVISOR_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/process.h"

/*
 * The link to oz0-journal: recovery at start, segments, questions, and a
 * fresh one where it died or hangs (LIFECYCLE L9.2a).
 */
struct journal;

/* 0 or -errno with words. */
int journal_start(struct supervisor *s, char *ret_why, size_t size);
/* All of the log before is read: REC_CHILDs are with startup.c. */
bool journal_recovered(const struct supervisor *s);
/* At the end: it takes in what is left, and ends. */
void journal_stop(struct supervisor *s);
bool journal_is_dead(const struct supervisor *s);
void journal_free(struct supervisor *s);
/*
 * durability "power": asks for a sync of what was written, unless one is on
 * its way.  Once a turn, after the log was written; nothing waits for it but
 * the acts of commit.h.
 */
void journal_commit(struct supervisor *s);
/* Is all that was written on its disk, or nothing to wait for it? */
bool journal_synced(struct supervisor *s);

#endif
