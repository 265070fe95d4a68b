/*
 * The fakes of fake_node.h.
 */
#include "tests/unit/fake_node.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "supervisor/control.h"
#include "wire/log.h"

#define MAX_SENT 65536
#define MAX_EVENTS 65536

struct listing {
	struct function f[3];
};

static struct listing fake_listing = { {
    { .name = (char *)"read", .read_only = WIRE_HINT_TRUE },
    { .name = (char *)"write",
	.idempotent = WIRE_HINT_TRUE,
	.honours_key = true },
    { .name = (char *)"once" },
} };

struct server_process {
	bool wanted, stopping;
};

static struct fake_node *node;
static struct mono now;
static uint64_t sent[MAX_SENT], cancelled[MAX_SENT],
    gave_up[MAX_SENT]; /* by call number */
static char *events[MAX_EVENTS];
static size_t nevents;

/* Time, in place of base/time.c's (the linker's --wrap). */
struct mono __wrap_time_mono(void);

struct mono
__wrap_time_mono(void)
{
	return now;
}

/* ---- deadlines ---- */

static int
deadline_compare(const struct deadline *a, const struct deadline *b)
{
	if (a->at.us != b->at.us)
		return a->at.us < b->at.us ? -1 : 1;
	return a < b ? -1 : a > b;
}
RB_PROTOTYPE(deadline_tree, deadline, entry, deadline_compare);
RB_GENERATE(deadline_tree, deadline, entry, deadline_compare);

void
deadline_init(struct deadline *d, void (*fn)(struct supervisor *, void *),
    void *arg)
{
	memset(d, 0, sizeof(*d));
	d->fn = fn;
	d->arg = arg;
}

void
deadline_set(struct supervisor *s, struct deadline *d, struct mono at)
{
	deadline_clear(s, d);
	if (at.us == INT64_MAX)
		return;
	d->at = at;
	d->set = true;
	RB_INSERT(deadline_tree, &s->deadlines, d);
}

void
deadline_after(struct supervisor *s, struct deadline *d, struct span d2)
{
	deadline_set(s, d, mono_add(now, d2));
}

void
deadline_clear(struct supervisor *s, struct deadline *d)
{
	if (d->set)
		RB_REMOVE(deadline_tree, &s->deadlines, d);
	d->set = false;
}

void
fake_pass(struct fake_node *n, struct span d)
{
	struct mono end = mono_add(now, d);
	struct deadline *first;

	while ((first = RB_MIN(deadline_tree, &n->s.deadlines)) != NULL &&
	    !mono_before(end, first->at)) {
		now = first->at;
		deadline_clear(&n->s, first);
		first->fn(&n->s, first->arg);
		fake_turn(n);
	}
	now = end;
}

/* ---- processes ---- */

struct tool *
tool_find(struct supervisor *s, const char *name)
{
	for (size_t i = 0; i < 2; i++)
		if (strcmp(node->tools[i].name, name) == 0)
			return &node->tools[i];
	return NULL;
}

struct tool *
tool_recorded(struct supervisor *s, const char *name)
{
	return tool_find(s, name);
}

static void
server_init(struct server *sv, struct tool *t, struct session *ss)
{
	memset(sv, 0, sizeof(*sv));
	sv->tool = t;
	sv->session = ss;
	TAILQ_INIT(&sv->waiting);
	TAILQ_INIT(&sv->attempts);
	sv->process = mem_zalloc(sizeof(*sv->process));
}

struct session_processes {
	struct server server;
};

struct server *
server_get(struct supervisor *s, struct tool *t, struct session *ss)
{
	return ss == NULL ? &node->plugin : &ss->processes->server;
}

void
server_want(struct supervisor *s, struct server *sv)
{
	sv->process->wanted = true;
	if (sv->state == SERVER_STOPPED)
		sv->state = SERVER_STARTING;
}

void
server_stop(struct supervisor *s, struct server *sv, struct span time,
    const char *why)
{
	if (sv->state == SERVER_STOPPED)
		return;
	sv->state = SERVER_STOPPING;
	sv->process->stopping = true;
}

void
server_confirmed(struct supervisor *s, struct server *sv, bool confirmed)
{
	sv->not_confirmed = confirmed ? 0 : sv->not_confirmed + 1;
}

struct function *
function_find(struct listing *l, const char *name)
{
	for (size_t i = 0; i < 3; i++)
		if (strcmp(l->f[i].name, name) == 0)
			return &l->f[i];
	return NULL;
}

