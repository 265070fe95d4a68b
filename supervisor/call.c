/*
 * Calls: accepting one under its key, joining the one that holds the key
 * already (LIFECYCLE L2.2), finding, cancelling and freeing them.
 */
#include "supervisor/call.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "supervisor/call_internal.h"
#include "supervisor/key.h"
#include "supervisor/policy_gate.h"
#include "supervisor/process.h"

int
call_compare(const struct call *a, const struct call *b)
{
	return a->number < b->number ? -1 : a->number > b->number;
}
RB_GENERATE(call_tree, call, by_number, call_compare);

/* FNV-1a: it makes comparing short, and need not withstand anybody: names of
 * one hash are told apart, and a tree stays balanced whatever they are. */
static uint64_t
hash(const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *name != '\0'; name++)
		h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return h;
}

int
activity_compare(const struct call *a, const struct call *b)
{
	/* by their hash first: names of many calls lie in many places */
	if (a->activity_hash != b->activity_hash)
		return a->activity_hash < b->activity_hash ? -1 : 1;
	if (a->run != b->run)
		return a->run < b->run ? -1 : 1;
	return strcmp(a->activity, b->activity);
}
RB_GENERATE(activity_tree, call, by_activity, activity_compare);

void
call_set(struct call *c, enum call_event ev, const char *why)
{
	const char *rule;
	enum call_state next = call_table_next(c->state, ev, &rule);

	if (next == 0) {
		log_error("internal fault: call c%" PRIu64 " is %s and cannot "
			  "%s",
		    c->number, call_state_name(c->state), call_event_name(ev));
		abort();
	}
	log_debug("c%" PRIu64 ": %s -> %s, %s (%s)", c->number,
	    call_state_name(c->state), call_state_name(next), why, rule);
	c->state = next;
}

/*
 * An attempt that was not made says nothing of those before it: `not_made`
 * (exit code 5; a key's number given back, L2.3) is said of a call only when
 * it is true of each of its attempts (L1.10).
 */
enum call_outcome
call_outcome(const struct call *c, enum call_outcome last)
{
	return last == OUTCOME_NOT_MADE && c->may_be_made ? OUTCOME_UNKNOWN
							  : last;
}

void
call_state_facts(const struct call *c, struct record *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->type = REC_CALL_STATE;
	ret->u.call_state = (struct rec_call_state) {
		.call = c->number,
		.state = (uint8_t)c->state,
		.attempts = c->attempts,
		.outcome = (uint8_t)call_outcome(c, c->outcome),
		.has_progress = c->has_progress,
		.has_total = c->has_total,
		.progress = c->progress,
		.total = c->total,
		.repeatable = c->repeatable,
	};
}

struct call *
call_find(struct supervisor *s, const char *name)
{
	struct call key = { .number = 0 };

	if (!str_is_call_name(name, &key.number))
		return NULL;
	return RB_FIND(call_tree, &s->calls, &key);
}

/* ---- joining ---- */

static struct call *
find_activity(struct job *j, const char *activity)
{
	struct call key;

	key.run = j->run;
	key.activity = (char *)(uintptr_t)activity;
	key.activity_hash = hash(activity);
	return RB_FIND(activity_tree, &j->activities, &key);
}

/* L2.2, last sentence. */
static bool
made_again(const struct call *c)
{
	return c->state == CALL_LOST &&
	    (c->repeatable || c->outcome == OUTCOME_NOT_MADE);
}

/*
 * What ended lost is made again under the same key (L2.2): whatever that has
 * made counts for the outcome of the call that follows it.
 */
struct call *
call_hold_activity(struct job *j, struct call *c)
{
	struct call *lost = RB_INSERT(activity_tree, &j->activities, c);

	c->holds_activity = true;
	if (lost == NULL)
		return NULL;
	RB_REMOVE(activity_tree, &j->activities, lost);
	lost->holds_activity = false;
	c->repeatable = lost->repeatable;
	c->may_be_made = lost->outcome != OUTCOME_NOT_MADE;
	RB_INSERT(activity_tree, &j->activities, c);
	return lost;
}

enum joining { JOIN_NEW, JOIN_JOINED, JOIN_REFUSED };

