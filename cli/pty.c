/*
 * The pseudo terminal of `oz0 run`.  A terminal that has a session already
 * cannot become the harness's controlling one, so it gets one of its own, and
 * bytes and window size are carried over: a resize of the master signals the
 * harness by itself.  Runs in oz0.
 */
#include "cli/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"

#define ROOM 16384

struct pty {
	int master, slave;
	bool stdin_ended;
	struct buf in; /* read from stdin, not taken by the harness yet */
	struct termios before;
};

static struct pty *active; /* to be put back at exit */

static void
put_back(void)
{
	if (active != NULL)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &active->before);
	active = NULL;
}

static bool
make_pair(struct pty *p)
{
	char name[128];

	p->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (p->master < 0 || grantpt(p->master) < 0 ||
	    unlockpt(p->master) < 0 ||
	    ptsname_r(p->master, name, sizeof(name)) != 0 ||
	    fd_nonblock(p->master) < 0)
		return false;
	p->slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return p->slave >= 0;
}

struct pty *
pty_open(const char **ret_error)
{
	struct termios raw;
	struct pty *p;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return NULL;
	p = mem_zalloc(sizeof(*p));
	p->master = p->slave = -1;
	if (!make_pair(p) || tcgetattr(STDIN_FILENO, &p->before) < 0) {
		*ret_error = strerror(errno);
		fd_close(&p->master);
		fd_close(&p->slave);
		free(p);
		return NULL;
	}
	tcsetattr(p->slave, TCSANOW, &p->before);
	pty_resize(p);
	raw = p->before;
	cfmakeraw(&raw);
	active = p;
	atexit(put_back);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	return p;
}

int
pty_slave(const struct pty *p)
{
	return p->slave;
}

void
pty_slave_close(struct pty *p)
{
	fd_close(&p->slave);
}

void
pty_watch(const struct pty *p, struct pollfd ret[2])
{
	ret[0] = ret[1] = (struct pollfd) { .fd = -1 };
	if (p == NULL)
		return;
	ret[0].fd = p->master;
	ret[0].events = buf_len(&p->in) > 0 ? POLLIN | POLLOUT : POLLIN;
	if (buf_len(&p->in) == 0 && !p->stdin_ended)
		ret[1] = (struct pollfd) { STDIN_FILENO, POLLIN, 0 };
}

/* What the harness wrote; false: nothing was there. */
static bool
carry_out(struct pty *p)
{
	char some[ROOM];
	ssize_t n = read(p->master, some, sizeof(some));

	if (n > 0)
		fd_write_all(STDOUT_FILENO, some, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		fd_close(&p->master); /* EIO: nobody has the other end */
	return n > 0;
}

static void
carry_in(struct pty *p)
{
	ssize_t n = write(p->master, buf_at(&p->in), buf_len(&p->in));

	if (n > 0)
		buf_take(&p->in, (size_t)n);
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		buf_clear(&p->in);
}

void
pty_turn(struct pty *p, const struct pollfd polled[2])
{
	ssize_t n;

	if (p == NULL)
		return;
	if (polled[1].fd >= 0 && polled[1].revents != 0) {
		n = read(STDIN_FILENO, buf_room(&p->in, ROOM), ROOM);
		if (n > 0)
			buf_added(&p->in, (size_t)n);
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			p->stdin_ended = true;
	}
	if (polled[0].fd >= 0 && (polled[0].revents & ~POLLOUT) != 0)
		carry_out(p);
	if (p->master >= 0 && buf_len(&p->in) > 0)
		carry_in(p);
}

void
pty_resize(struct pty *p)
{
	struct winsize ws;

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &ws) == 0)
		ioctl(p->master, TIOCSWINSZ, &ws);
}

void
pty_close(struct pty *p)
{
	if (p == NULL)
		return;
	fd_close(&p->slave);
	while (p->master >= 0 && carry_out(p))
		;
	put_back();
	fd_close(&p->master);
	buf_free(&p->in);
	free(p);
}