bool
worker_call(struct supervisor *s, struct attempt *a)
{
	sent[a->call->number]++;
	attempt_sent(s, a);
	return true;
}

void
worker_cancel(struct supervisor *s, struct attempt *a, const char *reason,
    bool stop_server)
{
	cancelled[a->call->number]++;
}

void
worker_gave_up(struct supervisor *s, const struct attempt *a)
{
	gave_up[a->call->number]++;
}

bool
session_processes_start(struct supervisor *s, struct session *ss,
    const struct session_open *p, struct fault *f)
{
	ss->processes = mem_zalloc(sizeof(*ss->processes));
	server_init(&ss->processes->server, &node->tools[0], ss);
	return true;
}

void
session_processes_stop(
    struct supervisor *s, struct session *ss, struct span time)
{
	server_stop(s, &ss->processes->server, time, "session ends");
	if (ss->processes->server.state == SERVER_STOPPED)
		session_all_dead(s, ss);
}

void
session_processes_free(struct supervisor *s, struct session *ss)
{
	if (ss->processes != NULL)
		free(ss->processes->server.process);
	free(ss->processes);
}

void
journal_rotated(struct supervisor *s, uint64_t segment)
{
}

void
control_event(struct supervisor *s, uint64_t seq, const char *json, size_t len)
{
	if (nevents < MAX_EVENTS)
		events[nevents++] = mem_strndup(json, len);
}

void
control_progress(struct supervisor *s, const struct call *c)
{
}

struct conf_tool *
conf_tool_ref(struct conf_tool *t)
{
	t->refs++;
	return t;
}

void
conf_tool_unref(struct conf_tool *t)
{
	if (t != NULL)
		t->refs--;
}

/* ---- the node ---- */

static void
tool_init(struct fake_node *n, size_t i, struct conf_tool *conf,
    const char *name, enum conf_kind kind)
{
	*conf = (struct conf_tool) { .name = (char *)(uintptr_t)name,
		.kind = kind,
		.timeout = SPAN_S(60),
		.call_timeout = SPAN_NONE,
		.stop_timeout = SPAN_S(2),
		.backoff_base = SPAN_MS(500),
		.backoff_cap = SPAN_S(30),
		.max_attempts = 3 };
	n->tools[i] = (struct tool) { .name = conf->name, .conf = conf };
}

struct fake_node *
fake_node_new(void)
{
	struct fake_node *n = mem_zalloc(sizeof(*n));

	node = n;
	now.us = 1000000000;
	memset(sent, 0, sizeof(sent));
	memset(cancelled, 0, sizeof(cancelled));
	memset(gave_up, 0, sizeof(gave_up));
	n->conf = (struct conf) { .node = (char *)"n1",
		.slots = 4,
		.queue = 100,
		.message_budget = 1 << 20,
		.max_message = 1 << 16,
		.result_limit = 64,
		.kept_results = 1 << 16 };
	tool_init(n, 0, &n->job_tool, "own", CONF_JOB);
	tool_init(n, 1, &n->plugin_tool, "shared", CONF_PLUGIN);
	server_init(&n->plugin, &n->tools[1], NULL);
	n->tools[1].plugin = &n->plugin;
	n->s.conf = &n->conf;
	n->s.state = NODE_READY;
	RB_INIT(&n->s.deadlines);
	RB_INIT(&n->s.jobs);
	RB_INIT(&n->s.calls);
	RB_INIT(&n->s.attempts);
	TAILQ_INIT(&n->s.ready);
	TAILQ_INIT(&n->s.settling);
	TAILQ_INIT(&n->s.kept);
	TAILQ_INIT(&n->s.limited);
	n->s.recorder = recorder_new();
	n->log_fd = memfd_create("log", MFD_CLOEXEC);
	ck_assert_int_eq(ftruncate(n->log_fd, (off_t)LOG_SEGMENT_SIZE), 0);
	record_segment(&n->s, 1, dup(n->log_fd));
	return n;
}

void
fake_node_free(struct fake_node *n)
{
	struct attempt *a;

	while ((a = RB_MIN(attempt_tree, &n->s.attempts)) != NULL) {
		RB_REMOVE(attempt_tree, &n->s.attempts, a);
		free(a);
	}
	jobs_free(&n->s);
	recorder_free(n->s.recorder);
	free(n->plugin.process);
	close(n->log_fd);
	while (nevents > 0)
		free(events[--nevents]);
	free(n);
}

