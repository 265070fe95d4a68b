/*
 * The directory of the log, in oz0-journal.  A segment is blank (all zeroes,
 * all blocks allocated) until oz0d begins it with a header; it is removed
 * once everything in it is in the database and on the disk.
 */
#include "journal/logdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/mem.h"
#include "wire/log.h"

#define MARKS "marks"
#define MARKS_NEW "marks.new"
#define MARKS_FORMAT \
	"seq %" PRIu64 "\ncall %" PRIu64 "\nattempt %" PRIu64 \
	"\nsegment %" PRIu64 "\n"
#define MARKS_SCAN \
	"seq %" SCNu64 " call %" SCNu64 " attempt %" SCNu64 \
	" segment %" SCNu64 "\n"

struct logdir {
	int fd;
	uint64_t *numbers; /* ascending */
	size_t n, room;
};

static size_t
place_of(const struct logdir *l, uint64_t number)
{
	size_t i = l->n;

	while (i > 0 && l->numbers[i - 1] >= number)
		i--;
	return i;
}

static void
add_number(struct logdir *l, uint64_t number)
{
	size_t at = place_of(l, number);

	if (at < l->n && l->numbers[at] == number)
		return;
	if (l->n == l->room) {
		l->room = l->room != 0 ? 2 * l->room : 16;
		l->numbers = mem_realloc(
		    l->numbers, l->room * sizeof(*l->numbers));
	}
	memmove(l->numbers + at + 1, l->numbers + at,
	    (l->n - at) * sizeof(*l->numbers));
	l->numbers[at] = number;
	l->n++;
}

static int
list(struct logdir *l)
{
	int fd = openat(l->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *e;
	uint64_t number;
	DIR *d;

	if (fd < 0)
		return -errno;
	d = fdopendir(fd);
	if (d == NULL) {
		fd_close(&fd);
		return -ENOMEM;
	}
	errno = 0;
	while ((e = readdir(d)) != NULL)
		if (log_segment_parse(e->d_name, &number) && number != 0)
			add_number(l, number);
	int r = -errno;
	closedir(d);
	return r;
}

int
logdir_open(int state_dir, struct logdir **ret)
{
	struct logdir *l = mem_zalloc(sizeof(*l));
	int r = 0;

	if (mkdirat(state_dir, "log", 0700) < 0 && errno != EEXIST)
		r = -errno;
	l->fd = openat(state_dir, "log",
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (l->fd < 0 && r == 0)
		r = -errno;
	if (l->fd >= 0)
		r = list(l);
	if (r < 0) {
		logdir_close(l);
		return r;
	}
	*ret = l;
	return 0;
}

void
logdir_close(struct logdir *l)
{
	if (l == NULL)
		return;
	fd_close(&l->fd);
	free(l->numbers);
	free(l);
}

uint64_t
logdir_next(const struct logdir *l, uint64_t n)
{
	size_t at = place_of(l, n + 1);

	return at < l->n ? l->numbers[at] : 0;
}

static bool
is_begun(const struct logdir *l, uint64_t number)
{
	static const char blank[LOG_HEADER];
	char header[LOG_HEADER];
	CLEANUP_CLOSE int fd = -1;

	if (logdir_open_segment(l, number, &fd) < 0)
		return false;
	return pread(fd, header, sizeof(header), 0) == sizeof(header)
	    && memcmp(header, blank, sizeof(header)) != 0;
}

uint64_t
logdir_next_begun(const struct logdir *l, uint64_t n)
{
	while ((n = logdir_next(l, n)) != 0)
		if (is_begun(l, n))
			return n;
	return 0;
}

uint64_t
logdir_newest_begun(const struct logdir *l)
{
	for (size_t i = l->n; i > 0; i--)
		if (is_begun(l, l->numbers[i - 1]))
			return l->numbers[i - 1];
	return 0;
}

size_t
logdir_count(const struct logdir *l)
{
	return l->n;
}

int
logdir_open_segment(const struct logdir *l, uint64_t number, int *ret_fd)
{
	char name[17];
	int fd;

	log_segment_name(number, name);
	fd = openat(l->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int
logdir_make_segment(
    struct logdir *l, uint64_t number, uint64_t size, bool sync, int *ret_fd)
{
	CLEANUP_CLOSE int fd = -1;
	char name[17];
	int r;

	if (is_begun(l, number))
		return -EEXIST;
	log_segment_name(number, name);
	fd = openat(l->fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
	    0600);
	if (fd < 0)
		return -errno;
	do
		r = posix_fallocate(fd, 0, (off_t)size);
	while (r == EINTR);
	if (r == 0 && sync && (fsync(fd) < 0 || fsync(l->fd) < 0))
		r = errno;
	if (r != 0) {
		/* What it took is given back; a writer may hold none of it. */
		if (logdir_next(l, number - 1) != number)
			unlinkat(l->fd, name, 0);
		return -r;
	}
	add_number(l, number);
	*ret_fd = fd_steal(&fd);
	return 0;
}

int
logdir_drop_below(struct logdir *l, uint64_t number)
{
	size_t n = 0;
	int r = 0;

	while (n < l->n && l->numbers[n] < number) {
		char name[17];

		log_segment_name(l->numbers[n], name);
		if (unlinkat(l->fd, name, 0) < 0 && errno != ENOENT) {
			r = -errno;
			break;
		}
		n++;
	}
	memmove(l->numbers, l->numbers + n,
	    (l->n - n) * sizeof(*l->numbers));
	l->n -= n;
	return r;
}

int
logdir_sync_from(const struct logdir *l, uint64_t number)
{
	for (size_t i = place_of(l, number); i < l->n; i++) {
		CLEANUP_CLOSE int fd = -1;
		int r;

		if (!is_begun(l, l->numbers[i]))
			continue;
		r = logdir_open_segment(l, l->numbers[i], &fd);
		if (r < 0)
			return r;
		if (fdatasync(fd) < 0)
			return -errno;
	}
	return 0;
}

int
logdir_get_marks(const struct logdir *l, struct logdir_marks *ret)
{
	CLEANUP_FREE char *text = NULL;
	struct logdir_marks m;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = fd_read_file(l->fd, MARKS, 1024, &text, NULL);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (sscanf(text, MARKS_SCAN, &m.seq, &m.call, &m.attempt, &m.segment)
	    != 4)
		return -EBADMSG;
	*ret = m;
	return 0;
}

int
logdir_set_marks(const struct logdir *l, const struct logdir_marks *m)
{
	CLEANUP_CLOSE int fd = openat(l->fd, MARKS_NEW,
	    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	char text[160];
	int r, n;

	if (fd < 0)
		return -errno;
	n = snprintf(text, sizeof(text), MARKS_FORMAT, m->seq, m->call,
	    m->attempt, m->segment);
	r = fd_write_all(fd, text, (size_t)n);
	if (r == 0 && fdatasync(fd) < 0)
		r = -errno;
	if (r == 0 && renameat(l->fd, MARKS_NEW, l->fd, MARKS) < 0)
		r = -errno;
	return r;
}
