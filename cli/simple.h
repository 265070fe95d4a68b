#ifndef OZ0_CLI_SIMPLE_H
#define OZ0_CLI_SIMPLE_H

#include "cli/client.h"

/*
 * Commands that are one request: its answer with --json, a line for people.
 * simple_begin() opens the connection; members go onto the writer.
 */
struct simple {
	struct client *c;
	struct jsonw *w;
	/* NULL, or the member that names what the command ends: that it has
	 * ended already is no failure then (LIFECYCLE L1.6). */
	const char *ends;
};

void simple_begin(struct simple *s, struct cli *cli, const char *method);
/* "NAME STATE", the state being the answer's, else `absent`. */
int simple_end(struct simple *s, struct cli *cli, const char *name,
    const char *absent);

#endif
