#ifndef OZ0_SANDBOX_STRV_H
#define OZ0_SANDBOX_STRV_H

#include <stddef.h>

/* NULL-terminated vectors of strings, as execve() takes them. */

void strv_free(char **v); /* NULL is fine */
size_t strv_len(char *const *v);
char **strv_copy(const char *const *v);
/* Takes over s. */
void strv_add(char ***v, char *s);
/* Environments: set replaces a variable of that name. */
void strv_setenv(char ***v, const char *name, const char *value);
const char *strv_getenv(char *const *v, const char *name);

#endif
