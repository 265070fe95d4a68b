#ifndef OZ0_JOURNAL_BATCH_H
#define OZ0_JOURNAL_BATCH_H

#include <stdint.h>

#include "journal/db.h"
#include "wire/record.h"

/*
 * What a transaction of oz0-journal gathers before it is rows: the steps of
 * each job are one row a batch, the answers of its calls a few, and a call
 * that begins and ends in one transaction is written once.  A batch is put
 * into the transaction that it was gathered in (batch_flush) or is dropped
 * with it (batch_clear).  All give 0 or what db_run() gives.
 */
struct batch;
struct batch_job;

struct batch *batch_new(void);
void batch_free(struct batch *b); /* NULL is fine */
void batch_clear(struct batch *b);
/* Before the caller saves its place and commits. */
int batch_flush(struct batch *b, struct db *d);

/*
 * The job of that name, as it was put with its number in the database, or
 * NULL: it must be looked up.  "" is the node itself, of number 0.
 */
struct batch_job *batch_job_find(struct batch *b, const char *name);
struct batch_job *batch_job_put(struct batch *b, const char *name, int64_t id);
int64_t batch_job_id(const struct batch_job *j);
/* It ended or was forgotten: nothing more joins what it has here. */
void batch_job_close(struct batch *b, const char *name);

/* A step of the job, at that time (of the node's steps; else 0). */
int batch_step(struct batch *b, struct db *d, struct batch_job *j,
    const struct record *r, int64_t at);

/*
 * REC_CALL, REC_CALL_STATE and REC_CALL_END; *attempts grows by those that
 * this record is the first to tell of.
 */
void batch_call_begin(
    struct batch *b, const struct batch_job *j, const struct record *r);
int batch_call_state(struct batch *b, struct db *d, const struct record *r,
    uint64_t *attempts);
int batch_call_end(struct batch *b, struct db *d, struct batch_job *j,
    const struct record *r, uint64_t *attempts);

#endif
