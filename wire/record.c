/*
 * Records: what each holds, put onto a buffer and read back.  The supervisor
 * puts them, oz0-journal reads them from the log and puts them again for a
 * recovery.  One table says how the facts of each type stand.
 */
#include "wire/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bounds of the strings of a record. */
#define MAX_NAME 128
#define MAX_TEXT 2048
#define MAX_BYTES ((size_t)16 << 20)

static const char *const job_words[] = { NULL, "RUNNING", "cancelling",
	"CANCELED", "COMPLETED", "FAILED", "LOST" };
static const char *const session_words[] = { NULL, "OPEN", "closing",
	"CLOSED", "LOST" };
static const char *const call_words[] = { NULL, "queued", "waiting_approval",
	"running", "waiting_retry", "cancelling", "completed", "failed",
	"refused", "canceled", "lost" };
static const char *const outcome_words[] = { NULL, "made", "not_made",
	"unknown" };
static const char *const stopped_words[] = { NULL, "server_gone", "answered",
	"not_confirmed" };

#define WORD(words, i) \
	((size_t)(i) < sizeof(words) / sizeof((words)[0]) ? (words)[i] : NULL)

const char *
job_state_name(enum job_state s)
{
	return WORD(job_words, s);
}

const char *
session_state_name(enum session_state s)
{
	return WORD(session_words, s);
}

const char *
call_state_name(enum call_state s)
{
	return WORD(call_words, s);
}

const char *
call_outcome_name(enum call_outcome o)
{
	return WORD(outcome_words, o);
}

const char *
call_stopped_name(enum call_stopped s)
{
	return WORD(stopped_words, s);
}

bool
job_state_ended(enum job_state s)
{
	return s == JOB_CANCELED || s == JOB_COMPLETED || s == JOB_FAILED;
}

bool
call_state_ended(enum call_state s)
{
	return s >= CALL_COMPLETED;
}

/* ---- node ---- */

static void
node_put(struct buf *b, const struct record *r)
{
	wire_put_str(b, r->u.node.boot_id);
	wire_put_u32(b, r->u.node.pid);
}

static void
node_get(struct wire_reader *in, struct record *r)
{
	r->u.node.boot_id = wire_get_new_str(in, MAX_NAME);
	r->u.node.pid = wire_get_u32(in);
}

static void
node_clear(struct record *r)
{
	free(r->u.node.boot_id);
}

/* ---- job ---- */

static void
job_put(struct buf *b, const struct record *r)
{
	const struct rec_job *j = &r->u.job;

	wire_put_str(b, j->job);
	wire_put_str(b, j->tenant);
	wire_put_u32(b, j->run);
	wire_put_u32(b, j->uid);
	wire_put_u8(b, j->state);
}

static void
job_get(struct wire_reader *in, struct record *r)
{
	struct rec_job *j = &r->u.job;

	j->job = wire_get_new_str(in, MAX_NAME);
	j->tenant = wire_get_new_str(in, MAX_TEXT);
	j->run = wire_get_u32(in);
	j->uid = wire_get_u32(in);
	j->state = wire_get_enum(in, JOB_RUNNING, JOB_LOST);
}

static void
job_clear(struct record *r)
{
	free(r->u.job.job);
	free(r->u.job.tenant);
}

/* ---- session ---- */

static void
session_put(struct buf *b, const struct record *r)
{
	const struct rec_session *s = &r->u.session;

	wire_put_str(b, s->job);
	wire_put_u32(b, s->run);
	wire_put_u32(b, s->session);
	wire_put_u8(b, s->state);
	wire_put_u8(b, s->restartable);
	wire_put_u8(b, s->harness);
}

static void
session_get(struct wire_reader *in, struct record *r)
{
	struct rec_session *s = &r->u.session;

	s->job = wire_get_new_str(in, MAX_NAME);
	s->run = wire_get_u32(in);
	s->session = wire_get_u32(in);
	s->state = wire_get_enum(in, SESSION_OPEN, SESSION_LOST);
	s->restartable = wire_get_bool(in);
	s->harness = wire_get_bool(in);
}

static void
session_clear(struct record *r)
{
	free(r->u.session.job);
}

/* ---- call ---- */

