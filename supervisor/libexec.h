#ifndef OZ0_SUPERVISOR_LIBEXEC_H
#define OZ0_SUPERVISOR_LIBEXEC_H

#include <stddef.h>

/*
 * The node's other programs, opened once at start and run by descriptor, so
 * that a hung file system or an upgrade does not reach a running node: from
 * $OZ0_LIBEXEC, else beside oz0d itself where all three are there (a build
 * tree), else where they are installed.
 */
struct libexec {
	int worker, sandbox, journal;
};

/* 0, or -errno with words that name what is missing. */
int libexec_open(struct libexec *ret, char *ret_why, size_t size);

#endif
