#ifndef OZ0_SANDBOX_PROBE_H
#define OZ0_SANDBOX_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * What this machine can give, found out by trying each in a child.  For the
 * supervisor's check at start (INTERFACES, isolation) and `oz0 doctor`.
 */
enum probe_layer {
	PROBE_USER_NAMESPACE, /* user, mount, pid, ipc, uts, cgroup */
	PROBE_NETWORK_NAMESPACE,
	PROBE_MOUNTS, /* fsopen, open_tree, mount_setattr, pivot_root */
	PROBE_PROC,   /* a /proc of its own */
	PROBE_LANDLOCK,
	PROBE_SECCOMP,
	PROBE_PIDFD,
	PROBE_LAYERS, /* how many */
};

struct probe_layer_result {
	const char *name; /* "user_namespaces" */
	bool ok;
	bool required;	    /* not to be left out, even under "best" */
	int error;	    /* positive errno, when not ok */
	const char *act;    /* what failed: "clone", static words */
	const char *remedy; /* static words: what to do about it */
};

struct probe_result {
	struct probe_layer_result layers[PROBE_LAYERS];
	int landlock_abi; /* 0: none */
};

/*
 * Tries as uid and gid when the caller is root (0 and 0 there: as nobody),
 * else as the caller.  Takes a few milliseconds and waits for its children: to
 * be called before the loop begins.  0, or -errno when it could not try.
 */
int probe_run(uid_t uid, gid_t gid, struct probe_result *ret);
/* The first layer that is not there; NULL: all are. */
const struct probe_layer_result *probe_first_missing(
    const struct probe_result *p);

#endif
