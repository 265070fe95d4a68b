/*
 * Channels: frames pass whole and in order whatever the socket does, urgent
 * ones overtake, descriptors stay with their frame.
 */
#include <check.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "wire/chan.h"

#define MAX_PAYLOAD ((size_t)1 << 20)

static struct chan *a, *b; /* the supervisor's end, the worker's end */
static int raw;		   /* a's descriptor, for hostile bytes */

static void
pair(enum wire_role me, enum wire_role peer)
{
	int sv[2];

	ck_assert_int_eq(fd_socketpair(sv), 0);
	raw = sv[0];
	a = chan_new(sv[0], me, peer, MAX_PAYLOAD);
	b = chan_new(sv[1], peer, me, MAX_PAYLOAD);
}

static void
setup(void)
{
	pair(WIRE_ROLE_SUPERVISOR, WIRE_ROLE_WORKER);
}

static void
teardown(void)
{
	chan_free(a);
	chan_free(b);
}

/* The next frame at b; NULL: none came. */
static struct chan_frame *
receive(void)
{
	struct chan_frame *f;
	const char *why;
	int r;

	while ((r = chan_next(b, &f, &why)) == 0) {
		ck_assert_int_eq(chan_flush(a), 0);
		r = chan_read(b);
		if (r == -EAGAIN || r == 0)
			return NULL;
		ck_assert_int_gt(r, 0);
	}
	ck_assert_msg(r == 1, "%s", why);
	return f;
}

static void
send_ping(uint64_t n, bool urgent)
{
	wire_put_u64(chan_begin(a, WIRE_WORKER_PING), n);
	if (urgent)
		ck_assert_int_eq(chan_end_urgent(a), 0);
	else
		ck_assert_int_eq(chan_end(a, NULL, 0, NULL, 0), 0);
}

static int
send_call(uint64_t attempt, const char *payload, size_t len)
{
	struct buf *out = chan_begin(a, WIRE_CALL);

	wire_put_u64(out, attempt);
	wire_put_u32(out, 1);
	wire_put_str(out, "f");
	wire_put_str(out, "k");
	wire_put_u8(out, 0);
	wire_put_str(out, "");
	return chan_end(a, payload, len, NULL, 0);
}

static void
send_start(uint32_t server, const int fds[3])
{
	struct buf *out = chan_begin(a, WIRE_SERVER_START);

	wire_put_u32(out, server);
	wire_put_str(out, "tool");
	wire_put_u8(out, WIRE_SERVER_JOB);
	wire_put_u8(out, WIRE_ERA_UNKNOWN);
	wire_put_u64(out, 0);
	ck_assert_int_eq(chan_end(a, NULL, 0, fds, 3), 0);
}

START_TEST(test_table)
{
	const struct wire_message *m, *n;

	for (size_t i = 0; (m = wire_message_at(i)) != NULL; i++) {
		ck_assert_ptr_eq(wire_message_find(m->type), m);
		ck_assert_int_ne(m->from, m->to);
		ck_assert(m->from == WIRE_ROLE_SUPERVISOR
		    || m->to == WIRE_ROLE_SUPERVISOR);
		ck_assert_uint_le(m->min_body, m->max_body);
		ck_assert_uint_le(m->min_fds, m->max_fds);
		ck_assert_uint_lt(m->max_fds, CHAN_MAX_FDS);
		for (size_t k = 0; k < i; k++) {
			n = wire_message_at(k);
			ck_assert_int_ne(m->type, n->type);
			ck_assert_str_ne(m->name, n->name);
		}
	}
	ck_assert_ptr_null(wire_message_find(0));
	ck_assert_ptr_null(wire_message_find(999));
}
END_TEST

