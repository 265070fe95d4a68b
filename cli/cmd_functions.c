/*
 * oz0 functions: what can be called, and what the node made of it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/client.h"
#include "cli/print.h"
#include "cli/table.h"

static void
print_row(struct table *t, struct json_value one)
{
	const char *refused = member_text(one, "refused");

	table_cell(t, member_text(one, "function"));
	if (*refused != '\0') {
		table_cell(t, "not callable");
		table_cell(t, refused);
		return;
	}
	table_cell(t, member_true(one, "repeatable") ? "repeatable" : "once");
	table_cell(t, member_text(one, "why"));
}

/* Tools whose server was never started: what they can is not known yet. */
static void
print_not_listed(struct cli *cli, struct json_value result)
{
	struct json_value key, one;
	struct json_iter it;
	bool first = true;
	size_t len;

	member_items(result, "not_listed", &it);
	while (json_iter_next(&it, &key, &one)) {
		char *name = text_of(one, &len);

		if (cli->json)
			printf("{\"tool\":%.*s,\"not_listed\":true}\n",
			    (int)one.len, one.p);
		else
			printf("%s%s", first ? "not listed until its server "
					       "has started: "
					     : ", ",
			    name);
		first = false;
		free(name);
	}
	if (!first && !cli->json)
		putchar('\n');
}

static int
run(struct cli *cli, struct args *a)
{
	struct client *c = client_open(cli);
	struct table *t = table_new("FUNCTION CALLED WHY", cli->color);
	struct json_value key, one;
	struct json_iter it;
	struct reply r;

	jsonw_string(
	    client_begin(c, "tool/functions"), "tool", args_operand(a, 0));
	client_do(c, client_end(c), &r);
	member_items(r.result, "functions", &it);
	while (json_iter_next(&it, &key, &one)) {
		if (cli->json)
			print_json(one);
		else
			print_row(t, one);
	}
	if (cli->json)
		table_free(t);
	else
		table_print(t, "no functions are known");
	print_not_listed(cli, r.result);
	client_close(c);
	return CLI_DONE;
}

const struct command command_functions = {
	.name = "functions",
	.operands = "[TOOL]",
	.what = "every function, and whether it may be called again and why",
	.max = 1,
	.fn = run,
};
