/*
 * oz0 call: one call, its result on stdout, its fate in the exit code.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "cli/cmd.h"
#include "cli/print.h"

#define ARGUMENTS_MAX ((size_t)1 << 30)

struct call_options {
	const char *job, *session, *activity, *timeout, *function, *arguments;
	bool progress;
	char *made_job, *made_activity;
	char *text; /* of the arguments; NULL: none */
	size_t text_len;
};

static volatile sig_atomic_t interrupted;

static void
on_signal(int signo)
{
	interrupted++;
}

static void
parse(struct call_options *o, int argc, char **argv)
{
	int i = 1;

	for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		if (option_is(argc, argv, &i, "--job", &o->job) ||
		    option_is(argc, argv, &i, "--session", &o->session) ||
		    option_is(argc, argv, &i, "--activity", &o->activity) ||
		    option_is(argc, argv, &i, "--timeout", &o->timeout))
			continue;
		if (option_is(argc, argv, &i, "--progress", NULL)) {
			o->progress = true;
			continue;
		}
		warnx("unknown option %s", argv[i]);
		usage_of("call");
	}
	if (argc - i < 1 || argc - i > 2)
		usage_of("call");
	o->function = argv[i];
	o->arguments = argc - i == 2 ? argv[i + 1] : NULL;
}

static void
read_arguments(struct call_options *o)
{
	struct json_value v;
	struct json_fault jf;
	const char *path = o->arguments;
	int r;

	if (path == NULL)
		return;
	if (strcmp(path, "-") == 0 || path[0] == '@') {
		path = path[0] == '@' ? path + 1 : "/proc/self/fd/0";
		r = fd_read_file(
		    AT_FDCWD, path, ARGUMENTS_MAX, &o->text, &o->text_len);
		if (r < 0)
			errx(CLI_USAGE, "cannot read the arguments from %s: %s",
			    path, strerror(-r));
	} else {
		o->text = mem_strdup(path);
		o->text_len = strlen(path);
	}
	if (!json_check(o->text, o->text_len, &v, &jf))
		errx(CLI_USAGE, "arguments are not JSON: %s at byte %zu",
		    jf.why, jf.offset);
	if (v.type != JSON_OBJECT)
		errx(CLI_USAGE, "arguments must be a JSON object");
	json_one_line(o->text, o->text_len);
}

static uint64_t
send_call(struct client *c, const struct call_options *o)
{
	struct jsonw *w = client_begin(c, "call/start");

	jsonw_string(w, "job", o->job);
	jsonw_string(w, "activity", o->activity);
	jsonw_string(w, "function", o->function);
	if (o->session != NULL) {
		char *end;
		unsigned long n = strtoul(o->session, &end, 10);

		if (*end != '\0' || end == o->session)
			errx(CLI_USAGE, "--session takes a number");
		jsonw_uint(w, "session", n);
	}
	if (o->timeout != NULL) {
		struct span d;

		if (!span_parse(o->timeout, &d))
			errx(CLI_USAGE, "--timeout takes a time such as 30s");
		jsonw_span(w, "timeout", d);
	}
	if (o->progress)
		jsonw_bool(w, "progress", true);
	if (o->text != NULL)
		jsonw_raw(w, "arguments", o->text, o->text_len);
	return client_send(c, NULL, 0);
}

/* ---- while it runs ---- */

static void
show_progress(void *arg, struct json_value step)
{
	const struct call_options *o = arg;
	const char *total;

	if (strcmp(member_text(step, "event"), "progress") != 0 ||
	    strcmp(member_text(step, "job"), o->job) != 0)
		return;
	total = member_text(step, "total");
	fprintf(stderr, "%s: progress %s%s%s\n", member_text(step, "call"),
	    member_text(step, "progress"), *total != '\0' ? " of " : "",
	    total);
}

/* The number of this very call, asked for only when it is to be stopped. */
static void
cancel_it(struct cli *cli, const struct call_options *o)
{
	struct client *c = client_open(cli->socket);
	struct json_value calls, key, one;
	struct json_iter it;
	struct jsonw *w;
	struct reply r;
	char *name = NULL;

	jsonw_string(client_begin(c, "job/status"), "job", o->job);
	client_wait(c, client_send(c, NULL, 0), &r);
	calls = json_member(r.result, "calls");
	if (r.ok && calls.type == JSON_ARRAY) {
		json_iter_init(&it, calls);
		while (json_iter_next(&it, &key, &one))
			if (strcmp(member_text(one, "activity"),
				o->activity) == 0) {
				free(name);
				name = mem_strdup(member_text(one, "call"));
			}
	}
	if (name != NULL) {
		w = client_begin(c, "call/cancel");
		jsonw_string(w, "call", name);
		jsonw_bool(w, "wait", false);
		client_wait(c, client_send(c, NULL, 0), &r);
	}
	free(name);
	client_close(c);
}

