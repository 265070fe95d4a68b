/*
 * Records: what each holds, put onto a buffer and read back.  The supervisor
 * puts them, oz0-journal reads them from the log and puts them again for a
 * recovery.  One table says how the facts of each type stand.
 */
#include "wire/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Bounds of the strings of a record. */
#define MAX_NAME 128
#define MAX_TEXT 2048
#define MAX_BYTES ((size_t)16 << 20)
/* A record has six at most; each takes a byte even when it is missing. */
#define MAX_STRINGS 6
#define MAX_ALL (MAX_STRINGS * (size_t)(MAX_TEXT + 1))

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

/* A record being read, and where its next string goes. */
struct source {
	struct wire_reader fields;
	char *text;
};

static char *
get_str(struct source *in, size_t max)
{
	char *s = in->text;
	size_t n;
	const char *p = wire_get_bytes(&in->fields, max, &n);

	if (n != 0 && memchr(p, '\0', n) != NULL) {
		in->fields.bad = true;
		n = 0;
	}
	memcpy(s, p, n);
	s[n] = '\0';
	in->text += n + 1;
	return s;
}

/* ---- node ---- */

static void
node_put(struct buf *b, const struct record *r)
{
	wire_put_str(b, r->u.node.boot_id);
	wire_put_u32(b, r->u.node.pid);
}

