/*
 * Databases that cannot be used are renamed, never removed: what is no longer
 * in the log may still be got out of them.  Run by oz0-journal when it opens
 * one; everything lies in the working directory.
 */
#include "journal/aside.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/time.h"
#include "journal/db.h"

#define DAMAGED_KEPT 3

static void
set_aside(const char *what, const char *stamp)
{
	static const char *const parts[] = { "", "-wal", "-shm" };
	char to[128], from[64];

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(from, sizeof(from), DB_NAME "%s", parts[i]);
		snprintf(to, sizeof(to), DB_NAME ".damaged-%s%s", stamp,
		    parts[i]);
		if (rename(from, to) == 0)
			log_error("%s is %s: set aside as %s; the steps of "
				  "what is no longer in the log are in it",
			    from, what, to);
		else if (errno != ENOENT)
			log_error("%s cannot be set aside: %s", from,
			    strerror(errno));
	}
}

static int
is_damaged_copy(const struct dirent *e)
{
	const char *prefix = DB_NAME ".damaged-";

	return strncmp(e->d_name, prefix, strlen(prefix)) == 0
	    && strchr(e->d_name + strlen(prefix), '-') == NULL;
}

/* A disk that keeps breaking databases shall not be filled with them. */
static void
drop_old_copies(void)
{
	struct dirent **names;
	int n = scandir(".", &names, is_damaged_copy, alphasort);

	for (int i = 0; i < n; i++) {
		char path[300];

		if (i < n - DAMAGED_KEPT) {
			unlink(names[i]->d_name);
			snprintf(path, sizeof(path), "%s-wal",
			    names[i]->d_name);
			unlink(path);
			snprintf(path, sizeof(path), "%s-shm",
			    names[i]->d_name);
			unlink(path);
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

static void
stamp_now(char *out, size_t size)
{
	time_t t = (time_t)(time_wall().us / 1000000);
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(out, size, "%Y%m%dT%H%M%SZ", &tm);
}

void
aside_put(const char *what)
{
	char stamp[32];

	stamp_now(stamp, sizeof(stamp));
	set_aside(what, stamp);
	drop_old_copies();
}

/*
 * A write-ahead log whose database is gone, or was never finished, would be
 * spliced into a new database of the same name.
 */
void
aside_stray_wal(void)
{
	struct stat db, wal;

	if (stat(DB_NAME, &db) == 0 && db.st_size != 0)
		return;
	if (stat(DB_NAME "-wal", &wal) == 0 && wal.st_size != 0)
		aside_put("left without its database");
	else
		unlink(DB_NAME "-wal");
}