static void
call_put(struct buf *b, const struct record *r)
{
	const struct rec_call *c = &r->u.call;

	wire_put_u64(b, c->call);
	wire_put_str(b, c->job);
	wire_put_u32(b, c->run);
	wire_put_u32(b, c->session);
	wire_put_str(b, c->activity);
	wire_put_str(b, c->function);
	wire_put_str(b, c->digest);
	wire_put_str(b, c->key);
	wire_put_u8(b, c->repeatable);
}

static void
call_get(struct wire_reader *in, struct record *r)
{
	struct rec_call *c = &r->u.call;

	c->call = wire_get_u64(in);
	c->job = wire_get_new_str(in, MAX_NAME);
	c->run = wire_get_u32(in);
	c->session = wire_get_u32(in);
	c->activity = wire_get_new_str(in, MAX_TEXT);
	c->function = wire_get_new_str(in, MAX_TEXT);
	c->digest = wire_get_new_str(in, MAX_NAME);
	c->key = wire_get_new_str(in, MAX_TEXT);
	c->repeatable = wire_get_bool(in);
}

static void
call_clear(struct record *r)
{
	struct rec_call *c = &r->u.call;

	free(c->job);
	free(c->activity);
	free(c->function);
	free(c->digest);
	free(c->key);
}

/* ---- a call's state, and its end ---- */

static void
call_state_put(struct buf *b, const struct record *r)
{
	const struct rec_call_state *c = &r->u.call_state;

	wire_put_u64(b, c->call);
	wire_put_u8(b, c->state);
	wire_put_u32(b, c->attempts);
	wire_put_u8(b, c->outcome);
	wire_put_u8(b, c->has_progress);
	wire_put_u8(b, c->has_total);
	wire_put_f64(b, c->progress);
	wire_put_f64(b, c->total);
	wire_put_u8(b, c->repeatable);
}

static void
call_state_get(struct wire_reader *in, struct record *r)
{
	struct rec_call_state *c = &r->u.call_state;

	c->call = wire_get_u64(in);
	c->state = wire_get_enum(in, CALL_QUEUED, CALL_CANCELLING);
	c->attempts = wire_get_u32(in);
	c->outcome = wire_get_enum(in, OUTCOME_NONE, OUTCOME_UNKNOWN);
	c->has_progress = wire_get_bool(in);
	c->has_total = wire_get_bool(in);
	c->progress = wire_get_f64(in);
	c->total = wire_get_f64(in);
	c->repeatable = wire_get_bool(in);
}

static void
call_end_put(struct buf *b, const struct record *r)
{
	const struct rec_call_end *c = &r->u.call_end;

	wire_put_u64(b, c->call);
	wire_put_u8(b, c->state);
	wire_put_u8(b, c->outcome);
	wire_put_u8(b, c->stopped);
	wire_put_u8(b, c->evicted);
	wire_put_u32(b, c->attempts);
	wire_put_bytes(b, c->answer, c->answer_len);
}

static void
call_end_get(struct wire_reader *in, struct record *r)
{
	struct rec_call_end *c = &r->u.call_end;

	c->call = wire_get_u64(in);
	c->state = wire_get_enum(in, CALL_COMPLETED, CALL_LOST);
	c->outcome = wire_get_enum(in, OUTCOME_NONE, OUTCOME_UNKNOWN);
	c->stopped = wire_get_enum(in, STOPPED_NONE, STOPPED_NOT_CONFIRMED);
	c->evicted = wire_get_bool(in);
	c->attempts = wire_get_u32(in);
	c->answer = wire_get_bytes(in, MAX_BYTES, &c->answer_len);
}

/* ---- child, tool ---- */

static void
child_put(struct buf *b, const struct record *r)
{
	const struct rec_child *c = &r->u.child;

	wire_put_str(b, c->role);
	wire_put_str(b, c->boot_id);
	wire_put_u32(b, c->pid);
	wire_put_u64(b, c->start_time);
	wire_put_u8(b, c->born);
}

static void
child_get(struct wire_reader *in, struct record *r)
{
	struct rec_child *c = &r->u.child;

	c->role = wire_get_new_str(in, MAX_TEXT);
	c->boot_id = wire_get_new_str(in, MAX_NAME);
	c->pid = wire_get_u32(in);
	c->start_time = wire_get_u64(in);
	c->born = wire_get_bool(in);
}

