/*
 * oz0 call: one call, its result on stdout, its fate in the exit code.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "cli/client.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/result.h"

#define ARGUMENTS_MAX ((size_t)1 << 30)

struct call {
	struct cli *cli;
	const struct args *a;
	char *job, *activity;
	bool own_job; /* it ends with the call */
	char *text;   /* of the arguments; NULL: none */
	size_t text_len;

	struct client *c;
	struct progress *progress; /* NULL: not asked for */
	int signals;
	unsigned stops;	/* signals that came */
	/* Of requests: call/start; job/start and job/status, 0: not asked. */
	uint64_t id, job_id, find_id;
};

/* ---- arguments ---- */

static void
read_arguments(struct call *k)
{
	const char *given = args_operand(k->a, 1);
	const char *path = NULL;
	struct json_value v;
	struct json_fault jf;
	int r;

	if (given == NULL)
		return;
	if (strcmp(given, "-") == 0)
		path = "/dev/stdin";
	else if (given[0] == '@')
		path = given + 1;
	if (path != NULL) {
		r = fd_read_file(AT_FDCWD, path, ARGUMENTS_MAX, &k->text,
		    &k->text_len);
		if (r < 0)
			args_fail(k->a, "cannot read the arguments from %s: %s",
			    path, strerror(-r));
	} else {
		k->text = mem_strdup(given);
		k->text_len = strlen(given);
	}
	if (!json_check(k->text, k->text_len, &v, &jf))
		args_fail(k->a, "the arguments are not JSON: %s at byte %zu",
		    jf.why, jf.offset);
	if (v.type != JSON_OBJECT)
		args_fail(k->a, "the arguments must be a JSON object");
	json_one_line(k->text, k->text_len);
}

/* A function is TOOL.FUNCTION, and a tool's name has no dot. */
static void
check_function(const struct args *a)
{
	const char *function = args_operand(a, 0);
	const char *dot = strchr(function, '.');

	if (dot == NULL || dot == function || dot[1] == '\0')
		args_fail(a, "a function is named TOOL.FUNCTION, not %s",
		    function);
}

static void
write_call(struct call *k, struct jsonw *w)
{
	const char *session = args_value(k->a, "--session");
	const char *timeout = args_value(k->a, "--timeout");
	struct span d;

	jsonw_string(w, "job", k->job);
	jsonw_string(w, "activity", k->activity);
	jsonw_string(w, "function", args_operand(k->a, 0));
	if (session != NULL)
		jsonw_uint(w, "session",
		    args_number(k->a, session, "--session", 1, 1000000));
	if (timeout != NULL) {
		if (!span_parse(timeout, &d) || d.us <= 0)
			args_fail(k->a, "--timeout takes a time such as 30s or "
					"1.5m, not %s", timeout);
		jsonw_span(w, "timeout", d);
	}
	if (k->progress != NULL)
		jsonw_bool(w, "progress", true);
	if (k->text != NULL)
		jsonw_raw(w, "arguments", k->text, k->text_len);
}

static char *
random_name(size_t bytes)
{
	char hex[2 * 16 + 1];

	str_random_hex(hex, bytes);
	return mem_printf("cli-%s", hex);
}

/* ---- stopping it ---- */

static int
watch_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		abort(); /* no memory, as mem_alloc() */
	return fd;
}

/* As if it had never been caught: whoever started oz0 sees the signal. */
static void
die_of(int signo)
{
	sigset_t set;

	signal(signo, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, signo);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(signo);
	_exit(128 + signo);
}

/* The call's own number is asked for only when it is to be stopped. */
static void
stop(struct call *k)
{
	struct jsonw *w;

	if (k->own_job) {
		w = client_begin(k->c, "job/cancel");
		jsonw_string(w, "job", k->job);
		jsonw_bool(w, "wait", false);
		client_end(k->c);
	} else {
		w = client_begin(k->c, "job/status");
		jsonw_string(w, "job", k->job);
		k->find_id = client_end(k->c);
	}
	client_flush(k->c, NULL, 0, -1);
}

static void
on_found(struct call *k, const struct reply *r)
{
	struct jsonw *w;
	char name[32];

	k->find_id = 0;
	if (!r->ok || !progress_call_in(
			  r->result, k->activity, false, name, sizeof(name)))
		return; /* it has ended, and its answer is on its way */
	w = client_begin(k->c, "call/cancel");
	jsonw_string(w, "call", name);
	jsonw_bool(w, "wait", false);
	client_end(k->c);
	client_flush(k->c, NULL, 0, -1);
}

static void
on_signal(struct call *k)
{
	struct signalfd_siginfo si;

	if (read(k->signals, &si, sizeof(si)) != (ssize_t)sizeof(si))
		return;
	if (k->stops++ > 0) {
		progress_close(k->progress);
		complain("not waited for: the call may still be stopping "
			 "(job %s)", k->job);
		die_of((int)si.ssi_signo);
	}
	if (isatty(STDERR_FILENO))
		complain("cancelling; once more to leave without waiting");
	stop(k);
}

