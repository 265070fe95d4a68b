/*
 * The control socket from the client's side.  Runs in oz0.
 */
#include "cli/client.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cli/place.h"
#include "cli/print.h"

#define READ_ROOM ((size_t)64 * 1024)
#define MAX_FDS 3
#define RPC_METHOD (-32601)
#define RPC_PARAMS (-32602)

struct client {
	struct cli *cli;
	int fd;
	char *path;
	uint64_t last_id;
	bool optional;
	struct buf out;
	struct jsonw w;
	struct buf in;
	size_t scanned; /* of in: no newline there */
	size_t line;	/* length of the line handed out, newline included */
	void (*on_event)(void *arg, struct json_value step);
	void *arg;
};

int
cli_code(const struct cli *cli, enum cli_exit code)
{
	return cli->is_wrapper ? CLI_RUN_FAILED : code;
}

/* ---- beginning and end ---- */

static void
connect_to(struct client *c)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	if (strlen(c->path) >= sizeof(un.sun_path)) {
		complain("a socket's path may have at most %zu bytes: %s",
		    sizeof(un.sun_path) - 1, c->path);
		exit(cli_code(c->cli, CLI_USAGE));
	}
	memcpy(un.sun_path, c->path, strlen(c->path) + 1);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd >= 0 &&
	    connect(c->fd, (struct sockaddr *)&un, sizeof(un)) == 0)
		return;
	complain("no node answers at %s: %s%s", c->path, strerror(errno),
	    errno == ENOENT || errno == ECONNREFUSED
		? " (does oz0d run? --socket PATH or OZ0_SOCKET names "
		  "another socket)"
		: "");
	exit(cli_code(c->cli, CLI_NO_NODE));
}

struct client *
client_open(struct cli *cli)
{
	struct client *c = mem_zalloc(sizeof(*c));

	c->cli = cli;
	c->path = cli->socket != NULL ? mem_strdup(cli->socket)
				      : place_socket();
	if (c->path == NULL) {
		complain("where is the node's socket? Neither HOME nor "
			 "XDG_RUNTIME_DIR says; --socket PATH names it");
		exit(cli_code(cli, CLI_USAGE));
	}
	connect_to(c);
	return c;
}

