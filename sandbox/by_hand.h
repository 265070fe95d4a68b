#ifndef OZ0_SANDBOX_BY_HAND_H
#define OZ0_SANDBOX_BY_HAND_H

#include "sandbox/plan.h"

/*
 * Runs a plan on the caller's stdin, stdout and stderr, and gives the code to
 * end with: the command's own, 128+n for a signal, 127 when it is not there,
 * 126 when it cannot be executed, 125 when the sandbox failed.
 */
int by_hand_run(const struct plan *p);

#endif
