/*
 * The pseudo terminal of `oz0 run`.  A terminal that has a session already
 * cannot become the harness's controlling one, so it gets one of its own and
 * bytes and window size are carried over.  Runs in oz0.
 */
#include "cli/pty.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cli/client.h"

struct pty {
	int master, slave;
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

struct pty *
pty_open(void)
{
	struct termios raw;
	struct pty *p;
	char name[128];

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return NULL;
	p = mem_zalloc(sizeof(*p));
	p->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (p->master < 0 || grantpt(p->master) < 0 ||
	    unlockpt(p->master) < 0 ||
	    ptsname_r(p->master, name, sizeof(name)) != 0)
		err(CLI_RUN_FAILED, "cannot make a terminal for the harness");
	p->slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (p->slave < 0)
		err(CLI_RUN_FAILED, "%s", name);
	tcgetattr(STDIN_FILENO, &p->before);
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

int
pty_master(const struct pty *p)
{
	return p->master;
}

static bool
copy(int from, int to)
{
	char buf[4096];
	ssize_t n = read(from, buf, sizeof(buf));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	return n > 0 && fd_write_all(to, buf, (size_t)n) == 0;
}

bool
pty_out(struct pty *p)
{
	return copy(p->master, STDOUT_FILENO);
}

bool
pty_in(struct pty *p)
{
	return copy(STDIN_FILENO, p->master);
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
	put_back();
	fd_close(&p->slave);
	fd_close(&p->master);
	free(p);
}
