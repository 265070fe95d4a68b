/*
 * oz0 ps: every process of the node, or of one job.
 */
#include <stdio.h>

#include "cli/client.h"
#include "cli/print.h"
#include "cli/table.h"

static void
print_row(struct table *t, struct json_value one)
{
	char age[32] = "";
	double s;

	if (json_to_double(json_member(one, "age_s"), &s))
		age_format(s, age, sizeof(age));
	table_cell(t, member_text(one, "pid"));
	table_cell(t, age);
	table_cell(t, member_text(one, "role"));
	table_cell(t, member_text(one, "name"));
}

static int
run(struct cli *cli, struct args *a)
{
	struct client *c = client_open(cli);
	struct table *t = table_new("PID AGE ROLE NAME", cli->color);
	struct json_value key, one;
	struct json_iter it;
	struct reply r;

	jsonw_string(
	    client_begin(c, "node/ps"), "job", args_operand(a, 0));
	client_do(c, client_end(c), &r);
	member_items(r.result, "processes", &it);
	while (json_iter_next(&it, &key, &one)) {
		if (cli->json)
			print_json(one);
		else
			print_row(t, one);
	}
	if (cli->json)
		table_free(t);
	else
		table_print(t, "no processes");
	client_close(c);
	return CLI_DONE;
}

const struct command command_ps = {
	.name = "ps",
	.operands = "[JOB]",
	.what = "every process of the node, or of a job, with its role and "
		"age",
	.max = 1,
	.fn = run,
};