/* Each message of the table passes in its direction, and in no other. */
START_TEST(test_every_message)
{
	const struct wire_message *m = wire_message_at((size_t)_i);
	int fds[CHAN_MAX_FDS];
	const char *payload = m->payload ? "{}" : NULL;
	struct chan_frame *f;
	struct chan *wrong;
	const char *why;
	int sv[2];

	teardown();
	pair(m->from, m->to);
	for (int i = 0; i < m->max_fds; i++)
		fds[i] = STDIN_FILENO;
	for (int max = 0; max < 2; max++) {
		struct buf *out = chan_begin(a, m->type);
		uint32_t body = max ? m->max_body : m->min_body;
		uint8_t nfds = max ? m->max_fds : m->min_fds;

		memset(buf_room(out, body), 7, body);
		buf_added(out, body);
		ck_assert_int_eq(chan_end(a, payload, m->payload ? 2 : 0, fds,
				     nfds), 0);
		f = receive();
		ck_assert_ptr_nonnull(f);
		ck_assert_int_eq(f->type, m->type);
		ck_assert_uint_eq(f->body.end - f->body.p, body);
		ck_assert_uint_eq(f->payload_len, m->payload ? 2 : 0);
		ck_assert_uint_eq(f->nfds, nfds);
	}
	ck_assert_int_eq(fd_socketpair(sv), 0);
	wrong = chan_new(sv[1], m->from, m->to, MAX_PAYLOAD);
	struct chan *sender = chan_new(sv[0], m->from, m->to, MAX_PAYLOAD);
	struct buf *out = chan_begin(sender, m->type);
	memset(buf_room(out, m->min_body), 0, m->min_body);
	buf_added(out, m->min_body);
	chan_end(sender, NULL, 0, fds, m->min_fds);
	ck_assert_int_eq(chan_flush(sender), 0);
	ck_assert_int_gt(chan_read(wrong), 0);
	ck_assert_int_eq(chan_next(wrong, &f, &why), -EBADMSG);
	ck_assert_str_eq(why, "message of another direction");
	chan_free(sender);
	chan_free(wrong);
}
END_TEST

/* An urgent frame passes all that is queued and not begun (L1.4a). */
START_TEST(test_urgent_passes)
{
	struct chan_frame *f;

	for (uint64_t i = 0; i < 1000; i++)
		ck_assert_int_eq(send_call(i, "{}", 2), 0);
	send_ping(1, true);
	f = receive();
	ck_assert_int_eq(f->type, WIRE_WORKER_PING);
	for (uint64_t i = 0; i < 1000; i++) {
		f = receive();
		ck_assert_int_eq(f->type, WIRE_CALL);
		ck_assert_uint_eq(wire_get_u64(&f->body), i);
	}
	ck_assert_ptr_null(receive());
}
END_TEST

/* Payloads that are mapped now. */
static int
mapped_payloads(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps) != NULL)
		n += strstr(line, "/memfd:oz0 payload") != NULL;
	fclose(maps);
	return n;
}

/* A large payload comes as a mapping, which its receiver may keep. */
START_TEST(test_large_payload)
{
	static char big[WIRE_INLINE_MAX + 1];
	struct chan_frame *f;
	size_t len = sizeof(big);
	void *map;

	memset(big, 'x', len);
	for (uint64_t i = 0; i < 3; i++)
		ck_assert_int_eq(send_call(i, big, len - (i == 2)), 0);
	f = receive();
	ck_assert_ptr_eq(f->payload, f->map);
	ck_assert_uint_eq(f->payload_len, len);
	map = STEAL_PTR(f->map);
	f = receive();
	ck_assert_ptr_eq(f->payload, f->map);
	ck_assert_ptr_ne(f->map, map);
	ck_assert_mem_eq(map, big, len); /* of the frame before */
	ck_assert_mem_eq(f->map, big, len);
	ck_assert_int_eq(mapped_payloads(), 2);
	f = receive();
	ck_assert_ptr_null(f->map);
	ck_assert_mem_eq(f->payload, big, len - 1);
	/* one that nobody took goes with its frame */
	ck_assert_int_eq(mapped_payloads(), 1);
	ck_assert_int_eq(munmap(map, len), 0);
}
END_TEST

/* One begun on the wire is finished first, then the urgent one goes. */
START_TEST(test_urgent_in_the_middle)
{
	static char big[WIRE_INLINE_MAX];
	struct chan_frame *f;
	int small = 4096, calls = 0, before = -1;

	memset(big, 'x', sizeof(big));
	ck_assert_int_eq(setsockopt(raw, SOL_SOCKET, SO_SNDBUF, &small,
			     sizeof(small)), 0);
	for (uint64_t i = 0; i < 20; i++)
		ck_assert_int_eq(send_call(i, big, sizeof(big)), 0);
	ck_assert_int_eq(chan_flush(a), 0);
	ck_assert(chan_pending(a));
	send_ping(1, true);
	while ((f = receive()) != NULL) {
		if (f->type == WIRE_WORKER_PING) {
			before = calls;
			continue;
		}
		ck_assert_uint_eq(wire_get_u64(&f->body), (unsigned)calls);
		ck_assert_uint_eq(f->payload_len, sizeof(big));
		ck_assert_mem_eq(f->payload, big, sizeof(big));
		calls++;
	}
	ck_assert_int_eq(calls, 20);
	ck_assert_int_ge(before, 0);
	ck_assert_int_le(before, 1);
}
END_TEST

static int
numbered_fd(uint32_t n)
{
	int fd = memfd_create("n", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, n), 0);
	return fd;
}

