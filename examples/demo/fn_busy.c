/*
 * Functions that do not succeed the first times under a key: busy results
 * (LIFECYCLE L4.1), well-formed or not, and failures of each kind.  Then the
 * effect is made, once.  How often it was is in the ledger, and so survives
 * the server.
 */
#include "examples/demo/function.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/mem.h"
#include "examples/demo/call.h"
#include "examples/demo/ledger.h"
#include "examples/demo/out.h"

#define NO_KEY "(no key)"

static const char done[] = "done";

/*
 * The next of this key: true, one more was recorded as `event` and must be
 * shown; false, it is done (and was recorded, if it was not before).
 */
static bool
one_more(struct demo *d, struct call *c, const char *event, int64_t times)
{
	const char *key = c->key != NULL ? c->key : NO_KEY;
	const struct ledger_key *k;
	bool more, made;

	ledger_lock(d->ledger);
	k = ledger_look(d->ledger, key);
	more = strcmp(event, "busy") == 0 ? k->busy < times : k->faults < times;
	made = c->key != NULL && k->answer != NULL;
	if (more && !made)
		ledger_keep(d->ledger, event, key, c->fn->name, NULL);
	else if (!made)
		ledger_keep(d->ledger, "effect", c->key, c->fn->name, done);
	ledger_unlock(d->ledger);
	return more && !made;
}

static void
answer_busy(struct demo *d, struct call *c, struct json_value retryable,
    struct json_value after)
{
	static const char text[] = "the service is busy; try again later";
	struct answer a = {.text = text, .len = sizeof(text) - 1};
	struct buf meta = {0};
	struct jsonw w;

	jsonw_init(&w, &meta);
	if (json_is(retryable, JSON_NONE))
		jsonw_bool(&w, "oz0/retryable", true);
	else
		jsonw_value(&w, "oz0/retryable", retryable);
	if (!json_is(after, JSON_NONE))
		jsonw_value(&w, "oz0/retry_after", after);
	buf_putc(&meta, '\0');
	a.meta = buf_at(&meta);
	a.is_error = true;
	call_answer(d, c, &a);
	buf_free(&meta);
}

void
fn_busy(struct demo *d, struct call *c)
{
	int64_t times = call_int(c, "times", 1, 0, INT32_MAX);

	if (call_refused(d, c))
		return;
	if (one_more(d, c, "busy", times))
		answer_busy(d, c, call_value(c, "retryable"),
		    call_value(c, "retry_after"));
	else
		call_text(d, c, "%s", done);
}

static void
fail(struct demo *d, struct call *c, const char *how, int64_t code)
{
	static const char text[] = "an error result that is not busy";
	struct answer a = {.text = text, .len = sizeof(text) - 1};

	if (strcmp(how, "error") == 0) {
		call_error(d, c, code, "flaky, as asked for");
	} else if (strcmp(how, "result") == 0) {
		a.is_error = true;
		call_answer(d, c, &a);
	} else if (strcmp(how, "exit") == 0) {
		out_flush(d, true);
		_Exit((int)code);
	} else if (strcmp(how, "bad_json") == 0) {
		fn_bad_json(d, c);
	}
	/* "hang": the call stays open until it is cancelled. */
}

void
fn_flaky(struct demo *d, struct call *c)
{
	static const char *const words[] = {
	    "error", "result", "exit", "hang", "bad_json", NULL};
	int64_t times = call_int(c, "times", 1, 0, INT32_MAX);
	const char *how = call_word(c, "how", words);
	bool exits = strcmp(how, "exit") == 0;
	int64_t code = call_int(c, "code", exits ? 1 : -32603,
	    exits ? 0 : INT32_MIN, exits ? 255 : INT32_MAX);

	if (call_refused(d, c))
		return;
	if (one_more(d, c, "fault", times))
		fail(d, c, how, code);
	else
		call_text(d, c, "%s", done);
}
