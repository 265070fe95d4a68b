/*
 * oz0 run: opens a session, runs a harness in its sandbox on this terminal or
 * these descriptors, and ends with its exit code (SESSION, Opening, running,
 * ending): 128+n for a signal, 125 when oz0 itself failed.
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/print.h"
#include "cli/pty.h"

struct run {
	const char *job, *session, *tenant, *cwd, *workspace;
	uint64_t number;
	bool force, tools;
	int harness; /* index of the command in argv */
	bool ended, by_signal;
	int code;
	bool closed;
};

/* Everything that fails before the harness runs is 125. */
static void
must(struct client *c, uint64_t id, struct reply *r)
{
	client_wait(c, id, r);
	if (!r->ok)
		errx(CLI_RUN_FAILED, "%s", r->message);
}

static void
parse(struct run *o, int argc, char **argv)
{
	const char *ignored;
	char *end;
	int i = 1;

	for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (option_is(argc, argv, &i, "--job", &o->job) ||
		    option_is(argc, argv, &i, "--session", &o->session) ||
		    option_is(argc, argv, &i, "--tenant", &o->tenant) ||
		    option_is(argc, argv, &i, "--cwd", &o->cwd) ||
		    option_is(argc, argv, &i, "--workspace", &o->workspace) ||
		    option_is(argc, argv, &i, "--env", &ignored))
			continue;
		if (option_is(argc, argv, &i, "--tool", &ignored))
			o->tools = true;
		else if (option_is(argc, argv, &i, "--force", NULL))
			o->force = true;
		else
			usage_of("run");
	}
	o->harness = i + 1;
	if (o->job == NULL || o->session == NULL || o->harness >= argc)
		usage_of("run");
	o->number = strtoull(o->session, &end, 10);
	if (*end != '\0' || o->number == 0)
		errx(CLI_USAGE, "--session takes a number from 1");
}

static void
open_session(struct client *c, const struct run *o, char **argv)
{
	struct jsonw *w = client_begin(c, "job/start");
	const char *tool;
	struct reply r;

	jsonw_string(w, "job", o->job);
	jsonw_string(w, "tenant", o->tenant);
	must(c, client_send(c, NULL, 0), &r);
	w = client_begin(c, "session/open");
	jsonw_string(w, "job", o->job);
	jsonw_uint(w, "session", o->number);
	jsonw_string(w, "workspace", o->workspace);
	if (o->force)
		jsonw_bool(w, "force", true);
	if (o->tools) {
		jsonw_array(w, "tools");
		for (int i = 1; i < o->harness - 1; i++)
			if (option_is(
				o->harness, argv, &i, "--tool", &tool))
				jsonw_string(w, NULL, tool);
		jsonw_array_end(w);
	}
	must(c, client_send(c, NULL, 0), &r);
}

static void
write_env(struct jsonw *w, const struct run *o, char **argv)
{
	const char *pair, *eq;

	jsonw_object(w, "env");
	for (int i = 1; i < o->harness - 1; i++) {
		char name[256];

		if (!option_is(o->harness, argv, &i, "--env", &pair))
			continue;
		eq = strchr(pair, '=');
		if (eq == NULL || eq == pair ||
		    (size_t)(eq - pair) >= sizeof(name))
			errx(CLI_USAGE, "--env takes NAME=VALUE, not %s", pair);
		memcpy(name, pair, (size_t)(eq - pair));
		name[eq - pair] = '\0';
		jsonw_string(w, name, eq + 1);
	}
	jsonw_object_end(w);
}

static void
start_harness(struct client *c, const struct run *o, int argc, char **argv,
    struct pty *pty)
{
	int std[3] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };
	struct jsonw *w = client_begin(c, "session/run");
	struct reply r;

	if (pty != NULL)
		std[0] = std[1] = std[2] = pty_slave(pty);
	jsonw_string(w, "job", o->job);
	jsonw_uint(w, "session", o->number);
	jsonw_string(w, "command", argv[o->harness]);
	jsonw_array(w, "args");
	for (int i = o->harness + 1; i < argc; i++)
		jsonw_string(w, NULL, argv[i]);
	jsonw_array_end(w);
	write_env(w, o, argv);
	jsonw_string(w, "cwd", o->cwd);
	jsonw_bool(w, "tty", pty != NULL);
	client_wait(c, client_send(c, std, 3), &r);
	if (!r.ok) {
		pty_close(pty);
		errx(CLI_RUN_FAILED, "%s", r.message);
	}
	if (pty != NULL)
		pty_slave_close(pty);
}

