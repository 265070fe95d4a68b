/*
 * The fakes of control_fake.h: deadlines, tools, servers and sessions without
 * processes, and the node.  Clients are in control_fake_client.c, the journal
 * is in control_fake_journal.c.
 */
#include "tests/unit/control_fake.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/blob.h"
#include "base/mem.h"
#include "supervisor/log_ring.h"
#include "wire/frame.h"
#include "wire/log.h"

struct listing {
	struct function f[2];
};

static struct listing fake_listing = {{
    {.name = (char *)"echo",
	.read_only = WIRE_HINT_TRUE,
	.json = (char *)"{\"name\":\"echo\",\"x\":1.10}",
	.json_len = 24},
    {.name = (char *)"hold",
	.json = (char *)"{\"name\":\"hold\"}",
	.json_len = 15},
}};

struct server_process {
	bool stopping;
};

struct session_processes {
	struct server server;
	struct harness_end end;
	bool has_end;
};

static struct fake_node *node;
static struct tool tools[2];
static struct server plugin;
static bool release;

/* ---- deadlines, by the real clock ---- */

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
deadline_init(
    struct deadline *d, void (*fn)(struct supervisor *, void *), void *arg)
{
	memset(d, 0, sizeof(*d));
	d->fn = fn;
	d->arg = arg;
}

void
deadline_clear(struct supervisor *s, struct deadline *d)
{
	if (d->set)
		RB_REMOVE(deadline_tree, &s->deadlines, d);
	d->set = false;
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
	deadline_set(s, d, mono_add(time_mono(), d2));
}

/* ---- tools and servers ---- */

