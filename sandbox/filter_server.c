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
#include "sandbox/filter_memfd.h"

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

int
filter_server_memfd(void)
{
	static const struct filter_program known = {
	    .fallback = SCMP_ACT_ERRNO(ENOSYS),
	    .badarch = SCMP_ACT_ERRNO(ENOSYS),
	    .rules = allow_known,
	};
	/* of two answers of one kind the younger program's counts */
	static const struct filter_program refused = {
	    .fallback = SCMP_ACT_ALLOW,
	    .badarch = SCMP_ACT_ERRNO(ENOSYS),
	    .rules = refuse_all,
	};

	return filter_memfd(&known, &refused);
}
