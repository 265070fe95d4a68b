/*
 * The seccomp filter of servers and harnesses.
 *
 * Made in the supervisor (or in oz0-sandbox when it is run by hand), loaded in
 * the child that becomes the server.  libseccomp is used to make the programs
 * alone; loading is one system call on bytes from a sealed memfd.
 *
 * Both programs look at the architecture first: i386 calls (int 0x80) and x32
 * numbers are not known (ENOSYS), whatever their number.
 */
#include "sandbox/filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "sandbox/filter_list.h"

#define MEMFD_MAX ((size_t)1 << 20)

/* At the front of the memfd; both ends are one build of one program. */
struct filter_head {
	char magic[8];
	uint32_t known;	  /* instructions of the first program */
	uint32_t refused; /* and of the second, loaded after it */
};
static const char filter_magic[8] = "oz0filt1";

static int
add_list(scmp_filter_ctx ctx, uint32_t action, const char *const *names)
{
	for (size_t i = 0; names[i] != NULL; i++) {
		int nr = seccomp_syscall_resolve_name(names[i]);
		int r;

		/* not of this architecture, or younger than the library */
		if (nr == __NR_SCMP_ERROR || nr < 0)
			continue;
		r = seccomp_rule_add(ctx, action, nr, 0);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Namespaces are refused wherever a flag asks for one. */
static int
refuse_namespaces(scmp_filter_ctx ctx)
{
	static const uint64_t flags[] = {CLONE_NEWUSER, CLONE_NEWNS,
	    CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS,
	    CLONE_NEWCGROUP, CLONE_NEWTIME};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		int r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM),
		    SCMP_SYS(unshare), 1,
		    SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i]));

		/* 0x80 is part of the exit signal in clone() */
		if (r == 0 && flags[i] != CLONE_NEWTIME)
			r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM),
			    SCMP_SYS(clone), 1,
			    SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i]));
		if (r < 0)
			return r;
	}
	return 0;
}

/* Typing into the terminal: the kernel looks at the low 32 bits alone. */
static int
refuse_ioctls(scmp_filter_ctx ctx)
{
	static const uint64_t requests[] = {TIOCSTI, TIOCLINUX, TIOCCONS};

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		int r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM),
		    SCMP_SYS(ioctl), 1,
		    SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, requests[i]));

		if (r < 0)
			return r;
	}
	return 0;
}

static bool
is_family_allowed(int family)
{
	return family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
	       family == AF_NETLINK;
}

/* Unix, IPv4, IPv6, and netlink for routes (getifaddrs). */
static int
refuse_sockets(scmp_filter_ctx ctx)
{
	int calls[] = {SCMP_SYS(socket), SCMP_SYS(socketpair)};
	const uint32_t no = SCMP_ACT_ERRNO(EAFNOSUPPORT);

	for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++) {
		int r = seccomp_rule_add(
		    ctx, no, calls[c], 1, SCMP_A0(SCMP_CMP_GT, AF_MAX));

		for (int f = 0; r == 0 && f <= AF_MAX; f++)
			if (!is_family_allowed(f))
				r = seccomp_rule_add(ctx, no, calls[c], 1,
				    SCMP_A0(SCMP_CMP_EQ, (uint64_t)f));
		if (r < 0)
			return r;
	}
	return seccomp_rule_add(ctx, no, SCMP_SYS(socket), 2,
	    SCMP_A0(SCMP_CMP_EQ, AF_NETLINK),
	    SCMP_A2(SCMP_CMP_NE, 0 /* NETLINK_ROUTE */));
}

static int
refuse_all(scmp_filter_ctx ctx)
{
	int r = add_list(ctx, SCMP_ACT_ERRNO(EPERM), filter_refused);

	if (r == 0)
		r = refuse_namespaces(ctx);
	if (r == 0)
		r = refuse_ioctls(ctx);
	if (r == 0)
		r = refuse_sockets(ctx);
	return r;
}

