/*
 * oz0 status, oz0 ps, oz0 functions: how things stand.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/cmd.h"
#include "cli/print.h"

static struct json_value
list_of(struct json_value object, const char *name, struct json_iter *ret)
{
	struct json_value list = json_member(object, name);

	if (list.type != JSON_ARRAY)
		list = (struct json_value) { JSON_ARRAY, "[]", 2 };
	json_iter_init(ret, list);
	return list;
}

static void
print_servers(struct json_value status)
{
	struct table *t = table_new(7);
	struct json_value key, one;
	struct json_iter it;

	table_cell(t, "SERVER");
	table_cell(t, "KIND");
	table_cell(t, "STATE");
	table_cell(t, "PID");
	table_cell(t, "RUNNING");
	table_cell(t, "RESTARTS");
	table_cell(t, "ERA");
	list_of(status, "servers", &it);
	while (json_iter_next(&it, &key, &one)) {
		const char *job = member_text(one, "job");

		table_cellf(t, "%s%s%s%s%s", member_text(one, "tool"),
		    *job != '\0' ? " of " : "", job, *job != '\0' ? "/" : "",
		    member_text(one, "session"));
		table_cell(t, member_text(one, "kind"));
		table_cell(t, member_text(one, "state"));
		table_cell(t, member_text(one, "pid"));
		table_cell(t, member_text(one, "running"));
		table_cell(t, member_text(one, "restarts"));
		table_cell(t, member_text(one, "era"));
	}
	table_print(t);
}

static void
print_node(struct json_value s)
{
	const char *degraded = member_text(s, "degraded");
	const char *refuses = member_text(s, "refuses");

	printf("node %s (oz0 %s) is %s: %s of %s slots taken, %s queued, "
	       "%s jobs, %s sessions\n",
	    member_text(s, "node"), member_text(s, "version"),
	    member_text(s, "state"), member_text(s, "running"),
	    member_text(s, "slots"), member_text(s, "queued"),
	    member_text(s, "jobs"), member_text(s, "sessions"));
	if (*degraded != '\0')
		printf("degraded: %s\n", degraded);
	if (*refuses != '\0')
		printf("new work is refused: %s\n", refuses);
	printf("policy: %s\n\n", member_text(s, "policy"));
	print_servers(s);
}

static void
print_call_row(struct table *t, struct json_value call)
{
	const char *total = member_text(call, "total");

	table_cell(t, member_text(call, "call"));
	table_cell(t, member_text(call, "function"));
	table_cell(t, member_text(call, "state"));
	table_cell(t, member_text(call, "attempts"));
	table_cell(t, member_text(call, "outcome"));
	table_cellf(t, "%s%s%s", member_text(call, "progress"),
	    *total != '\0' ? " of " : "", total);
	table_cell(t, member_text(call, "key"));
}

static struct table *
calls_table(void)
{
	static const char *const heads[] = { "CALL", "FUNCTION", "STATE",
		"ATTEMPTS", "OUTCOME", "PROGRESS", "KEY" };
	struct table *t = table_new(7);

	for (size_t i = 0; i < 7; i++)
		table_cell(t, heads[i]);
	return t;
}

static void
print_job(struct json_value job)
{
	struct json_value key, one;
	struct json_iter it;
	struct table *t;

	printf("job %s of %s, run %s: %s\n", member_text(job, "job"),
	    member_text(job, "tenant"), member_text(job, "run"),
	    member_text(job, "state"));
	list_of(job, "sessions", &it);
	while (json_iter_next(&it, &key, &one))
		printf("session %s: %s, %s start again by itself\n",
		    member_text(one, "session"), member_text(one, "state"),
		    strcmp(member_text(one, "restartable"), "true") == 0
			? "may"
			: "may not");
	t = calls_table();
	list_of(job, "calls", &it);
	while (json_iter_next(&it, &key, &one))
		print_call_row(t, one);
	putchar('\n');
	table_print(t);
}

int
cmd_status(struct cli *cli, int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	bool call = name != NULL && str_is_call_name(name, NULL);
	struct client *c;
	struct jsonw *w;
	struct reply r;

	if (argc > 2 || (name != NULL && name[0] == '-'))
		usage_of("status");
	c = client_open(cli->socket);
	w = client_begin(c,
	    name == NULL ? "node/status"
		: call	 ? "call/status"
			 : "job/status");
	if (name != NULL)
		jsonw_string(w, call ? "call" : "job", name);
	client_do(c, client_send(c, NULL, 0), &r);
	if (cli->json) {
		print_json(r.result);
	} else if (name == NULL) {
		print_node(r.result);
	} else if (call) {
		struct table *t = calls_table();

		print_call_row(t, r.result);
		table_print(t);
	} else {
		print_job(r.result);
	}
	client_close(c);
	return CLI_DONE;
}

int
cmd_ps(struct cli *cli, int argc, char **argv)
{
	struct json_value key, one;
	struct json_iter it;
	struct client *c;
	struct table *t;
	struct jsonw *w;
	struct reply r;

	if (argc > 2 || (argc == 2 && argv[1][0] == '-'))
		usage_of("ps");
	c = client_open(cli->socket);
	w = client_begin(c, "node/ps");
	if (argc == 2)
		jsonw_string(w, "job", argv[1]);
	client_do(c, client_send(c, NULL, 0), &r);
	t = table_new(4);
	table_cell(t, "PID");
	table_cell(t, "ROLE");
	table_cell(t, "NAME");
	table_cell(t, "AGE");
	list_of(r.result, "processes", &it);
	while (json_iter_next(&it, &key, &one)) {
		if (cli->json) {
			print_json(one);
			continue;
		}
		table_cell(t, member_text(one, "pid"));
		table_cell(t, member_text(one, "role"));
		table_cell(t, member_text(one, "name"));
		table_cellf(t, "%.0fs", strtod(member_text(one, "age_s"), NULL));
	}
	if (!cli->json)
		table_print(t);
	client_close(c);
	return CLI_DONE;
}

int
cmd_functions(struct cli *cli, int argc, char **argv)
{
	struct json_value key, one;
	struct json_iter it;
	struct client *c;
	struct table *t;
	struct jsonw *w;
	struct reply r;

	if (argc > 2 || (argc == 2 && argv[1][0] == '-'))
		usage_of("functions");
	c = client_open(cli->socket);
	w = client_begin(c, "tool/functions");
	if (argc == 2)
		jsonw_string(w, "tool", argv[1]);
	client_do(c, client_send(c, NULL, 0), &r);
	t = table_new(3);
	table_cell(t, "FUNCTION");
	table_cell(t, "REPEATABLE");
	table_cell(t, "WHY");
	list_of(r.result, "functions", &it);
	while (json_iter_next(&it, &key, &one)) {
		const char *refused = member_text(one, "refused");

		if (cli->json) {
			print_json(one);
			continue;
		}
		table_cell(t, member_text(one, "function"));
		table_cell(t,
		    *refused != '\0' ? "not callable"
			: strcmp(member_text(one, "repeatable"), "true") == 0
			? "repeatable"
			: "once");
		table_cell(
		    t, *refused != '\0' ? refused : member_text(one, "why"));
	}
	if (!cli->json)
		table_print(t);
	client_close(c);
	return CLI_DONE;
}
