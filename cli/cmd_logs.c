/*
 * oz0 logs: what a tool's servers wrote to stderr.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/follow.h"
#include "cli/print.h"

struct logs {
	struct cli *cli;
	const char *tool;
	uint64_t next; /* the first line that was not printed */
};

static void
print_line(struct logs *l, struct json_value one)
{
	const char *from = member_text(one, "from");
	uint64_t n = l->next;
	size_t len;
	char *text;

	json_to_uint64(json_member(one, "n"), &n);
	if (l->cli->json) {
		print_json(one);
		return;
	}
	if (n > l->next)
		printf("(%llu earlier lines are no longer kept)\n",
		    (unsigned long long)(n - l->next));
	l->next = n + 1;
	text = text_of(json_member(one, "line"), &len);
	printf("%s  ", member_clock(one, "time"));
	if (strcmp(from, l->tool) != 0)
		printf("%s: ", from);
	print_text(stdout, text, len);
	putchar('\n');
	free(text);
}

static uint64_t
ask(struct client *c, struct logs *l, bool wait)
{
	struct jsonw *w = client_begin(c, "tool/logs");

	jsonw_string(w, "tool", l->tool);
	jsonw_uint(w, "since", l->next);
	jsonw_bool(w, "wait", wait);
	return client_end(c);
}

static void
print_answer(struct logs *l, const struct reply *r)
{
	struct json_value key, one;
	struct json_iter it;

	member_items(r->result, "lines", &it);
	while (json_iter_next(&it, &key, &one))
		print_line(l, one);
	json_to_uint64(json_member(r->result, "next"), &l->next);
}

static void
follow(struct client *c, struct logs *l)
{
	enum client_got got;
	struct reply r;
	uint64_t id, of;

	for (;;) {
		id = ask(c, l, true);
		client_flush(c, NULL, 0, -1);
		of = 0;
		while ((got = client_take(c, &of, &r)) != CLIENT_ANSWER ||
		    of != id)
			if (got == CLIENT_NOTHING)
				follow_wait(c);
		if (!r.ok)
			exit(client_fault(c, &r));
		print_answer(l, &r);
	}
}

static int
run(struct cli *cli, struct args *a)
{
	struct logs l = { cli, args_operand(a, 0), 1 };
	struct client *c = client_open(cli);
	struct reply r;

	client_do(c, ask(c, &l, false), &r);
	print_answer(&l, &r);
	if (args_value(a, "--follow") != NULL)
		follow(c, &l);
	client_close(c);
	return CLI_DONE;
}

const struct command command_logs = {
	.name = "logs",
	.operands = "TOOL",
	.what = "what a tool's servers wrote to stderr",
	.options = {
	    { "--follow", NULL, "go on with what they write" },
	},
	.min = 1,
	.max = 1,
	.fn = run,
};
