#ifndef OZ0_SANDBOX_ROOT_H
#define OZ0_SANDBOX_ROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sandbox/fault.h"
#include "sandbox/plan.h"

/*
 * The root of a sandbox, built in the init's own mount namespace.  Each
 * function is a stage of oz0-sandbox, in this order; each gives 0, or -errno
 * with the fault's text and error filled in.
 *
 * Everything of the host is opened first, then the host's root goes, and only
 * then is anything put in place: a path of the plan can only lead to what was
 * made here, never back out.
 */
#define ROOT_DEVICES 6
#define ROOT_OWN_MAX 64

struct root {
	const struct plan *plan;
	int *sources; /* detached clones, one a mount of the plan; -1: none */
	int devices[ROOT_DEVICES];
	int tty;
	int proc;		 /* -1: not to be had, under "best" */
	int dir;		 /* "/" of the sandbox */
	dev_t own[ROOT_OWN_MAX]; /* file systems that we made: mount points
				    and files are made in these alone */
	size_t nown;
};

void root_init(struct root *r, const struct plan *p);
void root_close(struct root *r); /* what was opened and not put in place */

int root_open_sources(struct root *r, struct sandbox_fault *f);
int root_open_proc(struct root *r, struct sandbox_fault *f);
int root_enter(struct root *r, struct sandbox_fault *f);
int root_make_places(struct root *r, struct sandbox_fault *f);
int root_put_proc(struct root *r, struct sandbox_fault *f);
int root_put_dev(struct root *r, struct sandbox_fault *f);
int root_write_files(struct root *r, struct sandbox_fault *f);
int root_put_mounts(struct root *r, struct sandbox_fault *f);
int root_seal(struct root *r, struct sandbox_fault *f);

/*
 * The place of an absolute path inside, made where it is not there and lies in
 * a file system of ours.  A descriptor (O_PATH), or -errno with the text.
 */
int root_place(
    struct root *r, const char *path, bool dir, struct sandbox_fault *f);

#endif
