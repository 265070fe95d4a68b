/*
 * The error object of the sandbox's stages.
 *
 * Filled in by the stages of oz0-sandbox, sent to the supervisor as
 * WIRE_SANDBOX_FAILED, printed by `oz0-sandbox --plan`.
 */
#include "sandbox/fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int
sandbox_fault_set(struct sandbox_fault *f, int error, const char *fmt, ...)
{
	va_list ap;
	int n;

	f->error = error;
	va_start(ap, fmt);
	n = vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(f->text) && error != 0)
		snprintf(f->text + n, sizeof(f->text) - (size_t)n, ": %s",
		    strerror(error));
	return -error;
}
