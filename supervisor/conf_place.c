/*
 * Where the node keeps its things when the configuration does not say: the
 * fixed places of root, the XDG Base Directory Specification for anybody
 * else.  A variable of it that holds no absolute path is ignored, as it says.
 * Runs in oz0d when the configuration is read.
 */
#include "supervisor/conf_internal.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"

#define CONF_ROOT_FILE "/etc/oz0/oz0.json"
#define CONF_ROOT_STATE "/var/lib/oz0"
#define CONF_ROOT_SOCKET "/run/oz0/control.sock"

static const char *
absolute_env(const char *name)
{
	const char *s = getenv(name);

	return s != NULL && s[0] == '/' ? s : NULL;
}

static const char *
home(void)
{
	const char *s = absolute_env("HOME");
	struct passwd *pw;

	if (s != NULL)
		return s;
	pw = getpwuid(geteuid());
	return pw != NULL && pw->pw_dir[0] == '/' ? pw->pw_dir : NULL;
}

/* $VARIABLE/oz0<rest>, or ~/<below>/oz0<rest>; NULL: neither is known. */
static char *
xdg_place(const char *variable, const char *below, const char *rest)
{
	const char *dir = absolute_env(variable);

	if (dir != NULL)
		return mem_printf("%s/oz0%s", dir, rest);
	dir = home();
	return dir != NULL ? mem_printf("%s/%s/oz0%s", dir, below, rest) : NULL;
}

char *
conf_default_path(void)
{
	if (geteuid() == 0)
		return mem_strdup(CONF_ROOT_FILE);
	return xdg_place("XDG_CONFIG_HOME", ".config", "/oz0.json");
}

char *
conf_default_state_dir(void)
{
	if (geteuid() == 0)
		return mem_strdup(CONF_ROOT_STATE);
	return xdg_place("XDG_STATE_HOME", ".local/state", "");
}

char *
conf_default_socket(const char *state_dir)
{
	const char *dir = absolute_env("XDG_RUNTIME_DIR");

	if (geteuid() == 0)
		return mem_strdup(CONF_ROOT_SOCKET);
	if (dir != NULL)
		return mem_printf("%s/oz0/control.sock", dir);
	return mem_printf("%s/control.sock", state_dir);
}

bool
conf_check_socket(const char *path, char *why, size_t size)
{
	const size_t max = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;

	if (path[0] == '\0') {
		snprintf(why, size, "must not be empty");
		return false;
	}
	if (strlen(path) <= max)
		return true;
	snprintf(why, size,
	    "a socket's path may have at most %zu bytes, this one has %zu: %s",
	    max, strlen(path), path);
	return false;
}

int
conf_set_socket(struct conf *c, const char *path, struct conf_error *ret_error)
{
	char why[512];

	if (!conf_check_socket(path, why, sizeof(why))) {
		snprintf(
		    ret_error->text, sizeof(ret_error->text), "-s: %s", why);
		return -EINVAL;
	}
	free(c->socket);
	c->socket = mem_strdup(path);
	return 0;
}
