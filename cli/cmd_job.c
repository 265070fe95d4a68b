/*
 * oz0 job, oz0 session, oz0 cancel: what schedulers do, by hand.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/cmd.h"
#include "cli/print.h"

/* What was asked is done: the object with --json, a word for people. */
static int
done(struct cli *cli, const struct reply *r, const char *name,
    const char *absent)
{
	const char *state = member_text(r->result, "state");

	if (cli->json)
		print_json(r->result);
	else
		printf("%s %s\n", name, *state != '\0' ? state : absent);
	return CLI_DONE;
}

static uint64_t
number(const char *text, const char *what)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);

	if (*text < '0' || *text > '9' || *end != '\0')
		errx(CLI_USAGE, "%s takes a number, not %s", what, text);
	return n;
}

/* L1.6: something ended already is no failure; its state is printed. */
static int
cancel(struct cli *cli, const char *name, bool wait)
{
	struct client *c = client_open(cli->socket);
	bool call = str_is_call_name(name, NULL);
	struct jsonw *w = client_begin(c, call ? "call/cancel" : "job/cancel");
	struct reply r;

	jsonw_string(w, call ? "call" : "job", name);
	jsonw_bool(w, "wait", wait);
	client_wait(c, client_send(c, NULL, 0), &r);
	if (!r.ok && strcmp(r.reason, "already_ended") == 0) {
		if (cli->json)
			printf("{\"%s\":\"%s\",\"state\":\"%s\"}\n",
			    call ? "call" : "job", name, r.state);
		else
			printf("%s %s already\n", name, r.state);
	} else if (!r.ok) {
		errx(r.code == -32602 ? CLI_USAGE : CLI_NOT_MADE, "%s",
		    r.message);
	} else {
		done(cli, &r, name, wait ? "has stopped" : "cancelling");
	}
	client_close(c);
	return CLI_DONE;
}

int
cmd_cancel(struct cli *cli, int argc, char **argv)
{
	bool wait = true;
	int i = 1;

	for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		if (!option_is(argc, argv, &i, "--no-wait", NULL))
			usage_of("cancel");
		wait = false;
	}
	if (argc - i == 2 && strcmp(argv[i + 1], "--no-wait") == 0) {
		wait = false;
		argc--;
	}
	if (argc - i != 1)
		usage_of("cancel");
	return cancel(cli, argv[i], wait);
}

static int
job_list(struct cli *cli)
{
	struct client *c = client_open(cli->socket);
	struct json_value list, key, one;
	struct table *t = table_new(4);
	struct json_iter it;
	struct reply r;

	client_begin(c, "job/list");
	client_do(c, client_send(c, NULL, 0), &r);
	list = json_member(r.result, "jobs");
	table_cell(t, "JOB");
	table_cell(t, "TENANT");
	table_cell(t, "RUN");
	table_cell(t, "STATE");
	json_iter_init(&it, list);
	while (list.type == JSON_ARRAY && json_iter_next(&it, &key, &one)) {
		if (cli->json) {
			print_json(one);
			continue;
		}
		table_cell(t, member_text(one, "job"));
		table_cell(t, member_text(one, "tenant"));
		table_cell(t, member_text(one, "run"));
		table_cell(t, member_text(one, "state"));
	}
	if (!cli->json)
		table_print(t);
	client_close(c);
	return CLI_DONE;
}

static int
job_start(struct cli *cli, int argc, char **argv)
{
	const char *tenant = NULL, *run = NULL;
	struct client *c;
	struct jsonw *w;
	struct reply r;

	for (int i = 3; i < argc; i++)
		if (!option_is(argc, argv, &i, "--tenant", &tenant) &&
		    !option_is(argc, argv, &i, "--run", &run))
			usage_of("job");
	c = client_open(cli->socket);
	w = client_begin(c, "job/start");
	jsonw_string(w, "job", argv[2]);
	jsonw_string(w, "tenant", tenant);
	if (run != NULL)
		jsonw_uint(w, "run", number(run, "--run"));
	client_do(c, client_send(c, NULL, 0), &r);
	done(cli, &r, argv[2], "RUNNING");
	client_close(c);
	return CLI_DONE;
}

