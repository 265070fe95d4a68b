/*
 * The control socket from the client's side.  Runs in oz0.
 */
#include "cli/client.h"

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"

#define READ_ROOM ((size_t)64 * 1024)
#define MAX_FDS 3

struct client {
	int fd;
	char *path;
	uint64_t last_id;
	struct buf out;
	struct jsonw w;
	struct buf in;
	size_t scanned; /* of in: no newline there */
	size_t line;	/* length of the line handed out, newline included */
	void (*on_event)(void *arg, struct json_value step);
	void *arg;
};

/* Root's, or the user's own (INTERFACES, node.socket). */
static char *
default_path(void)
{
	const char *dir;

	if (geteuid() == 0)
		return mem_strdup("/run/oz0/control.sock");
	dir = getenv("XDG_RUNTIME_DIR");
	if (dir != NULL && *dir == '/')
		return mem_printf("%s/oz0/control.sock", dir);
	dir = getenv("XDG_STATE_HOME");
	if (dir != NULL && *dir == '/')
		return mem_printf("%s/oz0/control.sock", dir);
	dir = getenv("HOME");
	return mem_printf("%s/.local/state/oz0/control.sock",
	    dir != NULL ? dir : "");
}

struct client *
client_open(const char *path)
{
	struct client *c = mem_zalloc(sizeof(*c));
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	c->path = path != NULL ? mem_strdup(path) : default_path();
	if (strlen(c->path) >= sizeof(un.sun_path))
		errx(CLI_USAGE, "socket path is longer than %zu bytes: %s",
		    sizeof(un.sun_path) - 1, c->path);
	memcpy(un.sun_path, c->path, strlen(c->path) + 1);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		err(CLI_NO_NODE, "socket");
	if (connect(c->fd, (struct sockaddr *)&un, sizeof(un)) < 0)
		err(CLI_NO_NODE,
		    "no node answers at %s (is oz0d running? --socket PATH "
		    "or OZ0_SOCKET names another one)",
		    c->path);
	return c;
}

void
client_close(struct client *c)
{
	if (c == NULL)
		return;
	close(c->fd);
	buf_free(&c->in);
	buf_free(&c->out);
	free(c->path);
	free(c);
}

int
client_fd(const struct client *c)
{
	return c->fd;
}

void
client_on_event(struct client *c,
    void (*fn)(void *arg, struct json_value step), void *arg)
{
	c->on_event = fn;
	c->arg = arg;
}

struct jsonw *
client_begin(struct client *c, const char *method)
{
	jsonw_init(&c->w, &c->out);
	jsonw_object(&c->w, NULL);
	jsonw_string(&c->w, "jsonrpc", "2.0");
	jsonw_uint(&c->w, "id", ++c->last_id);
	jsonw_string(&c->w, "method", method);
	jsonw_object(&c->w, "params");
	return &c->w;
}

static void
lost(const struct client *c, const char *why)
{
	errx(CLI_NO_NODE, "the connection to the node at %s was lost: %s",
	    c->path, why);
}

static ssize_t
send_some(struct client *c, const int *fds, size_t nfds)
{
	union {
		char space[CMSG_SPACE(MAX_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = c->out.data + c->out.start,
		.iov_len = buf_len(&c->out) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nfds > 0) {
		struct cmsghdr *h;

		memset(&control, 0, sizeof(control));
		m.msg_control = control.space;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(h), fds, nfds * sizeof(int));
	}
	return sendmsg(c->fd, &m, MSG_NOSIGNAL);
}

uint64_t
client_send(struct client *c, const int *fds, size_t nfds)
{
	jsonw_object_end(&c->w);
	jsonw_object_end(&c->w);
	buf_putc(&c->out, '\n');
	while (buf_len(&c->out) > 0) {
		ssize_t n = send_some(c, fds, nfds);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			lost(c, strerror(errno));
		buf_take(&c->out, (size_t)n);
		nfds = 0;
	}
	return c->last_id;
}

/* A whole line is there: its length with the newline, else 0. */
static size_t
whole_line(struct client *c)
{
	const char *nl = NULL;
	size_t len = buf_len(&c->in);

	if (len > c->scanned)
		nl = memchr(
		    buf_at(&c->in) + c->scanned, '\n', len - c->scanned);
	if (nl == NULL) {
		c->scanned = len;
		return 0;
	}
	c->scanned = 0;
	return (size_t)(nl - buf_at(&c->in)) + 1;
}

static void
read_error(struct json_value error, struct reply *ret)
{
	struct json_want e[] = { { .name = "code" }, { .name = "message" },
		{ .name = "data" } };
	struct json_want d[] = { { .name = "reason" }, { .name = "state" } };

	if (!json_pick(error, e, 3))
		return;
	json_to_int64(e[0].value, &ret->code);
	if (!json_to_string(e[1].value, ret->message, sizeof(ret->message)))
		snprintf(ret->message, sizeof(ret->message), "error %" PRId64,
		    ret->code);
	if (json_pick(e[2].value, d, 2)) {
		json_to_string(d[0].value, ret->reason, sizeof(ret->reason));
		json_to_string(d[1].value, ret->state, sizeof(ret->state));
	}
}

/* 1: an answer; 0: an event, which was handled. */
static int
handle(struct client *c, const char *p, size_t len, uint64_t *ret_id,
    struct reply *ret)
{
	struct json_want w[] = { { .name = "id" }, { .name = "result" },
		{ .name = "error" }, { .name = "params" } };
	struct json_fault jf;

	if (!json_object_pick(p, len, w, 4, &jf))
		lost(c, "it sent a line that is no JSON object");
	if (w[0].value.type == JSON_NONE) {
		if (c->on_event != NULL && w[3].value.type == JSON_OBJECT)
			c->on_event(c->arg, w[3].value);
		return 0;
	}
	memset(ret, 0, sizeof(*ret));
	if (!json_to_uint64(w[0].value, ret_id))
		lost(c, "it answered what was not asked");
	ret->ok = w[1].value.type != JSON_NONE;
	ret->result = w[1].value;
	if (!ret->ok)
		read_error(w[2].value, ret);
	return 1;
}

int
client_poll(
    struct client *c, int timeout_ms, uint64_t *ret_id, struct reply *ret)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	ssize_t n;

	if (c->line > 0) {
		buf_take(&c->in, c->line);
		c->line = 0;
	}
	while ((c->line = whole_line(c)) == 0) {
		int r = poll(&p, 1, timeout_ms);

		if (r == 0 || (r < 0 && errno == EINTR))
			return 0;
		n = read(c->fd, buf_room(&c->in, READ_ROOM), READ_ROOM);
		if (n < 0 && errno == EINTR)
			return 0;
		if (n <= 0)
			lost(c, n == 0 ? "it was closed" : strerror(errno));
		buf_added(&c->in, (size_t)n);
	}
	return handle(c, buf_at(&c->in), c->line - 1, ret_id, ret);
}

void
client_wait(struct client *c, uint64_t id, struct reply *ret)
{
	uint64_t got;

	while (client_poll(c, -1, &got, ret) == 0 || got != id)
		;
}

void
client_do(struct client *c, uint64_t id, struct reply *ret)
{
	client_wait(c, id, ret);
	if (ret->ok)
		return;
	if (ret->code == -32602 || ret->code == -32601)
		errx(CLI_USAGE, "%s", ret->message);
	errx(strcmp(ret->reason, "not_allowed") == 0 ? CLI_REFUSED
						     : CLI_NOT_MADE,
	    "%s", ret->message);
}
