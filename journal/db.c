/*
 * SQLite's one door (STYLE rule 19): open and check the index, run
 * numbered statements.  oz0-journal alone calls this, in its
 * one thread.  The database lies in the working directory and is opened by
 * its bare name: the process may have lost the right to walk the directories
 * above it.
 */
#include "journal/db.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "journal/aside.h"
#include "journal/sql.h"

#define VFS_NAME "oz0-here"
#define CHECK_LIMIT SPAN_S(1) /* of the check at start */
#define CHECK_OPS 20000	      /* virtual machine steps between two looks */

struct db {
	sqlite3 *h;
	sqlite3_stmt *stmt[SQL_COUNT];
	size_t wal_pages;
	bool open_txn;
	struct mono check_until;
};

/* ---- errors ---- */

static int
error_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_SCHEMA:
	case SQLITE_CONSTRAINT:
	case SQLITE_ERROR: /* a table that is not there */
		return -EUCLEAN;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		return -EACCES;
	case SQLITE_NOMEM:
		return -ENOMEM;
	default:
		return -EIO;
	}
}

const char *
db_why(const struct db *d)
{
	return d != NULL && d->h != NULL ? sqlite3_errmsg(d->h) : "not open";
}

/* ---- opening ---- */

/* The name as it is: SQLite shall not look for where we are. */
static int
full_pathname(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
	(void)vfs;
	if ((size_t)snprintf(out, (size_t)size, "%s", name) >= (size_t)size)
		return SQLITE_CANTOPEN;
	return SQLITE_OK;
}

static int
register_vfs(void)
{
	static sqlite3_vfs here;
	sqlite3_vfs *unix_vfs;

	/* One thread; nobody asks what memory is used.  Before the first use
	 * of the library: later both say so and change nothing. */
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	if (sqlite3_vfs_find(VFS_NAME) != NULL)
		return 0;
	unix_vfs = sqlite3_vfs_find(NULL);
	if (unix_vfs == NULL)
		return -ENOSYS;
	here = *unix_vfs;
	here.zName = VFS_NAME;
	here.pNext = NULL;
	here.xFullPathname = full_pathname;
	return error_of(sqlite3_vfs_register(&here, 0));
}

static int
wal_grew(void *arg, sqlite3 *h, const char *name, int pages)
{
	struct db *d = arg;

	(void)h;
	(void)name;
	d->wal_pages = (size_t)pages;
	return SQLITE_OK;
}

static int
exec(struct db *d, const char *sql)
{
	return error_of(sqlite3_exec(d->h, sql, NULL, NULL, NULL));
}

static int
get_number(struct db *d, const char *sql, int64_t *ret)
{
	sqlite3_stmt *q;
	int rc = sqlite3_prepare_v2(d->h, sql, -1, &q, NULL);

	if (rc != SQLITE_OK)
		return error_of(rc);
	rc = sqlite3_step(q);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return rc == SQLITE_ROW ? 0 : error_of(rc);
}

static int
make_schema(struct db *d)
{
	char pragmas[128];
	bool whole;
	int r;

	snprintf(pragmas, sizeof(pragmas),
	    "PRAGMA application_id = %d; PRAGMA user_version = %d",
	    SQL_APPLICATION, SQL_VERSION);
	r = exec(d, "BEGIN IMMEDIATE");
	if (r == 0)
		r = exec(d, sql_schema);
	if (r == 0)
		r = exec(d, pragmas);
	if (r == 0)
		r = exec(d, "COMMIT");
	/* From here on a database file without content is a broken one. */
	return r < 0 ? r : db_checkpoint(d, &whole);
}

/* A database of an earlier oz0, step by step, in one transaction. */
static int
bring_up(struct db *d, int64_t version)
{
	char pragma[64];
	int r;

	if (version < 1)
		return -EUCLEAN;
	r = exec(d, "BEGIN IMMEDIATE");
	for (int64_t v = version; r == 0 && v < SQL_VERSION; v++)
		r = exec(d, sql_steps[v]);
	snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %d",
	    SQL_VERSION);
	if (r == 0)
		r = exec(d, pragma);
	if (r == 0)
		r = exec(d, "COMMIT");
	if (r == 0)
		log_notice(DB_NAME " is now of version %d", SQL_VERSION);
	return r;
}

static int
check_expired(void *arg)
{
	const struct db *d = arg;

	return mono_before(d->check_until, time_mono());
}

/*
 * A look over the whole database, for as long as a start can wait: what it
 * does not reach shows itself later and is dealt with then (db_replace).
 */
