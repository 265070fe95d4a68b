/*
 * Commands that are one request.  Runs in oz0.
 */
#include "cli/simple.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/print.h"

void
simple_begin(struct simple *s, struct cli *cli, const char *method)
{
	s->c = client_open(cli);
	s->w = client_begin(s->c, method);
	s->ends = NULL;
}

static void
show(struct cli *cli, const char *name, const char *state, const char *more)
{
	const char *color = cli->color ? color_of(state) : "";

	printf("%s %s%s%s%s\n", name, color, state,
	    *color != '\0' ? COLOR_END : "", more);
}

/* In one shape with the answer of one that ends now. */
static void
show_ended(struct simple *s, struct cli *cli, const char *name,
    const struct reply *r)
{
	struct buf b = { 0 };
	struct jsonw w;

	if (!cli->json) {
		show(cli, name, r->state, " already");
		return;
	}
	jsonw_init(&w, &b);
	jsonw_object(&w, NULL);
	jsonw_string(&w, s->ends, name);
	jsonw_string(&w, "state", r->state);
	jsonw_object_end(&w);
	printf("%.*s\n", (int)buf_len(&b), buf_at(&b));
	buf_free(&b);
}

int
simple_end(
    struct simple *s, struct cli *cli, const char *name, const char *absent)
{
	int code = CLI_DONE;
	const char *state;
	struct reply r;

	client_wait(s->c, client_end(s->c), &r);
	if (r.ok && cli->json) {
		print_json(r.result);
	} else if (r.ok) {
		state = member_text(r.result, "state");
		show(cli, name, *state != '\0' ? state : absent, "");
	} else if (s->ends != NULL && strcmp(r.reason, "already_ended") == 0) {
		show_ended(s, cli, name, &r);
	} else {
		code = client_fault(s->c, &r);
	}
	client_close(s->c);
	return code;
}
