#ifndef OZ0_SANDBOX_INIT_H
#define OZ0_SANDBOX_INIT_H

#include <stdbool.h>

/*
 * Pid 1 of a sandbox, with its control socket as descriptor 3 and, where alive
 * is given, that lock as descriptor 4.  Never comes back.
 */
void init_main(bool alive) __attribute__((noreturn));

/* The helper of launch_sandbox(): makes the init of another uid, and ends. */
int helper_main(int argc, char **argv, bool alive);

#endif
