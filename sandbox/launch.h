#ifndef OZ0_SANDBOX_LAUNCH_H
#define OZ0_SANDBOX_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "sandbox/plan.h"

/*
 * Starting oz0-sandbox as the init of a fresh set of namespaces (DESIGN,
 * Starting one).  The supervisor calls this; it blocks for the exec alone.
 *
 * The control socket speaks the WIRE_SANDBOX_* messages of wire/message.h.
 * WIRE_SANDBOX_PLAN may be written to the supervisor's end before: then the
 * init waits for nothing.
 * As an ordinary user, or where uid and gid are the supervisor's own, the init
 * is cloned at once.  Otherwise a helper (oz0-sandbox itself with --helper)
 * switches to the uid, clones the init with CLONE_PARENT, and sends
 * WIRE_SANDBOX_BORN with the init's pidfd; the helper then ends.
 */
#define LAUNCH_CONTROL_FD 3 /* what the init finds where */
#define LAUNCH_ALIVE_FD 4

struct launch {
	const struct plan *plan;
	int exe;     /* oz0-sandbox, opened at start */
	int std[3];  /* what the init has as 0, 1, 2 until the plan's stdio has
			come with WIRE_SANDBOX_PLAN (-1: the caller's own);
			stay the caller's */
	int control; /* the init's end of the control socket; the same */
	int alive;   /* the `alive` lock, inherited by the init; -1: none */
};

struct launched {
	pid_t helper;	  /* to be reaped; 0: none */
	int helper_pidfd; /* -1: none */
	pid_t init;	  /* 0 when WIRE_SANDBOX_BORN will tell */
	int init_pidfd;	  /* -1 likewise */
};

struct launch_fault {
	const char *act; /* "clone", "write uid_map": static words */
	int error;	 /* positive errno */
};

/* 0 or -errno with *ret_fault filled in; nothing is left behind then. */
int launch_sandbox(const struct launch *l, struct launched *ret,
    struct launch_fault *ret_fault);

/*
 * Starting a program of libexec (oz0-worker, oz0-journal) by descriptor, with
 * descriptor 3 its socket and nothing else above 2 but keep (each under its own
 * number, which is 4 or more and told in argv by the caller; -1: none).
 * Clean signal mask and dispositions, no environment but what is given.
 */
#define LAUNCH_KEEP 3
int launch_program(int exe, char *const argv[], char *const envp[],
    int socket_end, const int keep[LAUNCH_KEEP], pid_t *ret_pid, int *ret_pidfd,
    struct launch_fault *ret_fault);

/* The namespaces of a plan's sandbox, the user namespace among them. */
unsigned long launch_namespaces(enum plan_network network);

#endif
