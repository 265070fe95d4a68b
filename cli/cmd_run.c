/*
 * oz0 run: opens a session, runs a harness in its sandbox on this terminal or
 * these descriptors, and ends with its exit code (SESSION, Opening, running,
 * ending): 128+n for a signal, 125 when oz0 itself failed.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cli/client.h"
#include "cli/print.h"
#include "cli/pty.h"

struct run {
	struct cli *cli;
	const struct args *a;
	const char *job;
	uint64_t session;
	struct client *c;
	struct pty *pty; /* NULL: the harness has our own descriptors */
	int signals;
	bool ended;  /* the harness, with this code */
	bool closed; /* the session */
	int code;
};

/* ---- before it runs ---- */

static void
open_session(struct run *o)
{
	struct jsonw *w = client_begin(o->c, "job/start");
	const char *tool;
	struct reply r;
	int at = 0;

	jsonw_string(w, "job", o->job);
	jsonw_string(w, "tenant", args_value(o->a, "--tenant"));
	client_do(o->c, client_end(o->c), &r);
	w = client_begin(o->c, "session/open");
	jsonw_string(w, "job", o->job);
	jsonw_uint(w, "session", o->session);
	jsonw_string(w, "workspace", args_value(o->a, "--workspace"));
	if (args_value(o->a, "--force") != NULL)
		jsonw_bool(w, "force", true);
	if (args_value(o->a, "--tool") != NULL) {
		jsonw_array(w, "tools");
		while ((tool = args_next(o->a, "--tool", &at)) != NULL)
			jsonw_string(w, NULL, tool);
		jsonw_array_end(w);
	}
	client_do(o->c, client_end(o->c), &r);
}

/* NAME=VALUE, or NAME, which is then passed on as it is here. */
static void
write_variable(const struct run *o, struct jsonw *w, const char *pair)
{
	const char *eq = strchr(pair, '=');
	const char *value = eq != NULL ? eq + 1 : getenv(pair);
	char *name = eq != NULL ? mem_strndup(pair, (size_t)(eq - pair))
				: mem_strdup(pair);

	if (*name == '\0')
		args_fail(o->a, "--env takes NAME=VALUE or NAME, not %s", pair);
	jsonw_string(w, name, value);
	free(name);
}

static void
write_env(const struct run *o, struct jsonw *w)
{
	const char *pair;
	int at = 0;

	jsonw_object(w, "env");
	while ((pair = args_next(o->a, "--env", &at)) != NULL)
		write_variable(o, w, pair);
	jsonw_object_end(w);
}

static void
start_harness(struct run *o)
{
	int std[3] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };
	struct jsonw *w = client_begin(o->c, "session/run");
	struct reply r;
	uint64_t id;

	jsonw_string(w, "job", o->job);
	jsonw_uint(w, "session", o->session);
	jsonw_string(w, "command", o->a->operands[0]);
	jsonw_array(w, "args");
	for (int i = 1; i < o->a->noperands; i++)
		jsonw_string(w, NULL, o->a->operands[i]);
	jsonw_array_end(w);
	write_env(o, w);
	jsonw_string(w, "cwd", args_value(o->a, "--cwd"));
	jsonw_bool(w, "tty", o->pty != NULL);
	if (o->pty != NULL) {
		std[0] = std[1] = pty_slave(o->pty);
		if (isatty(STDERR_FILENO))
			std[2] = std[0];
	}
	id = client_end(o->c);
	client_flush(o->c, std, 3, -1);
	client_wait(o->c, id, &r);
	if (o->pty != NULL)
		pty_slave_close(o->pty);
	if (r.ok)
		return;
	pty_close(o->pty);
	exit(client_fault(o->c, &r));
}

/* ---- while it runs ---- */

static void
on_event(void *arg, struct json_value step)
{
	struct run *o = arg;
	const char *event = member_text(step, "event");
	const char *state = member_text(step, "state");
	uint64_t session;
	int64_t code;

	if (!json_string_is(json_member(step, "job"), o->job) ||
	    !json_to_uint64(json_member(step, "session"), &session) ||
	    session != o->session)
		return;
	if (strcmp(event, "harness_ended") == 0) {
		o->ended = true;
		if (json_to_int64(json_member(step, "signal"), &code))
			code += 128;
		else if (!json_to_int64(json_member(step, "code"), &code))
			code = CLI_RUN_FAILED;
		o->code = (int)code;
	} else if (strcmp(event, "session_closed") == 0 ||
	    strcmp(event, "session_lost") == 0) {
		o->closed = strcmp(state, "CLOSED") == 0 ||
		    strcmp(state, "LOST") == 0;
	}
}

