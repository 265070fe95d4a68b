#ifndef OZ0_JOURNAL_JOURNAL_H
#define OZ0_JOURNAL_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "journal/batch.h"
#include "journal/db.h"
#include "journal/follow.h"
#include "journal/logdir.h"
#include "journal/query.h"
#include "journal/recover.h"
#include "journal/store.h"
#include "journal/supply.h"
#include "sandbox/confine.h"
#include "wire/chan.h"

/* What the process is at; the order matters. */
enum journal_phase {
	PHASE_INIT,    /* waits for JOURNAL_INIT */
	PHASE_INTAKE,  /* takes in what the log has, before READY */
	PHASE_RECOVER, /* sends RECOVER_* */
	PHASE_LIVE,    /* follows, answers, keeps segments ready */
};

/* The process: one, made by main(), passed to everything. */
struct journal {
	struct chan *chan;
	struct confine confine;
	enum journal_phase phase;

	int state_dir;
	struct span keep_jobs;
	struct logdir *log;
	struct logdir_marks marks;
	struct supply supply;

	struct db *db;		 /* NULL: cannot be opened now */
	struct store_meta meta;	 /* as committed */
	struct follow *follow;
	struct batch *batch;	 /* of the open transaction */
	int held;		 /* why nothing is taken in; 0: it is */
	struct mono held_until;
	struct span held_wait;
	unsigned replaced;	 /* databases found damaged while running */

	struct mono poll_at;	 /* when to look at the log again */
	struct span poll_wait;
	struct mono retain_at;
	struct mono checkpoint_at;
	bool wal_told;

	struct queries *queries;
	struct recovery *recovery;

	uint64_t sync_asked, sync_done; /* seq */
	bool sync_failed;
	uint64_t sync_from;	 /* segments before were synced for good */
};

/* serve.c: what the supervisor sends. false: it broke the rules. */
bool journal_serve(struct journal *j, struct chan_frame *f);

/* intake.c: the log into the database. */
void journal_open(struct journal *j);
/* One bounded piece; true when there is more to take in now. */
bool journal_intake(struct journal *j);
/* A failure of the database: hold for a while, or replace it. */
void journal_db_failed(struct journal *j, const char *act, int error);

/* turn.c: everything that is due. true: come back at once. */
bool journal_turn(struct journal *j);
struct mono journal_due(const struct journal *j);
/* The supervisor is gone: takes in what it left, closes. */
void journal_finish(struct journal *j);

#endif
