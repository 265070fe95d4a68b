/*
 * oz0 restart, oz0 drain, oz0 reload: the operator's hand on the node.
 */
#include "cli/simple.h"

static int
run_restart(struct cli *cli, struct args *a)
{
	struct simple s;

	simple_begin(&s, cli, "tool/restart");
	jsonw_string(s.w, "tool", args_operand(a, 0));
	return simple_end(
	    &s, cli, args_operand(a, 0), "is stopped and started afresh");
}

const struct command command_restart = {
	.name = "restart",
	.operands = "TOOL",
	.what = "stop a plugin's server and start it afresh",
	.min = 1,
	.max = 1,
	.fn = run_restart,
};

static int
run_drain(struct cli *cli, struct args *a)
{
	struct simple s;

	simple_begin(&s, cli, "node/drain");
	return simple_end(&s, cli, "the node",
	    "takes nothing new and ends once its calls have");
}

const struct command command_drain = {
	.name = "drain",
	.operands = "",
	.what = "let running calls end, then end the node (as SIGTERM)",
	.fn = run_drain,
};

static int
run_reload(struct cli *cli, struct args *a)
{
	struct simple s;

	simple_begin(&s, cli, "node/reload");
	return simple_end(
	    &s, cli, "the configuration", "was read again and holds");
}

const struct command command_reload = {
	.name = "reload",
	.operands = "",
	.what = "read configuration and policy again (as SIGHUP)",
	.more = "A bad file changes nothing, and what is wrong with it is "
		"printed.\n",
	.fn = run_reload,
};
