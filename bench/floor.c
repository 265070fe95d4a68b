/*
 * The floor of a call: bare relays between a caller and an echo server.  Part
 * of oz0-bench.
 *
 * The channels are those of a node: socketpairs from the caller to the server,
 * a pipe back out of it.  A relay waits by epoll, reads what is there and
 * writes it on; that is all a process in between has to do.
 */
#include "bench/floor.h"

#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

#define ROOM ((size_t)1 << 18)

static void __attribute__((noreturn))
serve(int in, int out, size_t answer_len)
{
	char *buf = mem_alloc(ROOM);
	char *answer = mem_alloc(answer_len);
	ssize_t n;

	memset(answer, 'a', answer_len);
	answer[answer_len - 1] = '\n';
	while ((n = read(in, buf, ROOM)) > 0)
		for (ssize_t i = 0; i < n; i++)
			if (buf[i] == '\n' &&
			    fd_write_all(out, answer, answer_len) < 0)
				_exit(0);
	_exit(0);
}

struct way {
	int from, to;
};

static void
watch(int ep, struct way *w)
{
	struct epoll_event e = { .events = EPOLLIN, .data = { .ptr = w } };

	if (epoll_ctl(ep, EPOLL_CTL_ADD, w->from, &e) < 0)
		_exit(1);
}

static void __attribute__((noreturn))
relay(int up, int down_in, int down_out)
{
	struct way there = { up, down_in }, back = { down_out, up };
	char *buf = mem_alloc(ROOM);
	int ep = epoll_create1(EPOLL_CLOEXEC);

	watch(ep, &there);
	watch(ep, &back);
	for (;;) {
		struct epoll_event v[2];
		int k = epoll_wait(ep, v, 2, -1);

		for (int i = 0; i < k; i++) {
			struct way *w = v[i].data.ptr;
			ssize_t n = read(w->from, buf, ROOM);

			if (n <= 0 || fd_write_all(w->to, buf, (size_t)n) < 0)
				_exit(0);
		}
	}
}

/* true in the child, which does not outlive us. */
static bool
child(struct floor *f)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		return true;
	}
	f->pids[f->npids++] = pid;
	return false;
}

static void
pair(int sv[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0)
		err(1, "socketpair");
}

void
floor_open(struct floor *f, size_t relays, size_t answer_len)
{
	int down_in, down_out, sv[2], pv[2];

	memset(f, 0, sizeof(*f));
	pair(sv);
	if (pipe2(pv, O_CLOEXEC) < 0)
		err(1, "pipe");
	if (child(f)) {
		close(sv[0]);
		close(pv[0]);
		serve(sv[1], pv[1], answer_len);
	}
	close(sv[1]);
	close(pv[1]);
	down_in = sv[0];
	down_out = pv[0];
	for (size_t i = 0; i < relays; i++) {
		pair(sv);
		if (child(f)) {
			close(sv[0]);
			relay(sv[1], down_in, down_out);
		}
		close(sv[1]);
		if (down_out != down_in)
			close(down_out);
		close(down_in);
		down_in = down_out = sv[0];
	}
	f->fd = down_in;
}

void
floor_close(struct floor *f)
{
	fd_close(&f->fd);
	for (size_t i = 0; i < f->npids; i++) {
		kill(f->pids[i], SIGKILL);
		waitpid(f->pids[i], NULL, 0);
	}
	f->npids = 0;
}
