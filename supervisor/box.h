#ifndef OZ0_SUPERVISOR_BOX_H
#define OZ0_SUPERVISOR_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "supervisor/supervisor.h"

struct plan;

/*
 * One sandbox that runs: the init (oz0-sandbox), the helper that may make it,
 * and the control socket to it.  Servers and harnesses each are in one.
 */
struct box;

/* In this order; failed and exited are followed by dead all the same. */
struct box_owner {
	/* Its command runs; missing: layers left out, or empty. */
	void (*started)(struct supervisor *s, void *arg, const char *missing);
	void (*failed)(struct supervisor *s, void *arg, const char *why);
	/* The command ended; what it left behind is killed. */
	void (*exited)(
	    struct supervisor *s, void *arg, bool by_signal, unsigned code);
	/* Every process of it is dead and reaped.  Frees the box by itself. */
	void (*dead)(struct supervisor *s, void *arg);
};

/*
 * name as in ps ("j1/1 files"); std: the ends of the command, which stay the
 * caller's.  NULL with words.
 */
struct box *box_start(struct supervisor *s, const struct plan *plan,
    const char *job, const int std[3], const struct box_owner *owner,
    void *arg, char *ret_why, size_t size);
pid_t box_pid(const struct box *b); /* of the init; 0: not known yet */
/* To every process in it; SIGKILL is box_kill()'s. */
void box_signal(struct box *b, int signo);
/* To its command alone. */
void box_signal_command(struct box *b, int signo);
/* Repeated with backoff until it is dead (L1.4b). */
void box_kill(struct supervisor *s, struct box *b);

#endif
