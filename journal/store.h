#ifndef OZ0_JOURNAL_STORE_H
#define OZ0_JOURNAL_STORE_H

#include <stdint.h>

#include "journal/batch.h"
#include "journal/db.h"
#include "wire/record.h"

/*
 * Records into the database: the facts of each become rows, its step a part
 * of one, by way of a batch.  What was taken in, and up to where in the log, is
 * kept in the same transaction, so that a kill at any time neither loses nor
 * doubles one.
 */
struct store_meta {
	uint64_t last_seq;     /* taken in */
	uint64_t last_call;    /* highest number of a call */
	uint64_t last_attempt; /* attempts recorded, of all calls together */
	uint64_t segment, offset; /* where the log is to be read on */
};

/* All give 0 or what db_run() gives; transactions are the caller's. */
int store_load(struct db *d, struct store_meta *ret);
/* The batch becomes rows, and the place that it reaches to is kept. */
int store_save(struct db *d, struct batch *b, const struct store_meta *m);
/* Takes in one record; one whose number is in already is skipped. */
int store_record(struct db *d, struct batch *b, struct store_meta *m,
    const struct record *r);

enum store_sweep { STORE_SWEEP_ANSWERS = 1, STORE_SWEEP_JOB = 2 };

#endif