static int
quick_check(struct db *d)
{
	sqlite3_stmt *q;
	bool good = false;
	int rc;

	d->check_until = mono_add(time_mono(), CHECK_LIMIT);
	sqlite3_progress_handler(d->h, CHECK_OPS, check_expired, d);
	rc = sqlite3_prepare_v2(d->h, "PRAGMA quick_check(1)", -1, &q, NULL);
	if (rc == SQLITE_OK) {
		rc = sqlite3_step(q);
		if (rc == SQLITE_ROW)
			good = strcmp((const char *)sqlite3_column_text(q, 0),
				   "ok") == 0;
		sqlite3_finalize(q);
	}
	sqlite3_progress_handler(d->h, 0, NULL, NULL);
	if (rc == SQLITE_INTERRUPT)
		return 0;
	if (rc == SQLITE_ROW)
		return good ? 0 : -EUCLEAN;
	return error_of(rc);
}

static int
set_up(struct db *d, bool *ret_fresh)
{
	int64_t version = 0, tables = 0, application = 0;
	int r;

	/* the first two count only before the first table is made */
	r = exec(d, "PRAGMA page_size = 16384;"
		    "PRAGMA auto_vacuum = INCREMENTAL;"
		    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
		    "PRAGMA wal_autocheckpoint = 0;"
		    "PRAGMA journal_size_limit = 8388608;"
		    "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192;"
		    "PRAGMA foreign_keys = OFF");
	if (r == 0)
		r = get_number(d, "PRAGMA user_version", &version);
	if (r == 0)
		r = get_number(d, "PRAGMA application_id", &application);
	if (r == 0)
		r = get_number(
		    d, "SELECT count(*) FROM sqlite_schema", &tables);
	if (r < 0)
		return r;
	sqlite3_wal_hook(d->h, wal_grew, d);
	*ret_fresh = version == 0 && tables == 0;
	if (*ret_fresh)
		return make_schema(d);
	if (application != SQL_APPLICATION)
		return -EUCLEAN;
	if (version > SQL_VERSION)
		return -ENOTSUP;
	r = quick_check(d);
	if (r == 0 && version != SQL_VERSION)
		r = bring_up(d, version);
	for (int i = 0; r == 0 && i < SQL_COUNT; i++)
		r = error_of(sqlite3_prepare_v3(d->h, sql_texts[i], -1,
		    SQLITE_PREPARE_PERSISTENT, &d->stmt[i], NULL));
	return r;
}

static int
open_once(struct db **ret, bool *ret_fresh)
{
	struct db *d = mem_zalloc(sizeof(*d));
	int r;

	r = error_of(sqlite3_open_v2(DB_NAME, &d->h,
	    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
	    VFS_NAME));
	/* A program that looks at it is waited for here, not in the loop. */
	if (r == 0)
		r = error_of(sqlite3_busy_timeout(d->h, 500));
	if (r == 0)
		r = set_up(d, ret_fresh);
	if (r == 0)
		r = error_of(sqlite3_busy_timeout(d->h, 20));
	if (r < 0) {
		log_warning(DB_NAME ": %s", db_why(d));
		db_close(d);
		return r;
	}
	*ret = d;
	return 0;
}

void
db_close(struct db *d)
{
	if (d == NULL)
		return;
	db_rollback(d);
	for (int i = 0; i < SQL_COUNT; i++)
		sqlite3_finalize(d->stmt[i]);
	sqlite3_close(d->h);
	free(d);
}

int
db_open(struct db **ret, bool *ret_fresh)
{
	int r = register_vfs();

	if (r < 0)
		return r;
	aside_stray_wal();
	r = open_once(ret, ret_fresh);
	if (r != -EUCLEAN)
		return r;
	/* Once: a second failure is not the database's fault. */
	aside_put("damaged");
	r = open_once(ret, ret_fresh);
	return r == -EUCLEAN ? -EIO : r;
}

int
db_replace(struct db **d)
{
	bool fresh;

	db_close(*d);
	*d = NULL;
	aside_put("damaged");
	return db_open(d, &fresh);
}

/* ---- statements ---- */

