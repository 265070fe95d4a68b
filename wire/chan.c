/*
 * Channels: frames over a Unix stream socketpair, in every process of the
 * node.  Descriptors go with the first byte of their frame; the kernel keeps
 * them in order with the bytes, so the receiver hands them to frames in turn.
 */
#include "wire/chan.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

#define READ_ROOM ((size_t)64 * 1024)
#define READ_ROOM_MAX ((size_t)256 * 1024)
#define IN_FDS_MAX 64

/* Descriptors waiting for their frame to be sent. */
struct fd_set_out {
	struct fd_set_out *next;
	uint64_t at; /* where the frame begins in the stream of c->out */
	size_t n;
	size_t memfd_len;
	int fds[CHAN_MAX_FDS];
};

/* Which queue has a frame begun on the wire. */
enum mid { MID_NONE, MID_OUT, MID_URGENT };

struct chan {
	int fd;
	enum wire_role me, peer;
	size_t max_payload;

	struct buf out, urgent;
	uint64_t out_at;   /* stream position of out's first byte */
	size_t mid_left;   /* bytes left of the frame begun */
	enum mid mid;
	size_t begun;	   /* where the frame being built starts in out */
	enum wire_type building;
	struct fd_set_out *fds_head, **fds_tail;
	size_t memfd_bytes;
	int given; /* chan_give() */
	size_t given_len;

	struct buf in;
	int in_fds[IN_FDS_MAX];
	size_t nin_fds;
	struct chan_frame last; /* to be released by the next chan_next() */
	size_t last_len;
	bool have_last;
};

struct chan *
chan_new(int fd, enum wire_role me, enum wire_role peer, size_t max_payload)
{
	struct chan *c = mem_zalloc(sizeof(*c));

	c->fd = fd;
	c->me = me;
	c->peer = peer;
	c->max_payload = max_payload;
	c->fds_tail = &c->fds_head;
	c->given = -1;
	return c;
}

static void
free_fd_set(struct fd_set_out *f)
{
	for (size_t i = 0; i < f->n; i++)
		fd_close(&f->fds[i]);
	free(f);
}

static void
release_last(struct chan *c)
{
	if (!c->have_last)
		return;
	if (c->last.map != NULL)
		munmap(c->last.map, c->last.payload_len);
	c->last.map = NULL;
	for (size_t i = 0; i < c->last.nfds; i++)
		fd_close(&c->last.fds[i]);
	buf_take(&c->in, c->last_len);
	c->have_last = false;
}

void
chan_free(struct chan *c)
{
	struct fd_set_out *f;

	if (c == NULL)
		return;
	release_last(c);
	while ((f = c->fds_head) != NULL) {
		c->fds_head = f->next;
		free_fd_set(f);
	}
	for (size_t i = 0; i < c->nin_fds; i++)
		fd_close(&c->in_fds[i]);
	buf_free(&c->in);
	buf_free(&c->out);
	buf_free(&c->urgent);
	fd_close(&c->given);
	fd_close(&c->fd);
	free(c);
}

int
chan_fd(const struct chan *c)
{
	return c->fd;
}

void
chan_set_max_payload(struct chan *c, size_t max_payload)
{
	c->max_payload = max_payload;
}

/* ---- sending ---- */

struct buf *
chan_begin(struct chan *c, enum wire_type type)
{
	static const char blank[WIRE_HEADER];

	c->building = type;
	c->begun = buf_len(&c->out);
	buf_put(&c->out, blank, sizeof(blank));
	return &c->out;
}

static void
put_header(char *at, uint32_t length, uint16_t type, uint8_t nfds,
    uint8_t flags, uint32_t body, uint32_t payload)
{
	length = htole32(length);
	type = htole16(type);
	body = htole32(body);
	payload = htole32(payload);
	memcpy(at, &length, 4);
	memcpy(at + 4, &type, 2);
	at[6] = (char)nfds;
	at[7] = (char)flags;
	memcpy(at + 8, &body, 4);
	memcpy(at + 12, &payload, 4);
}