static enum joining
try_join(struct supervisor *s, const struct call_start *p, const char *digest,
    struct call **ret, struct fault *f)
{
	struct call *c;

	if (p->activity == NULL)
		return JOIN_NEW;
	c = find_activity(p->job, p->activity);
	if (c == NULL)
		return JOIN_NEW;
	if (strcmp(c->function, p->function) != 0 ||
	    strcmp(c->digest, digest) != 0) {
		fault_set(f, FAULT_BUSY_ACTIVITY,
		    "activity %s of job %s is the call c%" PRIu64 " of %s with "
		    "other %s; name another activity",
		    p->activity, p->job->name, c->number, c->function,
		    strcmp(c->function, p->function) != 0 ? "function"
							  : "arguments");
		return JOIN_REFUSED;
	}
	if (made_again(c))
		return JOIN_NEW;
	*ret = c;
	return JOIN_JOINED;
}

/* ---- admission ---- */

static bool
split_function(const char *function, char *tool, size_t size)
{
	const char *dot = strchr(function, '.');
	size_t n = dot != NULL ? (size_t)(dot - function) : 0;

	if (n == 0 || n >= size || dot[1] == '\0')
		return false;
	memcpy(tool, function, n);
	tool[n] = '\0';
	return str_is_tool_name(tool);
}

static bool
may_take(struct supervisor *s, const struct job *j, struct fault *f)
{
	const char *why = record_refuses(s);

	if (s->state == NODE_DRAINING || s->state == NODE_STOPPING)
		return fault_set(f, FAULT_DRAINING, "node %s is draining",
		    s->conf->node);
	if (j->state != JOB_RUNNING || j->ending != 0) {
		fault_set(f, FAULT_ALREADY_ENDED, "job %s is %s%s", j->name,
		    job_state_name(j->state),
		    j->state == JOB_LOST ? ": start it again to go on"
			: j->ending != 0 ? " and takes nothing new"
					 : "");
		str_copy(f->state, sizeof(f->state), job_state_name(j->state));
		return false;
	}
	if (s->queued >= s->conf->queue)
		return fault_set(f, FAULT_NODE_FULL,
		    "%u calls are queued, the node's `queue` is %u; call "
		    "again later, or raise it",
		    s->queued, s->conf->queue);
	if (s->payload_bytes >= s->conf->message_budget)
		return fault_set(f, FAULT_NODE_FULL,
		    "calls hold %zu bytes, the node's `message_budget` is "
		    "%" PRIu64 "; call again later, or raise it",
		    s->payload_bytes, s->conf->message_budget);
	if (mem_low() && !mem_recover())
		return fault_set(f, FAULT_NODE_FULL, "node %s is out of memory",
		    s->conf->node);
	if (why != NULL)
		return fault_set(f, FAULT_NODE_FULL, "%s", why);
	return true;
}

/* The session that the call runs in; one of a plugin may have none. */
static bool
choose_session(struct supervisor *s, const struct call_start *p,
    const struct tool *t, struct session **ret, struct fault *f)
{
	struct session_open open = { .number = p->session,
		.peer_uid = p->peer_uid,
		.peer_admin = p->peer_admin };
	struct session *ss;

	*ret = NULL;
	if (p->session == 0 && t->conf->kind != CONF_JOB)
		return true;
	if (open.number == 0)
		open.number = 1;
	ss = session_find(p->job, open.number);
	if (ss == NULL && p->session == 0) {
		if (!session_open(s, p->job, &open, &ss, f))
			return false;
	} else if (ss == NULL || ss->state != SESSION_OPEN) {
		/* Session 1 is opened if need be; one that is named is not. */
		if (p->session == 0 && ss != NULL &&
		    ss->state != SESSION_CLOSING) {
			if (!session_open(s, p->job, &open, &ss, f))
				return false;
		} else {
			return fault_set(f, FAULT_UNKNOWN_SESSION,
			    "session %" PRIu32 " of job %s is %s; open it "
			    "first",
			    open.number, p->job->name,
			    ss == NULL ? "not open"
				       : session_state_name(ss->state));
		}
	}
	if (t->conf->kind == CONF_JOB && !session_has_tool(ss, t->name))
		return fault_set(f, FAULT_NOT_ALLOWED,
		    "session %" PRIu32 " of job %s was opened without the "
		    "tool %s",
		    open.number, p->job->name, t->name);
	*ret = ss;
	return true;
}