static void
node_get(struct source *in, struct record *r)
{
	r->u.node.boot_id = get_str(in, MAX_NAME);
	r->u.node.pid = wire_get_u32(&in->fields);
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
job_get(struct source *in, struct record *r)
{
	struct rec_job *j = &r->u.job;

	j->job = get_str(in, MAX_NAME);
	j->tenant = get_str(in, MAX_TEXT);
	j->run = wire_get_u32(&in->fields);
	j->uid = wire_get_u32(&in->fields);
	j->state = wire_get_enum(&in->fields, JOB_RUNNING, JOB_LOST);
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
session_get(struct source *in, struct record *r)
{
	struct rec_session *s = &r->u.session;

	s->job = get_str(in, MAX_NAME);
	s->run = wire_get_u32(&in->fields);
	s->session = wire_get_u32(&in->fields);
	s->state = wire_get_enum(&in->fields, SESSION_OPEN, SESSION_LOST);
	s->restartable = wire_get_bool(&in->fields);
	s->harness = wire_get_bool(&in->fields);
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
call_get(struct source *in, struct record *r)
{
	struct rec_call *c = &r->u.call;

	c->call = wire_get_u64(&in->fields);
	c->job = get_str(in, MAX_NAME);
	c->run = wire_get_u32(&in->fields);
	c->session = wire_get_u32(&in->fields);
	c->activity = get_str(in, MAX_TEXT);
	c->function = get_str(in, MAX_TEXT);
	c->digest = get_str(in, MAX_NAME);
	c->key = get_str(in, MAX_TEXT);
	c->repeatable = wire_get_bool(&in->fields);
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
call_state_get(struct source *in, struct record *r)
{
	struct rec_call_state *c = &r->u.call_state;

	c->call = wire_get_u64(&in->fields);
	c->state = wire_get_enum(&in->fields, CALL_QUEUED, CALL_CANCELLING);
	c->attempts = wire_get_u32(&in->fields);
	c->outcome = wire_get_enum(&in->fields, OUTCOME_NONE, OUTCOME_UNKNOWN);
	c->has_progress = wire_get_bool(&in->fields);
	c->has_total = wire_get_bool(&in->fields);
	c->progress = wire_get_f64(&in->fields);
	c->total = wire_get_f64(&in->fields);
	c->repeatable = wire_get_bool(&in->fields);
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
	wire_put_u32(b, (uint32_t)(c->answer_len + c->result_len));
	buf_put(b, c->answer, c->answer_len);
	buf_put(b, c->result, c->result_len);
}

static void
call_end_get(struct source *in, struct record *r)
{
	struct rec_call_end *c = &r->u.call_end;

	c->call = wire_get_u64(&in->fields);
	c->state = wire_get_enum(&in->fields, CALL_COMPLETED, CALL_LOST);
	c->outcome = wire_get_enum(&in->fields, OUTCOME_NONE, OUTCOME_UNKNOWN);
	c->stopped = wire_get_enum(
	    &in->fields, STOPPED_NONE, STOPPED_NOT_CONFIRMED);
	c->evicted = wire_get_bool(&in->fields);
	c->attempts = wire_get_u32(&in->fields);
	c->answer = wire_get_bytes(&in->fields, MAX_BYTES, &c->answer_len);
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
child_get(struct source *in, struct record *r)
{
	struct rec_child *c = &r->u.child;

	c->role = get_str(in, MAX_TEXT);
	c->boot_id = get_str(in, MAX_NAME);
	c->pid = wire_get_u32(&in->fields);
	c->start_time = wire_get_u64(&in->fields);
	c->born = wire_get_bool(&in->fields);
}

static void
tool_put(struct buf *b, const struct record *r)
{
	wire_put_str(b, r->u.tool.tool);
	wire_put_u8(b, r->u.tool.killed);
}

static void
tool_get(struct source *in, struct record *r)
{
	r->u.tool.tool = get_str(in, MAX_NAME);
	r->u.tool.killed = wire_get_bool(&in->fields);
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
approval_get(struct source *in, struct record *r)
{
	r->u.approval.job = get_str(in, MAX_NAME);
	r->u.approval.key = get_str(in, MAX_TEXT);
	r->u.approval.rule = get_str(in, MAX_TEXT);
}

static void
forget_put(struct buf *b, const struct record *r)
{
	wire_put_str(b, r->u.forget.job);
}

static void
forget_get(struct source *in, struct record *r)
{
	r->u.forget.job = get_str(in, MAX_NAME);
}

/* ---- the whole record ---- */

/* How the facts of each type stand; REC_STEP has none. */
static const struct kind {
	void (*put)(struct buf *, const struct record *);
	void (*get)(struct source *, struct record *);
} kinds[] = {
	[REC_NODE] = { node_put, node_get },
	[REC_STEP] = { NULL, NULL },
	[REC_JOB] = { job_put, job_get },
	[REC_SESSION] = { session_put, session_get },
	[REC_CALL] = { call_put, call_get },
	[REC_CALL_STATE] = { call_state_put, call_state_get },
	[REC_CALL_END] = { call_end_put, call_end_get },
	[REC_CHILD] = { child_put, child_get },
	[REC_TOOL] = { tool_put, tool_get },
	[REC_APPROVAL] = { approval_put, approval_get },
	[REC_FORGET] = { forget_put, forget_get },
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

static bool
get(struct source *in, uint16_t type, struct record *r)
{
	r->type = type;
	r->job = get_str(in, MAX_NAME);
	if (r->job[0] == '\0')
		r->job = NULL;
	r->call = wire_get_u64(&in->fields);
	if (kinds[type].get != NULL)
		kinds[type].get(in, r);
	r->step = wire_get_bytes(&in->fields, MAX_BYTES, &r->step_len);
	return wire_get_end(&in->fields);
}

int
record_get(const void *p, size_t n, struct record *ret)
{
	struct source in;
	struct record r;
	uint16_t type;

	memset(&r, 0, sizeof(r));
	wire_reader_init(&in.fields, p, n);
	r.seq = wire_get_u64(&in.fields);
	type = wire_get_u16(&in.fields);
	if (in.fields.bad || type < REC_NODE || type > REC_FORGET)
		return -EBADMSG;
	r.text = mem_alloc(MAX_STRINGS + (n < MAX_ALL ? n : MAX_ALL));
	in.text = r.text;
	if (!get(&in, type, &r)) {
		record_clear(&r);
		return -EBADMSG;
	}
	*ret = r;
	return 0;
}

void
record_clear(struct record *r)
{
	free(r->text);
	memset(r, 0, sizeof(*r));
}
