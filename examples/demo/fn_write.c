/*
 * Writes.  write and charge keep the key with what they did and answer a key
 * they have seen with what they answered then, also after a restart: the
 * effect and the key are one line of the ledger.  append has no key to honour.
 * A cancel that comes before the effect prevents it.
 */
#include "examples/demo/function.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "examples/demo/call.h"
#include "examples/demo/ledger.h"
#include "examples/demo/out.h"

#define REPLAYED "\"oz0/replayed\":true"

/* word[0] is when to crash, word[1] whether it never answers. */
enum { WORD_CRASH, WORD_SILENT };
enum { STEP_BEFORE, STEP_AFTER };

static void
answer_kept(struct demo *d, struct call *c, const char *answer)
{
	struct answer a = {.text = answer, .len = strlen(answer)};

	a.meta = REPLAYED;
	call_answer(d, c, &a);
}

static void
die(struct demo *d)
{
	out_flush(d, true);
	raise(SIGKILL);
}

/* Makes the effect, or finds that it was made; false: the call has ended. */
static bool
make_effect(struct demo *d, struct call *c)
{
	const struct ledger_key *k = NULL;
	bool keyed = c->fn->meta != NULL && c->key != NULL;
	char *kept = NULL;

	ledger_lock(d->ledger);
	if (keyed)
		k = ledger_look(d->ledger, c->key);
	if (k != NULL && k->answer != NULL)
		kept = mem_strdup(k->answer);
	else
		ledger_keep(d->ledger, "effect", c->key, c->fn->name,
		    buf_at(&c->found));
	ledger_unlock(d->ledger);
	if (kept == NULL)
		return true;
	answer_kept(d, c, kept);
	free(kept);
	return false;
}

/* Once under a key, so that the attempt after it gets through. */
static bool
crash_before_is_due(struct demo *d, struct call *c)
{
	bool first = true;

	if (c->word[WORD_CRASH] != 'b')
		return false;
	if (c->key == NULL)
		return true;
	ledger_lock(d->ledger);
	if (ledger_look(d->ledger, c->key)->faults > 0)
		first = false;
	else
		ledger_keep(d->ledger, "fault", c->key, c->fn->name, NULL);
	ledger_unlock(d->ledger);
	return first;
}

void
fn_write_tick(struct demo *d, struct call *c)
{
	if (c->step == STEP_BEFORE) {
		if (crash_before_is_due(d, c))
			die(d);
		if (!make_effect(d, c))
			return;
		if (c->word[WORD_CRASH] == 'a')
			die(d);
		c->step = STEP_AFTER;
		call_wait(c, c->every);
		return;
	}
	if (c->word[WORD_SILENT] != 's')
		call_text(d, c, "%s", buf_at(&c->found));
}

/* What is made stays made: then the answer comes, late. */
void
fn_write_cancel(struct demo *d, struct call *c)
{
	if (c->step == STEP_BEFORE || c->word[WORD_SILENT] == 's')
		call_drop(d, c);
}

static void
begin(struct demo *d, struct call *c, struct span before)
{
	buf_putc(&c->found, '\0');
	c->step = STEP_BEFORE;
	call_wait(c, before);
}

void
fn_write(struct demo *d, struct call *c)
{
	static const char *const words[] = {"never", "before", "after", NULL};
	struct json_value v = call_value(c, "value");
	struct span before = call_ms(c, "before_ms", 0);
	bool silent = call_bool(c, "silent", false);

	c->every = call_ms(c, "after_ms", 0);
	c->word[WORD_CRASH] = call_word(c, "crash", words)[0];
	c->word[WORD_SILENT] = silent ? 's' : 'a';
	if (call_refused(d, c))
		return;
	buf_puts(&c->found, "wrote ");
	if (json_is(v, JSON_NONE))
		buf_puts(&c->found, "nothing");
	else
		buf_put(&c->found, v.p, v.len < 1024 ? v.len : 1024);
	begin(d, c, before);
}

void
fn_append(struct demo *d, struct call *c)
{
	fn_write(d, c);
}

void
fn_charge(struct demo *d, struct call *c)
{
	int64_t amount = call_int(c, "amount", 0, 1, 100000000);
	struct json_value order = call_value(c, "order_id");

	if (!json_is(order, JSON_STRING) || order.len > 130)
		c->fault = "order_id";
	else if (json_is(call_value(c, "amount"), JSON_NONE))
		c->fault = "amount";
	if (call_refused(d, c))
		return;
	buf_printf(&c->found, "charged %" PRId64 " for %.*s", amount,
	    (int)order.len, order.p);
	begin(d, c, SPAN_MS(0));
}

void
fn_effects(struct demo *d, struct call *c)
{
	struct buf b = {0}, list = {0};
	struct jsonw w;

	ledger_effects(d->ledger, &list);
	jsonw_init(&w, &b);
	jsonw_object(&w, NULL);
	jsonw_raw(&w, "effects", buf_at(&list), buf_len(&list));
	jsonw_object_end(&w);
	call_json(d, c, &b);
	buf_free(&b);
	buf_free(&list);
}
