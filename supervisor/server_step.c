/*
 * The steps of a server's life: what the trace and the events say of it
 * (INTERFACES, Names in JSON).  Run by the supervisor for server*.c.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "supervisor/processes.h"
#include "supervisor/record.h"

#define TAIL_LINES 10

static struct step *
begin(struct supervisor *s, struct server *sv, enum step_event event)
{
	struct session *ss = sv->session;
	struct step *st = step_new(s, event, ss == NULL ? NULL : ss->job->name);
	struct jsonw *w = step_json(st);

	jsonw_string(w, "tool", sv->tool->name);
	jsonw_string(w, "kind", ss == NULL ? "plugin" : "job");
	if (ss != NULL)
		jsonw_uint(w, "session", ss->number);
	jsonw_string(w, "state", server_state_name(sv->state));
	return st;
}

void
server_step_started(
    struct supervisor *s, struct server *sv, const char *missing)
{
	struct step *st = begin(s, sv, STEP_SERVER_STARTED);

	jsonw_int(step_json(st), "pid", sv->pid);
	if (missing[0] != '\0')
		jsonw_string(step_json(st), "missing", missing);
	step_text(st, "server %s started, pid %d%s%s", sv->tool->name,
	    (int)sv->pid, missing[0] == '\0' ? "" : ", sandbox without ",
	    missing);
	step_commit(st);
}

void
server_step_ready(struct supervisor *s, struct server *sv, const char *name,
    const char *version)
{
	struct step *st = begin(s, sv, STEP_SERVER_READY);
	struct jsonw *w = step_json(st);

	jsonw_string(w, "era", sv->era);
	if (name != NULL && name[0] != '\0')
		jsonw_string(w, "name", name);
	if (version != NULL && version[0] != '\0')
		jsonw_string(w, "version", version);
	step_text(st, "server %s is ready, MCP %s", sv->tool->name, sv->era);
	step_commit(st);
}

void
server_step_stopping(
    struct supervisor *s, struct server *sv, const char *why)
{
	struct step *st = begin(s, sv, STEP_SERVER_STOPPING);

	jsonw_string(step_json(st), "reason", why);
	if (sv->session == NULL)
		step_asked(st);
	step_text(st, "server %s is being stopped: %s", sv->tool->name, why);
	step_commit(st);
}

void
server_write_how(const struct server_process *p, char *out, size_t size)
{
	const char *name;

	if (!p->ran) {
		snprintf(out, size, "never started");
		return;
	}
	if (!p->exited) {
		snprintf(out, size, "killed");
		return;
	}
	if (!p->by_signal) {
		snprintf(out, size, "exit code %u", p->code);
		return;
	}
	name = sigabbrev_np((int)p->code);
	if (name != NULL)
		snprintf(out, size, "signal %u (SIG%s)", p->code, name);
	else
		snprintf(out, size, "signal %u", p->code);
}

void
server_last_line(const struct server_process *p, char *out, size_t size)
{
	const char *at = buf_at(&p->tail);
	size_t n = buf_len(&p->tail), from;

	out[0] = '\0';
	if (n == 0)
		return;
	for (from = n - 1; from > 0 && at[from - 1] != '\n'; from--)
		;
	snprintf(out, size, "%.*s", (int)(n - 1 - from), at + from);
}

/* The last lines of stderr, oldest first. */
static void
write_tail(struct jsonw *w, const struct buf *tail)
{
	const char *p = buf_at(tail), *end = p + buf_len(tail), *from = end;
	unsigned lines = 0;

	while (from > p) {
		if (from[-1] == '\n' && lines++ == TAIL_LINES)
			break;
		from--;
	}
	jsonw_array(w, "stderr");
	while (from < end) {
		const char *nl = memchr(from, '\n', (size_t)(end - from));

		jsonw_string_n(w, NULL, from, (size_t)(nl - from));
		from = nl + 1;
	}
	jsonw_array_end(w);
}

void
server_step_ended(struct supervisor *s, struct server *sv)
{
	struct server_process *p = sv->process;
	struct step *st = begin(s, sv, STEP_SERVER_ENDED);
	bool by_itself = p->exited && !p->said_stopping;
	char how[64];

	server_write_how(p, how, sizeof(how));
	jsonw_string(step_json(st), "how", how);
	if (p->said_stopping)
		jsonw_string(
		    step_json(st), "after", ladder_step_name(p->ladder.step));
	if (p->failure != NULL || (p->fault.why != 0 && !by_itself))
		jsonw_string(step_json(st), "reason",
		    p->failure != NULL ? p->failure : p->fault.message);
	if (buf_len(&p->tail) > 0)
		write_tail(step_json(st), &p->tail);
	step_text(st, "server %s ended: %s", sv->tool->name, how);
	step_commit(st);
}

void
server_step_listing(struct supervisor *s, struct server *sv)
{
	struct step *st = begin(s, sv, STEP_LISTING_CHANGED);

	step_text(st, "server %s: its listing has changed", sv->tool->name);
	step_commit(st);
}

void
server_step_fault(
    struct supervisor *s, struct server *sv, const char *words)
{
	CLEANUP_FREE char *title = server_title(sv);
	struct step *st = begin(s, sv, STEP_FAULT);

	log_warning("server %s: %s", title, words);
	jsonw_string(step_json(st), "reason", words);
	step_text(st, "server %s: %s", sv->tool->name, words);
	step_commit(st);
}

void
server_set_broken(struct server *sv, char *broken)
{
	struct server_process *p = sv->process;

	if (broken != NULL && sv->session == NULL
	    && (p->broken == NULL || strcmp(p->broken, broken) != 0))
		log_warning("server %s: %s (oz0 logs %s)", sv->tool->name,
		    broken, sv->tool->name);
	free(p->broken);
	p->broken = broken;
}
