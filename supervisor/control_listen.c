/*
 * The listening socket: taken from LISTEN_FDS, or made at the configured path.
 * A socket that a dead node left is replaced, one that somebody listens on
 * never: a lock file beside it (PATH.lock, held while the node runs) lets one
 * starter at a time look, unlink and bind.  Runs in oz0d at start; called by
 * control.c.
 */
#include "supervisor/control_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"

#define LISTEN_FD_FIRST 3 /* sd_listen_fds(3) */
#define LISTEN_BACKLOG 1024

/* ---- LISTEN_FDS ---- */

static bool
is_listener(int fd)
{
	int domain = 0, type = 0, accepts = 0;
	socklen_t len = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &len) == 0 &&
	       domain == AF_UNIX && type == SOCK_STREAM && accepts != 0;
}

/* 1: taken, 0: none was handed over to this process, or -errno. */
static int
listen_inherited(struct control *c)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	long n = fds != NULL ? strtol(fds, NULL, 10) : 0;
	bool ours = pid != NULL && strtol(pid, NULL, 10) == (long)getpid();

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (!ours || n <= 0)
		return 0;
	if (n > 1 || !is_listener(LISTEN_FD_FIRST)) {
		log_error("LISTEN_FDS: %s",
		    n > 1 ? "more than one descriptor was handed over"
			  : "descriptor 3 is no listening Unix stream socket");
		return -EINVAL;
	}
	fd_cloexec(LISTEN_FD_FIRST, true);
	fd_nonblock(LISTEN_FD_FIRST);
	c->listener = LISTEN_FD_FIRST;
	return 1;
}

/* ---- a path of our own ---- */

/* The folder of the path, made when it is missing (its parent must be). */
static int
make_folder(const char *path)
{
	CLEANUP_FREE char *dir = mem_strdup(path);
	char *slash = strrchr(dir, '/');

	if (slash == NULL || slash == dir)
		return 0;
	*slash = '\0';
	if (mkdir(dir, 0755) != 0 && errno != EEXIST) {
		int r = -errno;

		log_error("%s: %s", dir, strerror(-r));
		return r;
	}
	return 0;
}

static int
take_lock(struct control *c)
{
	CLEANUP_FREE char *name = mem_printf("%s.lock", c->path);
	int r = 0;

	c->lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (c->lock < 0 || flock(c->lock, LOCK_EX | LOCK_NB) != 0)
		r = -errno;
	if (r == -EWOULDBLOCK) {
		log_error("%s: another node listens here", c->path);
		return -EADDRINUSE;
	}
	if (r < 0)
		log_error("%s: %s", name, strerror(-r));
	return r;
}

static void
address(const char *path, struct sockaddr_un *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	memcpy(ret->sun_path, path, strlen(path));
}

/* Unlinks a socket that nobody listens on; anything else is an error. */
static int
clear_stale(const char *path)
{
	CLEANUP_CLOSE int fd = -1;
	struct sockaddr_un a;
	struct stat st;

	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode)) {
		log_error("%s: it is there and no socket: remove it, or "
			  "choose another path",
		    path);
		return -EEXIST;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	address(path, &a);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 ||
	    errno == EAGAIN) {
		log_error("%s: somebody listens here", path);
		return -EADDRINUSE;
	}
	if (errno == ENOENT)
		return 0;
	if (errno != ECONNREFUSED)
		return -errno;
	log_notice("%s: left by a node that is gone; replaced", path);
	return unlink(path) == 0 || errno == ENOENT ? 0 : -errno;
}

static int
bind_path(struct control *c)
{
	CLEANUP_CLOSE int fd = -1;
	struct sockaddr_un a;
	struct stat st;
	mode_t mask;
	int r = 0;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	address(c->path, &a);
	mask = umask(0177); /* 0600 until listen_set_mode() */
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0)
		r = -errno;
	umask(mask);
	if (r == 0 &&
	    (listen(fd, LISTEN_BACKLOG) != 0 || lstat(c->path, &st) != 0))
		r = -errno;
	if (r < 0)
		return r;
	c->dev = st.st_dev;
	c->ino = st.st_ino;
	c->listener = fd_steal(&fd);
	return 0;
}

static bool
is_ours(const struct control *c)
{
	struct stat st;

	return c->path != NULL && lstat(c->path, &st) == 0 &&
	       S_ISSOCK(st.st_mode) && st.st_dev == c->dev &&
	       st.st_ino == c->ino;
}

/*
 * Who may connect is a matter of roles; the mode keeps out those of whom none
 * can have one.
 */
void
listen_set_mode(struct control *c)
{
	mode_t mode = role_others(c->s->conf, geteuid()) ? 0666 : 0600;

	if (is_ours(c) && chmod(c->path, mode) != 0)
		log_warning("%s: chmod: %s", c->path, strerror(errno));
}

int
listen_open(struct control *c)
{
	const size_t max = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;
	int r = listen_inherited(c);

	if (r != 0)
		return r < 0 ? r : 0;
	c->path = mem_strdup(c->s->conf->socket);
	if (strlen(c->path) > max) {
		log_error("%s: a socket's path may have at most %zu bytes, "
			  "this one has %zu",
		    c->path, max, strlen(c->path));
		return -ENAMETOOLONG;
	}
	r = make_folder(c->path);
	if (r == 0)
		r = take_lock(c);
	if (r < 0)
		return r;
	r = clear_stale(c->path);
	if (r == 0)
		r = bind_path(c);
	if (r < 0 && r != -EADDRINUSE && r != -EEXIST)
		log_error("%s: %s", c->path, strerror(-r));
	if (r == 0)
		listen_set_mode(c);
	return r;
}

/* The lock file stays: unlinking it would let two starters hold one each. */
void
listen_close(struct control *c)
{
	if (c->listener >= 0 && is_ours(c))
		unlink(c->path);
	fd_close(&c->listener);
	fd_close(&c->lock);
}
