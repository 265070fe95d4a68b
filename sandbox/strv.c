/*
 * Vectors of strings: the argument lists and environments of a plan.
 *
 * Pure memory; used by the plan's own files and by oz0-sandbox.
 */
#include "sandbox/strv.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void
strv_free(char **v)
{
	for (size_t i = 0; v != NULL && v[i] != NULL; i++)
		free(v[i]);
	free(v);
}

size_t
strv_len(char *const *v)
{
	size_t n = 0;

	while (v[n] != NULL)
		n++;
	return n;
}

char **
strv_copy(const char *const *v)
{
	size_t n = strv_len((char *const *)(uintptr_t)v);
	char **copy = mem_array(n + 1, sizeof(*copy));

	for (size_t i = 0; i < n; i++)
		copy[i] = mem_strdup(v[i]);
	return copy;
}

void
strv_add(char ***v, char *s)
{
	size_t n = strv_len(*v);

	*v = mem_realloc(*v, (n + 2) * sizeof(**v));
	(*v)[n] = s;
	(*v)[n + 1] = NULL;
}

void
strv_setenv(char ***v, const char *name, const char *value)
{
	size_t len = strlen(name);
	char *pair = mem_printf("%s=%s", name, value);

	for (size_t i = 0; (*v)[i] != NULL; i++) {
		char *have = (*v)[i];

		if (strncmp(have, name, len) == 0 && have[len] == '=') {
			(*v)[i] = pair;
			free(have);
			return;
		}
	}
	strv_add(v, pair);
}

const char *
strv_getenv(char *const *v, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; v[i] != NULL; i++)
		if (strncmp(v[i], name, len) == 0 && v[i][len] == '=')
			return v[i] + len + 1;
	return NULL;
}