void
chan_give(struct chan *c, int fd, size_t len)
{
	fd_close(&c->given);
	c->given = fd;
	c->given_len = len;
}

static int
payload_memfd(struct chan *c, const char *payload, size_t len)
{
	if (c->given >= 0 && c->given_len == len)
		return fd_steal(&c->given);
	return fd_sealed("oz0 payload", payload, len);
}

/* Takes back the frame being built. */
static int
abandon(struct chan *c, int r)
{
	fd_close(&c->given);
	c->out.end = c->out.start + c->begun;
	return r;
}

static int
keep_fds(struct chan *c, const int *fds, size_t nfds, const char *payload,
    size_t memfd_len, struct fd_set_out **ret)
{
	struct fd_set_out *f = mem_zalloc(sizeof(*f));

	for (; f->n < nfds; f->n++) {
		f->fds[f->n] = fcntl(fds[f->n], F_DUPFD_CLOEXEC, 3);
		if (f->fds[f->n] < 0)
			goto fail;
	}
	if (memfd_len != 0) {
		int fd = payload_memfd(c, payload, memfd_len);

		if (fd < 0) {
			errno = -fd;
			goto fail;
		}
		f->fds[f->n++] = fd;
		f->memfd_len = memfd_len;
	}
	f->at = c->out_at + c->begun;
	*ret = f;
	return 0;
fail:;
	int r = -errno;

	free_fd_set(f);
	return r;
}

int
chan_end(struct chan *c, const char *payload, size_t len, const int *fds,
    size_t nfds)
{
	size_t body = buf_len(&c->out) - c->begun - WIRE_HEADER;
	bool memfd = len > WIRE_INLINE_MAX;
	struct fd_set_out *f = NULL;
	int r;

	if (len > c->max_payload || len > UINT32_MAX)
		return abandon(c, -EMSGSIZE);
	if (nfds + memfd > 0) {
		r = keep_fds(c, fds, nfds, payload, memfd ? len : 0, &f);
		if (r < 0)
			return abandon(c, r);
		*c->fds_tail = f;
		c->fds_tail = &f->next;
		c->memfd_bytes += f->memfd_len;
	}
	fd_close(&c->given);
	if (!memfd)
		buf_put(&c->out, payload, len);
	put_header(c->out.data + c->out.start + c->begun,
	    (uint32_t)(WIRE_HEADER + body + (memfd ? 0 : len)),
	    (uint16_t)c->building, (uint8_t)(nfds + memfd),
	    memfd ? WIRE_FLAG_MEMFD : 0, (uint32_t)body, (uint32_t)len);
	return 0;
}

int
chan_end_urgent(struct chan *c)
{
	char *at = c->out.data + c->out.start + c->begun;
	size_t n = buf_len(&c->out) - c->begun;

	put_header(at, (uint32_t)n, (uint16_t)c->building, 0, 0,
	    (uint32_t)(n - WIRE_HEADER), 0);
	buf_put(&c->urgent, at, n);
	return abandon(c, 0);
}

bool
chan_pending(const struct chan *c)
{
	return buf_len(&c->out) != 0 || buf_len(&c->urgent) != 0;
}

size_t
chan_queued(const struct chan *c)
{
	return buf_len(&c->out) + buf_len(&c->urgent) + c->memfd_bytes;
}

static uint32_t
frame_length(const char *at)
{
	uint32_t n;

	memcpy(&n, at, 4);
	return le32toh(n);
}

/*
 * What may be written now, in order: the rest of a frame begun, then urgent
 * frames, then out up to the next frame with descriptors, or that one alone.
 */
struct batch {
	struct iovec iov[3];
	enum mid from[3];
	size_t n;
	struct fd_set_out *fds;
};

static void
batch_add(struct batch *b, enum mid from, const char *p, size_t n)
{
	if (n == 0)
		return;
	b->iov[b->n].iov_base = (void *)(uintptr_t)p;
	b->iov[b->n].iov_len = n;
	b->from[b->n++] = from;
}

