/*
 * The process title of oz0-sandbox.
 *
 * libbsd's setproctitle() wants to copy the environment before main; this
 * program has none that it needs, so the memory of both is simply taken.  The
 * kernel shows the arguments up to the first NUL once their last byte is none.
 */
#include "sandbox/title.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char *area;	   /* where the arguments lie */
static size_t arguments;   /* bytes of them */
static size_t area_size;   /* and of the environment right after */

void
title_init(int argc, char **argv)
{
	char *end = argv[argc - 1] + strlen(argv[argc - 1]) + 1;

	area = argv[0];
	arguments = (size_t)(end - area);
	for (char **e = environ; *e != NULL && *e == end; e++)
		end += strlen(*e) + 1;
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
	snprintf(area, area_size - 1, "%s", title);
	/* within the arguments: a last byte that is not NUL */
	if (area[arguments - 1] == '\0')
		area[arguments - 1] = '.';
}
