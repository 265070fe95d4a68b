/*
 * Progress of one call, for `oz0 call --progress`.  Runs in oz0.
 */
#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/print.h"

#define BAR_MOST 50

struct progress {
	struct client *c;
	struct cli *cli;
	char *job, *activity; /* activity NULL: any */
	char call[32]; /* "": not known yet */
	bool bar;      /* stderr is a terminal */
	bool shown;    /* a bar stands there */
	char *event;   /* the last one, not shown yet; NULL: none */
};

static void
on_event(void *arg, struct json_value step)
{
	struct progress *p = arg;

	if (!json_string_is(json_member(step, "event"), "progress") ||
	    !json_string_is(json_member(step, "job"), p->job) ||
	    (p->call[0] != '\0' &&
		!json_string_is(json_member(step, "call"), p->call)))
		return;
	free(p->event);
	p->event = mem_strndup(step.p, step.len);
}

struct progress *
progress_open(struct cli *cli, const char *job, const char *activity)
{
	struct progress *p = mem_zalloc(sizeof(*p));
	struct reply r;

	p->cli = cli;
	p->job = mem_strdup(job);
	p->activity = mem_strdup(activity);
	p->bar = isatty(STDERR_FILENO) && !cli->json;
	p->c = client_open(cli);
	client_on_event(p->c, on_event, p);
	client_begin(p->c, "events/subscribe");
	client_do(p->c, client_end(p->c), &r);
	client_optional(p->c);
	return p;
}

int
progress_fd(const struct progress *p)
{
	return p != NULL ? client_fd(p->c) : -1;
}

bool
progress_call_in(struct json_value status, const char *activity,
    bool ended_too, char *ret_name, size_t size)
{
	static const char *const over[] = { "completed", "failed", "refused",
		"canceled", "lost" };
	struct json_value key, one;
	struct json_iter it;
	bool found = false;

	member_items(status, "calls", &it);
	while (json_iter_next(&it, &key, &one)) {
		bool ended = false;

		if (!json_string_is(json_member(one, "activity"), activity))
			continue;
		for (size_t i = 0; i < sizeof(over) / sizeof(over[0]); i++)
			ended |= json_string_is(
			    json_member(one, "state"), over[i]);
		if (!ended || ended_too)
			found = json_to_string(
			    json_member(one, "call"), ret_name, size);
	}
	return found;
}

/* Is the event our call's?  Its number is asked for once. */
static bool
is_ours(struct progress *p, struct json_value step)
{
	struct reply r;

	if (p->activity == NULL)
		return true;
	if (p->call[0] == '\0') {
		jsonw_string(
		    client_begin(p->c, "job/status"), "job", p->job);
		client_wait(p->c, client_end(p->c), &r);
		if (!r.ok || !progress_call_in(r.result, p->activity, true,
				  p->call, sizeof(p->call)))
			return false;
	}
	return json_string_is(json_member(step, "call"), p->call);
}

/* ---- showing it ---- */

static int
bar_width(size_t others)
{
	struct winsize ws;
	int n = BAR_MOST;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0 &&
	    (int)ws.ws_col - (int)others - 1 < n)
		n = (int)ws.ws_col - (int)others - 1;
	return n;
}

static void
draw_bar(struct progress *p, const char *words, double part)
{
	int width = part < 0 ? 0 : bar_width(strlen(words) + 4);

	fprintf(stderr, "\r\033[K");
	if (width > 0) {
		int full = (int)(part * width);

		putc('[', stderr);
		for (int i = 0; i < width; i++)
			putc(i < full ? '#' : '.', stderr);
		fprintf(stderr, "] ");
	}
	fprintf(stderr, "%s", words);
	p->shown = true;
}

static void
show(struct progress *p, struct json_value step)
{
	const char *total = member_text(step, "total");
	double value = 0, all = 0, part = -1;
	char *words;

	if (p->cli->json) {
		print_json(step);
		print_flush();
		return;
	}
	if (json_to_double(json_member(step, "progress"), &value) &&
	    json_to_double(json_member(step, "total"), &all) && all > 0)
		part = value < 0 ? 0 : value > all ? 1 : value / all;
	words = mem_printf("%s: progress %s%s%s", member_text(step, "call"),
	    member_text(step, "progress"), *total != '\0' ? " of " : "",
	    total);
	if (p->bar)
		draw_bar(p, words, part);
	else
		fprintf(stderr, "%s\n", words);
	free(words);
}

void
progress_read(struct progress *p)
{
	enum client_got got;
	struct json_value v;
	struct json_fault f;
	struct reply r;
	uint64_t id;

	do {
		got = client_take(p->c, &id, &r);
		while (p->event != NULL) {
			CLEANUP_FREE char *event = STEAL_PTR(p->event);

			if (json_check(event, strlen(event), &v, &f) &&
			    is_ours(p, v))
				show(p, v);
		}
	} while (got == CLIENT_EVENT || got == CLIENT_ANSWER);
}

void
progress_close(struct progress *p)
{
	if (p == NULL)
		return;
	if (p->shown)
		fprintf(stderr, "\r\033[K");
	client_close(p->c);
	free(p->event);
	free(p->job);
	free(p->activity);
	free(p);
}