static void
check_start(struct chan_frame *f, uint32_t n)
{
	ck_assert_uint_eq(wire_get_u32(&f->body), n);
	ck_assert_uint_eq(f->nfds, 3);
	for (uint32_t k = 0; k < 3; k++) {
		struct stat st;

		ck_assert_int_eq(fstat(f->fds[k], &st), 0);
		ck_assert_uint_eq((uint64_t)st.st_size, 3 * n + k);
		ck_assert_int_eq(fcntl(f->fds[k], F_GETFD), FD_CLOEXEC);
	}
}

struct expected {
	uint64_t call, ping;
	uint32_t start;
	size_t lens[3000];
	char text[200000];
};

static void
check_mixed(struct expected *e, struct chan_frame *f)
{
	if (f->type == WIRE_WORKER_PING) {
		ck_assert_uint_eq(wire_get_u64(&f->body), e->ping++);
	} else if (f->type == WIRE_SERVER_START) {
		check_start(f, e->start++);
	} else {
		size_t len = e->lens[e->call];

		ck_assert_uint_eq(wire_get_u64(&f->body), e->call++);
		ck_assert_uint_eq(f->payload_len, len);
		ck_assert(memcmp(f->payload, e->text, len) == 0);
	}
}

/*
 * Frames of all kinds in random order through a tiny socket buffer: each
 * queue keeps its order, descriptors and payloads stay with their frames.
 */
