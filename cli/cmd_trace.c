/*
 * oz0 trace: what happened in a job, and why.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/client.h"
#include "cli/follow.h"
#include "cli/print.h"

#define PAGE 1000

struct trace {
	struct cli *cli;
	char job[129];
	const char *call; /* only its steps; NULL: all */
	uint64_t last;	  /* seq of the last step seen */
	char day[11];	  /* of the last step printed */
};

static void
print_day(struct trace *t, const char *time)
{
	char day[11];

	snprintf(day, sizeof(day), "%.10s", time);
	if (strcmp(day, t->day) == 0)
		return;
	memcpy(t->day, day, sizeof(day));
	printf("%s (UTC)\n", day);
}

static void
print_words(struct trace *t, struct json_value step)
{
	const char *call = member_text(step, "call");
	const char *color = "";
	size_t len;
	char *text;

	print_day(t, member_text(step, "time"));
	text = text_of(json_member(step, "text"), &len);
	if (t->cli->color) {
		color = color_of(member_text(step, "event"));
		if (*color == '\0')
			color = color_of(member_text(step, "state"));
	}
	printf("%s  %-5s %s", member_clock(step, "time"), call, color);
	print_text(stdout, text, len);
	printf("%s\n", *color != '\0' ? COLOR_END : "");
	free(text);
}

static void
print_step(void *arg, struct json_value step)
{
	struct trace *t = arg;
	uint64_t seq;

	if (!json_string_is(json_member(step, "job"), t->job) ||
	    !json_to_uint64(json_member(step, "seq"), &seq) || seq <= t->last)
		return;
	t->last = seq;
	if (t->call != NULL &&
	    !json_string_is(json_member(step, "call"), t->call))
		return;
	if (t->cli->json)
		print_json(step);
	else
		print_words(t, step);
}

/* `trace CALL`: the job's, and of it what is the call's. */
static void
find_job(struct client *c, struct trace *t, const char *name)
{
	struct reply r;

	if (!str_is_call_name(name, NULL)) {
		str_copy(t->job, sizeof(t->job), name);
		return;
	}
	t->call = name;
	jsonw_string(client_begin(c, "call/status"), "call", name);
	client_do(c, client_end(c), &r);
	json_to_string(json_member(r.result, "job"), t->job, sizeof(t->job));
}

static void
print_pages(struct client *c, struct trace *t)
{
	struct json_value key, one;
	struct json_iter it;
	struct reply r;
	uint64_t before;

	do {
		struct jsonw *w = client_begin(c, "job/trace");

		jsonw_string(w, "job", t->job);
		jsonw_uint(w, "since", t->last);
		jsonw_uint(w, "limit", PAGE);
		client_do(c, client_end(c), &r);
		before = t->last;
		member_items(r.result, "steps", &it);
		while (json_iter_next(&it, &key, &one))
			print_step(t, one);
	} while (member_true(r.result, "more") && t->last > before);
}

/*
 * The node's last number is asked for before the trace is read, and events
 * are from there on: none is missing, and what comes twice is known by its
 * number.
 */
static uint64_t
last_seq(struct client *c)
{
	uint64_t seq = 0;
	struct reply r;

	client_begin(c, "node/status");
	client_do(c, client_end(c), &r);
	json_to_uint64(json_member(r.result, "seq"), &seq);
	return seq;
}

static void
follow(struct client *c, struct trace *t, uint64_t seen)
{
	struct jsonw *w = client_begin(c, "events/subscribe");
	struct reply r;
	uint64_t id;

	client_on_event(c, print_step, t);
	jsonw_uint(w, "since", seen > t->last ? seen : t->last);
	client_do(c, client_end(c), &r);
	for (;;)
		if (client_take(c, &id, &r) == CLIENT_NOTHING)
			follow_wait(c);
}

static int
run(struct cli *cli, struct args *a)
{
	struct trace t = { .cli = cli };
	struct client *c = client_open(cli);
	bool follows = args_value(a, "--follow") != NULL;
	uint64_t seen = follows ? last_seq(c) : 0;

	find_job(c, &t, args_operand(a, 0));
	print_pages(c, &t);
	if (follows)
		follow(c, &t, seen);
	client_close(c);
	return CLI_DONE;
}

const struct command command_trace = {
	.name = "trace",
	.operands = "JOB | CALL",
	.what = "what happened in a job or to a call, and why",
	.options = {
	    { "--follow", NULL, "go on with what happens, until interrupted" },
	},
	.min = 1,
	.max = 1,
	.fn = run,
};
