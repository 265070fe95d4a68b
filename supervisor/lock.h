#ifndef OZ0_SUPERVISOR_LOCK_H
#define OZ0_SUPERVISOR_LOCK_H

#include <stdbool.h>

/*
 * The state directory and its two locks (SESSION).  Each returns 0 or -errno
 * with words for the operator, the way out included.
 */
struct lock_error {
	char text[512];
};

/* Makes it where it is not there; refuses a network file system. */
int lock_open_state_dir(
    const char *path, bool root, int *ret_dir, struct lock_error *e);
/* `lock`: oz0d's own; -EWOULDBLOCK: in use, the words say by whom. */
int lock_take(int state_dir, const char *path, int *ret_fd,
    struct lock_error *e);
/* `alive`: opened here, inherited by inits, workers and oz0-journal. */
int lock_open_alive(int state_dir, int *ret_fd, struct lock_error *e);
/* Never waits: 0, or -EWOULDBLOCK while a process of another node has it. */
int lock_try_alive(int alive);
/* A folder below the state directory, made where it is not there. */
int lock_open_folder(int state_dir, const char *name, bool root, int *ret_fd,
    struct lock_error *e);

#endif
