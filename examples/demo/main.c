/*
 * oz0-demo: an MCP server on stdin and stdout, in both eras, with one function
 * a behaviour, good and bad (oz0-demo(1)).  It is for the quick start and for
 * tests: what the node says of a call can be compared with the server's own
 * ledger.  Anybody runs it, by hand or below a node; it trusts nobody's input
 * and needs no right but its descriptors.  One loop, no threads.
 *
 * This file: signals, the loop, and how the process starts.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fatal.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "examples/demo/call.h"
#include "examples/demo/demo.h"
#include "examples/demo/ledger.h"
#include "examples/demo/mcp.h"
#include "examples/demo/out.h"
#include "examples/demo/rpc.h"

#define READ_SIZE 65536
/* More than this unread by the client: its requests wait too. */
#define OUT_LIMIT ((size_t)64 * 1024 * 1024)

/* What the handler of SIGTERM needs; set before it is installed. */
static int term_ledger = -1;
static bool term_ignored;

static char *
put_number(char *at, int64_t n)
{
	char digits[24];
	int i = 0;

	do
		digits[i++] = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	while (i > 0)
		*at++ = digits[--i];
	return at;
}

/*
 * Also while a function blocks the process, so it is a handler and not an
 * event of the loop; it calls only what a handler may.
 */
static void
on_sigterm(int sig)
{
	static const char a[] = "{\"us\":", b[] = ",\"pid\":",
			  e[] = ",\"event\":\"sigterm\"}\n";
	char line[128], *at = line;
	int saved = errno;

	if (term_ledger >= 0) {
		at = mempcpy(at, a, sizeof(a) - 1);
		at = put_number(at, time_mono().us);
		at = mempcpy(at, b, sizeof(b) - 1);
		at = put_number(at, getpid());
		at = mempcpy(at, e, sizeof(e) - 1);
		if (write(term_ledger, line, (size_t)(at - line)) < 0)
			_exit(EXIT_CODE_INTERNAL);
	}
	errno = saved;
	if (term_ignored)
		return;
	signal(SIGTERM, SIG_DFL);
	raise(SIGTERM);
}

static void
take_signals(const struct demo *d)
{
	struct sigaction sa = {.sa_handler = on_sigterm};

	if (ledger_is_file(d->ledger))
		term_ledger = ledger_fd(d->ledger);
	term_ignored = d->opt.ignore_sigterm;
	sigaction(SIGTERM, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void
take_lines(struct demo *d)
{
	const char *nl;

	while (d->scanned < buf_len(&d->in) && !d->done &&
	       (nl = memchr(buf_at(&d->in) + d->scanned, '\n',
		    buf_len(&d->in) - d->scanned)) != NULL) {
		size_t len = (size_t)(nl - buf_at(&d->in)), n = len;

		if (n > 0 && buf_at(&d->in)[n - 1] == '\r')
			n--;
		if (n > 0)
			rpc_line(d, buf_at(&d->in), n);
		buf_take(&d->in, len + 1);
		d->scanned = 0;
	}
	d->scanned = buf_len(&d->in);
}

static void
take_input(struct demo *d)
{
	ssize_t n = read(STDIN_FILENO, buf_room(&d->in, READ_SIZE), READ_SIZE);
	struct jsonw w;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0) {
		buf_added(&d->in, (size_t)n);
		take_lines(d);
		return;
	}
	d->eof = true;
	if (ledger_begin(d->ledger, &w, "eof"))
		ledger_end(d->ledger, &w);
}

/* Has the end of stdin ended the server? */
static bool
is_over(const struct demo *d)
{
	if (d->done)
		return true;
	if (!d->eof || d->opt.ignore_eof)
		return false;
	return !d->opt.finish_on_eof || TAILQ_EMPTY(&d->calls);
}

static int
wait_ms(const struct demo *d)
{
	struct mono due = call_next_due(d), now = time_mono();
	int64_t us;

	if (mono_before(now, d->deaf_until) && mono_before(d->deaf_until, due))
		due = d->deaf_until;
	if (due.us == MONO_NEVER.us)
		return -1;
	us = mono_since(due, now).us;
	if (us <= 0)
		return 0;
	us = (us + 999) / 1000;
	return us > 60000 ? 60000 : (int)us;
}

static void
loop(struct demo *d)
{
	while (!is_over(d)) {
		struct pollfd fds[2] = {{-1, POLLIN, 0}, {-1, POLLOUT, 0}};

		out_flush(d, false);
		if (buf_len(&d->out) > 0)
			fds[1].fd = STDOUT_FILENO;
		else
			d->hold_input = false;
		if (!d->eof && !d->hold_input && buf_len(&d->out) < OUT_LIMIT &&
		    !mono_before(time_mono(), d->deaf_until))
			fds[0].fd = STDIN_FILENO;
		if (poll(fds, 2, wait_ms(d)) < 0 && errno != EINTR)
			fatal(EXIT_CODE_INTERNAL, "poll");
		if (fds[0].revents != 0)
			take_input(d);
		call_run_due(d);
	}
	out_flush(d, true);
}

static void
put_noise(size_t bytes, int fd)
{
	char line[1024];

	memset(line, 'n', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	while (bytes > 0) {
		size_t n = bytes < sizeof(line) ? bytes : sizeof(line);

		if (fd_write_all(fd, line + sizeof(line) - n, n) < 0)
			return;
		bytes -= n;
	}
}

/* --no-read-until-write: good messages, so that nothing else is at fault. */
static void
write_first(struct demo *d)
{
	size_t bytes = (size_t)d->opt.write_first;
	char text[1025];

	memset(text, 'w', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	while (buf_len(&d->out) < bytes) {
		char *params =
		    mem_printf("{\"level\":\"info\",\"data\":\"%s\"}", text);

		out_notify(d, "notifications/message", params);
		free(params);
	}
	d->hold_input = buf_len(&d->out) > 0;
}

static void
start(struct demo *d)
{
	struct stat st;
	struct jsonw w;

	if (ledger_begin(d->ledger, &w, "started")) {
		jsonw_int(&w, "ppid", getppid());
		jsonw_int(&w, "uid", (int64_t)getuid());
		ledger_end(d->ledger, &w);
	}
	if (fstat(STDOUT_FILENO, &st) == 0 &&
	    (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		fd_nonblock(STDOUT_FILENO);
	put_noise((size_t)d->opt.stderr_bytes, STDERR_FILENO);
	if (d->opt.slow_start_ms > 0)
		usleep((useconds_t)d->opt.slow_start_ms * 1000);
	if (d->opt.banner)
		out_line(d, "Starting the demo server...");
	if (d->opt.ping_first)
		out_request(d, "ping");
	write_first(d);
}

/* Open calls end unanswered, which the ledger says. */
static void
finish(struct demo *d)
{
	struct call *c;

	while ((c = TAILQ_FIRST(&d->calls)) != NULL)
		call_drop(d, c);
	mcp_listener_drop_all(d);
	buf_free(&d->in);
	buf_free(&d->out);
	ledger_close(d->ledger);
}

int
main(int argc, char **argv)
{
	struct demo d = {0};

	log_init(DEMO_NAME, false);
	options_parse(argc, argv, &d.opt);
	TAILQ_INIT(&d.calls);
	TAILQ_INIT(&d.listeners);
	d.ledger = ledger_open(d.opt.ledger);
	take_signals(&d);
	start(&d);
	loop(&d);
	finish(&d);
	return 0;
}
