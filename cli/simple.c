/*
 * Commands that are one request.  Runs in oz0.
 */
#include "cli/simple.h"

#include <stdio.h>

#include "cli/print.h"

void
simple_begin(struct simple *s, struct cli *cli, const char *method)
{
	s->c = client_open(cli);
	s->w = client_begin(s->c, method);
}

int
simple_end(
    struct simple *s, struct cli *cli, const char *name, const char *absent)
{
	const char *state, *color;
	struct reply r;

	client_do(s->c, client_end(s->c), &r);
	state = member_text(r.result, "state");
	if (*state == '\0')
		state = absent;
	color = cli->color ? color_of(state) : "";
	if (cli->json)
		print_json(r.result);
	else
		printf("%s %s%s%s\n", name, color, state,
		    *color != '\0' ? COLOR_END : "");
	client_close(s->c);
	return CLI_DONE;
}
