#ifndef OZ0_JOURNAL_DB_H
#define OZ0_JOURNAL_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The index: journal.db in the state directory, and the only place that calls
 * SQLite to open, check, change or close it.  Statements are numbered and
 * prepared once (sql.h).  Every function gives 0 or a negative errno:
 *   -ENOSPC full disk, -EBUSY locked by another program, -EUCLEAN damaged,
 *   -EROFS, -EACCES, -EIO, -ENOMEM; -ENOTSUP: of a newer oz0.
 * db_why() has SQLite's words for the last failure.
 */
struct db;
struct sqlite3_stmt;

#define DB_NAME "journal.db"

/*
 * Opens or makes the database in the working directory, which is the state
 * directory.  A damaged one is set aside as journal.db.damaged-TIME, a -wal
 * without its database too, and a new one made: *ret_fresh is true then.
 */
int db_open(struct db **ret, bool *ret_fresh);
void db_close(struct db *d); /* NULL is fine */
/* Closes, sets aside and opens a fresh one in its place (at run time). */
int db_replace(struct db **d);
const char *db_why(const struct db *d);

int db_begin(struct db *d);
int db_commit(struct db *d); /* on failure everything is rolled back */
void db_rollback(struct db *d);
/*
 * Moves the write-ahead log into the database and syncs it; *ret_whole says
 * whether all of it (a reader elsewhere can hold it back).
 */
int db_checkpoint(struct db *d, bool *ret_whole);
size_t db_wal_pages(const struct db *d); /* since the last checkpoint */
/* Gives up to n free pages back to the file system. */
int db_shrink(struct db *d, unsigned n);

/*
 * Statements.  args is a letter for each: i int64_t, t text (const char *,
 * NULL: null), b and B bytes as text and as they are (const char *, size_t),
 * d double, N null in a double's place, n null without an argument.
 */
int db_run(struct db *d, int sql, const char *args, ...);
/*
 * For a statement of many rows: some of its parameters, from first (1, 2, ...)
 * on; what they point to lasts until db_run() without args makes it.
 */
int db_bind(struct db *d, int sql, int first, const char *args, ...);
int db_changes(const struct db *d);
/* A first row or none: 1 or 0; then columns by db_int() and so on. */
int db_find(struct db *d, struct sqlite3_stmt **ret, int sql,
    const char *args, ...);
int db_next(struct db *d, struct sqlite3_stmt *q); /* 1, 0 or -errno */
void db_done(struct sqlite3_stmt *q);
int64_t db_int(struct sqlite3_stmt *q, int column);
double db_double(struct sqlite3_stmt *q, int column);
bool db_is_null(struct sqlite3_stmt *q, int column);
/* "" for null; good until db_next() or db_done(). */
const char *db_text(struct sqlite3_stmt *q, int column);
size_t db_len(struct sqlite3_stmt *q, int column);

#endif
