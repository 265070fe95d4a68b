/*
 * Answers that come after the cancel: dropped and traced, never delivered
 * (LIFECYCLE L1.5).  While the attempt is being stopped they end it; after its
 * stop was not confirmed they change nothing, and what the server did stands.
 * Runs in oz0d.
 */
#include <inttypes.h>

#include "base/log.h"
#include "supervisor/call_internal.h"

bool
attempt_is_answer(const struct attempt_end *e)
{
	return e->how != WIRE_END_SERVER && e->how != WIRE_END_CANCELED;
}

static const char *
answer_words(const struct attempt_end *e)
{
	if (e->how != WIRE_END_RESULT)
		return "an error";
	return e->is_error ? "an error result" : "a result";
}

/* L1.10: made when a result came late, unless it says that it was not. */
static bool
says_made(const struct attempt_end *e)
{
	return e->how == WIRE_END_RESULT && !attempt_is_busy(e);
}

void
attempt_answer_dropped(
    struct supervisor *s, struct attempt *a, const struct attempt_end *e)
{
	struct step *st = step_new(s, STEP_LATE_ANSWER, a->call->job->name);

	step_call(st, a->call);
	jsonw_uint(step_json(st), "attempt", a->number);
	step_text(st, "attempt %u: %s came after the cancel and is dropped",
	    a->number, answer_words(e));
	step_commit(st);
	a->answered_late = says_made(e);
}

/* The call, where the attempt is its last and another may still follow. */
static struct call *
waiting_call(struct supervisor *s, const struct attempt_late *l)
{
	struct call key = { .number = l->call };
	struct call *c = RB_FIND(call_tree, &s->calls, &key);

	return c == NULL || call_state_ended(c->state) || c->attempt != NULL
		|| c->attempts != l->number
	    ? NULL
	    : c;
}

void
attempt_answered_late(struct supervisor *s, const struct attempt_late *l,
    const struct attempt_end *e)
{
	struct job *j = job_find(s, l->job);
	struct record facts = { .type = REC_STEP };
	struct call *c = waiting_call(s, l);
	struct step *st;

	if (!attempt_is_answer(e))
		return;
	/* Forgotten, and its name maybe another job's by now. */
	if (j == NULL || l->call <= j->after_call) {
		log_info("c%" PRIu64 ", attempt %u: answered after its stop "
			 "was not confirmed; its job is forgotten",
		    l->call, l->number);
		return;
	}
	st = step_new(s, STEP_LATE_ANSWER, j->name);
	step_call_number(st, l->call);
	jsonw_uint(step_json(st), "attempt", l->number);
	jsonw_string(step_json(st), "stopped",
	    call_stopped_name(STOPPED_NOT_CONFIRMED));
	if (c != NULL && says_made(e)) {
		c->outcome = OUTCOME_MADE;
		call_state_facts(c, &facts);
		jsonw_string(
		    step_json(st), "outcome", call_outcome_name(c->outcome));
	}
	step_text(st,
	    "attempt %u: %s came after its stop was not confirmed and is "
	    "dropped; %s",
	    l->number, answer_words(e),
	    says_made(e)	 ? "its effect stands"
		: attempt_is_busy(e) ? "nothing was made"
				     : "whether it was made is not known");
	step_commit_facts(st, &facts);
}
