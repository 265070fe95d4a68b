/*
 * The seccomp filters of the node's own confined processes.
 *
 * Made by the supervisor for its workers and by oz0-journal for itself, applied
 * by each on itself as the last of its confinement.  A call on the deadly list
 * is an attack or a bug that looks like one, and kills; every other call that
 * is not allowed answers ENOSYS (a filter that kills by default takes a worker
 * down for a dprintf).
 */
#include "config.h"

#include "sandbox/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "sandbox/filter_list.h"
#include "sandbox/filter_memfd.h"

static bool
is_listed(const char *const *names, int nr)
{
	for (size_t i = 0; names[i] != NULL; i++)
		if (seccomp_syscall_resolve_name(names[i]) == nr)
			return true;
	return false;
}

static int
add_list(scmp_filter_ctx ctx, uint32_t action, const char *const *names,
    const char *const *but)
{
	for (size_t i = 0; names[i] != NULL; i++) {
		int nr = seccomp_syscall_resolve_name(names[i]);
		int r;

		if (nr < 0 || (but != NULL && is_listed(but, nr)))
			continue;
		r = seccomp_rule_add(ctx, action, nr, 0);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * fcntl() by what it is for: F_SETOWN and F_SETSIG would send signals to
 * whoever has the worker's uid.  The journal locks files besides.
 */
static int
allow_fcntl(scmp_filter_ctx ctx, enum filter_strict which)
{
	static const int both[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD,
	    F_GETFL, F_SETFL, F_ADD_SEALS, F_GET_SEALS, F_GETPIPE_SZ,
	    F_SETPIPE_SZ};
	static const int journal[] = {
	    F_GETLK, F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(both) / sizeof(both[0]); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
		    SCMP_A1(SCMP_CMP_EQ, (uint64_t)both[i]));
	for (size_t i = 0; r == 0 && which == FILTER_JOURNAL &&
			   i < sizeof(journal) / sizeof(journal[0]);
	     i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
		    SCMP_A1(SCMP_CMP_EQ, (uint64_t)journal[i]));
	return r;
}

/* Memory that is never executable; signals to itself alone. */
static int
allow_with_arguments(scmp_filter_ctx ctx)
{
	static const uint64_t requests[] = {FIONREAD, FIONBIO};
	int r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
	    SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));

	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
		    SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	/* libevent's own pair */
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socketpair),
		    1, SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	/* abort() */
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
		    SCMP_A0(SCMP_CMP_EQ, FILTER_OWN_PID));
#ifndef OZ0_SANITIZERS
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
		    SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
#endif
	for (size_t i = 0; r == 0 && i < sizeof(requests) / sizeof(requests[0]);
	     i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
		    SCMP_A1(SCMP_CMP_EQ, requests[i]));
	return r;
}

#ifdef OZ0_SANITIZERS
/* A report opens /proc/self/maps: let that fail, or there is no report. */
static const char *const asan_failing[] = {"open", "openat", NULL};

static int
allow_sanitizers(scmp_filter_ctx ctx, enum filter_strict which)
{
	int r = add_list(ctx, SCMP_ACT_ALLOW, filter_asan,
	    which == FILTER_JOURNAL ? filter_journal : NULL);

	if (r == 0 && which == FILTER_WORKER)
		r = add_list(ctx, SCMP_ACT_ERRNO(EACCES), asan_failing, NULL);
	return r;
}
#endif

static int
add_rules(scmp_filter_ctx ctx, enum filter_strict which)
{
	const char *const *spared =
	    which == FILTER_JOURNAL ? filter_journal : NULL;
	int r;

#ifdef OZ0_SANITIZERS
	if (which == FILTER_WORKER)
		spared = asan_failing;
#endif
	r = add_list(ctx, SCMP_ACT_KILL_PROCESS, filter_deadly, spared);
	if (r == 0)
		r = add_list(ctx, SCMP_ACT_ALLOW, filter_worker, NULL);
	if (r == 0 && which == FILTER_JOURNAL)
		r = add_list(ctx, SCMP_ACT_ALLOW, filter_journal, NULL);
	if (r == 0)
		r = allow_with_arguments(ctx);
	if (r == 0)
		r = allow_fcntl(ctx, which);
#ifdef OZ0_SANITIZERS
	if (r == 0)
		r = allow_sanitizers(ctx, which);
#endif
	return r;
}

static int
worker_rules(scmp_filter_ctx ctx)
{
	return add_rules(ctx, FILTER_WORKER);
}

static int
journal_rules(scmp_filter_ctx ctx)
{
	return add_rules(ctx, FILTER_JOURNAL);
}

int
filter_strict_memfd(enum filter_strict which)
{
	const struct filter_program program = {
	    .fallback = SCMP_ACT_ERRNO(ENOSYS),
	    .badarch = SCMP_ACT_KILL_PROCESS,
	    .rules = which == FILTER_WORKER ? worker_rules : journal_rules,
	};

	return filter_memfd(&program, NULL);
}

int
filter_apply_strict(enum filter_strict which)
{
	CLEANUP_CLOSE int fd = filter_strict_memfd(which);

	return fd < 0 ? fd : filter_apply_memfd(fd);
}
