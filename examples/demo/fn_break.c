/*
 * Functions that end the server, and one that leaves processes behind.
 */
#include "examples/demo/function.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/jsonw.h"
#include "examples/demo/call.h"
#include "examples/demo/ledger.h"
#include "examples/demo/out.h"

#define CHILDREN_MAX 1000

/* steps is the signal (0: none), step the exit code, word[0] when. */
void
fn_crash(struct demo *d, struct call *c)
{
	static const char *const words[] = {"before", "after", "partial", NULL};
	struct span wait = call_ms(c, "ms", 0);

	c->steps = call_int(c, "signal", 0, 0, SIGRTMAX);
	c->step = call_int(c, "code", 1, 0, 255);
	c->word[0] = call_word(c, "when", words)[0];
	if (call_refused(d, c))
		return;
	call_wait(c, wait);
}

void
fn_crash_tick(struct demo *d, struct call *c)
{
	static const struct answer a = {.text = "crashing", .len = 8};
	int sig = (int)c->steps;
	size_t before = buf_len(&d->out);

	if (c->word[0] != 'b')
		call_write(d, c, &a, c->id.p, c->id.len);
	if (c->word[0] == 'p')
		d->out.end -= (buf_len(&d->out) - before) / 2;
	out_flush(d, true);
	if (sig != 0) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	/* Not reached for a signal that ends a process. */
	_exit((int)c->step);
}

/* The grandchild: it does nothing for some time, and then ends. */
static void
orphan(int fd, struct span life, bool own_session, bool hold, bool stubborn)
{
	pid_t pid;

	prctl(PR_SET_NAME, "demo-orphan");
	if (own_session)
		setsid();
	signal(SIGTERM, stubborn ? SIG_IGN : SIG_DFL);
	if (!hold)
		for (int i = 0; i <= STDERR_FILENO; i++)
			close(i);
	pid = getpid();
	if (fd_write_all(fd, &pid, sizeof(pid)) < 0)
		_exit(1);
	close_range(3, ~0U, 0);
	alarm((unsigned)(life.us / 1000000) + 1);
	for (;;)
		pause();
}

/*
 * Its pid by the pipe, whose end says that it has closed what it should not
 * keep; the child between has ended and been reaped.
 */
static pid_t
double_fork(struct span life, bool own_session, bool hold, bool stubborn)
{
	pid_t child, pid = -1;
	char end;
	int pv[2];

	if (fd_pipe(pv) < 0)
		return -1;
	child = fork();
	if (child == 0) {
		pid_t grandchild = fork();

		if (grandchild == 0)
			orphan(pv[1], life, own_session, hold, stubborn);
		_exit(grandchild < 0);
	}
	fd_close(&pv[1]);
	if (child > 0) {
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
		if (read(pv[0], &pid, sizeof(pid)) != sizeof(pid))
			pid = -1;
		while (read(pv[0], &end, 1) < 0 && errno == EINTR)
			;
	}
	fd_close(&pv[0]);
	return pid;
}

void
fn_fork(struct demo *d, struct call *c)
{
	int64_t n = call_int(c, "children", 1, 0, CHILDREN_MAX);
	struct span life = call_seconds(c, "seconds", 600);
	bool own_session = call_bool(c, "setsid", true);
	bool hold = call_bool(c, "hold", true);
	bool stubborn = call_bool(c, "ignore_sigterm", true);
	struct buf b = {0};
	struct jsonw w, lw;

	if (call_refused(d, c))
		return;
	out_flush(d, true);
	jsonw_init(&w, &b);
	jsonw_object(&w, NULL);
	jsonw_array(&w, "pids");
	for (int64_t i = 0; i < n; i++) {
		pid_t pid = double_fork(life, own_session, hold, stubborn);

		if (pid < 0)
			break;
		jsonw_int(&w, NULL, pid);
		if (ledger_begin(d->ledger, &lw, "forked")) {
			jsonw_int(&lw, "child", pid);
			ledger_end(d->ledger, &lw);
		}
	}
	jsonw_array_end(&w);
	jsonw_object_end(&w);
	call_json(d, c, &b);
	buf_free(&b);
}
