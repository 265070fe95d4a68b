/*
 * oz0 cancel, oz0 job cancel: stops a job or a call and waits until it has
 * stopped.  Something that has ended is no failure: its state is printed
 * (LIFECYCLE L1.6).
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/print.h"

static void
show_ended(struct cli *cli, bool call, const char *name, const char *state)
{
	struct buf b = { 0 };
	struct jsonw w;

	if (!cli->json) {
		printf("%s %s already\n", name, state);
		return;
	}
	jsonw_init(&w, &b);
	jsonw_object(&w, NULL);
	jsonw_string(&w, call ? "call" : "job", name);
	jsonw_string(&w, "state", state);
	jsonw_object_end(&w);
	printf("%.*s\n", (int)buf_len(&b), buf_at(&b));
	buf_free(&b);
}

static int
cancel(struct cli *cli, struct args *a, bool call)
{
	const char *name = args_operand(a, 0);
	struct client *c = client_open(cli);
	struct jsonw *w = client_begin(c, call ? "call/cancel" : "job/cancel");
	int code = CLI_DONE;
	struct reply r;

	jsonw_string(w, call ? "call" : "job", name);
	jsonw_bool(w, "wait", args_value(a, "--no-wait") == NULL);
	client_wait(c, client_end(c), &r);
	if (r.ok && cli->json)
		print_json(r.result);
	else if (r.ok)
		printf("%s %s\n", name, member_text(r.result, "state"));
	else if (strcmp(r.reason, "already_ended") == 0)
		show_ended(cli, call, name, r.state);
	else
		code = client_fault(c, &r);
	client_close(c);
	return code;
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