static void
on_event(void *arg, struct json_value step)
{
	struct run *o = arg;
	const char *event = member_text(step, "event");
	uint64_t number;
	int64_t code;

	if (!json_string_is(json_member(step, "job"), o->job) ||
	    !json_to_uint64(json_member(step, "session"), &number) ||
	    number != o->number)
		return;
	if (strcmp(event, "harness_ended") == 0) {
		o->ended = true;
		if (json_to_int64(json_member(step, "signal"), &code))
			o->by_signal = true;
		else if (!json_to_int64(json_member(step, "code"), &code))
			code = CLI_RUN_FAILED;
		o->code = (int)code;
	} else if ((strcmp(event, "session_closed") == 0 &&
		       strcmp(member_text(step, "state"), "CLOSED") == 0) ||
	    (strcmp(event, "session_lost") == 0 &&
		strcmp(member_text(step, "state"), "LOST") == 0)) {
		o->closed = true;
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
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		err(CLI_RUN_FAILED, "signalfd");
	return fd;
}

static void
forward_signal(
    struct client *c, const struct run *o, int fd, struct pty *pty)
{
	struct signalfd_siginfo si;
	struct jsonw *w;

	if (read(fd, &si, sizeof(si)) != (ssize_t)sizeof(si))
		return;
	if (si.ssi_signo == SIGWINCH) {
		if (pty != NULL)
			pty_resize(pty);
		return;
	}
	w = client_begin(c, "session/signal");
	jsonw_string(w, "job", o->job);
	jsonw_uint(w, "session", o->number);
	jsonw_uint(w, "signal", si.ssi_signo);
	client_send(c, NULL, 0);
}

static void
loop(struct client *c, struct run *o, int signals, struct pty *pty)
{
	struct pollfd p[4] = { { .fd = client_fd(c), .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
		{ .fd = pty != NULL ? pty_master(pty) : -1, .events = POLLIN },
		{ .fd = pty != NULL ? STDIN_FILENO : -1, .events = POLLIN } };
	struct reply r;
	uint64_t id;

	while (!o->closed) {
		if (poll(p, 4, -1) < 0 && errno != EINTR)
			err(CLI_RUN_FAILED, "poll");
		if (p[2].revents != 0 && !pty_out(pty))
			p[2].fd = -1;
		if (p[3].revents != 0 && !pty_in(pty))
			p[3].fd = -1;
		if (p[1].revents != 0)
			forward_signal(c, o, signals, pty);
		/* Answers of session/signal say nothing that is needed. */
		while (p[0].revents != 0 && !o->closed) {
			bool was = o->ended || o->closed;

			if (client_poll(c, 0, &id, &r) == 0 &&
			    was == (o->ended || o->closed))
				break;
		}
	}
	while (p[2].fd >= 0 && poll(&p[2], 1, 0) > 0)
		if (!pty_out(pty))
			break;
}

int
cmd_run(struct cli *cli, int argc, char **argv)
{
	struct run o = { 0 };
	struct client *c;
	struct pty *pty;
	struct reply r;
	int signals;

	parse(&o, argc, argv);
	c = client_open(cli->socket);
	open_session(c, &o, argv);
	client_on_event(c, on_event, &o);
	client_begin(c, "events/subscribe");
	must(c, client_send(c, NULL, 0), &r);
	signals = watch_signals();
	pty = pty_open();
	start_harness(c, &o, argc, argv, pty);
	loop(c, &o, signals, pty);
	pty_close(pty);
	client_close(c);
	if (!o.ended) {
		warnx("session %s/%s ended before its harness did", o.job,
		    o.session);
		return CLI_RUN_FAILED;
	}
	return o.by_signal ? 128 + o.code : o.code;
}
