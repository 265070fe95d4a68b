/*
 * Functions that take time, and what they make of a cancel.
 */
#include "examples/demo/function.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "examples/demo/call.h"
#include "examples/demo/out.h"

void
fn_sleep(struct demo *d, struct call *c)
{
	static const char *const words[] = {"silent", "error", "result", NULL};
	const char *on_cancel = call_word(c, "on_cancel", words);

	c->every = call_seconds(c, "seconds", 1);
	if (call_refused(d, c))
		return;
	strcpy(c->word, on_cancel);
	call_wait(c, c->every);
}

void
fn_sleep_tick(struct demo *d, struct call *c)
{
	call_text(d, c, "slept %g s", span_seconds(c->every));
}

/* "error" is what servers on the official Go SDK do. */
void
fn_sleep_cancel(struct demo *d, struct call *c)
{
	if (strcmp(c->word, "error") == 0)
		call_error(d, c, 0, "context canceled");
	else if (strcmp(c->word, "result") == 0)
		call_text(d, c, "woken by the cancel");
	else
		call_drop(d, c);
}

/* A synchronous function: nothing is read meanwhile, so no cancel is seen. */
void
fn_block(struct demo *d, struct call *c)
{
	struct span s = call_seconds(c, "seconds", 1);
	struct timespec t = {
	    (time_t)(s.us / 1000000), (long)(s.us % 1000000) * 1000};

	if (call_refused(d, c))
		return;
	out_flush(d, false);
	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
	call_text(d, c, "blocked %g s", span_seconds(s));
}

void
fn_deaf(struct demo *d, struct call *c)
{
	c->every = call_seconds(c, "seconds", 1);
	if (call_refused(d, c))
		return;
	call_wait(c, c->every);
	d->deaf_until = c->due;
}

void
fn_late(struct demo *d, struct call *c)
{
	c->every = call_ms(c, "ms", 100);
	if (call_refused(d, c))
		return;
	/* Nothing happens until it is cancelled. */
}

void
fn_late_cancel(struct demo *d, struct call *c)
{
	call_wait(c, c->every);
}

void
fn_late_tick(struct demo *d, struct call *c)
{
	call_text(d, c, "too late");
}
