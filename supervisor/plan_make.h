#ifndef OZ0_SUPERVISOR_PLAN_MAKE_H
#define OZ0_SUPERVISOR_PLAN_MAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisor/conf.h"

struct plan;

/*
 * What a sandbox is made from: SESSION's table, "What is in a sandbox".  The
 * same input gives the same plan (the host's run-time places apart).
 */
struct plan_input {
	const char *name;	 /* "j1/1 files" */
	const char *command;
	char *const *args;	 /* NULL-terminated, without the command */
	const struct conf_pair *env; /* of the configuration */
	size_t nenv;
	char *const *more_env;	 /* "NAME=value", of a harness; may be NULL */
	const char *folder;	 /* host path; NULL: none */
	uint64_t folder_device, folder_inode; /* inode 0: any */
	const char *folder_at;	 /* "/session" or "/state" */
	const char *cwd;	 /* NULL: folder_at */
	const struct conf_sandbox *sandbox; /* NULL: all defaults */
	uid_t uid;
	gid_t gid;
	bool best;
	bool tty;
};

/* NULL with words: what the configuration demands is not to be had. */
struct plan *plan_make(
    const struct plan_input *in, char *ret_why, size_t size);

#endif