START_TEST(test_mixed)
{
	static struct expected e;
	struct chan_frame *f;
	uint64_t calls = 0, pings = 0;
	uint32_t starts = 0;
	int small = 4096;

	srandom((unsigned)_i + 1);
	for (size_t i = 0; i < sizeof(e.text); i++)
		e.text[i] = (char)('a' + i % 23);
	setsockopt(raw, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	for (int i = 0; i < 3000; i++) {
		long dice = random() % 100;

		if (dice < 20) {
			send_ping(pings++, true);
		} else if (dice < 30) {
			int fds[3];

			for (uint32_t k = 0; k < 3; k++)
				fds[k] = numbered_fd(3 * starts + k);
			send_start(starts++, fds);
			for (int k = 0; k < 3; k++)
				close(fds[k]);
		} else {
			size_t most = dice < 32 ? sizeof(e.text) : 900;

			e.lens[calls] = (size_t)random() % most;
			ck_assert_int_eq(
			    send_call(calls, e.text, e.lens[calls]), 0);
			calls++;
		}
		ck_assert_int_eq(chan_flush(a), 0);
		while (random() % 3 == 0 && (f = receive()) != NULL)
			check_mixed(&e, f);
	}
	while ((f = receive()) != NULL)
		check_mixed(&e, f);
	ck_assert_uint_eq(e.call, calls);
	ck_assert_uint_eq(e.ping, pings);
	ck_assert_uint_eq(e.start, starts);
	ck_assert(!chan_pending(a));
	ck_assert_uint_eq(chan_queued(a), 0);
}
END_TEST

/* A descriptor taken by fd_steal() stays open, one left is closed. */
START_TEST(test_descriptors_are_released)
{
	int fds[3], kept, left;
	struct chan_frame *f;

	for (int k = 0; k < 3; k++)
		fds[k] = numbered_fd((uint32_t)k);
	send_start(0, fds);
	f = receive();
	kept = fd_steal(&f->fds[0]);
	left = f->fds[1];
	ck_assert_ptr_null(receive());
	ck_assert_int_ge(fcntl(kept, F_GETFD), 0);
	ck_assert_int_eq(fcntl(left, F_GETFD), -1);
	close(kept);
	for (int k = 0; k < 3; k++)
		close(fds[k]);
}
END_TEST

START_TEST(test_too_large)
{
	char *big = malloc(MAX_PAYLOAD + 1);

	memset(big, 'x', MAX_PAYLOAD + 1);
	ck_assert_int_eq(send_call(1, big, MAX_PAYLOAD + 1), -EMSGSIZE);
	ck_assert(!chan_pending(a)); /* nothing of it was queued */
	ck_assert_int_eq(send_call(2, big, MAX_PAYLOAD), 0);
	ck_assert_uint_ge(chan_queued(a), MAX_PAYLOAD);
	ck_assert_uint_eq(receive()->payload_len, MAX_PAYLOAD);
	free(big);
}
END_TEST

/* A memfd that was given carries the payload it fits, and no other. */
START_TEST(test_given)
{
	static char text[WIRE_INLINE_MAX + 1];
	static const size_t fits[] = { sizeof(text), sizeof(text) - 1, 5, 0 };

	for (size_t i = 0; i < sizeof(fits) / sizeof(fits[0]); i++) {
		size_t len = i == 1 ? sizeof(text) : fits[i];
		struct chan_frame *f;
		struct stat st;
		int fd;

		memset(text, 'g', sizeof(text));
		fd = fd_sealed("given", text, fits[i]);
		ck_assert_int_ge(fd, 0);
		memset(text, 's', sizeof(text));
		chan_give(a, fd, fits[i]);
		ck_assert_int_eq(send_call(1, text, len), 0);
		f = receive();
		ck_assert_ptr_nonnull(f);
		ck_assert_uint_eq(f->payload_len, len);
		ck_assert(len == 0
		    || f->payload[len - 1] == (i == 0 ? 'g' : 's'));
		ck_assert_int_lt(fstat(fd, &st), 0); /* is closed here */
		chan_give(a, -1, 0);
	}
	/* one that no frame came for */
	chan_give(a, fd_sealed("given", text, sizeof(text)), sizeof(text));
}
END_TEST

START_TEST(test_peer_gone)
{
	struct chan_frame *f;
	const char *why;

	ck_assert_int_eq(send_call(1, "{}", 2), 0);
	ck_assert_int_eq(chan_flush(a), 0);
	chan_free(a);
	a = NULL;
	/* what was sent still comes, then the end */
	ck_assert_int_gt(chan_read(b), 0);
	ck_assert_int_eq(chan_next(b, &f, &why), 1);
	ck_assert_int_eq(chan_read(b), 0);
	wire_put_u64(chan_begin(b, WIRE_WORKER_PONG), 1);
	ck_assert_int_eq(chan_end(b, NULL, 0, NULL, 0), 0);
	ck_assert_int_eq(chan_flush(b), -EPIPE);
}
END_TEST

/* A good frame cut anywhere is waited for, and is good when whole. */
START_TEST(test_every_cut)
{
	char bytes[256];
	struct chan_frame *f;
	const char *why;
	ssize_t n;

	ck_assert_int_eq(send_call(7, "{\"a\":1}", 7), 0);
	ck_assert_int_eq(chan_flush(a), 0);
	n = read(chan_fd(b), bytes, sizeof(bytes));
	ck_assert_int_gt(n, 0);
	for (ssize_t cut = 1; cut < n; cut++) {
		ck_assert_int_eq(write(raw, bytes, (size_t)cut), cut);
		ck_assert_int_eq(chan_read(b), (int)cut);
		ck_assert_int_eq(chan_next(b, &f, &why), 0);
		ck_assert_int_eq(write(raw, bytes + cut, (size_t)(n - cut)),
		    n - cut);
		ck_assert_int_eq(chan_read(b), (int)(n - cut));
		ck_assert_int_eq(chan_next(b, &f, &why), 1);
		ck_assert_uint_eq(wire_get_u64(&f->body), 7);
		ck_assert_int_eq(chan_next(b, &f, &why), 0);
	}
}
END_TEST

/* The reader's table of descriptors is full: an error, not a mix-up. */
START_TEST(test_no_descriptor_left)
{
	int fds[3], full[1100], n = 0;
	struct chan_frame *f;
	const char *why;

	for (int k = 0; k < 3; k++)
		fds[k] = numbered_fd((uint32_t)k);
	send_start(0, fds);
	ck_assert_int_eq(chan_flush(a), 0);
	while (n < 1100 && (full[n] = fcntl(0, F_DUPFD_CLOEXEC, 3)) >= 0)
		n++;
	if (n < 1100) {
		ck_assert_int_eq(chan_read(b), -EMFILE);
		/* and a frame with descriptors is not queued */
		chan_begin(a, WIRE_SERVER_START);
		ck_assert_int_eq(chan_end(a, NULL, 0, fds, 3), -EMFILE);
		ck_assert(!chan_pending(a));
		ck_assert_int_eq(chan_next(b, &f, &why), 0);
	}
	for (int i = 0; i < n; i++)
		close(full[i]);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/chan");
	TCase *t = tcase_create("chan");
	size_t n = 0;
	SRunner *r;
	int failed;

	while (wire_message_at(n) != NULL)
		n++;
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_table);
	tcase_add_loop_test(t, test_every_message, 0, (int)n);
	tcase_add_test(t, test_urgent_passes);
	tcase_add_test(t, test_large_payload);
	tcase_add_test(t, test_urgent_in_the_middle);
	tcase_add_loop_test(t, test_mixed, 0, 5);
	tcase_add_test(t, test_descriptors_are_released);
	tcase_add_test(t, test_too_large);
	tcase_add_test(t, test_given);
	tcase_add_test(t, test_peer_gone);
	tcase_add_test(t, test_every_cut);
	tcase_add_test(t, test_no_descriptor_left);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
