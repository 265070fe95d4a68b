/*
 * The process titles of oz0-sandbox and oz0-worker.
 *
 * libbsd's setproctitle() wants to copy the environment before main; these
 * programs have none that they need, so the memory of both is simply taken,
 * and that of the program's file name, which the kernel puts behind them: with
 * an empty environment a title is a byte longer than the arguments.  The
 * kernel shows all up to the first NUL once the arguments' last byte is none.
 */
#include "sandbox/title.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static char *area;	 /* where the arguments lie */
static size_t arguments; /* bytes of them */
static size_t area_size; /* and of what lies right after */

void
title_init(int argc, char **argv)
{
	char *end = argv[argc - 1] + strlen(argv[argc - 1]) + 1;
	const char *name = (const char *)getauxval(AT_EXECFN);

	area = argv[0];
	arguments = (size_t)(end - area);
	for (char **e = environ; *e != NULL && *e == end; e++)
		end += strlen(*e) + 1;
	if (name == end)
		end += strlen(name) + 1;
	area_size = (size_t)(end - area);
}

void
title_set(const char *fmt, ...)
{
	char title[256];
	va_list ap;

	if (area == NULL || area_size < 2)
		return;
	va_start(ap, fmt);
	vsnprintf(title, sizeof(title), fmt, ap);
	va_end(ap);
	memset(area, 0, area_size);
	snprintf(area, area_size, "%s", title);
	/* within the arguments: a last byte that is not NUL */
	if (area[arguments - 1] == '\0')
		area[arguments - 1] = ' ';
}
