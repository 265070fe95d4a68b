#ifndef OZ0_BENCH_LAYERS_H
#define OZ0_BENCH_LAYERS_H

#include <sys/types.h>

/*
 * The layers around a server of kind job (SESSION, What is in a sandbox), put
 * on by the shortest code that does it: the floor of starting one.
 */

#define LAYERS_FOLDER "/first" /* where `folder` is inside */

/* For clone(): the namespaces of a job server's sandbox. */
unsigned long layers_namespaces(void);
/*
 * In a child that was cloned so: maps, root, /proc, /dev, Landlock, seccomp;
 * folder of the host is bound writable.  What fails is said on stderr and
 * ends the child.
 */
void layers_enter(uid_t uid, gid_t gid, const char *folder);

#endif
