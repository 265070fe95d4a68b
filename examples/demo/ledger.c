/*
 * The ledger file: writing it, and reading back what was done under a key.
 * It is read on from where it was left, so that looking costs what is new.
 */
#include "examples/demo/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fatal.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"

struct ledger {
	int fd;
	bool in_memory;
	char run[17];	    /* tells this process from others in the file */
	struct buf line;    /* the one being written */
	struct buf unread;  /* read, not yet a whole line */
	off_t offset;	    /* read up to here */
	void *keys;	    /* tsearch tree of struct ledger_key */
	struct buf effects; /* JSON objects, comma in front of each */
};

/* A line that a killed writer left half is ended, so that ours is whole. */
static void
end_half_line(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char last;

	if (size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n')
		fd_write_all(fd, "\n", 1);
}

struct ledger *
ledger_open(const char *file)
{
	struct ledger *l = mem_zalloc(sizeof(*l));

	l->in_memory = file == NULL;
	str_random_hex(l->run, 8);
	if (l->in_memory)
		l->fd = memfd_create("ledger", MFD_CLOEXEC);
	else
		l->fd =
		    open(file, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (l->fd < 0)
		fatal(EXIT_CODE_USAGE, "--ledger %s",
		    file != NULL ? file : "(memory)");
	if (l->in_memory && fcntl(l->fd, F_SETFL, O_APPEND) < 0)
		fatal(EXIT_CODE_INTERNAL, "appending to memory");
	ledger_lock(l);
	end_half_line(l->fd);
	ledger_unlock(l);
	return l;
}

static void
key_free(void *p)
{
	struct ledger_key *k = p;

	free(k->key);
	free(k->answer);
	free(k);
}

void
ledger_close(struct ledger *l)
{
	tdestroy(l->keys, key_free);
	buf_free(&l->line);
	buf_free(&l->unread);
	buf_free(&l->effects);
	fd_close(&l->fd);
	free(l);
}

int
ledger_fd(const struct ledger *l)
{
	return l->fd;
}

bool
ledger_is_file(const struct ledger *l)
{
	return !l->in_memory;
}

static void
line_begin(struct ledger *l, struct jsonw *w, const char *event)
{
	buf_clear(&l->line);
	jsonw_init(w, &l->line);
	jsonw_object(w, NULL);
	jsonw_int(w, "us", time_mono().us);
	jsonw_int(w, "pid", getpid());
	jsonw_string(w, "run", l->run);
	jsonw_string(w, "event", event);
}

bool
ledger_begin(struct ledger *l, struct jsonw *w, const char *event)
{
	if (l->in_memory)
		return false;
	line_begin(l, w, event);
	return true;
}

void
ledger_end(struct ledger *l, struct jsonw *w)
{
	int r;

	jsonw_object_end(w);
	buf_putc(&l->line, '\n');
	r = fd_write_all(l->fd, buf_at(&l->line), buf_len(&l->line));
	if (r < 0) {
		errno = -r;
		fatal(EXIT_CODE_INTERNAL, "writing the ledger");
	}
}

static int
compare_keys(const void *a, const void *b)
{
	return strcmp(((const struct ledger_key *)a)->key,
	    ((const struct ledger_key *)b)->key);
}

static struct ledger_key *
key_get(struct ledger *l, const char *key)
{
	struct ledger_key probe = {.key = mem_strdup(key)}, *made;
	struct ledger_key **found = tfind(&probe, &l->keys, compare_keys);

	if (found != NULL) {
		free(probe.key);
		return *found;
	}
	made = mem_dup(&probe, sizeof(probe));
	if (tsearch(made, &l->keys, compare_keys) == NULL)
		fatalx(EXIT_CODE_INTERNAL, "no memory for a key");
	return made;
}

static void
note_effect(struct ledger *l, struct json_value key, struct json_value function,
    struct json_value answer)
{
	struct jsonw w;

	buf_putc(&l->effects, ',');
	jsonw_init(&w, &l->effects);
	jsonw_object(&w, NULL);
	if (!json_is(key, JSON_NONE))
		jsonw_value(&w, "key", key);
	jsonw_value(&w, "function", function);
	jsonw_value(&w, "answer", answer);
	jsonw_object_end(&w);
}

/* Takes one line in: an effect, a busy answer or a fault, else nothing. */
static void
absorb(struct ledger *l, const char *p, size_t len)
{
	struct json_want want[] = {{.name = "event"}, {.name = "key"},
	    {.name = "function"}, {.name = "answer"}};
	struct json_value event;
	struct ledger_key *k;
	char *key = NULL;

	if (!json_object_pick(p, len, want, 4, NULL))
		return; /* the half line of a writer that was killed */
	event = want[0].value;
	if (json_string_is(event, "effect"))
		note_effect(l, want[1].value, want[2].value, want[3].value);
	if (!json_to_new_string(want[1].value, 4096, &key))
		return;
	if (json_string_is(event, "effect")) {
		k = key_get(l, key);
		free(k->answer);
		k->answer = NULL;
		json_to_new_string(want[3].value, 65536, &k->answer);
	} else if (json_string_is(event, "busy")) {
		key_get(l, key)->busy++;
	} else if (json_string_is(event, "fault")) {
		key_get(l, key)->faults++;
	}
	free(key);
}

static void
read_on(struct ledger *l)
{
	ssize_t n;
	const char *nl;

	for (;;) {
		char *room = buf_room(&l->unread, 65536);

		n = pread(l->fd, room, 65536, l->offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		l->offset += n;
		buf_added(&l->unread, (size_t)n);
		while (buf_len(&l->unread) > 0 &&
		       (nl = memchr(buf_at(&l->unread), '\n',
			    buf_len(&l->unread))) != NULL) {
			size_t len = (size_t)(nl - buf_at(&l->unread));

			absorb(l, buf_at(&l->unread), len);
			buf_take(&l->unread, len + 1);
		}
	}
}

void
ledger_lock(struct ledger *l)
{
	while (flock(l->fd, LOCK_EX) < 0)
		if (errno != EINTR)
			fatal(EXIT_CODE_INTERNAL, "locking the ledger");
}

void
ledger_unlock(struct ledger *l)
{
	flock(l->fd, LOCK_UN);
}

const struct ledger_key *
ledger_look(struct ledger *l, const char *key)
{
	read_on(l);
	return key_get(l, key);
}

void
ledger_keep(struct ledger *l, const char *event, const char *key,
    const char *function, const char *answer)
{
	struct jsonw w;

	line_begin(l, &w, event);
	jsonw_string(&w, "key", key);
	jsonw_string(&w, "function", function);
	jsonw_string(&w, "answer", answer);
	ledger_end(l, &w);
}

void
ledger_effects(struct ledger *l, struct buf *out)
{
	read_on(l);
	buf_putc(out, '[');
	if (buf_len(&l->effects) > 0)
		buf_put(out, buf_at(&l->effects) + 1, buf_len(&l->effects) - 1);
	buf_putc(out, ']');
}
