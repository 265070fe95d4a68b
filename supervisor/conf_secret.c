/*
 * References to secrets in the configuration: ${env:NAME} and ${file:PATH}
 * are replaced by what the variable or the file holds.  One that is missing
 * or empty is an error, never an empty string (INTERFACES, Configuration);
 * what is said of it holds its name, never its value.  Other uses of `$' are
 * no business of oz0 and pass.  Runs in oz0d when the configuration is read.
 */
#include "supervisor/conf_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/mem.h"

static bool
add_env(const char *name, struct buf *out, char *why, size_t size)
{
	const char *value = getenv(name);

	if (value == NULL || value[0] == '\0') {
		snprintf(why, size, "${env:%s}: the variable is %s", name,
		    value == NULL ? "not set" : "empty");
		return false;
	}
	buf_puts(out, value);
	return true;
}

static bool
add_file(const char *path, struct buf *out, char *why, size_t size)
{
	CLEANUP_FREE char *text = NULL;
	size_t len;
	int r;

	if (path[0] != '/') {
		snprintf(
		    why, size, "${file:%s}: the path must be absolute", path);
		return false;
	}
	r = fd_read_file(AT_FDCWD, path, CONF_SECRET_MAX, &text, &len);
	if (r < 0) {
		snprintf(why, size, "${file:%s}: %s", path,
		    r == -EFBIG ? "larger than 64 KiB" : strerror(-r));
		return false;
	}
	if (len > 0 && text[len - 1] == '\n')
		len--;
	if (len > 0 && text[len - 1] == '\r')
		len--;
	if (len == 0 || memchr(text, '\0', len) != NULL) {
		snprintf(why, size, "${file:%s}: the file %s", path,
		    len == 0 ? "is empty" : "has a NUL byte in it");
		return false;
	}
	buf_put(out, text, len);
	explicit_bzero(text, len);
	return true;
}

bool
conf_secret_expand(
    const char *text, char **ret, bool *ret_any, char *why, size_t size)
{
	CLEANUP(buf_free) struct buf out = {0};
	bool any = false;

	for (const char *p = text; *p != '\0';) {
		CLEANUP_FREE char *name = NULL;
		bool env = strncmp(p, "${env:", 6) == 0;
		const char *end;

		if (!env && strncmp(p, "${file:", 7) != 0) {
			buf_putc(&out, *p++);
			continue;
		}
		end = strchr(p, '}');
		p += env ? 6 : 7;
		if (end == NULL || end == p) {
			snprintf(why, size, "a reference %s",
			    end == NULL ? "has no closing `}'"
					: "names nothing");
			return false;
		}
		name = mem_strndup(p, (size_t)(end - p));
		if (!(env ? add_env(name, &out, why, size)
			  : add_file(name, &out, why, size)))
			return false;
		any = true;
		p = end + 1;
	}
	*ret = buf_steal(&out, NULL);
	*ret_any = any;
	return true;
}
