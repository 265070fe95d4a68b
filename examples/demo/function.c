/*
 * The table of functions and its listing.  Annotations and _meta are true: a
 * node that believes them does no harm.  Where there are none, a call is not
 * to be made again.
 */
#include "examples/demo/function.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NUMBER(name, text)                                                     \
	"\"" name "\":{\"type\":\"number\",\"minimum\":0,"                     \
	"\"description\":\"" text "\"}"
#define INTEGER(name, text)                                                    \
	"\"" name "\":{\"type\":\"integer\",\"description\":\"" text "\"}"
#define SWITCH(name, text)                                                     \
	"\"" name "\":{\"type\":\"boolean\",\"description\":\"" text "\"}"
#define TEXT(name, text)                                                       \
	"\"" name "\":{\"type\":\"string\",\"description\":\"" text "\"}"
#define ANY(name, text) "\"" name "\":{\"description\":\"" text "\"}"
#define LIST(name, text)                                                       \
	"\"" name "\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"    \
	"\"description\":\"" text "\"}"
#define ONE_OF(name, words)                                                    \
	"\"" name "\":{\"type\":\"string\",\"enum\":[" words "]}"

/* It only reads. */
#define READS "{\"readOnlyHint\":true,\"openWorldHint\":false}"
/* It writes; made again under its key it has no further effect. */
#define KEYED                                                                  \
	"{\"readOnlyHint\":false,\"destructiveHint\":false,"                   \
	"\"idempotentHint\":true,\"openWorldHint\":false}"
/* It adds something each time. */
#define ADDS                                                                   \
	"{\"readOnlyHint\":false,\"destructiveHint\":false,"                   \
	"\"idempotentHint\":false,\"openWorldHint\":false}"
/* It harms: the server itself. */
#define HARMS                                                                  \
	"{\"readOnlyHint\":false,\"destructiveHint\":true,"                    \
	"\"idempotentHint\":false,\"openWorldHint\":false}"
#define HONOURS "{\"oz0/idempotency_key\":true}"

