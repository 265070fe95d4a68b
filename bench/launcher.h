#ifndef OZ0_BENCH_LAUNCHER_H
#define OZ0_BENCH_LAUNCHER_H

#include <stddef.h>
#include <sys/types.h>

/*
 * The floors of starting and stopping servers, measured in a process of their
 * own: it has the uid that servers have, and little memory to copy.
 */

struct launcher {
	int fd; /* -1: not started */
	pid_t pid;
};

/* folder has the static server and the fifo `first`. */
void launcher_open(
    struct launcher *l, uid_t uid, gid_t gid, const char *folder);
void launcher_close(struct launcher *l);
/* us from the clone, through all layers, to the server's first byte. */
double launcher_start(struct launcher *l);
/* us from SIGKILL to a pid namespace's init until it is reaped, with n
 * processes below it. */
double launcher_kill(struct launcher *l, size_t n);
/* KiB that two idle static processes take, of n such pairs. */
double launcher_idle_kib(struct launcher *l, size_t n);

#endif
