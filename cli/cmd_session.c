/*
 * oz0 session open, oz0 session close.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "cli/print.h"
#include "cli/simple.h"

#define SESSION_MOST 1000000

static uint64_t
number(const struct args *a)
{
	return args_number(a, args_operand(a, 1), "a session", 1, SESSION_MOST);
}

static int
end(struct simple *s, struct cli *cli, struct args *a, const char *absent)
{
	char *name = mem_printf(
	    "%s/%s", args_operand(a, 0), args_operand(a, 1));
	int code = simple_end(s, cli, name, absent);

	free(name);
	return code;
}

static int
run_open(struct cli *cli, struct args *a)
{
	uint64_t n = number(a);
	const char *tool;
	struct simple s;
	int at = 0;

	simple_begin(&s, cli, "session/open");
	jsonw_string(s.w, "job", args_operand(a, 0));
	jsonw_uint(s.w, "session", n);
	if (args_value(a, "--tool") != NULL) {
		jsonw_array(s.w, "tools");
		while ((tool = args_next(a, "--tool", &at)) != NULL)
			jsonw_string(s.w, NULL, tool);
		jsonw_array_end(s.w);
	}
	jsonw_string(s.w, "workspace", args_value(a, "--workspace"));
	if (args_value(a, "--force") != NULL)
		jsonw_bool(s.w, "force", true);
	return end(&s, cli, a, "OPEN");
}

const struct command command_session_open = {
	.name = "session open",
	.operands = "J N",
	.what = "open session N of a job",
	.options = {
	    { "--tool", "T", "one of its tools; without: all", .many = true },
	    { "--workspace", "DIR", "its folder, instead of one of its own" },
	    { "--force", NULL, "also when it may not start again" },
	},
	.min = 2,
	.max = 2,
	.fn = run_open,
};

static int
run_close(struct cli *cli, struct args *a)
{
	uint64_t n = number(a);
	struct simple s;

	simple_begin(&s, cli, "session/close");
	s.ends = "session";
	jsonw_string(s.w, "job", args_operand(a, 0));
	jsonw_uint(s.w, "session", n);
	jsonw_bool(s.w, "wait", args_value(a, "--no-wait") == NULL);
	return end(&s, cli, a, "CLOSED");
}

const struct command command_session_close = {
	.name = "session close",
	.operands = "J N",
	.what = "cancel a session's calls and stop its processes",
	.options = {
	    { "--no-wait", NULL, "do not wait until it is closed" },
	},
	.min = 2,
	.max = 2,
	.fn = run_close,
};
