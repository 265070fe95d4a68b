/*
 * oz0 approve, oz0 deny: the word of an operator for a call that the policy
 * asks about (LIFECYCLE L6.3).
 */
#include "cli/simple.h"

static int
decide(struct cli *cli, struct args *a, const char *method)
{
	struct simple s;

	simple_begin(&s, cli, method);
	jsonw_string(s.w, "call", args_operand(a, 0));
	return simple_end(&s, cli, args_operand(a, 0), "decided");
}

static int
run_approve(struct cli *cli, struct args *a)
{
	return decide(cli, a, "call/approve");
}

static int
run_deny(struct cli *cli, struct args *a)
{
	return decide(cli, a, "call/deny");
}

const struct command command_approve = {
	.name = "approve",
	.operands = "CALL",
	.what = "let a call go on that waits for an approval",
	.more = "`oz0 status` shows which calls wait.  It holds for that one "
		"call, also when it\nis made again after the node was lost, "
		"while the rule that asked stands\nunchanged.\n",
	.min = 1,
	.max = 1,
	.fn = run_approve,
};

const struct command command_deny = {
	.name = "deny",
	.operands = "CALL",
	.what = "refuse a call that waits for an approval",
	.min = 1,
	.max = 1,
	.fn = run_deny,
};
