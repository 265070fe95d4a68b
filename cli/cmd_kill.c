/*
 * oz0 kill, oz0 unkill: the kill switch of a tool (LIFECYCLE L1.9).
 */
#include "cli/simple.h"

static int
run_kill(struct cli *cli, struct args *a)
{
	struct simple s;

	simple_begin(&s, cli, "tool/kill");
	jsonw_string(s.w, "tool", args_operand(a, 0));
	if (args_value(a, "--server") != NULL)
		jsonw_bool(s.w, "server", true);
	return simple_end(&s, cli, args_operand(a, 0),
	    "is killed: its running calls are being stopped, all others are "
	    "refused");
}

const struct command command_kill = {
	.name = "kill",
	.operands = "TOOL",
	.what = "stop a tool's calls on every job and refuse new ones",
	.more = "It holds until `oz0 unkill TOOL`, also over a restart of the "
		"node.  Calls that\nwait for a slot, a retry or an approval "
		"are refused, too.\n",
	.options = {
	    { "--server", NULL, "stop the shared server of a plugin, too" },
	},
	.min = 1,
	.max = 1,
	.fn = run_kill,
};

static int
run_unkill(struct cli *cli, struct args *a)
{
	struct simple s;

	simple_begin(&s, cli, "tool/unkill");
	jsonw_string(s.w, "tool", args_operand(a, 0));
	return simple_end(&s, cli, args_operand(a, 0), "may be called again");
}

const struct command command_unkill = {
	.name = "unkill",
	.operands = "TOOL",
	.what = "let a tool be called again after `kill`",
	.min = 1,
	.max = 1,
	.fn = run_unkill,
};
