/*
 * Fuzzes what reads frames: the bytes arrive at a channel in pieces, with a
 * descriptor beside them now and then.  The first byte says who listens.
 * Every frame that is taken obeys the table of messages.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/chan.h"

#define MAX_PAYLOAD ((size_t)100000)

static void
send_piece(int fd, const uint8_t *p, size_t n, bool with_fd)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { (void *)(uintptr_t)p, n };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	int sent = STDERR_FILENO;

	if (with_fd) {
		struct cmsghdr *c;

		memset(&control, 0, sizeof(control));
		m.msg_control = control.space;
		m.msg_controllen = sizeof(control.space);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &sent, sizeof(sent));
	}
	if (sendmsg(fd, &m, MSG_DONTWAIT) != (ssize_t)n)
		abort();
}

static void
check_frame(const struct chan_frame *f, enum wire_role me, enum wire_role peer)
{
	const struct wire_message *m = wire_message_find(f->type);
	size_t body = (size_t)(f->body.end - f->body.p);
	volatile uint8_t sum = 0;

	if (m == NULL || m->to != me || m->from != peer
	    || body < m->min_body || body > m->max_body
	    || f->nfds < m->min_fds || f->nfds > m->max_fds
	    || f->payload_len > MAX_PAYLOAD
	    || (f->payload_len != 0 && !m->payload))
		abort();
	for (size_t i = 0; i < body; i++)
		sum = (uint8_t)(sum + f->body.p[i]);
	for (size_t i = 0; i < f->payload_len; i++)
		sum = (uint8_t)(sum + (uint8_t)f->payload[i]);
}

static bool
take_frames(struct chan *c, enum wire_role me, enum wire_role peer)
{
	struct chan_frame *f;
	const char *why;
	int r;

	while ((r = chan_next(c, &f, &why)) == 1)
		check_frame(f, me, peer);
	return r == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum wire_role peer, me = WIRE_ROLE_SUPERVISOR;
	struct chan *c;
	int sv[2];

	if (size < 2 || size > 60000 || fd_socketpair(sv) < 0)
		return 0;
	peer = (enum wire_role)(WIRE_ROLE_WORKER + data[0] % 3);
	c = (data[0] & 0x80) != 0 ? chan_new(sv[0], peer, me, MAX_PAYLOAD)
				  : chan_new(sv[0], me, peer, MAX_PAYLOAD);
	if ((data[0] & 0x80) != 0) {
		me = peer;
		peer = WIRE_ROLE_SUPERVISOR;
	}
	for (size_t at = 2; at < size;) {
		size_t n = 1 + (data[1] & 0x7f) * 7u;

		n = n < size - at ? n : size - at;
		send_piece(sv[1], data + at, n,
		    (data[1] & 0x80) != 0 && at % 3 == 0);
		at += n;
		if (chan_read(c) < 0 || !take_frames(c, me, peer))
			break;
	}
	chan_free(c);
	fd_close(&sv[1]);
	return 0;
}