static void
wait_for(struct cli *cli, struct client *c, const struct call_options *o,
    uint64_t id, struct reply *ret)
{
	int asked = 0;
	uint64_t got;

	while (client_poll(c, -1, &got, ret) == 0 || got != id) {
		if (interrupted > asked) {
			if (asked++ == 0)
				cancel_it(cli, o);
			else
				exit(CLI_NO_NODE);
		}
	}
}

/* ---- how it ended ---- */

static void
print_content(struct json_value result)
{
	struct json_value content = json_member(result, "content"), key, one;
	struct json_iter it;

	if (content.type != JSON_ARRAY) {
		print_text(result.p, result.len);
		putchar('\n');
		return;
	}
	json_iter_init(&it, content);
	while (json_iter_next(&it, &key, &one)) {
		struct json_value text = json_member(one, "text");
		char *s;

		if (!json_string_is(json_member(one, "type"), "text") ||
		    !json_to_new_string(text, ARGUMENTS_MAX, &s)) {
			print_text(one.p, one.len);
			putchar('\n');
			continue;
		}
		print_text(s, strlen(s));
		if (*s == '\0' || s[strlen(s) - 1] != '\n')
			putchar('\n');
		free(s);
	}
}

static int
exit_code(struct json_value answer)
{
	const char *state = member_text(answer, "state");
	struct json_value result = json_member(answer, "result");
	bool is_error = false;

	if (strcmp(state, "completed") == 0) {
		json_to_bool(json_member(result, "isError"), &is_error);
		return is_error ? CLI_TOOL_ERROR : CLI_DONE;
	}
	if (strcmp(state, "refused") == 0)
		return CLI_REFUSED;
	if (strcmp(state, "canceled") == 0)
		return CLI_CANCELED;
	return strcmp(member_text(answer, "outcome"), "not_made") == 0
	    ? CLI_NOT_MADE
	    : CLI_UNKNOWN;
}

static int
show(struct cli *cli, struct json_value answer)
{
	struct json_value result = json_member(answer, "result");
	struct json_value error = json_member(answer, "error");

	if (cli->json) {
		print_json(answer);
	} else if (result.type != JSON_NONE) {
		print_content(result);
	} else if (error.type != JSON_NONE) {
		warnx("call %s %s: %s (%s; outcome %s)",
		    member_text(answer, "call"), member_text(answer, "state"),
		    member_text(error, "message"),
		    member_text(error, "reason"),
		    member_text(answer, "outcome"));
	} else {
		warnx("call %s %s; its result is no longer kept",
		    member_text(answer, "call"), member_text(answer, "state"));
	}
	return exit_code(answer);
}

static int
refused(const struct reply *r)
{
	warnx("%s", r->message);
	if (r->code == -32602 || r->code == -32601)
		return CLI_USAGE;
	return strcmp(r->reason, "not_allowed") == 0 ? CLI_REFUSED
						     : CLI_NOT_MADE;
}

/* `call` without --job makes a job that ends with it, whatever comes. */
static void
make_job(struct client *c, struct call_options *o)
{
	char name[4 + 16 + 1] = "cli-";
	struct reply r;

	str_random_hex(name + 4, 8);
	o->job = o->made_job = mem_strdup(name);
	jsonw_string(client_begin(c, "job/start"), "job", o->job);
	client_do(c, client_send(c, NULL, 0), &r);
}

int
cmd_call(struct cli *cli, int argc, char **argv)
{
	struct call_options o = { 0 };
	struct sigaction sa = { .sa_handler = on_signal };
	char activity[4 + 32 + 1] = "cli-";
	struct client *c;
	struct reply r;
	uint64_t id;
	int code;

	parse(&o, argc, argv);
	read_arguments(&o);
	if (o.activity == NULL) {
		str_random_hex(activity + 4, 16);
		o.activity = o.made_activity = mem_strdup(activity);
	}
	c = client_open(cli->socket);
	if (o.job == NULL)
		make_job(c, &o);
	if (o.progress) {
		client_on_event(c, show_progress, &o);
		client_begin(c, "events/subscribe");
		client_do(c, client_send(c, NULL, 0), &r);
	}
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	id = send_call(c, &o);
	if (o.made_job != NULL) {
		struct jsonw *w = client_begin(c, "job/end");

		jsonw_string(w, "job", o.job);
		jsonw_bool(w, "wait", false);
		client_send(c, NULL, 0);
	}
	wait_for(cli, c, &o, id, &r);
	code = r.ok ? show(cli, r.result) : refused(&r);
	client_close(c);
	free(o.made_job);
	free(o.made_activity);
	free(o.text);
	return code;
}