static char *
append(char **at, const char *s, size_t size)
{
	char *copy = memcpy(*at, s, size);

	*at += size;
	return copy;
}

struct call *
call_new(uint64_t number, const char *activity, const char *key,
    const char *function)
{
	size_t nactivity = strlen(activity) + 1, nkey = strlen(key) + 1;
	size_t nfunction = strlen(function) + 1;
	struct call *c =
	    mem_alloc(sizeof(*c) + nactivity + nkey + nfunction);
	char *names = (char *)(c + 1);

	memset(c, 0, sizeof(*c));
	c->number = number;
	c->activity = append(&names, activity, nactivity);
	c->activity_hash = hash(activity);
	c->key = append(&names, key, nkey);
	c->function = append(&names, function, nfunction);
	c->bare = strchr(c->function, '.') + 1;
	c->state = CALL_QUEUED;
	TAILQ_INIT(&c->waiters);
	TAILQ_INIT(&c->watchers);
	deadline_init(&c->retry, call_retry_due, c);
	deadline_init(&c->limit, call_limit_due, c);
	c->limit_at = MONO_NEVER;
	return c;
}

static struct call *
begin(struct supervisor *s, const struct call_start *p, struct tool *t,
    const char *digest)
{
	char made_up[35] = "h-", key[KEY_PLAIN_SIZE];
	const char *activity = p->activity;
	struct call *c;

	if (activity == NULL) {
		str_random_hex(made_up + 2, 16);
		activity = made_up;
	}
	key_plain(key, p->job->name, p->job->run, activity);
	c = call_new(++s->last_call, activity, key, p->function);
	c->job = p->job;
	c->run = p->job->run;
	c->tool = t;
	c->conf = conf_tool_ref(t->conf);
	str_copy(c->digest, sizeof(c->digest), digest);
	c->made_up = p->activity == NULL;
	c->arguments_len = p->arguments != NULL ? p->arguments_len : 0;
	c->arguments = mem_dup(p->arguments, c->arguments_len);
	s->payload_bytes += c->arguments_len;
	c->traceparent = mem_strdup(p->traceparent);
	c->timeout = c->conf->timeout;
	if (p->has_timeout)
		c->timeout = span_min(c->timeout, p->timeout);
	c->call_timeout = c->conf->call_timeout;
	c->want_progress = p->want_progress;
	if (p->prior != NULL) {
		c->has_prior = c->has_progress = true;
		c->progress = p->prior->progress;
		c->has_total = p->prior->has_total;
		c->total = p->prior->total;
	}
	return c;
}

/* `lost`: the call that it makes again under its key (L2.2), or NULL. */
static void
record_accepted(struct supervisor *s, struct call *c, const struct call *lost)
{
	struct record facts = { .type = REC_CALL };
	struct step *st = step_new(s, STEP_CALL_ACCEPTED, c->job->name);
	struct buf *b;

	facts.u.call = (struct rec_call) { .call = c->number,
		.job = c->job->name,
		.run = c->run,
		.session = c->session,
		.activity = c->activity,
		.function = c->function,
		.digest = c->digest,
		.key = c->key,
		.repeatable = c->repeatable };
	step_call(st, c);
	jsonw_string(step_json(st), "function", c->function);
	jsonw_string(step_json(st), "key", c->key);
	if (c->session != 0)
		jsonw_uint(step_json(st), "session", c->session);
	jsonw_string(step_json(st), "traceparent", c->traceparent);
	if (lost != NULL)
		jsonw_id(step_json(st), "follows", 'c', lost->number);
	b = step_words(st);
	buf_puts(b, "call c");
	buf_put_uint(b, c->number);
	buf_puts(b, " of ");
	buf_puts(b, c->function);
	buf_puts(b, lost == NULL ? " accepted under the key "
				 : " accepted again under the key ");
	buf_puts(b, c->key);
	if (lost != NULL)
		buf_printf(b, "; c%" PRIu64 " was lost and %s", lost->number,
		    call_outcome_words(lost->outcome));
	step_commit_facts(st, &facts);
}

