/*
 * How a process gives up.
 */
#include "base/fatal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static void __attribute__((format(printf, 3, 0)))
give_up(enum exit_code code, const char *why, const char *fmt, va_list ap)
{
	char text[2048];

	vsnprintf(text, sizeof(text), fmt, ap);
	if (why != NULL)
		log_error("%s: %s", text, why);
	else
		log_error("%s", text);
	exit((int)code);
}

void
fatal(enum exit_code code, const char *fmt, ...)
{
	const char *why = strerror(errno);
	va_list ap;

	va_start(ap, fmt);
	give_up(code, why, fmt, ap);
	va_end(ap);
	abort();
}

void
fatalx(enum exit_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	give_up(code, NULL, fmt, ap);
	va_end(ap);
	abort();
}