static void
bind(sqlite3_stmt *q, int i, const char *args, va_list ap)
{
	for (; *args != '\0'; i++, args++) {
		const char *s;

		switch (*args) {
		case 'i':
			sqlite3_bind_int64(q, i, va_arg(ap, int64_t));
			break;
		case 'd':
			sqlite3_bind_double(q, i, va_arg(ap, double));
			break;
		case 't':
			s = va_arg(ap, const char *);
			sqlite3_bind_text(q, i, s, -1, SQLITE_STATIC);
			break;
		case 'b':
			s = va_arg(ap, const char *);
			sqlite3_bind_text64(q, i, s != NULL ? s : "",
			    va_arg(ap, size_t), SQLITE_STATIC, SQLITE_UTF8);
			break;
		case 'B':
			s = va_arg(ap, const char *);
			sqlite3_bind_blob64(q, i, s != NULL ? s : "",
			    va_arg(ap, size_t), SQLITE_STATIC);
			break;
		case 'N':
			(void)va_arg(ap, double);
			sqlite3_bind_null(q, i);
			break;
		default:
			sqlite3_bind_null(q, i);
			break;
		}
	}
}

/* The statement, reset, with args bound from its parameter first on. */
static int
start(struct db *d, sqlite3_stmt **ret, int sql, int first, const char *args,
    va_list ap)
{
	if (d->stmt[sql] == NULL) {
		int rc = sqlite3_prepare_v3(d->h, sql_texts[sql], -1,
		    SQLITE_PREPARE_PERSISTENT, &d->stmt[sql], NULL);

		if (rc != SQLITE_OK)
			return error_of(rc);
	}
	*ret = d->stmt[sql];
	sqlite3_reset(*ret);
	bind(*ret, first, args, ap);
	return 0;
}

int
db_bind(struct db *d, int sql, int first, const char *args, ...)
{
	sqlite3_stmt *q;
	va_list ap;
	int r;

	va_start(ap, args);
	r = start(d, &q, sql, first, args, ap);
	va_end(ap);
	return r;
}

int
db_next(struct db *d, sqlite3_stmt *q)
{
	int rc = sqlite3_step(q);

	(void)d;
	if (rc == SQLITE_ROW)
		return 1;
	sqlite3_reset(q);
	return error_of(rc);
}

void
db_done(sqlite3_stmt *q)
{
	sqlite3_reset(q);
}

int
db_find(struct db *d, sqlite3_stmt **ret, int sql, const char *args, ...)
{
	va_list ap;
	int r;

	va_start(ap, args);
	r = start(d, ret, sql, 1, args, ap);
	va_end(ap);
	return r < 0 ? r : db_next(d, *ret);
}

int
db_run(struct db *d, int sql, const char *args, ...)
{
	sqlite3_stmt *q;
	va_list ap;
	int r;

	va_start(ap, args);
	r = start(d, &q, sql, 1, args, ap);
	va_end(ap);
	if (r == 0)
		r = db_next(d, q);
	if (r == 1) {
		db_done(q);
		r = 0;
	}
	return r;
}

int
db_changes(const struct db *d)
{
	return sqlite3_changes(d->h);
}

int64_t
db_int(sqlite3_stmt *q, int column)
{
	return sqlite3_column_int64(q, column);
}

double
db_double(sqlite3_stmt *q, int column)
{
	return sqlite3_column_double(q, column);
}

bool
db_is_null(sqlite3_stmt *q, int column)
{
	return sqlite3_column_type(q, column) == SQLITE_NULL;
}

const char *
db_text(sqlite3_stmt *q, int column)
{
	const char *s = (const char *)sqlite3_column_text(q, column);

	return s != NULL ? s : "";
}

size_t
db_len(sqlite3_stmt *q, int column)
{
	return (size_t)sqlite3_column_bytes(q, column);
}

/* ---- transactions ---- */

int
db_begin(struct db *d)
{
	int r = exec(d, "BEGIN IMMEDIATE");

	d->open_txn = r == 0;
	return r;
}

void
db_rollback(struct db *d)
{
	if (d->open_txn && !sqlite3_get_autocommit(d->h))
		sqlite3_exec(d->h, "ROLLBACK", NULL, NULL, NULL);
	d->open_txn = false;
}

int
db_commit(struct db *d)
{
	int r = exec(d, "COMMIT");

	if (r < 0)
		db_rollback(d);
	d->open_txn = false;
	return r;
}

int
db_checkpoint(struct db *d, bool *ret_whole)
{
	int pages = 0, moved = 0;
	int rc = sqlite3_wal_checkpoint_v2(d->h, NULL,
	    SQLITE_CHECKPOINT_PASSIVE, &pages, &moved);

	if (rc != SQLITE_OK)
		return error_of(rc);
	*ret_whole = pages == moved;
	if (*ret_whole)
		d->wal_pages = 0;
	return 0;
}

size_t
db_wal_pages(const struct db *d)
{
	return d->wal_pages;
}

int
db_shrink(struct db *d, unsigned n)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%u)", n);
	return exec(d, sql);
}
