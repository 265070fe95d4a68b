/*
 * How the server sees the world it runs in: what a sandbox left of it.
 */
#include "examples/demo/function.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/jsonw.h"
#include "examples/demo/call.h"
#include "examples/demo/ledger.h"

#define FILE_MAX 65536
#define GROUPS_MAX 64

extern char **environ;

static void
put_environment(struct jsonw *w)
{
	jsonw_array(w, "environment");
	for (char **e = environ; *e != NULL; e++)
		jsonw_string(w, NULL, *e);
	jsonw_array_end(w);
}

/* What it was given: the ledger's and this look's own are left out. */
static void
put_descriptors(const struct demo *d, struct jsonw *w)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *e;

	jsonw_array(w, "fds");
	while (dir != NULL && (e = readdir(dir)) != NULL) {
		char target[PATH_MAX];
		ssize_t n = readlinkat(
		    dirfd(dir), e->d_name, target, sizeof(target) - 1);
		int fd = atoi(e->d_name);

		if (n < 0 || fd == dirfd(dir) || fd == ledger_fd(d->ledger))
			continue;
		target[n] = '\0';
		jsonw_object(w, NULL);
		jsonw_int(w, "fd", fd);
		jsonw_string(w, "target", target);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
	if (dir != NULL)
		closedir(dir);
}

static void
put_ids(struct jsonw *w)
{
	gid_t groups[GROUPS_MAX];
	int n = getgroups(GROUPS_MAX, groups);

	jsonw_int(w, "pid", getpid());
	jsonw_int(w, "ppid", getppid());
	jsonw_int(w, "uid", (int64_t)getuid());
	jsonw_int(w, "euid", (int64_t)geteuid());
	jsonw_int(w, "gid", (int64_t)getgid());
	jsonw_array(w, "groups");
	for (int i = 0; i < n; i++)
		jsonw_int(w, NULL, (int64_t)groups[i]);
	jsonw_array_end(w);
}

/* Capabilities, seccomp, no_new_privs, signals, threads: as the kernel says. */
static void
put_file_text(struct jsonw *w, const char *name, const char *path)
{
	char *text;
	size_t len;

	if (fd_read_file(AT_FDCWD, path, FILE_MAX, &text, &len) < 0)
		return;
	jsonw_string_n(w, name, text, len);
	free(text);
}

void
fn_env(struct demo *d, struct call *c)
{
	char *cwd = getcwd(NULL, 0);
	struct buf b = {0};
	struct jsonw w;

	jsonw_init(&w, &b);
	jsonw_object(&w, NULL);
	put_ids(&w);
	jsonw_string(&w, "cwd", cwd);
	put_environment(&w);
	put_descriptors(d, &w);
	put_file_text(&w, "status", "/proc/self/status");
	put_file_text(&w, "limits", "/proc/self/limits");
	jsonw_object_end(&w);
	call_json(d, c, &b);
	buf_free(&b);
	free(cwd);
}

static int
put_folder(struct jsonw *w, const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *e;

	if (dir == NULL)
		return errno;
	jsonw_array(w, "entries");
	while ((e = readdir(dir)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			jsonw_string(w, NULL, e->d_name);
	jsonw_array_end(w);
	closedir(dir);
	return 0;
}

/* The start of it; a device or a pipe is not waited for. */
static int
put_start(struct jsonw *w, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char *text;
	ssize_t n;

	if (fd < 0)
		return errno;
	text = malloc(FILE_MAX);
	n = text != NULL ? read(fd, text, FILE_MAX) : -1;
	if (n >= 0)
		jsonw_string_n(w, "text", text, (size_t)n);
	free(text);
	fd_close(&fd);
	return n < 0 ? errno : 0;
}

void
fn_file(struct demo *d, struct call *c)
{
	struct json_value v = call_value(c, "path");
	char path[PATH_MAX], link[PATH_MAX];
	struct stat st = {0};
	struct buf b = {0};
	struct jsonw w;
	ssize_t n;
	int error = 0;

	if (!json_to_string(v, path, sizeof(path)))
		c->fault = "path";
	if (call_refused(d, c))
		return;
	jsonw_init(&w, &b);
	jsonw_object(&w, NULL);
	n = readlink(path, link, sizeof(link));
	if (n >= 0)
		jsonw_string_n(&w, "link", link, (size_t)n);
	if (stat(path, &st) < 0)
		error = errno;
	else if (S_ISDIR(st.st_mode))
		error = put_folder(&w, path);
	else
		error = put_start(&w, path);
	jsonw_stringf(&w, "mode", "%o", st.st_mode);
	if (error != 0)
		jsonw_string(&w, "error", strerrorname_np(error));
	jsonw_object_end(&w);
	call_json(d, c, &b);
	buf_free(&b);
}
