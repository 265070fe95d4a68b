/*
 * How calls are shown: the answer of call/start and the members of
 * `oz0 --json status CALL` (INTERFACES, Names in JSON).
 */
#include "base/blob.h"
#include "supervisor/call_internal.h"

static const char *const reason_names[] = {
	[REASON_NONE] = "",
	[REASON_TIMEOUT] = "timeout",
	[REASON_CALL_TIMEOUT] = "call_timeout",
	[REASON_SERVER_ENDED] = "server_ended",
	[REASON_SERVER_START] = "server_start",
	[REASON_BAD_ANSWER] = "bad_answer",
	[REASON_TOO_LARGE] = "too_large",
	[REASON_INPUT_REQUIRED] = "input_required",
	[REASON_RPC_ERROR] = "rpc_error",
	[REASON_TRANSPORT] = "transport",
	[REASON_HTTP] = "http",
	[REASON_WORKER_ENDED] = "worker_ended",
	[REASON_REFUSED] = "refused",
	[REASON_KILLED] = "killed",
	[REASON_APPROVAL_NEEDED] = "approval_needed",
	[REASON_DENIED] = "denied",
	[REASON_CANCELED] = "canceled",
	[REASON_LOST] = "lost",
	[REASON_UNKNOWN_FUNCTION] = "unknown_function",
	[REASON_NODE_FULL] = "node_full",
	[REASON_INTERNAL] = "internal",
};

const char *
call_reason_name(enum call_reason r)
{
	return reason_names[r];
}

const char *
call_outcome_words(enum call_outcome o)
{
	switch (o) {
	case OUTCOME_MADE:
		return "it was made";
	case OUTCOME_NOT_MADE:
		return "nothing was made";
	case OUTCOME_UNKNOWN:
	case OUTCOME_NONE:
		break;
	}
	return "whether it was made is not known";
}

static void
write_head(const struct call *c, struct jsonw *w)
{
	jsonw_id(w, "call", 'c', c->number);
	jsonw_string(w, "job", c->job->name);
	jsonw_uint(w, "run", c->run);
	if (c->session != 0)
		jsonw_uint(w, "session", c->session);
	jsonw_string(w, "function", c->function);
	jsonw_string(w, "state", call_state_name(c->state));
	jsonw_string(w, "key", c->key);
	jsonw_uint(w, "attempts", c->attempts);
	if (call_state_ended(c->state)) {
		jsonw_string(w, "outcome", call_outcome_name(c->outcome));
		jsonw_string(w, "stopped", call_stopped_name(c->stopped));
	}
}

struct blob *
call_answer_begin(const struct call *c, struct jsonw *w)
{
	jsonw_object(w, NULL);
	write_head(c, w);
	if (c->evicted)
		jsonw_bool(w, "evicted", true);
	if (c->large != NULL) {
		buf_puts(w->out, "," ANSWER_RESULT);
	} else if (c->answer != NULL && c->answer_len != 0) {
		/* The members as they were recorded; one comma before. */
		buf_putc(w->out, ',');
		buf_put(w->out, c->answer, c->answer_len);
	}
	return c->large;
}

void
call_answer_end(struct jsonw *w)
{
	jsonw_object_end(w);
}

void
call_write_answer(const struct call *c, struct jsonw *w)
{
	const struct blob *large = call_answer_begin(c, w);

	if (large != NULL)
		buf_put(w->out, blob_at(large), blob_len(large));
	call_answer_end(w);
}

void
call_write(const struct call *c, struct jsonw *w)
{
	write_head(c, w);
	jsonw_string(w, "activity", c->activity);
	if (c->has_progress) {
		jsonw_double(w, "progress", c->progress);
		if (c->has_total)
			jsonw_double(w, "total", c->total);
	}
	if (c->reason != REASON_NONE)
		jsonw_string(w, "reason", call_reason_name(c->reason));
	if (c->state == CALL_WAITING_APPROVAL)
		jsonw_uint(w, "rule", c->asked_number);
	if (c->state == CALL_CANCELLING)
		jsonw_string(
		    w, "stop_reason", call_reason_name(c->stop_reason));
	if (c->evicted)
		jsonw_bool(w, "evicted", true);
}
