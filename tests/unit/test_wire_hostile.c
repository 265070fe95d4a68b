/*
 * Channels: a peer that breaks any rule of the header, or sends descriptors
 * that are not what they should be, is found out.
 */
#include <check.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/chan.h"

#define MAX_PAYLOAD ((size_t)1 << 20)

static struct chan *b; /* a worker's end */
static int raw;	       /* where the bytes of its peer come from */

static void
setup(void)
{
	int sv[2];

	ck_assert_int_eq(fd_socketpair(sv), 0);
	raw = sv[0];
	b = chan_new(sv[1], WIRE_ROLE_WORKER, WIRE_ROLE_SUPERVISOR,
	    MAX_PAYLOAD);
}

static void
teardown(void)
{
	fd_close(&raw);
	chan_free(b);
}

struct header {
	uint32_t length;
	uint16_t type;
	uint8_t nfds, flags;
	uint32_t body, payload;
};

static void
write_frame(const struct header *h, size_t bytes, const int *fds, size_t nfds)
{
	union {
		char space[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control;
	char out[4096] = { 0 };
	struct iovec iov = { out, WIRE_HEADER + bytes };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	uint32_t v = htole32(h->length);
	uint16_t t = htole16(h->type);

	memcpy(out, &v, 4);
	memcpy(out + 4, &t, 2);
	out[6] = (char)h->nfds;
	out[7] = (char)h->flags;
	v = htole32(h->body);
	memcpy(out + 8, &v, 4);
	v = htole32(h->payload);
	memcpy(out + 12, &v, 4);
	if (nfds != 0) {
		struct cmsghdr *c;

		memset(&control, 0, sizeof(control));
		m.msg_control = control.space;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	ck_assert_int_eq(sendmsg(raw, &m, 0), (ssize_t)iov.iov_len);
}

static const struct {
	struct header h;
	const char *why;
} malformed[] = {
	{ { 24, 2, 0, 0, 8, 0 }, NULL }, /* a good PING, to begin with */
	{ { 24, 0, 0, 0, 8, 0 }, "unknown message" },
	{ { 24, 9999, 0, 0, 8, 0 }, "unknown message" },
	{ { 24, 41, 0, 0, 8, 0 }, "message of another direction" },
	{ { 24, 144, 0, 0, 8, 0 }, "message of another direction" },
	{ { 24, 2, 0, 2, 8, 0 }, "unknown flag" },
	{ { 24, 2, 0, 0x80, 8, 0 }, "unknown flag" },
	{ { 23, 2, 0, 0, 7, 0 }, "body of a wrong size" },
	{ { 25, 2, 0, 0, 9, 0 }, "body of a wrong size" },
	{ { 16, 2, 0, 0, 0, 0 }, "body of a wrong size" },
	{ { 15, 2, 0, 0, UINT32_MAX, 0 }, "body of a wrong size" },
	{ { 26, 2, 0, 0, 8, 2 }, "payload where none belongs" },
	{ { 45, 20, 0, 0, 25, UINT32_MAX }, "payload over the limit" },
	{ { 41 + (1 << 20) + 1, 20, 0, 0, 25, (1 << 20) + 1 },
	    "payload over the limit" },
	{ { 41 + 65537, 20, 0, 0, 25, 65537 }, "large payload inline" },
	{ { 0, 2, 0, 0, 8, 0 }, "lengths that do not add up" },
	{ { 23, 2, 0, 0, 8, 0 }, "lengths that do not add up" },
	{ { UINT32_MAX, 2, 0, 0, 8, 0 }, "lengths that do not add up" },
	{ { 43, 20, 1, 1, 25, 2 }, "lengths that do not add up" },
	{ { 24, 2, 1, 0, 8, 0 }, "wrong number of descriptors" },
	{ { 34, 10, 0, 0, 18, 0 }, "wrong number of descriptors" },
	{ { 34, 10, 2, 0, 18, 0 }, "wrong number of descriptors" },
	{ { 34, 10, 4, 0, 18, 0 }, "wrong number of descriptors" },
	{ { 34, 10, 255, 0, 18, 0 }, "wrong number of descriptors" },
	{ { 41, 20, 0, 1, 25, 100 }, "wrong number of descriptors" },
	{ { 34, 10, 3, 0, 18, 0 }, "descriptors that did not come" },
	{ { 41, 20, 1, 1, 25, 100 }, "descriptors that did not come" },
};

START_TEST(test_malformed)
{
	const struct header *h = &malformed[_i].h;
	struct chan_frame *f;
	const char *why = NULL;
	int r;

	write_frame(h, 300, NULL, 0);
	ck_assert_int_gt(chan_read(b), 0);
	r = chan_next(b, &f, &why);
	if (malformed[_i].why == NULL) {
		ck_assert_int_eq(r, 1);
	} else {
		ck_assert_int_eq(r, -EBADMSG);
		ck_assert_str_eq(why, malformed[_i].why);
	}
}
END_TEST

enum hostile {
	SEALED, /* as it should be */
	UNSEALED,
	HALF_SEALED,
	SHORT,
	LONG,
	EMPTY,
	FILE_FD,
	DIR_FD,
};

static int
hostile_fd(int kind)
{
	static const char text[100] = "payload";
	int fd;

	if (kind == DIR_FD)
		return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (kind == FILE_FD)
		return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ck_assert_int_ge(fd, 0);
	if (kind != EMPTY)
		ck_assert_int_eq(write(fd, text, sizeof(text)), 100);
	if (kind == SHORT)
		ck_assert_int_eq(ftruncate(fd, 99), 0);
	if (kind == LONG)
		ck_assert_int_eq(ftruncate(fd, 101), 0);
	if (kind == HALF_SEALED)
		fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_WRITE);
	else if (kind != UNSEALED)
		fcntl(fd, F_ADD_SEALS,
		    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	return fd;
}

START_TEST(test_hostile_memfd)
{
	struct header h = { 41, WIRE_CALL, 1, WIRE_FLAG_MEMFD, 25, 100 };
	int r, fd = hostile_fd(_i);
	struct chan_frame *f;
	const char *why;

	write_frame(&h, 25, &fd, 1);
	close(fd);
	ck_assert_int_gt(chan_read(b), 0);
	r = chan_next(b, &f, &why);
	if (_i == SEALED) {
		ck_assert_int_eq(r, 1);
		ck_assert_uint_eq(f->payload_len, 100);
		ck_assert_str_eq(f->payload, "payload");
		ck_assert_uint_eq(f->nfds, 0);
	} else {
		ck_assert_int_eq(r, -EBADMSG);
		ck_assert_str_eq(
		    why, "payload memfd unsealed or of another size");
	}
}
END_TEST

/* Descriptors without end, attached to frames that declare none. */
START_TEST(test_descriptor_flood)
{
	struct header h = { 24, WIRE_WORKER_PING, 0, 0, 8, 0 };
	int fds[4] = { 0, 0, 0, 0 }, r = 1;
	struct chan_frame *f;
	const char *why;

	for (int i = 0; i < 100 && r > 0; i++) {
		write_frame(&h, 8, fds, 4);
		r = chan_read(b);
		while (r > 0 && chan_next(b, &f, &why) == 1)
			;
	}
	ck_assert_int_eq(r, -EMFILE);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("wire/hostile");
	TCase *t = tcase_create("hostile");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_malformed, 0,
	    (int)(sizeof(malformed) / sizeof(malformed[0])));
	tcase_add_loop_test(t, test_hostile_memfd, SEALED, DIR_FD + 1);
	tcase_add_test(t, test_descriptor_flood);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