/* A signal came before the node had the whole request: nothing is made. */
static int
stopped_early(struct call *k)
{
	struct signalfd_siginfo si;
	struct client *c;
	struct jsonw *w;
	sigset_t set;
	struct reply r;

	if (read(k->signals, &si, sizeof(si)) < 0)
		complain("signalfd: %s", strerror(errno));
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL); /* the next one is the last */
	if (k->own_job) {
		c = client_open(k->cli);
		w = client_begin(c, "job/end");
		jsonw_string(w, "job", k->job);
		jsonw_bool(w, "wait", false);
		client_wait(c, client_end(c), &r);
		client_close(c);
	}
	complain("interrupted before the node had the call: nothing made");
	return CLI_CANCELED;
}

/* ---- making it ---- */

/*
 * Without --job it gets one, which ends with it, whatever comes: all in one
 * piece, since a job that a signal cuts off from its end would stay.
 */
static bool
send_call(struct call *k)
{
	struct jsonw *w;

	if (k->own_job) {
		w = client_begin(k->c, "job/start");
		jsonw_string(w, "job", k->job);
		k->job_id = client_end(k->c);
	}
	write_call(k, client_begin(k->c, "call/start"));
	k->id = client_end(k->c);
	if (k->own_job) {
		w = client_begin(k->c, "job/end");
		jsonw_string(w, "job", k->job);
		jsonw_bool(w, "wait", false);
		client_end(k->c);
	}
	return client_flush(k->c, NULL, 0, k->signals);
}

/* true: that was the end, be it that there is no job for it. */
static bool
on_answer(struct call *k, uint64_t id, const struct reply *r)
{
	if (id == k->find_id)
		on_found(k, r);
	return id == k->id || (id == k->job_id && !r->ok);
}

static void
wait_for(struct call *k, struct reply *ret)
{
	struct pollfd p[3] = { { .fd = client_fd(k->c), .events = POLLIN },
		{ .fd = k->signals, .events = POLLIN },
		{ .events = POLLIN } };
	enum client_got got;
	uint64_t id;

	for (;;) {
		while ((got = client_take(k->c, &id, ret)) != CLIENT_NOTHING) {
			if (got == CLIENT_ANSWER && on_answer(k, id, ret))
				return;
		}
		p[2].fd = progress_fd(k->progress);
		p[1].revents = p[2].revents = 0;
		poll(p, 3, -1);
		if (p[1].revents != 0)
			on_signal(k);
		if (p[2].revents != 0)
			progress_read(k->progress);
	}
}

static int
make_call(struct call *k)
{
	struct reply r;

	if (!send_call(k))
		return stopped_early(k);
	wait_for(k, &r);
	if (progress_fd(k->progress) >= 0)
		progress_read(k->progress); /* what came before the answer */
	progress_close(k->progress);
	k->progress = NULL;
	return r.ok ? result_show(k->cli, r.result) : client_fault(k->c, &r);
}

static int
run(struct cli *cli, struct args *a)
{
	const char *activity = args_value(a, "--activity");
	const char *job = args_value(a, "--job");
	struct call k = { .cli = cli, .a = a };
	int code;

	check_function(a);
	read_arguments(&k);
	k.own_job = job == NULL;
	k.job = job != NULL ? mem_strdup(job) : random_name(8);
	k.activity = activity != NULL ? mem_strdup(activity) : random_name(16);
	k.c = client_open(cli);
	if (args_value(a, "--progress") != NULL)
		k.progress = progress_open(
		    cli, k.job, k.own_job ? NULL : k.activity);
	k.signals = watch_signals();
	code = make_call(&k);
	client_close(k.c);
	fd_close(&k.signals);
	free(k.job);
	free(k.activity);
	free(k.text);
	return code;
}

const struct command command_call = {
	.name = "call",
	.operands = "TOOL.FUNCTION [ARGUMENTS | - | @FILE]",
	.what = "make one call and print its result",
	.more = "ARGUMENTS is a JSON object, - reads it from stdin, @FILE from "
		"a file.\nWithout --job the call gets a job of its own, which "
		"ends with it.\nInterrupted (SIGINT, SIGTERM) the call is "
		"cancelled and waited for; a second\nsignal leaves at once.\n",
	.options = {
	    { "--job", "J", "the job it belongs to" },
	    { "--session", "N", "the session of the job" },
	    { "--activity", "A", "its name in the job: the same call again "
				 "joins it" },
	    { "--timeout", "D", "a time limit below the tool's, as 30s" },
	    { "--progress", NULL, "show how far it has got" },
	},
	.min = 1,
	.max = 2,
	.fn = run,
};
