/*
 * Much that is no answer: noise on stdout or stderr, notifications, a line
 * without an end.  It is made as fast as it is read, never faster, so the
 * server's own memory stays small.
 */
#include "examples/demo/function.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "examples/demo/call.h"
#include "examples/demo/out.h"

#define CHUNK 1024
#define QUEUE ((size_t)64 * 1024)

/* steps: bytes in all (0: without an end); step: written; word: where to. */
void
fn_flood(struct demo *d, struct call *c)
{
	static const char *const words[] = {
	    "stdout", "stderr", "notifications", "endless", NULL};
	const char *to = call_word(c, "to", words);

	c->steps = call_int(c, "bytes", 1024 * 1024, 0, INT64_MAX);
	if (call_refused(d, c))
		return;
	strcpy(c->word, to);
	call_wait(c, SPAN_MS(0));
}

static void
put_chunk(struct demo *d, const char *to)
{
	char text[CHUNK + 1];
	char *params;

	memset(text, 'f', CHUNK);
	text[CHUNK] = '\0';
	if (strcmp(to, "notifications") == 0) {
		params =
		    mem_printf("{\"level\":\"info\",\"data\":\"%s\"}", text);
		out_notify(d, "notifications/message", params);
		free(params);
		return;
	}
	if (strcmp(to, "endless") != 0)
		text[CHUNK - 1] = '\n';
	if (strcmp(to, "stderr") == 0)
		fd_write_all(STDERR_FILENO, text, CHUNK);
	else
		out_put(d, text, CHUNK);
}

void
fn_flood_tick(struct demo *d, struct call *c)
{
	bool unbounded = c->steps == 0;
	int chunks = 0;

	while (buf_len(&d->out) < QUEUE && chunks++ < (int)(QUEUE / CHUNK) &&
	       (unbounded || c->step < c->steps)) {
		put_chunk(d, c->word);
		c->step += CHUNK;
	}
	if (d->out_broken) {
		call_drop(d, c);
		return;
	}
	if (unbounded || c->step < c->steps) {
		/* A reader that is slow is looked at again, not spun on. */
		call_wait(c, SPAN_MS(buf_len(&d->out) < QUEUE ? 0 : 1));
		return;
	}
	if (strcmp(c->word, "endless") == 0)
		out_line_end(d);
	call_text(d, c, "flooded");
}