static int
job_end(struct cli *cli, int argc, char **argv)
{
	struct client *c;
	struct jsonw *w;
	struct reply r;
	bool failed = false;

	for (int i = 3; i < argc; i++) {
		if (!option_is(argc, argv, &i, "--failed", NULL))
			usage_of("job");
		failed = true;
	}
	c = client_open(cli->socket);
	w = client_begin(c, "job/end");
	jsonw_string(w, "job", argv[2]);
	jsonw_bool(w, "failed", failed);
	jsonw_bool(w, "wait", true);
	client_do(c, client_send(c, NULL, 0), &r);
	done(cli, &r, argv[2], "ended");
	client_close(c);
	return CLI_DONE;
}

static int
job_forget(struct cli *cli, const char *job)
{
	struct client *c = client_open(cli->socket);
	struct reply r;

	jsonw_string(client_begin(c, "job/forget"), "job", job);
	client_do(c, client_send(c, NULL, 0), &r);
	done(cli, &r, job, "forgotten");
	client_close(c);
	return CLI_DONE;
}

int
cmd_job(struct cli *cli, int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "list") == 0)
		return job_list(cli);
	if (argc < 3 || argv[2][0] == '-')
		usage_of("job");
	if (strcmp(argv[1], "start") == 0)
		return job_start(cli, argc, argv);
	if (strcmp(argv[1], "end") == 0)
		return job_end(cli, argc, argv);
	if (strcmp(argv[1], "forget") == 0 && argc == 3)
		return job_forget(cli, argv[2]);
	if (strcmp(argv[1], "cancel") == 0) {
		bool no_wait = argc == 4 && strcmp(argv[3], "--no-wait") == 0;

		if (argc == 3 || no_wait)
			return cancel(cli, argv[2], !no_wait);
	}
	usage_of("job");
}

static int
session_open(struct cli *cli, int argc, char **argv)
{
	const char *workspace = NULL, *tool;
	struct client *c = client_open(cli->socket);
	struct jsonw *w = client_begin(c, "session/open");
	struct reply r;
	bool force = false, tools = false;

	jsonw_string(w, "job", argv[2]);
	jsonw_uint(w, "session", number(argv[3], "session"));
	for (int i = 4; i < argc; i++) {
		if (option_is(argc, argv, &i, "--tool", &tool)) {
			if (!tools)
				jsonw_array(w, "tools");
			tools = true;
			jsonw_string(w, NULL, tool);
		}
	}
	if (tools)
		jsonw_array_end(w);
	for (int i = 4; i < argc; i++) {
		if (option_is(argc, argv, &i, "--tool", &tool) ||
		    option_is(argc, argv, &i, "--workspace", &workspace))
			continue;
		if (!option_is(argc, argv, &i, "--force", NULL))
			usage_of("session");
		force = true;
	}
	jsonw_string(w, "workspace", workspace);
	if (force)
		jsonw_bool(w, "force", true);
	client_do(c, client_send(c, NULL, 0), &r);
	done(cli, &r, argv[2], "OPEN");
	client_close(c);
	return CLI_DONE;
}

static int
session_close(struct cli *cli, char **argv)
{
	struct client *c = client_open(cli->socket);
	struct jsonw *w = client_begin(c, "session/close");
	struct reply r;

	jsonw_string(w, "job", argv[2]);
	jsonw_uint(w, "session", number(argv[3], "session"));
	jsonw_bool(w, "wait", true);
	client_do(c, client_send(c, NULL, 0), &r);
	done(cli, &r, argv[2], "CLOSED");
	client_close(c);
	return CLI_DONE;
}

int
cmd_session(struct cli *cli, int argc, char **argv)
{
	if (argc >= 4 && strcmp(argv[1], "open") == 0)
		return session_open(cli, argc, argv);
	if (argc == 4 && strcmp(argv[1], "close") == 0)
		return session_close(cli, argv);
	usage_of("session");
}