static int
watch_signals(void)
{
	static const int which[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1,
		SIGUSR2, SIGWINCH };
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(which) / sizeof(which[0]); i++)
		sigaddset(&set, which[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN); /* the terminal must be put back */
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		abort(); /* no memory, as mem_alloc() */
	return fd;
}

/* Ours are the harness's.  After its end one says: do not wait for the rest
 * of the session. */
static void
on_signal(struct run *o)
{
	struct signalfd_siginfo si;
	struct jsonw *w;

	if (read(o->signals, &si, sizeof(si)) != (ssize_t)sizeof(si))
		return;
	if (si.ssi_signo == SIGWINCH) {
		if (o->pty != NULL)
			pty_resize(o->pty);
		return;
	}
	if (o->ended) {
		o->closed = true;
		return;
	}
	w = client_begin(o->c, "session/signal");
	jsonw_string(w, "job", o->job);
	jsonw_uint(w, "session", o->session);
	jsonw_uint(w, "signal", si.ssi_signo);
	client_end(o->c);
	client_flush(o->c, NULL, 0, -1);
}

/* Answers are those to session/signal, and say nothing that is needed. */
static void
read_node(struct run *o)
{
	struct reply r;
	uint64_t id;

	while (client_take(o->c, &id, &r) != CLIENT_NOTHING)
		;
	if (o->ended || o->closed) {
		pty_close(o->pty);
		o->pty = NULL;
	}
}

static void
watch(struct run *o)
{
	struct pollfd p[4];

	read_node(o);
	while (!o->closed) {
		p[0] = (struct pollfd) { client_fd(o->c), POLLIN, 0 };
		p[1] = (struct pollfd) { o->signals, POLLIN, 0 };
		pty_watch(o->pty, &p[2]);
		if (poll(p, 4, -1) < 0)
			continue; /* EINTR */
		pty_turn(o->pty, &p[2]);
		if (p[1].revents != 0)
			on_signal(o);
		if (p[0].revents != 0)
			read_node(o);
	}
}

static int
run(struct cli *cli, struct args *a)
{
	const char *why = NULL;
	struct run o = { .cli = cli, .a = a,
		.job = args_value(a, "--job"),
		.session = args_number(a, args_value(a, "--session"),
		    "--session", 1, 1000000) };
	struct reply r;

	o.c = client_open(cli);
	open_session(&o);
	client_on_event(o.c, on_event, &o);
	client_begin(o.c, "events/subscribe");
	client_do(o.c, client_end(o.c), &r);
	o.signals = watch_signals();
	o.pty = pty_open(&why);
	if (why != NULL)
		complain("no terminal for the harness can be made: %s", why);
	start_harness(&o);
	watch(&o);
	fd_close(&o.signals);
	client_close(o.c);
	if (o.ended)
		return o.code;
	complain("session %s/%s ended, and of its harness nothing is known",
	    o.job, args_value(a, "--session"));
	return CLI_RUN_FAILED;
}

const struct command command_run = {
	.name = "run",
	.operands = "[--] HARNESS [ARG]...",
	.what = "run a harness in the sandbox of a session",
	.more = "Starts or joins the job, opens the session, and ends with the "
		"harness's exit\ncode, 128+n after a signal, 125 when oz0 "
		"itself failed.  Signals are passed on.\nThe end of the "
		"harness closes the session; the job goes on.\n",
	.options = {
	    { "--job", "J", "the job", .must = true },
	    { "--session", "N", "the number of the session", .must = true },
	    { "--tenant", "T", "whose job it is" },
	    { "--tool", "T", "one of its tools; without: all", .many = true },
	    { "--workspace", "DIR", "its folder, instead of one of its own" },
	    { "--cwd", "DIR", "where it starts (default: the folder)" },
	    { "--env", "NAME[=VALUE]", "for its environment", .many = true },
	    { "--force", NULL, "also when it may not start again" },
	},
	.min = 1,
	.max = -1,
	.rest = true,
	.fn = run,
};
