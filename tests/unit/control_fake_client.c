/*
 * The clients of control_fake.h: their socket does not block, and while they
 * wait the node has its turns.
 */
#include "tests/unit/control_fake.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"

void
client_open(struct fake_node *n, struct client *c)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	*c = (struct client){.n = n};
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/s", n->dir);
	ck_assert_msg(connect(c->fd, (struct sockaddr *)&a, sizeof(a)) == 0,
	    "%s", strerror(errno));
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
}

void
client_close(struct client *c)
{
	close(c->fd);
	free(c->in);
	*c = (struct client){.fd = -1};
}

void
client_send(struct client *c, const char *text)
{
	size_t len = strlen(text);

	while (len > 0) {
		ssize_t n = send(c->fd, text, len, MSG_NOSIGNAL);

		if (n < 0) {
			ck_assert_int_eq(errno, EAGAIN);
			fake_turn(c->n);
			continue;
		}
		text += n;
		len -= (size_t)n;
	}
}

/* Takes in what is there; true when something came. */
static bool
pull(struct client *c)
{
	ssize_t n;

	if (c->closed)
		return false;
	if (c->start > c->len / 2) {
		memmove(c->in, c->in + c->start, c->len - c->start);
		c->len -= c->start;
		c->start = 0;
	}
	if (c->cap - c->len < 65536) {
		c->cap = c->cap * 2 + 65536;
		c->in = mem_realloc(c->in, c->cap + 1);
	}
	n = recv(c->fd, c->in + c->len, c->cap - c->len, 0);
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		c->closed = true;
	if (n <= 0)
		return false;
	c->len += (size_t)n;
	return true;
}

static char *last_line;

static bool
take(struct client *c)
{
	char *at = c->in + c->start, *end = NULL;
	size_t n;

	if (c->len > c->start)
		end = memchr(at, '\n', c->len - c->start);
	if (end == NULL)
		return false;
	n = (size_t)(end - at);
	free(last_line);
	last_line = mem_strndup(at, n);
	c->start += n + 1;
	return true;
}

const char *
client_line(struct client *c)
{
	struct mono until = mono_add(time_mono(), SPAN_S(20));

	while (!take(c)) {
		if (c->closed)
			return NULL;
		fake_turn(c->n);
		pull(c);
		ck_assert_msg(mono_before(time_mono(), until), "no line came");
	}
	return last_line;
}

bool
client_quiet(struct client *c)
{
	for (int quiet = 0; quiet < 5; quiet++) {
		fake_turn(c->n);
		if (pull(c))
			quiet = 0;
	}
	return c->len > c->start &&
	       memchr(c->in + c->start, '\n', c->len - c->start) != NULL;
}

const char *
client_ask(struct client *c, const char *line)
{
	const char *got;

	client_send(c, line);
	client_send(c, "\n");
	do
		got = client_line(c);
	while (got != NULL && strstr(got, "\"method\":\"event\"") != NULL);
	return got;
}

void
client_ask_has(struct client *c, const char *line, const char *part)
{
	const char *got = client_ask(c, line);

	ck_assert_msg(got != NULL && strstr(got, part) != NULL,
	    "to %s came %s, without %s", line, got, part);
}

void
client_ask_error(struct client *c, const char *line, int code, const char *id)
{
	char head[200];

	snprintf(head, sizeof(head),
	    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,", id, code);
	client_ask_has(c, line, head);
}

void
client_works(struct client *c)
{
	client_ask_has(c, HELLO, "\"role\":\"admin\"");
}
