#ifndef OZ0_SANDBOX_SERVER_H
#define OZ0_SANDBOX_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "sandbox/fault.h"

/* A command to be run inside, by a child of the init. */
struct server {
	char *const *argv;
	char *const *envp;
	const char *cwd; /* NULL: "/" */
	const int *std;	 /* three; stay the caller's */
	bool tty;
	int ruleset; /* Landlock, -1: none */
	int filter;  /* seccomp, -1: none */
};

/*
 * Starts it; 0 with *ret_pid once its exec has succeeded, else -errno with the
 * fault (stage, text) and the child reaped.
 */
int server_start(
    const struct server *s, pid_t *ret_pid, struct sandbox_fault *f);
/* Its stages in words, for `--explain`; NULL: the end. */
const char *server_stage_name(size_t i, const char **ret_what);

#endif
