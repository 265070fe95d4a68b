#ifndef OZ0_SANDBOX_CONFINE_H
#define OZ0_SANDBOX_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * A process of the node gives up its own rights (DESIGN, Workers' own
 * confinement): called once, early, single-threaded; there is no way back.
 * What it still needs of the file system (time zone, locale) it loads before.
 */
struct confine {
	uid_t uid; /* switched to first when the caller is root; 0: stay */
	gid_t gid;
	bool best;  /* isolation "best": what is not to be had is left out */
	int filter; /* filter_strict_memfd() of a worker; 0: it makes its own */
	int network; /* confine_network() of a worker; 0: likewise */
};

struct confine_fault {
	const char *act; /* static words: "enter an empty root" */
	int error;	 /* positive errno */
};

/*
 * An empty network namespace for all workers of a node of root to share: one
 * of each worker's own would take a third of its start.  None of them has a
 * right in it, and none can make a socket.  A descriptor, or -errno.
 */
int confine_network(void);

/*
 * oz0-worker: empty read-only root, own user, mount, network, ipc and uts
 * namespaces, no capability, no_new_privs, strict seccomp (read, write, memory,
 * epoll, passing descriptors: nothing else), PDEATHSIG, not dumpable, and a
 * proof of all that.  0 or -errno.
 *
 * Afterwards open, socket, exec, fork, kill and the like kill the process;
 * every other call that is not allowed answers ENOSYS.  Built with ASan, open
 * fails instead, so that a report still gets out; leak checking must be off
 * (it forks): ASAN_OPTIONS=detect_leaks=0.
 */
int confine_worker(const struct confine *c, struct confine_fault *ret_fault);

/*
 * oz0-journal: keeps its file rights below the state directory (Landlock
 * where there is one), and loses network, exec, fork, capabilities.  Opening
 * anything else fails with EACCES.
 */
int confine_journal(
    int state_dir, const struct confine *c, struct confine_fault *ret_fault);

#endif
