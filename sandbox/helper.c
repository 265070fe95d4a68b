/*
 * The second way to start an init (DESIGN, Starting one): for root, who runs
 * a sandbox under another uid.
 *
 * Started by launch_sandbox() as `oz0-sandbox --helper UID GID none|host`.  It
 * becomes that user, makes a user namespace, clones the init with
 * CLONE_PARENT, so that the supervisor is its parent, sends it the pidfd, and
 * ends.
 */
#include "sandbox/init.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fatal.h"
#include "sandbox/caps.h"
#include "sandbox/fault.h"
#include "sandbox/launch.h"
#include "wire/chan.h"

static int
send_all(struct chan *chan)
{
	for (;;) {
		struct pollfd p = {chan_fd(chan), POLLOUT, 0};
		int r = chan_flush(chan);

		if (r < 0 && r != -EAGAIN)
			return r;
		if (!chan_pending(chan))
			return 0;
		(void)poll(&p, 1, -1);
	}
}

static int
send_fault(struct chan *chan, const char *act, int error)
{
	struct sandbox_fault f = {.stage = "helper"};
	struct buf *b = chan_begin(chan, WIRE_SANDBOX_FAILED);

	sandbox_fault_set(&f, error, "%s", act);
	wire_put_str(b, f.stage);
	wire_put_u32(b, (uint32_t)f.error);
	wire_put_str(b, f.text);
	if (chan_end(chan, NULL, 0, NULL, 0) == 0)
		(void)send_all(chan);
	return 1;
}

static int
send_born(struct chan *chan, pid_t pid, int pidfd)
{
	struct buf *b = chan_begin(chan, WIRE_SANDBOX_BORN);
	int r;

	wire_put_u32(b, (uint32_t)pid);
	r = chan_end(chan, NULL, 0, &pidfd, 1);
	return r < 0 ? r : send_all(chan);
}

static int
become(uid_t uid, gid_t gid, const char **ret_act)
{
	int r;

	*ret_act = "switch to the sandbox's uid";
	r = caps_switch_user(uid, gid);
	if (r < 0)
		return r;
	*ret_act = "unshare the user namespace";
	if (unshare(CLONE_NEWUSER) < 0)
		return -errno;
	return caps_write_maps(uid, gid, ret_act);
}

static bool
parse_id(const char *s, unsigned *ret)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(s, &end, 10);
	if (errno != 0 || end == s || *end != '\0' || n == 0 || n >= UINT32_MAX)
		return false;
	*ret = (unsigned)n;
	return true;
}

/* The init waits until its birth has been told: its own words come after. */
static void
wait_for_go(int go)
{
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(1);
	close(go);
}

int
helper_main(int argc, char **argv, bool alive)
{
	enum plan_network network;
	struct chan *chan;
	const char *act;
	unsigned uid, gid;
	int pidfd = -1;
	int go[2];
	long pid;
	int r;

	if (argc != 3 || !parse_id(argv[0], &uid) || !parse_id(argv[1], &gid))
		fatalx(EXIT_CODE_USAGE, "--helper is for oz0d alone");
	network = strcmp(argv[2], "host") == 0 ? PLAN_NET_HOST : PLAN_NET_NONE;
	prctl(PR_SET_NAME, "oz0-sandbox");
	(void)fd_nonblock(LAUNCH_CONTROL_FD);
	(void)fd_cloexec(LAUNCH_CONTROL_FD, true);
	chan = chan_new(LAUNCH_CONTROL_FD, WIRE_ROLE_SANDBOX,
	    WIRE_ROLE_SUPERVISOR, PLAN_JSON_MAX);
	r = become(uid, gid, &act);
	if (r < 0)
		return send_fault(chan, act, -r);
	/* after the change of credentials, which would undo it */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	r = fd_pipe(go);
	if (r < 0)
		return send_fault(chan, "pipe", -r);
	pid = syscall(SYS_clone,
	    (launch_namespaces(network) & ~(unsigned long)CLONE_NEWUSER) |
		CLONE_PARENT | CLONE_PIDFD | SIGCHLD,
	    NULL, &pidfd, NULL, 0);
	if (pid < 0)
		return send_fault(chan, "clone the init", errno);
	if (pid == 0) {
		close(go[1]);
		wait_for_go(go[0]);
		init_main(alive);
	}
	close(go[0]);
	r = send_born(chan, (pid_t)pid, pidfd);
	/* dying here instead of going on: the init reads the end of file */
	return r < 0 || write(go[1], "", 1) != 1 ? 1 : 0;
}
