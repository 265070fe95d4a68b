/*
 * Progress: as it should be, and in each way it should not be.
 */
#include "examples/demo/function.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "examples/demo/call.h"
#include "examples/demo/out.h"

void
fn_count(struct demo *d, struct call *c)
{
	c->steps = call_int(c, "steps", 4, 0, 1000000000);
	c->every = call_ms(c, "ms", 100);
	if (call_refused(d, c))
		return;
	call_wait(c, c->every);
}

void
fn_count_tick(struct demo *d, struct call *c)
{
	char progress[24], total[24];

	if (c->step < c->steps) {
		c->step++;
		snprintf(progress, sizeof(progress), "%" PRId64, c->step);
		snprintf(total, sizeof(total), "%" PRId64, c->steps);
		call_progress(d, c, progress, total);
	}
	if (c->step >= c->steps)
		call_text(d, c, "counted to %" PRId64, c->steps);
	else
		call_wait(c, c->every);
}

/* A progress notification with a token, or more, that is not the call's. */
static void
put_with(
    struct demo *d, const char *token, const char *progress, const char *rest)
{
	char *params = mem_printf("{%s%s%s\"progress\":%s,\"total\":4%s}",
	    token != NULL ? "\"progressToken\":" : "",
	    token != NULL ? token : "", token != NULL ? "," : "", progress,
	    rest);

	out_notify(d, "notifications/progress", params);
	free(params);
}

/* The call's own token with its type changed. */
static char *
other_type(struct json_value token)
{
	if (json_is(token, JSON_STRING))
		return mem_strndup(token.p + 1, token.len - 2);
	return mem_printf("\"%.*s\"", (int)token.len, token.p);
}

static void
put_values(struct demo *d, struct call *c, const char *const *values)
{
	for (; *values != NULL; values++)
		call_progress(d, c, *values, "4");
}

static void
put_resume(struct demo *d, struct call *c)
{
	char *token = mem_strndup(c->token.p, c->token.len);

	put_with(d, token, "1", ",\"_meta\":{\"oz0/resume\":\"step-1\"}");
	put_with(d, token, "2", ",\"_meta\":{\"oz0/resume\":\"not a token\"}");
	free(token);
}

static void
put_strange(struct demo *d, struct call *c, const char *kind)
{
	char *token;

	if (strcmp(kind, "unknown_token") == 0) {
		put_with(d, "\"no-such-token\"", "1", "");
	} else if (strcmp(kind, "no_token") == 0) {
		put_with(d, NULL, "1", "");
	} else if (strcmp(kind, "string_token") == 0) {
		token = other_type(c->token);
		put_with(d, token, "1", "");
		free(token);
	} else if (strcmp(kind, "resume") == 0) {
		put_resume(d, c);
	}
}

void
fn_progress(struct demo *d, struct call *c)
{
	static const char *const words[] = {"backwards", "same", "huge", "nan",
	    "string", "unknown_token", "string_token", "no_token", "after",
	    "resume", NULL};
	static const struct {
		const char *kind;
		const char *values[4];
	} wrong[] = {{"backwards", {"3", "2", "1", NULL}},
	    {"same", {"2", "2", "2", NULL}}, {"huge", {"1", "1e999", NULL}},
	    {"nan", {"1", "NaN", NULL}}, {"string", {"1", "\"2\"", NULL}}};
	const char *kind = call_word(c, "kind", words);
	struct answer a = {.text = kind, .len = strlen(kind)};

	if (call_refused(d, c))
		return;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (strcmp(kind, wrong[i].kind) == 0)
			put_values(d, c, wrong[i].values);
	if (!json_is(c->token, JSON_NONE))
		put_strange(d, c, kind);
	if (strcmp(kind, "after") != 0) {
		call_answer(d, c, &a);
		return;
	}
	call_write(d, c, &a, c->id.p, c->id.len);
	call_progress(d, c, "4", "4");
	call_drop(d, c);
}
