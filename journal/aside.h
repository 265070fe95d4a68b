#ifndef OZ0_JOURNAL_ASIDE_H
#define OZ0_JOURNAL_ASIDE_H

/*
 * Renames journal.db with all its parts to journal.db.damaged-TIME; of such
 * copies the three newest are kept.  what: "damaged".
 */
void aside_put(const char *what);
/*
 * A write-ahead log whose database is gone, or was never finished, would be
 * spliced into a new database of the same name: aside with it.
 */
void aside_stray_wal(void);

#endif
