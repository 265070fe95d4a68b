/*
 * oz0 status: how the node, a job or a call stands.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/client.h"
#include "cli/print.h"
#include "cli/table.h"

/* A member with a name before it, when it is there. */
static void
line(const struct cli *cli, struct json_value o, const char *what,
    const char *name)
{
	const char *text = member_text(o, name);
	const char *color = cli->color ? color_of(text) : "";

	if (*text == '\0')
		return;
	printf("%-11s %s", what, color);
	print_text(stdout, text, strlen(text));
	printf("%s\n", *color != '\0' ? COLOR_END : "");
}

/* ---- the node ---- */

/* What keeps a server from being ready, where something does. */
static void
print_broken(struct json_value status)
{
	struct json_value key, one;
	struct json_iter it;

	member_items(status, "servers", &it);
	while (json_iter_next(&it, &key, &one)) {
		const char *why = member_text(one, "reason");
		const char *tool = member_text(one, "tool");

		if (*why == '\0')
			continue;
		printf("%s %s: ", tool, member_text(one, "state"));
		print_text(stdout, why, strlen(why));
		printf(" (oz0 logs %s)\n", tool);
	}
}

static void
print_servers(const struct cli *cli, struct json_value status)
{
	struct table *t = table_new(
	    "SERVER KIND OF STATE PID RUNNING RESTARTS ERA", cli->color);
	struct json_value key, one;
	struct json_iter it;

	member_items(status, "servers", &it);
	while (json_iter_next(&it, &key, &one)) {
		const char *job = member_text(one, "job");

		table_cell(t, member_text(one, "tool"));
		table_cell(t, member_text(one, "kind"));
		table_cellf(t, "%s%s%s", *job != '\0' ? job : "all jobs",
		    *job != '\0' ? "/" : "", member_text(one, "session"));
		table_cell(t, member_text(one, "state"));
		table_cell(t, member_text(one, "pid"));
		table_cell(t, member_text(one, "running"));
		table_cell(t, member_text(one, "restarts"));
		table_cell(t, member_text(one, "era"));
	}
	putchar('\n');
	table_print(t, "no server runs");
	print_broken(status);
}

/* Limits that were asked for and are not to be had here. */
static void
print_limits(struct json_value status)
{
	struct json_value key, one;
	struct json_iter it;

	member_items(status, "limits", &it);
	while (json_iter_next(&it, &key, &one))
		if (!member_true(one, "given"))
			printf("%-11s %s of %s (%s) is not to be had here\n",
			    "limit", member_text(one, "limit"),
			    member_text(one, "tool"),
			    member_text(one, "asked"));
}

/* The kill switches that are on. */
static void
print_killed(struct json_value status)
{
	struct json_value key, one;
	struct json_iter it;
	size_t len;

	member_items(status, "killed", &it);
	while (json_iter_next(&it, &key, &one)) {
		char *tool = text_of(one, &len);

		printf("%-11s ", "killed");
		print_text(stdout, tool, len);
		printf(": its calls are refused until oz0 unkill\n");
		free(tool);
	}
}

/* Calls that wait for an operator; nothing where none does. */
static void
print_approvals(const struct cli *cli, struct json_value status)
{
	struct table *t = table_new(
	    "APPROVAL FUNCTION JOB TENANT RULE", cli->color);
	const char *left = member_text(status, "approvals_left_out");
	struct json_value key, one;
	struct json_iter it;

	member_items(status, "approvals", &it);
	while (json_iter_next(&it, &key, &one)) {
		table_cell(t, member_text(one, "call"));
		table_cell(t, member_text(one, "function"));
		table_cell(t, member_text(one, "job"));
		table_cell(t, member_text(one, "tenant"));
		table_cell(t, member_text(one, "rule"));
	}
	if (table_is_empty(t)) {
		table_free(t);
		return;
	}
	putchar('\n');
	table_print(t, "");
	if (*left != '\0')
		printf("and %s more\n", left);
}

static void
print_node(const struct cli *cli, struct json_value s)
{
	const char *state = member_text(s, "state");
	const char *color = cli->color ? color_of(state) : "";

	printf("%-11s %s %s%s%s (oz0 %s)\n", "node", member_text(s, "node"),
	    color, state, *color != '\0' ? COLOR_END : "",
	    member_text(s, "version"));
	line(cli, s, "degraded", "degraded");
	line(cli, s, "refuses", "refuses");
	printf("%-11s %s running of %s slots, %s queued\n", "calls",
	    member_text(s, "running"), member_text(s, "slots"),
	    member_text(s, "queued"));
	printf("%-11s %s, with %s open sessions\n", "jobs",
	    member_text(s, "jobs"), member_text(s, "sessions"));
	line(cli, s, "started", "started");
	line(cli, s, "policy", "policy");
	line(cli, s, "isolation", "isolation");
	print_killed(s);
	print_limits(s);
	print_approvals(cli, s);
	print_servers(cli, s);
}

