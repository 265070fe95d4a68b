#ifndef OZ0_SANDBOX_FAULT_H
#define OZ0_SANDBOX_FAULT_H

#include <stddef.h>

/*
 * Why a stage failed: an error that names the act and the path.  Filled in
 * once, by whoever failed.
 */
struct sandbox_fault {
	char stage[24];
	int error; /* positive errno */
	char text[512];
};

/* Gives -error, so that a failing function can end with it. */
int sandbox_fault_set(struct sandbox_fault *f, int error, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
