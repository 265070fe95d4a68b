/*
 * oz0 job start, end, forget, list: what schedulers do with jobs, by hand.
 */
#include <stdio.h>

#include "cli/client.h"
#include "cli/print.h"
#include "cli/simple.h"
#include "cli/table.h"

#define LIST_MOST 10000

static int
run_start(struct cli *cli, struct args *a)
{
	const char *run = args_value(a, "--run");
	uint64_t n = run != NULL ? args_number(a, run, "--run", 0, UINT32_MAX)
				 : 0;
	struct simple s;

	simple_begin(&s, cli, "job/start");
	jsonw_string(s.w, "job", args_operand(a, 0));
	jsonw_string(s.w, "tenant", args_value(a, "--tenant"));
	if (run != NULL)
		jsonw_uint(s.w, "run", n);
	return simple_end(&s, cli, args_operand(a, 0), "RUNNING");
}

const struct command command_job_start = {
	.name = "job start",
	.operands = "J",
	.what = "start a job, or join it while it runs",
	.more = "A job that was LOST goes on; one that has ended continues as "
		"new with a higher\nrun number.\n",
	.options = {
	    { "--tenant", "T", "whose job it is (default: default)" },
	    { "--run", "M", "how often it has continued as new" },
	},
	.min = 1,
	.max = 1,
	.fn = run_start,
};

static int
run_end(struct cli *cli, struct args *a)
{
	struct simple s;

	simple_begin(&s, cli, "job/end");
	s.ends = "job";
	jsonw_string(s.w, "job", args_operand(a, 0));
	jsonw_bool(s.w, "failed", args_value(a, "--failed") != NULL);
	jsonw_bool(s.w, "wait", args_value(a, "--no-wait") == NULL);
	return simple_end(&s, cli, args_operand(a, 0), "ended");
}

const struct command command_job_end = {
	.name = "job end",
	.operands = "J",
	.what = "let a job's calls end, then end it",
	.options = {
	    { "--failed", NULL, "it ends FAILED, not COMPLETED" },
	    { "--no-wait", NULL, "do not wait until it has ended" },
	},
	.min = 1,
	.max = 1,
	.fn = run_end,
};

static int
run_forget(struct cli *cli, struct args *a)
{
	struct simple s;

	simple_begin(&s, cli, "job/forget");
	jsonw_string(s.w, "job", args_operand(a, 0));
	return simple_end(&s, cli, args_operand(a, 0), "is forgotten");
}

const struct command command_job_forget = {
	.name = "job forget",
	.operands = "J",
	.what = "drop an ended job with its trace and its keys",
	.min = 1,
	.max = 1,
	.fn = run_forget,
};

static int
run_list(struct cli *cli, struct args *a)
{
	struct client *c = client_open(cli);
	struct table *t = table_new("JOB TENANT RUN STATE", cli->color);
	struct json_value key, one;
	struct json_iter it;
	struct reply r;

	jsonw_uint(client_begin(c, "job/list"), "limit", LIST_MOST);
	client_do(c, client_end(c), &r);
	member_items(r.result, "jobs", &it);
	while (json_iter_next(&it, &key, &one)) {
		if (cli->json) {
			print_json(one);
			continue;
		}
		table_cell(t, member_text(one, "job"));
		table_cell(t, member_text(one, "tenant"));
		table_cell(t, member_text(one, "run"));
		table_cell(t, member_text(one, "state"));
	}
	if (cli->json)
		table_free(t);
	else
		table_print(t, "no jobs");
	if (member_true(r.result, "more"))
		complain("there are more jobs than these");
	client_close(c);
	return CLI_DONE;
}

const struct command command_job_list = {
	.name = "job list",
	.operands = "",
	.what = "every job that the node knows",
	.fn = run_list,
};
