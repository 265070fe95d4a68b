/*
 * Large lines of a server's stdout, looked at in oz0-worker while the rest of
 * them is still being written: scanned once, and copied once into the memory
 * that the supervisor will map.
 */
#include "worker/stdio/proof.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/frame.h"

void
proof_init(struct proof *p)
{
	memset(p, 0, sizeof(*p));
	p->copy_from = WIRE_INLINE_MAX;
	p->fd = -1;
}

static void
drop_copy(struct proof *p)
{
	p->no_copy = true;
	fd_close(&p->fd);
	p->sealed = false;
	p->value = p->upto = 0;
}

void
proof_clear(struct proof *p)
{
	p->on = false;
	drop_copy(p);
}

/* Up to len, when the result is being scanned and is large already. */
static void
copy_result(struct proof *p, const char *line, size_t len)
{
	size_t value;

	if (p->no_copy)
		return;
	if (p->fd < 0) {
		if (!json_notes_in(&p->notes, line, "result", &value)
		    || len - value <= p->copy_from)
			return;
		p->fd = memfd_create(
		    "oz0 payload", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		p->no_copy = p->fd < 0;
		p->value = p->upto = value;
	}
	if (p->fd < 0 || len <= p->upto)
		return;
	if (fd_write_all(p->fd, line + p->upto, len - p->upto) < 0)
		drop_copy(p);
	else
		p->upto = len;
}

void
proof_feed(struct proof *p, char *line, size_t len)
{
	size_t from;

	if (!p->on) {
		json_scan_init(&p->scan);
		p->scan.max_depth = JSON_LINE_DEPTH;
		json_scan_note(&p->scan, &p->notes);
		p->on = true;
		p->no_copy = false;
	}
	from = p->scan.offset;
	if (len <= from)
		return;
	if (!json_scan_feed(&p->scan, line + from, len - from)) {
		drop_copy(p); /* the line is no message */
		return;
	}
	if (p->notes.breaks)
		json_one_line(line + from, len - from);
	copy_result(p, line, len);
}

/* The copy becomes exactly the result, or none. */
static void
finish_copy(struct proof *p, const char *line)
{
	struct json_want want = { .name = "result" };
	size_t end;

	if (p->fd < 0)
		return;
	if (!json_notes_pick(&p->notes, line, NULL, &want, 1)
	    || want.value.p != line + p->value) {
		drop_copy(p);
		return;
	}
	end = p->value + want.value.len;
	copy_result(p, line, end);
	if (p->fd < 0)
		return;
	if (p->upto > end && ftruncate(p->fd, (off_t)want.value.len) < 0) {
		drop_copy(p);
		return;
	}
	p->upto = end;
	p->sealed = fd_seal(p->fd) == 0;
}

const struct json_notes *
proof_end(struct proof *p, const char *line, size_t len)
{
	if (!p->on || p->scan.offset < len || !json_scan_end(&p->scan, NULL)) {
		drop_copy(p);
		return NULL;
	}
	finish_copy(p, line);
	return &p->notes;
}

int
proof_take(struct proof *p, const char *line, struct json_value payload)
{
	if (!p->sealed || payload.p != line + p->value
	    || payload.len != p->upto - p->value)
		return -1;
	p->sealed = false;
	return fd_steal(&p->fd);
}

size_t
proof_held(const struct proof *p)
{
	return p->fd >= 0 ? p->upto - p->value : 0;
}