static int
allow_known(scmp_filter_ctx ctx)
{
	/* asking, and the personality that is there anyway */
	static const uint64_t personalities[] = {UINT32_MAX, PER_LINUX};
	int r = add_list(ctx, SCMP_ACT_ALLOW, filter_known);

	/* let through here, so that the second program can say EPERM */
	if (r == 0)
		r = add_list(ctx, SCMP_ACT_ALLOW, filter_refused);
	for (size_t i = 0;
	     r == 0 && i < sizeof(personalities) / sizeof(personalities[0]);
	     i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(personality),
		    1, SCMP_A0(SCMP_CMP_EQ, personalities[i]));
	return r;
}

static int export(scmp_filter_ctx ctx, struct buf *out, uint32_t *ret_count)
{
	CLEANUP_CLOSE int fd = memfd_create("seccomp", MFD_CLOEXEC);
	size_t before = buf_len(out);
	off_t size;
	int r;

	if (fd < 0)
		return -errno;
	r = seccomp_export_bpf(ctx, fd);
	if (r < 0)
		return r;
	size = lseek(fd, 0, SEEK_END);
	if (size <= 0 || (size_t)size > MEMFD_MAX ||
	    (size_t)size % sizeof(struct sock_filter) != 0)
		return -EIO;
	if (pread(fd, buf_room(out, (size_t)size), (size_t)size, 0) != size)
		return -EIO;
	buf_added(out, (size_t)size);
	*ret_count =
	    (uint32_t)((buf_len(out) - before) / sizeof(struct sock_filter));
	return 0;
}

static int
build(uint32_t fallback, int (*rules)(scmp_filter_ctx), struct buf *out,
    uint32_t *ret_count)
{
	scmp_filter_ctx ctx = seccomp_init(fallback);
	int r;

	if (ctx == NULL)
		return -ENOMEM;
	r = seccomp_attr_set(
	    ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r == 0)
		r = rules(ctx);
	if (r == 0)
		r = export(ctx, out, ret_count);
	seccomp_release(ctx);
	return r;
}

int
filter_server_memfd(void)
{
	CLEANUP(buf_free) struct buf out = {0};
	struct filter_head head;
	int r;

	memcpy(head.magic, filter_magic, sizeof(head.magic));
	buf_put(&out, &head, sizeof(head));
	r = build(SCMP_ACT_ERRNO(ENOSYS), allow_known, &out, &head.known);
	if (r == 0)
		r = build(SCMP_ACT_ALLOW, refuse_all, &out, &head.refused);
	if (r < 0)
		return r;
	memcpy(out.data + out.start, &head, sizeof(head));
	return fd_sealed("oz0-filter", buf_at(&out), buf_len(&out));
}

static int
load(struct sock_filter *program, uint32_t count)
{
	struct sock_fprog prog = {
	    .len = (unsigned short)count,
	    .filter = program,
	};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0
		   ? -errno
		   : 0;
}

int
filter_apply_memfd(int fd)
{
	struct filter_head head;
	struct sock_filter *programs;
	size_t size;
	void *map;
	int r = -EBADMSG;

	if (!fd_is_sealed(fd, &size) || size < sizeof(head) || size > MEMFD_MAX)
		return -EBADMSG;
	map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	memcpy(&head, map, sizeof(head));
	programs = (struct sock_filter *)((char *)map + sizeof(head));
	if (memcmp(head.magic, filter_magic, sizeof(head.magic)) == 0 &&
	    head.known > 0 && head.known <= BPF_MAXINSNS && head.refused > 0 &&
	    head.refused <= BPF_MAXINSNS &&
	    size == sizeof(head) +
			(head.known + head.refused) * sizeof(*programs)) {
		r = load(programs, head.known);
		/* of two answers of one kind the younger program's counts */
		if (r == 0)
			r = load(programs + head.known, head.refused);
	}
	munmap(map, size);
	return r;
}