struct tool *
tool_find(struct supervisor *s, const char *name)
{
	for (size_t i = 0; i < 2; i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}

static void
server_init(struct server *sv, struct tool *t, struct session *ss)
{
	memset(sv, 0, sizeof(*sv));
	sv->tool = t;
	sv->session = ss;
	sv->state = SERVER_READY;
	sv->listing = &fake_listing;
	TAILQ_INIT(&sv->waiting);
	TAILQ_INIT(&sv->attempts);
	sv->process = mem_zalloc(sizeof(*sv->process));
}

const char *
server_state_name(enum server_state st)
{
	return st == SERVER_READY ? "ready" : "stopped";
}

const char *
server_broken(const struct server *sv)
{
	(void)sv;
	return NULL;
}

struct server *
server_get(struct supervisor *s, struct tool *t, struct session *ss)
{
	return ss == NULL ? &plugin : &ss->processes->server;
}

void
server_want(struct supervisor *s, struct server *sv)
{
}

void
server_stop(
    struct supervisor *s, struct server *sv, struct span time, const char *why)
{
	if (sv->state != SERVER_STOPPED)
		sv->state = SERVER_STOPPING;
	sv->process->stopping = true;
}

void
server_restart(struct supervisor *s, struct server *sv, const char *why)
{
	sv->restarts++;
}

void
server_each(
    struct supervisor *s, void (*fn)(void *arg, struct server *sv), void *arg)
{
	fn(arg, &plugin);
}

void
server_confirmed(struct supervisor *s, struct server *sv, bool confirmed)
{
}

struct function *
function_find(struct listing *l, const char *name)
{
	for (size_t i = 0; i < 2; i++)
		if (strcmp(l->f[i].name, name) == 0)
			return &l->f[i];
	return NULL;
}

struct function *
function_first(struct listing *l)
{
	return &l->f[0];
}

struct function *
function_after(struct listing *l, struct function *f)
{
	return f == &l->f[0] ? &l->f[1] : NULL;
}

bool
worker_call(struct supervisor *s, struct attempt *a)
{
	attempt_sent(s, a);
	return true;
}

void
worker_cancel(struct supervisor *s, struct attempt *a, const char *reason,
    bool stop_server)
{
}

void
worker_gave_up(struct supervisor *s, const struct attempt *a)
{
}

/* As a worker's payload comes: a large one is a mapping. */
static struct blob *
as_blob(const char *p, size_t len)
{
	void *map;

	if (len <= WIRE_INLINE_MAX)
		return NULL;
	map = mmap(NULL, len, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	memcpy(map, p, len);
	return blob_of_map(map, len);
}

static void
answer_calls(struct fake_node *n)
{
	struct attempt *a, *next;

	RB_FOREACH_SAFE(a, attempt_tree, &n->s.attempts, next)
	{
		struct attempt_end e = {
		    .how = WIRE_END_RESULT, .sent = true, .retry_after = -1};

		if (!a->sent ||
		    (strcmp(a->call->bare, "hold") == 0 && !release))
			continue;
		e.payload = "{}";
		e.payload_len = 2;
		if (a->call->arguments_len != 0) {
			e.payload = a->call->arguments;
			e.payload_len = a->call->arguments_len;
		}
		e.blob = as_blob(e.payload, e.payload_len);
		if (e.blob != NULL)
			e.payload = blob_at(e.blob);
		e.after_cancel = a->cancelling;
		attempt_ended(&n->s, a, &e);
		blob_unref(e.blob);
	}
}

static void
end_servers(struct fake_node *n)
{
	struct session *ss, *next;
	struct job *j;

	if (n->hold_ends)
		return;
	RB_FOREACH(j, job_tree, &n->s.jobs)
	TAILQ_FOREACH_SAFE(ss, &j->sessions, entry, next)
	{
		struct server *sv = &ss->processes->server;

		if (!sv->process->stopping)
			continue;
		sv->process->stopping = false;
		sv->state = SERVER_STOPPED;
		calls_server_gone(&n->s, sv);
		if (ss->state == SESSION_CLOSING)
			session_all_dead(&n->s, ss);
		else
			sv->state = SERVER_READY;
	}
}

void
fake_release(struct fake_node *n)
{
	release = true;
	fake_turn(n);
	fake_turn(n);
	release = false;
}

/* ---- sessions ---- */

bool
session_processes_start(struct supervisor *s, struct session *ss,
    const struct session_open *p, struct fault *f)
{
	ss->processes = mem_zalloc(sizeof(*ss->processes));
	server_init(&ss->processes->server, &tools[0], ss);
	return true;
}

void
session_processes_stop(
    struct supervisor *s, struct session *ss, struct span time)
{
	server_stop(s, &ss->processes->server, time, "session ends");
}

void
session_processes_free(struct supervisor *s, struct session *ss)
{
	if (ss->processes != NULL)
		free(ss->processes->server.process);
	free(ss->processes);
}

static void
harness_step(struct supervisor *s, struct session *ss, enum step_event e)
{
	struct step *st = step_new(s, e, ss->job->name);

	jsonw_uint(step_json(st), "session", ss->number);
	step_commit(st);
}

bool
harness_start(struct supervisor *s, struct session *ss, struct harness_run *r,
    struct fault *f)
{
	struct harness_end *e = &ss->processes->end;
	ssize_t n;

	if (strcmp(r->command, "refused") == 0)
		return fault_set(f, FAULT_NOT_ALLOWED, "not this one");
	n = read(r->std[0], node->harness_said, sizeof(node->harness_said) - 1);
	node->harness_said[n > 0 ? n : 0] = '\0';
	for (int i = 0; i < 3; i++) {
		close(r->std[i]);
		r->std[i] = -1;
	}
	node->harnesses++;
	e->started = !node->harness_fails;
	snprintf(e->message, sizeof(e->message), "no such file");
	ss->processes->has_end = node->harness_fails;
	harness_step(s, ss,
	    node->harness_fails ? STEP_HARNESS_ENDED : STEP_HARNESS_STARTED);
	return true;
}

const struct harness_end *
harness_last(const struct session *ss)
{
	return ss->processes->has_end ? &ss->processes->end : NULL;
}

bool
harness_signal(
    struct supervisor *s, struct session *ss, int signo, struct fault *f)
{
	return signo != 9 || fault_set(f, FAULT_NOT_ALLOWED, "no harness runs");
}

bool
harness_resize(struct supervisor *s, struct session *ss, unsigned height,
    unsigned width, struct fault *f)
{
	node->rows = height;
	node->cols = width;
	return true;
}

/* ---- the node ---- */

void
node_drain(struct supervisor *s)
{
	node->drained = true;
}

bool
node_reload_ok(struct supervisor *s, char *ret_error, size_t size)
{
	snprintf(ret_error, size, "node.slots: no");
	return false;
}

void
process_each(struct supervisor *s,
    void (*fn)(void *arg, const struct process_info *p), void *arg)
{
	struct process_info p = {.role = "worker",
	    .name = "plugins",
	    .pid = getpid(),
	    .started = {1000000}};

	fn(arg, &p);
}

static void
load_conf(struct fake_node *n, const char *conf_node)
{
	struct conf_error e;
	char *text = mem_printf(
	    "{\"node\":{\"name\":\"n1\",\"state_dir\":\"%s\","
	    "\"socket\":\"%s/s\"%s%s},\"mcpServers\":{"
	    "\"own\":{\"command\":\"x\"},"
	    "\"shared\":{\"command\":\"x\",\"oz0\":{\"kind\":\"plugin\"}}}}",
	    n->dir, n->dir, conf_node != NULL ? "," : "",
	    conf_node != NULL ? conf_node : "");

	ck_assert_msg(
	    conf_parse("test", text, strlen(text), &n->s.conf, &e) == 0, "%s",
	    e.text);
	free(text);
}

struct fake_node *
fake_new(const char *conf_node)
{
	struct fake_node *n = mem_zalloc(sizeof(*n));

	node = n;
	snprintf(n->dir, sizeof(n->dir), "/tmp/oz0-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(n->dir));
	load_conf(n, conf_node);
	n->s.base = event_base_new();
	n->s.state = NODE_READY;
	RB_INIT(&n->s.deadlines);
	RB_INIT(&n->s.jobs);
	RB_INIT(&n->s.calls);
	RB_INIT(&n->s.attempts);
	TAILQ_INIT(&n->s.tools);
	TAILQ_INIT(&n->s.ready);
	TAILQ_INIT(&n->s.settling);
	TAILQ_INIT(&n->s.kept);
	TAILQ_INIT(&n->s.limited);
	for (size_t i = 0; i < 2; i++) {
		memset(&tools[i], 0, sizeof(tools[i]));
		tools[i].name = n->s.conf->tools[i]->name;
		tools[i].conf = n->s.conf->tools[i];
		tools[i].log = log_ring_new(LOG_RING_BYTES);
		tools[i].listing = i == 1 ? &fake_listing : NULL;
		TAILQ_INSERT_TAIL(&n->s.tools, &tools[i], entry);
	}
	server_init(&plugin, &tools[1], NULL);
	tools[1].plugin = &plugin;
	n->s.recorder = recorder_new();
	n->log_fd = memfd_create("log", MFD_CLOEXEC);
	ck_assert_int_eq(ftruncate(n->log_fd, (off_t)LOG_SEGMENT_SIZE), 0);
	record_segment(&n->s, 1, dup(n->log_fd));
	return n;
}

static void
free_jobs(struct fake_node *n)
{
	struct job *j, *next;
	struct fault f;

	release = true;
	n->hold_ends = false;
	RB_FOREACH_SAFE(j, job_tree, &n->s.jobs, next)
	job_cancel(&n->s, j, &f);
	for (int i = 0; i < 5; i++)
		fake_turn(n);
	release = false;
	RB_FOREACH_SAFE(j, job_tree, &n->s.jobs, next)
	ck_assert(job_forget(&n->s, j->name, &f));
}

void
fake_free(struct fake_node *n)
{
	char *path = mem_printf("%s/s.lock", n->dir);

	free_jobs(n);
	control_free(&n->s);
	recorder_free(n->s.recorder);
	close(n->log_fd);
	free(plugin.process);
	for (size_t i = 0; i < 2; i++)
		log_ring_free(tools[i].log);
	conf_free(n->s.conf);
	event_base_free(n->s.base);
	fake_journal_free();
	unlink(path);
	free(path);
	ck_assert_int_eq(rmdir(n->dir), 0); /* nothing was left */
	free(n);
}

void
fake_turn(struct fake_node *n)
{
	struct supervisor *s = &n->s;
	struct deadline *d;

	event_base_loop(s->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	while ((d = RB_MIN(deadline_tree, &s->deadlines)) != NULL &&
	       mono_before(d->at, time_mono())) {
		deadline_clear(s, d);
		d->fn(s, d->arg);
	}
	fake_journal_answer(n);
	answer_calls(n);
	end_servers(n);
	dispatch_turn(s);
	record_flush(s);
	attempts_send(s);
	record_flush(s);
	fake_journal_keep(n);
	control_flush(s);
}

void
fake_steps(struct fake_node *n, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct step *st = step_new(&n->s, STEP_FAULT, NULL);

		step_text(st, "a step to be seen, with some words to it");
		step_commit(st);
		if (i % 1000 == 999) {
			record_flush(&n->s);
			fake_journal_keep(n);
		}
	}
}