static void
child_clear(struct record *r)
{
	free(r->u.child.role);
	free(r->u.child.boot_id);
}

static void
tool_put(struct buf *b, const struct record *r)
{
	wire_put_str(b, r->u.tool.tool);
	wire_put_u8(b, r->u.tool.killed);
}

static void
tool_get(struct wire_reader *in, struct record *r)
{
	r->u.tool.tool = wire_get_new_str(in, MAX_NAME);
	r->u.tool.killed = wire_get_bool(in);
}

static void
tool_clear(struct record *r)
{
	free(r->u.tool.tool);
}

/* ---- approval, forget ---- */

static void
approval_put(struct buf *b, const struct record *r)
{
	wire_put_str(b, r->u.approval.job);
	wire_put_str(b, r->u.approval.key);
	wire_put_str(b, r->u.approval.rule);
}

static void
approval_get(struct wire_reader *in, struct record *r)
{
	r->u.approval.job = wire_get_new_str(in, MAX_NAME);
	r->u.approval.key = wire_get_new_str(in, MAX_TEXT);
	r->u.approval.rule = wire_get_new_str(in, MAX_TEXT);
}

static void
approval_clear(struct record *r)
{
	free(r->u.approval.job);
	free(r->u.approval.key);
	free(r->u.approval.rule);
}

static void
forget_put(struct buf *b, const struct record *r)
{
	wire_put_str(b, r->u.forget.job);
}

static void
forget_get(struct wire_reader *in, struct record *r)
{
	r->u.forget.job = wire_get_new_str(in, MAX_NAME);
}

static void
forget_clear(struct record *r)
{
	free(r->u.forget.job);
}

/* ---- the whole record ---- */

/* How the facts of each type stand; REC_STEP has none. */
static const struct kind {
	void (*put)(struct buf *, const struct record *);
	void (*get)(struct wire_reader *, struct record *);
	void (*clear)(struct record *);
} kinds[] = {
	[REC_NODE] = { node_put, node_get, node_clear },
	[REC_STEP] = { NULL, NULL, NULL },
	[REC_JOB] = { job_put, job_get, job_clear },
	[REC_SESSION] = { session_put, session_get, session_clear },
	[REC_CALL] = { call_put, call_get, call_clear },
	[REC_CALL_STATE] = { call_state_put, call_state_get, NULL },
	[REC_CALL_END] = { call_end_put, call_end_get, NULL },
	[REC_CHILD] = { child_put, child_get, child_clear },
	[REC_TOOL] = { tool_put, tool_get, tool_clear },
	[REC_APPROVAL] = { approval_put, approval_get, approval_clear },
	[REC_FORGET] = { forget_put, forget_get, forget_clear },
};

void
record_put(struct buf *b, const struct record *r)
{
	wire_put_u64(b, r->seq);
	wire_put_u16(b, (uint16_t)r->type);
	wire_put_str(b, r->job);
	wire_put_u64(b, r->call);
	if (kinds[r->type].put != NULL)
		kinds[r->type].put(b, r);
	wire_put_bytes(b, r->step, r->step_len);
}

int
record_get(const void *p, size_t n, struct record *ret)
{
	struct wire_reader in;
	struct record r;
	uint16_t type;

	memset(&r, 0, sizeof(r));
	wire_reader_init(&in, p, n);
	r.seq = wire_get_u64(&in);
	type = wire_get_u16(&in);
	if (in.bad || type < REC_NODE || type > REC_FORGET)
		return -EBADMSG;
	r.type = type;
	r.job = wire_get_new_str(&in, MAX_NAME);
	if (r.job[0] == '\0') {
		free(r.job);
		r.job = NULL;
	}
	r.call = wire_get_u64(&in);
	if (kinds[type].get != NULL)
		kinds[type].get(&in, &r);
	r.step = wire_get_bytes(&in, MAX_BYTES, &r.step_len);
	if (!wire_get_end(&in)) {
		record_clear(&r);
		return -EBADMSG;
	}
	*ret = r;
	return 0;
}

void
record_clear(struct record *r)
{
	if (kinds[r->type].clear != NULL)
		kinds[r->type].clear(r);
	free(r->job);
	memset(r, 0, sizeof(*r));
}