static void
batch_make(struct chan *c, struct batch *b)
{
	size_t skip = c->mid == MID_OUT ? c->mid_left : 0;
	size_t until = buf_len(&c->out);

	memset(b, 0, sizeof(*b));
	if (skip != 0)
		batch_add(b, MID_OUT, buf_at(&c->out), skip);
	if (c->fds_head != NULL && c->fds_head->at < c->out_at + until)
		until = (size_t)(c->fds_head->at - c->out_at);
	batch_add(b, MID_URGENT, buf_at(&c->urgent), buf_len(&c->urgent));
	if (until > skip) {
		batch_add(b, MID_OUT, buf_at(&c->out) + skip, until - skip);
	} else if (b->n == 0 && c->fds_head != NULL) {
		b->fds = c->fds_head;
		batch_add(b, MID_OUT, buf_at(&c->out),
		    frame_length(buf_at(&c->out)));
	}
}

/* n bytes of one queue went out: where does that leave the frame begun? */
static void
took(struct chan *c, enum mid from, struct buf *q, size_t n)
{
	size_t done = 0;

	if (c->mid == from) {
		done = c->mid_left < n ? c->mid_left : n;
		c->mid_left -= done;
		if (c->mid_left == 0)
			c->mid = MID_NONE;
	}
	while (done < n) {
		uint32_t len = frame_length(buf_at(q) + done);

		if (len > n - done) {
			c->mid = from;
			c->mid_left = len - (n - done);
			break;
		}
		done += len;
	}
	buf_take(q, n);
	if (from == MID_OUT)
		c->out_at += n;
}

static void
batch_sent(struct chan *c, const struct batch *b, size_t n)
{
	if (b->fds != NULL) {
		struct fd_set_out *f = b->fds;

		c->fds_head = f->next;
		if (c->fds_head == NULL)
			c->fds_tail = &c->fds_head;
		c->memfd_bytes -= f->memfd_len;
		free_fd_set(f);
	}
	for (size_t i = 0; i < b->n && n > 0; i++) {
		size_t k = b->iov[i].iov_len < n ? b->iov[i].iov_len : n;

		took(c, b->from[i],
		    b->from[i] == MID_URGENT ? &c->urgent : &c->out, k);
		n -= k;
	}
}

