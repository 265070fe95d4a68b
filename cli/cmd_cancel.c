/*
 * oz0 cancel, oz0 job cancel: stops a job or a call and waits until it has
 * stopped.  Something that has ended is no failure: its state is printed
 * (LIFECYCLE L1.6).
 */
#include "base/str.h"
#include "cli/simple.h"

static int
cancel(struct cli *cli, struct args *a, bool call)
{
	const char *name = args_operand(a, 0);
	struct simple s;

	simple_begin(&s, cli, call ? "call/cancel" : "job/cancel");
	s.ends = call ? "call" : "job";
	jsonw_string(s.w, s.ends, name);
	jsonw_bool(s.w, "wait", args_value(a, "--no-wait") == NULL);
	return simple_end(&s, cli, name, "");
}

static int
run(struct cli *cli, struct args *a)
{
	return cancel(cli, a, str_is_call_name(args_operand(a, 0), NULL));
}

static int
run_job(struct cli *cli, struct args *a)
{
	return cancel(cli, a, false);
}

#define MORE                                                               \
	"Ends with 0 once no process of it runs, also when it had ended "  \
	"before, and\nprints its state.\n"
#define NO_WAIT { "--no-wait", NULL, "do not wait until it has stopped" }

const struct command command_cancel = {
	.name = "cancel",
	.operands = "JOB | CALL",
	.what = "stop a job or a call and wait until it has stopped",
	.more = MORE,
	.options = { NO_WAIT },
	.min = 1,
	.max = 1,
	.fn = run,
};

const struct command command_job_cancel = {
	.name = "job cancel",
	.operands = "J",
	.what = "stop a job and wait until it has stopped",
	.more = MORE,
	.options = { NO_WAIT },
	.min = 1,
	.max = 1,
	.fn = run_job,
};