bool
call_start(struct supervisor *s, const struct call_start *p, struct call **ret,
    struct fault *f)
{
	char tool_name[65], digest[CANON_DIGEST_LEN];
	struct json_value arguments = { JSON_NONE, NULL, 0 };
	struct session *ss;
	struct tool *t;
	struct call *c, *lost;

	if (p->arguments != NULL)
		arguments = (struct json_value) { JSON_OBJECT, p->arguments,
			p->arguments_len };
	canon_digest(arguments, digest);
	switch (try_join(s, p, digest, ret, f)) {
	case JOIN_JOINED:
		return true;
	case JOIN_REFUSED:
		return false;
	case JOIN_NEW:
		break;
	}
	if (!may_take(s, p->job, f))
		return false;
	if (!split_function(p->function, tool_name, sizeof(tool_name)))
		return fault_set(f, FAULT_UNKNOWN_TOOL,
		    "%s is no TOOL.FUNCTION", p->function);
	t = tool_find(s, tool_name);
	if (t == NULL || t->gone)
		return fault_set(f, FAULT_UNKNOWN_TOOL,
		    "no tool %s is configured on node %s", tool_name,
		    s->conf->node);
	if (!choose_session(s, p, t, &ss, f))
		return false;

	c = begin(s, p, t, digest);
	c->session = ss != NULL ? ss->number : 0;
	c->server = server_get(s, t, t->conf->kind == CONF_JOB ? ss : NULL);
	c->approved_rule = mem_strdup(job_approved(p->job, c->key));
	RB_INSERT(call_tree, &s->calls, c);
	lost = call_hold_activity(p->job, c);
	TAILQ_INSERT_TAIL(&p->job->calls, c, in_job);
	p->job->live++;
	s->queued++;
	record_accepted(s, c, lost);
	if (gate_ask(s, c, GATE_ADMIT) == GATE_GO)
		queue_put(s, c);
	*ret = c;
	return true;
}

/* ---- cancelling ---- */

void
call_stop(struct supervisor *s, struct call *c, enum call_reason reason)
{
	if (call_state_ended(c->state))
		return;
	if (c->attempt != NULL) {
		if (c->attempt->cancelling) {
			attempt_stop_cause(s, c->attempt, reason);
		} else {
			attempt_stop(s, c->attempt, reason,
			    c->conf->stop_timeout);
		}
		return;
	}
	if (reason == REASON_LOST)
		call_end_idle(s, c, CALL_EV_LOSE, REASON_LOST,
		    "the node stopped");
	else if (reason == REASON_KILLED)
		call_end_idle(s, c, CALL_EV_REFUSE, REASON_KILLED,
		    "the kill switch of its tool was set (oz0 unkill)");
	else
		call_end_idle(s, c, CALL_EV_CANCELED, REASON_CANCELED,
		    "canceled before it ran");
}

bool
call_cancel(struct supervisor *s, struct call *c, struct fault *f)
{
	if (call_state_ended(c->state)) {
		fault_set(f, FAULT_ALREADY_ENDED,
		    "call c%" PRIu64 " has ended: %s", c->number,
		    call_state_name(c->state));
		str_copy(f->state, sizeof(f->state), call_state_name(c->state));
		return false;
	}
	call_stop(s, c, REASON_CANCELED);
	return true;
}

void
call_free(struct supervisor *s, struct call *c)
{
	deadline_clear(s, &c->retry);
	call_limit_clear(s, c);
	queue_take(s, c);
	RB_REMOVE(call_tree, &s->calls, c);
	if (c->holds_activity)
		RB_REMOVE(activity_tree, &c->job->activities, c);
	TAILQ_REMOVE(&c->job->calls, c, in_job);
	if (c->made_up && call_state_ended(c->state)) {
		TAILQ_REMOVE(&c->job->made_up, c, in_made_up);
		c->job->nmade_up--;
	}
	conf_tool_unref(c->conf);
	s->payload_bytes -= c->arguments_len;
	answer_drop(s, c);
	free(c->asked_rule);
	free(c->approved_rule);
	free(c->arguments);
	free(c->traceparent);
	free(c);
}