static ssize_t
batch_send(struct chan *c, struct batch *b)
{
	union {
		char space[CMSG_SPACE(CHAN_MAX_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr m = { .msg_iov = b->iov, .msg_iovlen = b->n };

	if (b->fds != NULL) {
		struct cmsghdr *h;

		memset(&control, 0, sizeof(control));
		m.msg_control = control.space;
		m.msg_controllen = CMSG_SPACE(b->fds->n * sizeof(int));
		h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(b->fds->n * sizeof(int));
		memcpy(CMSG_DATA(h), b->fds->fds, b->fds->n * sizeof(int));
	}
	return sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int
chan_flush(struct chan *c)
{
	while (chan_pending(c)) {
		struct batch b;
		ssize_t n;

		batch_make(c, &b);
		n = batch_send(c, &b);
		if (n < 0 && errno == EINTR)
			continue;
		/* ETOOMANYREFS: descriptors wait to be received elsewhere */
		if (n < 0)
			return errno == EAGAIN || errno == ETOOMANYREFS
			    ? 0 : -errno;
		batch_sent(c, &b, (size_t)n);
	}
	return 0;
}

/* ---- receiving ---- */

static int
take_fds(struct chan *c, struct msghdr *m)
{
	struct cmsghdr *h;
	bool full = (m->msg_flags & MSG_CTRUNC) != 0;

	for (h = CMSG_FIRSTHDR(m); h != NULL; h = CMSG_NXTHDR(m, h)) {
		size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(fd));
			if (c->nin_fds < IN_FDS_MAX) {
				c->in_fds[c->nin_fds++] = fd;
			} else {
				fd_close(&fd);
				full = true;
			}
		}
	}
	return full ? -EMFILE : 0;
}

int
chan_read(struct chan *c)
{
	union {
		char space[CMSG_SPACE(CHAN_MAX_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	size_t room = buf_len(&c->in) > READ_ROOM ? READ_ROOM_MAX : READ_ROOM;
	struct iovec iov;
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space) };
	ssize_t n;
	int r;

	release_last(c);
	iov.iov_base = buf_room(&c->in, room);
	iov.iov_len = room;
	do
		n = recvmsg(c->fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	r = take_fds(c, &m);
	if (r < 0)
		return r;
	buf_added(&c->in, (size_t)n);
	return (int)n;
}

static bool
map_payload(struct chan_frame *f)
{
	void *map;
	size_t size;
	int fd = f->fds[f->nfds - 1];

	if (!fd_is_sealed(fd, &size) || size != f->payload_len || size == 0)
		return false;
	/* no MAP_POPULATE: faults take 16 pages each, which is faster */
	map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return false;
	f->map = map;
	f->payload = map;
	fd_close(&f->fds[--f->nfds]);
	return true;
}

struct header {
	uint32_t length, body, payload;
	uint16_t type;
	uint8_t nfds, flags;
};

static void
read_header(const char *at, struct header *h)
{
	struct wire_reader r;

	wire_reader_init(&r, at, WIRE_HEADER);
	h->length = wire_get_u32(&r);
	h->type = wire_get_u16(&r);
	h->nfds = wire_get_u8(&r);
	h->flags = wire_get_u8(&r);
	h->body = wire_get_u32(&r);
	h->payload = wire_get_u32(&r);
}

/* NULL when the header may stand; else what is wrong with it. */
static const char *
judge(const struct chan *c, const struct header *h)
{
	const struct wire_message *m = wire_message_find(h->type);
	bool memfd = (h->flags & WIRE_FLAG_MEMFD) != 0;
	uint64_t length =
	    (uint64_t)WIRE_HEADER + h->body + (memfd ? 0 : h->payload);

	if (m == NULL)
		return "unknown message";
	if (m->from != c->peer || m->to != c->me)
		return "message of another direction";
	if ((h->flags & ~WIRE_FLAG_MEMFD) != 0)
		return "unknown flag";
	if (h->body < m->min_body || h->body > m->max_body)
		return "body of a wrong size";
	if (h->payload != 0 && !m->payload)
		return "payload where none belongs";
	if (h->payload > c->max_payload)
		return "payload over the limit";
	if (!memfd && h->payload > WIRE_INLINE_MAX)
		return "large payload inline";
	if (h->length != length)
		return "lengths that do not add up";
	if (h->nfds < m->min_fds + memfd || h->nfds > m->max_fds + memfd)
		return "wrong number of descriptors";
	return NULL;
}

int
chan_next(struct chan *c, struct chan_frame **ret, const char **ret_why)
{
	struct chan_frame *f = &c->last;
	struct header h;

	release_last(c);
	if (buf_len(&c->in) < WIRE_HEADER)
		return 0;
	read_header(buf_at(&c->in), &h);
	*ret_why = judge(c, &h);
	if (*ret_why != NULL)
		return -EBADMSG;
	if (buf_len(&c->in) < h.length)
		return 0;
	if (h.nfds > c->nin_fds) {
		*ret_why = "descriptors that did not come";
		return -EBADMSG;
	}
	memset(f, 0, sizeof(*f));
	f->type = h.type;
	wire_reader_init(&f->body, buf_at(&c->in) + WIRE_HEADER, h.body);
	f->payload = buf_at(&c->in) + WIRE_HEADER + h.body;
	f->payload_len = h.payload;
	f->nfds = h.nfds;
	memcpy(f->fds, c->in_fds, h.nfds * sizeof(int));
	c->nin_fds -= h.nfds;
	memmove(c->in_fds, c->in_fds + h.nfds, c->nin_fds * sizeof(int));
	c->last_len = h.length;
	c->have_last = true;
	if ((h.flags & WIRE_FLAG_MEMFD) != 0 && !map_payload(f)) {
		*ret_why = "payload memfd unsealed or of another size";
		return -EBADMSG;
	}
	*ret = f;
	return 1;
}