void
fake_turn(struct fake_node *n)
{
	dispatch_turn(&n->s);
	record_flush(&n->s);
	attempts_send(&n->s);
	record_flush(&n->s);
	ck_assert_uint_eq(
	    record_flushed_seq(&n->s), record_last_seq(&n->s));
}

struct job *
fake_job(struct fake_node *n, const char *name)
{
	struct job_start p = { .job = name };
	struct fault f;
	struct job *j;

	ck_assert_msg(job_start(&n->s, &p, &j, &f), "%s", f.message);
	return j;
}

struct call *
fake_call(struct fake_node *n, struct job *j, const char *activity,
    const char *function, const char *arguments, struct fault *ret)
{
	struct call_start p = { .job = j,
		.activity = activity,
		.function = function,
		.arguments = arguments,
		.arguments_len = arguments != NULL ? strlen(arguments) : 0 };
	struct call *c;

	if (!call_start(&n->s, &p, &c, ret))
		return NULL;
	fake_turn(n);
	return c;
}

struct server *
fake_job_server(struct job *j)
{
	struct session *ss = session_find(j, 1);

	return ss != NULL ? &ss->processes->server : NULL;
}

void
fake_ready(struct fake_node *n, struct server *sv)
{
	sv->state = SERVER_READY;
	sv->listing = &fake_listing;
	sv->process->wanted = sv->process->stopping = false;
	calls_server_ready(&n->s, sv);
	fake_turn(n);
}

void
fake_gone(struct fake_node *n, struct server *sv)
{
	struct session *ss = sv->session;

	sv->state = SERVER_STOPPED;
	sv->process->stopping = false;
	calls_server_gone(&n->s, sv);
	if (ss != NULL && ss->state == SESSION_CLOSING)
		session_all_dead(&n->s, ss);
	fake_turn(n);
}

void
fake_start_failed(struct fake_node *n, struct server *sv)
{
	sv->state = SERVER_STOPPED;
	sv->process->wanted = false;
	calls_server_failed(&n->s, sv, "no such command");
	fake_turn(n);
}

bool
fake_wanted(const struct server *sv)
{
	return sv->process->wanted;
}

bool
fake_stopping(const struct server *sv)
{
	return sv->process->stopping;
}

void
fake_end(struct fake_node *n, struct call *c, const struct attempt_end *e)
{
	ck_assert_ptr_nonnull(c->attempt);
	attempt_ended(&n->s, c->attempt, e);
	fake_turn(n);
}

void
fake_answer(struct fake_node *n, struct call *c, const char *result)
{
	struct attempt_end e = { .how = WIRE_END_RESULT,
		.sent = true,
		.retry_after = -1,
		.payload = result,
		.payload_len = strlen(result) };

	fake_end(n, c, &e);
}

struct call *
fake_running(
    struct fake_node *n, const char *activity, const char *function)
{
	struct job *j = job_find(&n->s, "j1");
	struct call *c;
	struct fault f;

	if (j == NULL)
		j = fake_job(n, "j1");
	if (n->plugin.state != SERVER_READY)
		fake_ready(n, &n->plugin);
	c = fake_call(n, j, activity, function, "{}", &f);
	ck_assert_ptr_nonnull(c);
	ck_assert_int_eq(c->state, CALL_RUNNING);
	return c;
}

void
fake_answer_has(const struct call *c, const char *part)
{
	struct json_fault jf;
	struct buf b = { 0 };
	struct jsonw w;
	char *text;

	jsonw_init(&w, &b);
	call_write_answer(c, &w);
	text = buf_steal(&b, NULL);
	ck_assert_msg(json_check(text, strlen(text), NULL, &jf), "%s: %s",
	    jf.why, text);
	ck_assert_msg(strstr(text, part) != NULL, "%s not in %s", part, text);
	free(text);
}

unsigned
fake_requests(const struct call *c)
{
	return (unsigned)sent[c->number];
}

unsigned
fake_cancels(const struct call *c)
{
	return (unsigned)cancelled[c->number];
}

bool
fake_given_up(const struct call *c)
{
	return gave_up[c->number] == 1;
}

unsigned
fake_events(const char *s)
{
	unsigned n = 0;

	for (size_t i = 0; i < nevents; i++)
		n += strstr(events[i], s) != NULL;
	return n;
}