void
client_close(struct client *c)
{
	if (c == NULL)
		return;
	fd_close(&c->fd);
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
client_optional(struct client *c)
{
	c->optional = true;
}

void
client_on_event(struct client *c,
    void (*fn)(void *arg, struct json_value step), void *arg)
{
	c->on_event = fn;
	c->arg = arg;
}

static void
lost(struct client *c, const char *why)
{
	if (c->optional) {
		fd_close(&c->fd);
		return;
	}
	complain("the connection to the node at %s was lost: %s", c->path, why);
	exit(cli_code(c->cli, CLI_NO_NODE));
}

/* ---- requests ---- */

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

uint64_t
client_end(struct client *c)
{
	jsonw_object_end(&c->w);
	jsonw_object_end(&c->w);
	buf_putc(&c->out, '\n');
	return c->last_id;
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
	return sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* false: it is to stop. */
static bool
wait_writable(const struct client *c, int stop_fd)
{
	struct pollfd p[2] = { { .fd = c->fd, .events = POLLOUT },
		{ .fd = stop_fd, .events = POLLIN } };

	poll(p, 2, -1);
	return p[1].revents == 0;
}

bool
client_flush(struct client *c, const int *fds, size_t nfds, int stop_fd)
{
	while (c->fd >= 0 && buf_len(&c->out) > 0) {
		ssize_t n = send_some(c, fds, nfds);

		if (n >= 0) {
			buf_take(&c->out, (size_t)n);
			nfds = 0;
		} else if (errno == EAGAIN) {
			if (!wait_writable(c, stop_fd))
				return false;
		} else if (errno == EPIPE || errno == ECONNRESET) {
			/* why is what it sent before: to be read */
			buf_clear(&c->out);
		} else if (errno != EINTR) {
			lost(c, strerror(errno));
		}
	}
	return true;
}

/* ---- answers ---- */

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
	struct json_value data = json_member(error, "data");

	ret->error = error;
	json_to_int64(json_member(error, "code"), &ret->code);
	json_to_string(json_member(data, "reason"), ret->reason,
	    sizeof(ret->reason));
	json_to_string(
	    json_member(data, "state"), ret->state, sizeof(ret->state));
}

static enum client_got
handle(struct client *c, const char *p, size_t len, uint64_t *ret_id,
    struct reply *ret)
{
	struct json_want w[] = { { .name = "id" }, { .name = "result" },
		{ .name = "error" }, { .name = "params" } };
	struct json_fault jf;

	if (!json_object_pick(p, len, w, 4, &jf)) {
		lost(c, "it sent a line that is no JSON object");
		return CLIENT_LOST;
	}
	if (w[0].value.type == JSON_NONE) {
		if (c->on_event != NULL && w[3].value.type == JSON_OBJECT)
			c->on_event(c->arg, w[3].value);
		return CLIENT_EVENT;
	}
	memset(ret, 0, sizeof(*ret));
	ret->ok = w[1].value.type != JSON_NONE;
	ret->result = w[1].value;
	if (!ret->ok && w[2].value.type == JSON_OBJECT)
		read_error(w[2].value, ret);
	/* id null: the node turns the connection away, or took no request */
	if (w[0].value.type == JSON_NULL && ret->error.type != JSON_NONE &&
	    !c->optional)
		exit(client_fault(c, ret));
	if (json_to_uint64(w[0].value, ret_id) &&
	    (ret->ok || ret->error.type != JSON_NONE))
		return CLIENT_ANSWER;
	lost(c, "it sent a line that is no answer");
	return CLIENT_LOST;
}

enum client_got
client_take(struct client *c, uint64_t *ret_id, struct reply *ret)
{
	if (c->line > 0) {
		buf_take(&c->in, c->line);
		c->line = 0;
		member_forget();
	}
	while (c->fd >= 0 && (c->line = whole_line(c)) == 0) {
		ssize_t n = recv(c->fd, buf_room(&c->in, READ_ROOM), READ_ROOM,
		    MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			return CLIENT_NOTHING;
		if (n > 0)
			buf_added(&c->in, (size_t)n);
		else if (n == 0)
			lost(c, buf_len(&c->in) > 0
				? "it was closed within a message"
				: "it was closed");
		else if (errno != EINTR)
			lost(c, strerror(errno));
	}
	if (c->fd < 0)
		return CLIENT_LOST;
	return handle(c, buf_at(&c->in), c->line - 1, ret_id, ret);
}

void
client_wait(struct client *c, uint64_t id, struct reply *ret)
{
	struct pollfd p = { .events = POLLIN };
	enum client_got got;
	uint64_t of = 0;

	client_flush(c, NULL, 0, -1);
	for (;;) {
		got = client_take(c, &of, ret);
		if (got == CLIENT_ANSWER && of == id)
			return;
		if (got == CLIENT_LOST) {
			memset(ret, 0, sizeof(*ret));
			return;
		}
		p.fd = c->fd;
		if (got == CLIENT_NOTHING)
			poll(&p, 1, -1);
	}
}

void
client_do(struct client *c, uint64_t id, struct reply *ret)
{
	client_wait(c, id, ret);
	if (ret->ok)
		return;
	exit(client_fault(c, ret));
}

int
client_fault(const struct client *c, const struct reply *r)
{
	static const struct {
		const char *reason;
		enum cli_exit code;
	} codes[] = {
		{ "not_allowed", CLI_REFUSED },
		{ "internal", CLI_UNKNOWN },
	};
	enum cli_exit code = CLI_NOT_MADE;
	char *message;
	size_t len;

	message = text_of(json_member(r->error, "message"), &len);
	if (c->cli->json)
		printf("{\"error\":%.*s}\n", (int)r->error.len, r->error.p);
	complain("%s", *message != '\0' ? message : "the node gave an error");
	free(message);
	if (r->code == RPC_PARAMS || r->code == RPC_METHOD)
		code = CLI_USAGE;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strcmp(r->reason, codes[i].reason) == 0)
			code = codes[i].code;
	return cli_code(c->cli, code);
}
