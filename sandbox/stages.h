#ifndef OZ0_SANDBOX_STAGES_H
#define OZ0_SANDBOX_STAGES_H

#include "sandbox/fault.h"
#include "sandbox/root.h"

/* What the init made of a plan, and what its server then needs. */
struct stages {
	const struct plan *plan;
	struct root root;
	int ruleset;	   /* Landlock, -1: none */
	int filter;	   /* seccomp, -1: none; the caller's */
	char missing[128]; /* layers left out under "best", ", " between */
};

/* Carries it out, all stages in order; 0 or -errno with the fault. */
int stages_run(struct stages *s, struct sandbox_fault *f);
/* The same list in words, for `--explain`. */
const char *stages_name(size_t i, const char **ret_what); /* NULL: the end */

#endif
