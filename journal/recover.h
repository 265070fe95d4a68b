#ifndef OZ0_JOURNAL_RECOVER_H
#define OZ0_JOURNAL_RECOVER_H

#include "journal/db.h"
#include "wire/chan.h"

/*
 * What a fresh supervisor must know: every job that is kept; with those that
 * have not ended (LOST ones too: they can go on) the sessions, calls and
 * approvals of their run; every process born and not known dead; every tool
 * that is switched off.  In pages.
 */
struct recovery;

struct recovery *recovery_new(void);
void recovery_free(struct recovery *rc); /* NULL is fine */
/* 1: there is more; 0: all was sent, RECOVER_DONE too; or -errno. */
int recovery_turn(struct recovery *rc, struct db *d, struct chan *c);

#endif
