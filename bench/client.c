/*
 * A small client of the control socket.  Part of oz0-bench.
 *
 * It makes what a measurement needs (jobs, sessions, calls) and waits for
 * single answers; the calls that are counted go through load.c on the same
 * socket, while nothing of this client is open on it.
 */
#include "bench/client.h"

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/mem.h"

#define READ_ROOM ((size_t)64 * 1024)

struct client {
	int fd;
	uint64_t last_id;
	struct buf in;
	size_t line; /* length of the line handed out, newline included */
};

struct client *
client_open(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct client *c = mem_zalloc(sizeof(*c));

	if (strlen(path) >= sizeof(a.sun_path))
		errx(1, "%s: too long for a socket", path);
	strcpy(a.sun_path, path);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 ||
	    connect(c->fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		err(1, "connect to %s", path);
	return c;
}

void
client_close(struct client *c)
{
	if (c == NULL)
		return;
	fd_close(&c->fd);
	buf_free(&c->in);
	free(c);
}

int
client_fd(const struct client *c)
{
	return c->fd;
}

static uint64_t __attribute__((format(printf, 3, 0)))
send_request(
    struct client *c, const char *method, const char *fmt, va_list ap)
{
	CLEANUP_FREE char *params = mem_vprintf(fmt, ap);
	CLEANUP_FREE char *line = mem_printf(
	    "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64
	    ",\"method\":\"%s\",\"params\":%s}\n",
	    ++c->last_id, method, params);
	int r = fd_write_all(c->fd, line, strlen(line));

	if (r < 0) {
		errno = -r;
		err(1, "write %s", method);
	}
	return c->last_id;
}

uint64_t
client_send(struct client *c, const char *method, const char *fmt, ...)
{
	uint64_t id;
	va_list ap;

	va_start(ap, fmt);
	id = send_request(c, method, fmt, ap);
	va_end(ap);
	return id;
}

/* The next line; c->line says how long it is. */
static const char *
next_line(struct client *c)
{
	size_t scanned = 0;

	buf_take(&c->in, c->line);
	c->line = 0;
	for (;;) {
		size_t n = buf_len(&c->in);
		const char *nl = n > scanned
		    ? memchr(buf_at(&c->in) + scanned, '\n', n - scanned)
		    : NULL;
		ssize_t got;

		if (nl != NULL) {
			c->line = (size_t)(nl - buf_at(&c->in)) + 1;
			return buf_at(&c->in);
		}
		scanned = n;
		got = read(c->fd, buf_room(&c->in, READ_ROOM), READ_ROOM);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			err(1, "read from the node");
		if (got == 0)
			errx(1, "the node has closed the connection");
		buf_added(&c->in, (size_t)got);
	}
}

struct json_value
client_wait(struct client *c, uint64_t id)
{
	for (;;) {
		struct json_want w[] = { { "id", { 0 } }, { "result", { 0 } } };
		const char *line = next_line(c);
		struct json_fault f;
		uint64_t theirs;

		if (!json_object_pick(line, c->line, w, 2, &f))
			errx(1, "the node wrote no JSON-RPC (%s): %.400s",
			    f.why, line);
		if (!json_to_uint64(w[0].value, &theirs) || theirs != id)
			continue;
		if (w[1].value.type == JSON_NONE)
			errx(1, "the node refused: %.*s", (int)c->line, line);
		return w[1].value;
	}
}

struct json_value
client_do(struct client *c, const char *method, const char *fmt, ...)
{
	uint64_t id;
	va_list ap;

	va_start(ap, fmt);
	id = send_request(c, method, fmt, ap);
	va_end(ap);
	return client_wait(c, id);
}

void
client_want_state(struct json_value result, const char *state)
{
	if (!json_string_is(json_member(result, "state"), state))
		errx(1, "not %s: %.*s", state,
		    result.len > 1000 ? 1000 : (int)result.len, result.p);
}
