/*
 * Waiting of the commands that go on until they are interrupted.  Runs in oz0.
 */
#include "cli/follow.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/print.h"

void
follow_wait(const struct client *c)
{
	struct pollfd p[2] = { { .fd = client_fd(c), .events = POLLIN },
		{ .fd = STDOUT_FILENO } };

	print_flush();
	poll(p, 2, -1);
	if ((p[1].revents & POLLERR) == 0)
		return;
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
	_exit(CLI_UNKNOWN);
}