/* A row is read down its lines. */
/* clang-format off */
static const struct function functions[] = {
	{ "echo", "Its arguments, byte for byte, as text and as structure",
	    "",
	    NULL, READS, NULL,
	    fn_echo, NULL, NULL },
	{ "sleep", "Answers after some seconds; many may sleep at once",
	    NUMBER("seconds", "how long") ","
	    ONE_OF("on_cancel", "\"silent\",\"error\",\"result\""),
	    NULL, READS, NULL,
	    fn_sleep, fn_sleep_tick, fn_sleep_cancel },
	{ "block", "Stops the whole process for some seconds, deaf to cancel",
	    NUMBER("seconds", "how long"),
	    NULL, READS, NULL,
	    fn_block, NULL, NULL },
	{ "deaf", "Does not read stdin for some seconds; sleepers still wake",
	    NUMBER("seconds", "how long"),
	    NULL, READS, NULL,
	    fn_deaf, fn_sleep_tick, NULL },
	{ "late", "Answers only after its cancel, so many ms later",
	    INTEGER("ms", "after the cancel"),
	    NULL, READS, NULL,
	    fn_late, fn_late_tick, fn_late_cancel },
	{ "count", "Steps of some ms each, with progress",
	    INTEGER("steps", "how many") ","
	    INTEGER("ms", "of each"),
	    NULL, READS, NULL,
	    fn_count, fn_count_tick, NULL },
	{ "progress", "Progress as it should not be, then an answer",
	    ONE_OF("kind",
		"\"backwards\",\"same\",\"huge\",\"nan\",\"string\","
		"\"unknown_token\",\"string_token\",\"no_token\","
		"\"after\",\"resume\""),
	    NULL, READS, NULL,
	    fn_progress, NULL, NULL },
	{ "read", "A constant text",
	    "",
	    NULL, READS, NULL,
	    fn_read, NULL, NULL },
	{ "write", "Records a value once per idempotency key",
	    ANY("value", "what to record") ","
	    INTEGER("before_ms", "wait before the effect") ","
	    INTEGER("after_ms", "wait between effect and answer") ","
	    ONE_OF("crash", "\"never\",\"before\",\"after\"") ","
	    SWITCH("silent", "never answer an effect made just now"),
	    NULL, KEYED, HONOURS,
	    fn_write, fn_write_tick, fn_write_cancel },
	{ "charge", "Charges an order once per idempotency key",
	    TEXT("order_id", "which order") ","
	    INTEGER("amount", "in cents"),
	    "[\"order_id\",\"amount\"]", KEYED, HONOURS,
	    fn_charge, fn_write_tick, fn_write_cancel },
	{ "append", "Records a value each time it is called",
	    ANY("value", "what to record") ","
	    INTEGER("before_ms", "wait before the effect") ","
	    INTEGER("after_ms", "wait between effect and answer"),
	    NULL, ADDS, NULL,
	    fn_append, fn_write_tick, fn_write_cancel },
	{ "effects", "What write, charge and append have done",
	    "",
	    NULL, READS, NULL,
	    fn_effects, NULL, NULL },
	{ "busy", "Busy so many times under a key, then done once",
	    INTEGER("times", "busy answers under one key") ","
	    ANY("retry_after", "as oz0/retry_after says it") ","
	    ANY("retryable", "as oz0/retryable says it; true"),
	    NULL, KEYED, HONOURS,
	    fn_busy, NULL, NULL },
	{ "flaky", "Fails so many times under a key, then done once",
	    INTEGER("times", "failures under one key") ","
	    ONE_OF("how",
		"\"error\",\"result\",\"exit\",\"hang\",\"bad_json\"") ","
	    INTEGER("code", "of the JSON-RPC error, or of the exit"),
	    NULL, KEYED, HONOURS,
	    fn_flaky, NULL, NULL },
	{ "crash", "Ends the server",
	    INTEGER("signal", "by this signal") ","
	    INTEGER("code", "with this exit code") ","
	    INTEGER("ms", "after this time") ","
	    ONE_OF("when", "\"before\",\"after\",\"partial\""),
	    NULL, HARMS, NULL,
	    fn_crash, fn_crash_tick, NULL },
	{ "flood", "Writes much that is no answer, then answers",
	    ONE_OF("to",
		"\"stdout\",\"stderr\",\"notifications\",\"endless\"") ","
	    INTEGER("bytes", "how much; 0 without an end"),
	    NULL, READS, NULL,
	    fn_flood, fn_flood_tick, NULL },
	{ "fork", "Starts processes that outlive the server; gives their pids",
	    INTEGER("children", "how many") ","
	    NUMBER("seconds", "how long each lives") ","
	    SWITCH("setsid", "in sessions of their own; true") ","
	    SWITCH("hold", "keep stdin, stdout and stderr open; true") ","
	    SWITCH("ignore_sigterm", "true"),
	    NULL, ADDS, NULL,
	    fn_fork, NULL, NULL },
	{ "twice", "Answers the same request twice",
	    "",
	    NULL, READS, NULL,
	    fn_twice, NULL, NULL },
	{ "odd_id", "Answers under an id that is not quite the request's",
	    ONE_OF("as",
		"\"string\",\"float\",\"null\",\"none\",\"other\""),
	    NULL, READS, NULL,
	    fn_odd_id, NULL, NULL },
	{ "error", "Answers with a JSON-RPC error",
	    INTEGER("code", "of the error") ","
	    TEXT("message", "of it"),
	    NULL, READS, NULL,
	    fn_error, NULL, NULL },
	{ "bad_json", "Answers with a line that is no JSON",
	    SWITCH("answer", "and then with a good one"),
	    NULL, READS, NULL,
	    fn_bad_json, NULL, NULL },
	{ "bad_utf8", "Answers with bytes that are no UTF-8",
	    SWITCH("answer", "and then with a good one"),
	    NULL, READS, NULL,
	    fn_bad_utf8, NULL, NULL },
	{ "raw", "Writes these bytes to stdout as they are, then answers",
	    TEXT("text", "the bytes") ","
	    TEXT("hex", "or in hex"),
	    NULL, READS, NULL,
	    fn_raw, NULL, NULL },
	{ "big", "A result whose text has so many bytes",
	    INTEGER("bytes", "how many"),
	    NULL, READS, NULL,
	    fn_big, NULL, NULL },
	{ "ask", "Sends requests to its client; says what was answered",
	    LIST("methods", "which; ping, roots/list, sampling") ","
	    INTEGER("ms", "how long to wait for answers"),
	    NULL, READS, NULL,
	    fn_ask, fn_ask_tick, NULL },
	{ "list_changed", "Adds a function to the listing and says so",
	    INTEGER("times", "how often to say so"),
	    NULL, ADDS, NULL,
	    fn_list_changed, NULL, NULL },
	{ "input_required", "Needs some rounds with its client (2026-07-28)",
	    INTEGER("rounds", "how many") ","
	    SWITCH("ask", "for input of a person"),
	    NULL, READS, NULL,
	    fn_input_required, NULL, NULL },
	{ "env", "How the server sees its process: environment, descriptors",
	    "",
	    NULL, READS, NULL,
	    fn_env, NULL, NULL },
	{ "file", "Reads a file, a folder or a link, or says why it cannot",
	    TEXT("path", "which"),
	    "[\"path\"]", READS, NULL,
	    fn_file, NULL, NULL },
};
/* clang-format on */

