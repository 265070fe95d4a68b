/*
 * oz0 trace, oz0 logs: what happened and why; what a server said on stderr.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/print.h"

#define PAGE 1000

struct follow {
	struct cli *cli;
	const char *job;
	uint64_t last; /* seq of the last step printed */
};

static const char *
color_of(const char *event)
{
	if (strcmp(event, "fault") == 0 || strstr(event, "lost") != NULL)
		return "\033[31m";
	if (strstr(event, "cancel") != NULL || strstr(event, "stop") != NULL)
		return "\033[33m";
	if (strcmp(event, "call_ended") == 0)
		return "\033[32m";
	return "";
}

static void
print_step(struct follow *f, struct json_value step)
{
	const char *time = member_text(step, "time");
	const char *text = member_text(step, "text");
	const char *color;
	uint64_t seq;

	if (!json_to_uint64(json_member(step, "seq"), &seq) || seq <= f->last)
		return;
	f->last = seq;
	if (f->cli->json) {
		print_json(step);
		return;
	}
	color = f->cli->color ? color_of(member_text(step, "event")) : "";
	/* 2026-12-01T08:40:34.123456Z: the time of day, milliseconds */
	printf("%.12s  %-6s %s", strlen(time) > 23 ? time + 11 : time,
	    member_text(step, "call"), color);
	print_text(text, strlen(text));
	printf("%s\n", *color != '\0' ? "\033[0m" : "");
}

/* Pages from f->last on; the job must be known. */
static void
print_pages(struct client *c, struct follow *f)
{
	struct json_value steps, key, one;
	struct json_iter it;
	struct reply r;
	unsigned n;

	do {
		struct jsonw *w = client_begin(c, "job/trace");

		jsonw_string(w, "job", f->job);
		jsonw_uint(w, "since", f->last);
		jsonw_uint(w, "limit", PAGE);
		client_do(c, client_send(c, NULL, 0), &r);
		steps = json_member(r.result, "steps");
		if (steps.type != JSON_ARRAY)
			errx(CLI_NO_NODE, "the node's answer has no steps");
		json_iter_init(&it, steps);
		for (n = 0; json_iter_next(&it, &key, &one); n++)
			print_step(f, one);
	} while (n == PAGE);
}

static void
on_step(void *arg, struct json_value step)
{
	struct follow *f = arg;

	if (json_string_is(json_member(step, "job"), f->job)) {
		print_step(f, step);
		fflush(stdout);
	}
}

int
cmd_trace(struct cli *cli, int argc, char **argv)
{
	struct follow f = { .cli = cli };
	bool follow = false;
	struct client *c;
	struct jsonw *w;
	struct reply r;
	uint64_t id;

	for (int i = 1; i < argc; i++) {
		if (option_is(argc, argv, &i, "--follow", NULL))
			follow = true;
		else if (argv[i][0] == '-' || f.job != NULL)
			usage_of("trace");
		else
			f.job = argv[i];
	}
	if (f.job == NULL)
		usage_of("trace");
	c = client_open(cli->socket);
	print_pages(c, &f);
	fflush(stdout);
	if (follow) {
		client_on_event(c, on_step, &f);
		w = client_begin(c, "events/subscribe");
		jsonw_uint(w, "since", f.last);
		client_do(c, client_send(c, NULL, 0), &r);
		for (;;)
			client_poll(c, -1, &id, &r);
	}
	client_close(c);
	return CLI_DONE;
}

int
cmd_logs(struct cli *cli, int argc, char **argv)
{
	const char *tool = NULL;
	bool follow = false;
	uint64_t since = 0;
	struct client *c;

	for (int i = 1; i < argc; i++) {
		if (option_is(argc, argv, &i, "--follow", NULL))
			follow = true;
		else if (argv[i][0] == '-' || tool != NULL)
			usage_of("logs");
		else
			tool = argv[i];
	}
	if (tool == NULL)
		usage_of("logs");
	c = client_open(cli->socket);
	for (bool first = true; first || follow; first = false) {
		struct jsonw *w = client_begin(c, "tool/logs");
		struct reply r;
		char *text;

		jsonw_string(w, "tool", tool);
		jsonw_uint(w, "since", since);
		jsonw_bool(w, "wait", !first);
		client_do(c, client_send(c, NULL, 0), &r);
		json_to_uint64(json_member(r.result, "next"), &since);
		if (cli->json) {
			print_json(r.result);
		} else if (json_to_new_string(json_member(r.result, "text"),
			       (size_t)1 << 24, &text)) {
			print_text(text, strlen(text));
			free(text);
		}
		fflush(stdout);
	}
	client_close(c);
	return CLI_DONE;
}