/* ---- a job ---- */

static void
print_call_row(struct table *t, struct json_value call)
{
	const char *total = member_text(call, "total");

	table_cell(t, member_text(call, "call"));
	table_cell(t, member_text(call, "function"));
	table_cell(t, member_text(call, "state"));
	table_cell(t, member_text(call, "attempts"));
	table_cellf(t, "%s%s%s", member_text(call, "progress"),
	    *total != '\0' ? " of " : "", total);
	table_cell(t, member_text(call, "outcome"));
	table_cell(t, member_text(call, "activity"));
}

static void
print_sessions(const struct cli *cli, struct json_value job)
{
	struct json_value key, one;
	struct json_iter it;

	member_items(job, "sessions", &it);
	while (json_iter_next(&it, &key, &one)) {
		const char *state = member_text(one, "state");
		const char *color = cli->color ? color_of(state) : "";

		printf("%-11s %s %s%s%s%s%s\n", "session",
		    member_text(one, "session"), color, state,
		    *color != '\0' ? COLOR_END : "",
		    member_true(one, "harness") ? ", with a harness" : "",
		    member_true(one, "restartable")
			? ""
			: ", may not start again by itself");
	}
}

static void
print_job(const struct cli *cli, struct json_value job)
{
	const char *state = member_text(job, "state");
	const char *color = cli->color ? color_of(state) : "";
	const char *left = member_text(job, "calls_left_out");
	struct table *t = table_new(
	    "CALL FUNCTION STATE ATTEMPTS PROGRESS OUTCOME ACTIVITY",
	    cli->color);
	struct json_value key, one;
	struct json_iter it;

	printf("%-11s %s %s%s%s (run %s, tenant %s)\n", "job",
	    member_text(job, "job"), color, state,
	    *color != '\0' ? COLOR_END : "", member_text(job, "run"),
	    member_text(job, "tenant"));
	print_sessions(cli, job);
	member_items(job, "calls", &it);
	while (json_iter_next(&it, &key, &one))
		print_call_row(t, one);
	putchar('\n');
	table_print(t, "no calls");
	if (*left != '\0')
		printf("and %s more\n", left);
}

/* ---- a call ---- */

static void
print_call(const struct cli *cli, struct json_value call)
{
	const char *session = member_text(call, "session");
	const char *progress = member_text(call, "progress");
	const char *total = member_text(call, "total");
	const char *rule = member_text(call, "rule");

	line(cli, call, "call", "call");
	line(cli, call, "function", "function");
	line(cli, call, "state", "state");
	printf("%-11s %s, run %s%s%s\n", "job", member_text(call, "job"),
	    member_text(call, "run"), *session != '\0' ? ", session " : "",
	    session);
	line(cli, call, "activity", "activity");
	line(cli, call, "key", "key");
	line(cli, call, "attempts", "attempts");
	if (*progress != '\0')
		printf("%-11s %s%s%s\n", "progress", progress,
		    *total != '\0' ? " of " : "", total);
	line(cli, call, "outcome", "outcome");
	line(cli, call, "reason", "reason");
	if (*rule != '\0')
		printf("%-11s an approval, which rule %s wants: oz0 approve "
		       "%s, or deny\n",
		    "waits for", rule, member_text(call, "call"));
	line(cli, call, "stops for", "stop_reason");
	line(cli, call, "stopped", "stopped");
	if (member_true(call, "evicted"))
		printf("%-11s no longer kept\n", "result");
}

static int
run(struct cli *cli, struct args *a)
{
	const char *name = args_operand(a, 0);
	bool call = name != NULL && str_is_call_name(name, NULL);
	struct client *c = client_open(cli);
	struct jsonw *w = client_begin(c,
	    name == NULL ? "node/status"
		: call	 ? "call/status"
			 : "job/status");
	struct reply r;

	jsonw_string(w, call ? "call" : "job", name);
	client_do(c, client_end(c), &r);
	if (cli->json)
		print_json(r.result);
	else if (name == NULL)
		print_node(cli, r.result);
	else if (call)
		print_call(cli, r.result);
	else
		print_job(cli, r.result);
	client_close(c);
	return CLI_DONE;
}

const struct command command_status = {
	.name = "status",
	.operands = "[JOB | CALL]",
	.what = "the node, a job or a call as it is now",
	.max = 1,
	.fn = run,
};