#define NFUNCTIONS ((int64_t)(sizeof(functions) / sizeof(functions[0])))

const struct function *
function_find(const struct demo *d, struct json_value name)
{
	char word[64];
	int64_t n;
	int end = 0;

	for (int64_t i = 0; i < NFUNCTIONS; i++)
		if (json_string_is(name, functions[i].name))
			return &functions[i];
	if (json_to_string(name, word, sizeof(word)) &&
	    sscanf(word, "added_%" SCNd64 "%n", &n, &end) == 1 &&
	    word[end] == '\0' && n >= 1 && n <= d->added)
		return &functions[0];
	return NULL;
}

static void
list_one(const struct demo *d, struct jsonw *w, int64_t i)
{
	const struct function *f = &functions[i < NFUNCTIONS ? i : 0];

	jsonw_object(w, NULL);
	if (i < NFUNCTIONS)
		jsonw_string(w, "name", f->name);
	else
		jsonw_stringf(w, "name", "added_%" PRId64, i - NFUNCTIONS + 1);
	jsonw_string(w, "description", f->description);
	jsonw_object(w, "inputSchema");
	jsonw_string(w, "type", "object");
	jsonw_object(w, "properties");
	buf_puts(w->out, f->properties);
	jsonw_object_end(w);
	if (f->required != NULL)
		jsonw_raw(w, "required", f->required, strlen(f->required));
	jsonw_object_end(w);
	if (f->annotations != NULL && !d->opt.no_hints)
		jsonw_raw(
		    w, "annotations", f->annotations, strlen(f->annotations));
	if (f->meta != NULL && !d->opt.no_hints)
		jsonw_raw(w, "_meta", f->meta, strlen(f->meta));
	jsonw_object_end(w);
}

bool
function_cursor(
    const struct demo *d, struct json_value cursor, int64_t *ret_from)
{
	int64_t from = 0;
	char word[32];
	int end = 0;

	if (!json_is(cursor, JSON_NONE) &&
	    (!json_to_string(cursor, word, sizeof(word)) ||
		sscanf(word, "from-%" SCNd64 "%n", &from, &end) != 1 ||
		word[end] != '\0' || from < 0 || from > NFUNCTIONS + d->added))
		return false;
	*ret_from = from;
	return true;
}

void
function_list(const struct demo *d, int64_t from, struct jsonw *w)
{
	int64_t all = NFUNCTIONS + d->added, to = all;

	if (d->opt.page_size > 0 && all - from > d->opt.page_size)
		to = from + d->opt.page_size;
	jsonw_array(w, "tools");
	for (int64_t i = from; i < to; i++)
		list_one(d, w, i);
	jsonw_array_end(w);
	if (to < all)
		jsonw_stringf(w, "nextCursor", "from-%" PRId64, to);
}
