/*
 * Where oz0d has its control socket when its configuration does not say
 * (INTERFACES, node.socket): root's place, or the user's by the XDG Base
 * Directory Specification, which ignores what is no absolute path.  The pair
 * of supervisor/conf_place.c.  Runs in oz0.
 */
#include "cli/place.h"

#include <pwd.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

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

char *
place_socket(void)
{
	const char *dir;

	if (geteuid() == 0)
		return mem_strdup("/run/oz0/control.sock");
	dir = absolute_env("XDG_RUNTIME_DIR");
	if (dir == NULL)
		dir = absolute_env("XDG_STATE_HOME");
	if (dir != NULL)
		return mem_printf("%s/oz0/control.sock", dir);
	dir = home();
	return dir == NULL
	    ? NULL
	    : mem_printf("%s/.local/state/oz0/control.sock", dir);
}
