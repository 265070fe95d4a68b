/*
 * What a worker says of a server, as worker_frame.c proved it to be that
 * worker's to say.  Run by the supervisor.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "supervisor/listing.h"
#include "supervisor/log_ring.h"
#include "supervisor/processes.h"

#define TAIL_BYTES ((size_t)2048)
#define FIRST_MODERN "2026-07-28"

void
server_said_ready(struct supervisor *s, struct server *sv, const char *era,
    const char *name, const char *version)
{
	struct server_process *p = sv->process;

	str_copy(sv->era, sizeof(sv->era), era);
	sv->tool->era = strcmp(era, FIRST_MODERN) >= 0 ? WIRE_ERA_MODERN
						      : WIRE_ERA_LEGACY;
	free(p->name);
	free(p->version);
	p->name = mem_strdup(name);
	p->version = mem_strdup(version);
}

/* What came of it is dropped: the listing before it goes on to count. */
static void
say_incomplete(struct supervisor *s, struct server *sv, const char *problem)
{
	CLEANUP_FREE char *words = NULL;

	if (sv->listing == NULL) { /* and without any it does not start */
		server_said_failed(s, sv, WIRE_FAULT_LISTING, problem);
		return;
	}
	words = mem_printf("its new listing is not taken over, the one before"
			   " it counts: %s", problem);
	server_step_fault(s, sv, words);
}

bool
server_said_listed(struct supervisor *s, struct server *sv,
    uint32_t generation, uint32_t count, const char *problem)
{
	struct server_process *p = sv->process;
	struct tool *t = sv->tool;
	struct listing *l = p->coming;

	if (sv->era[0] == '\0')
		return false;
	if (l == NULL || listing_generation(l) != generation) {
		listing_unref(l);
		l = listing_new(generation);
	}
	p->coming = NULL;
	if (listing_count(l) != count) {
		listing_unref(l);
		return false;
	}
	if (problem[0] != '\0') {
		listing_unref(l);
		say_incomplete(s, sv, problem);
		return true;
	}
	listing_unref(sv->listing);
	sv->listing = l;
	if (t->listing != NULL && !listing_same(t->listing, l))
		server_step_listing(s, sv);
	listing_unref(t->listing);
	t->listing = listing_ref(l);
	if (sv->state == SERVER_STARTING)
		server_event(s, sv, SERVER_EV_READY);
	return true;
}

static const char *
fault_words(enum wire_server_fault why)
{
	switch (why) {
	case WIRE_FAULT_EOF:
		return "its stdout ended";
	case WIRE_FAULT_PROBE_EOF:
		return "its stdout ended when it was asked server/discover";
	case WIRE_FAULT_HANDSHAKE:
		return "handshake failed";
	case WIRE_FAULT_BROKEN:
		return "it writes noise without end";
	case WIRE_FAULT_LISTING:
		return "its listing failed";
	case WIRE_FAULT_INPUT:
		return "it has closed its stdin";
	}
	return "it failed";
}

void
server_said_failed(struct supervisor *s, struct server *sv,
    enum wire_server_fault why, const char *message)
{
	struct server_process *p = sv->process;
	bool starting = sv->state == SERVER_STARTING
	    || (sv->state == SERVER_STOPPING && p->failure != NULL);

	if (p->fault.why != 0)
		return; /* the first one counts */
	p->fault.why = why;
	/* The worker knows no more of an end than that it came. */
	if (why == WIRE_FAULT_EOF || why == WIRE_FAULT_PROBE_EOF)
		message = "";
	snprintf(p->fault.message, sizeof(p->fault.message), "%s%s%s",
	    fault_words(why), message[0] == '\0' ? "" : ": ", message);
	if (starting) {
		free(p->failure);
		p->failure = mem_strdup(p->fault.message);
	}
	if (sv->state != SERVER_STOPPING)
		server_event(s, sv, SERVER_EV_FAIL);
}

static void
keep_line(struct server *sv, const char *title, const char *p, size_t n)
{
	struct server_process *sp = sv->process;
	const char *nl;

	if (n > 0 && p[n - 1] == '\r')
		n--;
	log_ring_add(sv->tool->log, title, p, n);
	buf_put(&sp->tail, p, n < TAIL_BYTES ? n : TAIL_BYTES);
	buf_putc(&sp->tail, '\n');
	while (buf_len(&sp->tail) > TAIL_BYTES) {
		nl = memchr(buf_at(&sp->tail), '\n', buf_len(&sp->tail));
		buf_take(&sp->tail, (size_t)(nl - buf_at(&sp->tail)) + 1);
	}
}

void
server_said_stderr(
    struct supervisor *s, struct server *sv, const char *p, size_t n)
{
	struct server_process *sp = sv->process;
	CLEANUP_FREE char *title = server_title(sv);
	const char *nl;

	buf_put(&sp->line, p, n);
	while ((nl = memchr(buf_at(&sp->line), '\n', buf_len(&sp->line)))
	    != NULL) {
		size_t len = (size_t)(nl - buf_at(&sp->line));

		keep_line(sv, title, buf_at(&sp->line), len);
		buf_take(&sp->line, len + 1);
	}
	if (buf_len(&sp->line) >= LOG_RING_LINE) {
		keep_line(sv, title, buf_at(&sp->line), buf_len(&sp->line));
		buf_clear(&sp->line);
	}
	log_ring_tell(s, sv->tool->log);
}

void
server_said_drained(struct supervisor *s, struct server *sv)
{
	struct server_process *sp = sv->process;
	CLEANUP_FREE char *title = server_title(sv);

	if (buf_len(&sp->line) > 0)
		keep_line(sv, title, buf_at(&sp->line), buf_len(&sp->line));
	buf_clear(&sp->line);
	sp->at_worker = false;
	server_event(s, sv, SERVER_EV_DRAINED);
}

void
server_worker_gone(struct supervisor *s, struct server *sv)
{
	struct server_process *p = sv->process;

	if (server_is_dead(sv))
		return;
	p->at_worker = false;
	if (sv->state == SERVER_STARTING && p->failure == NULL)
		p->failure = mem_strdup("its worker ended");
	calls_worker_gone(s, sv);
	if (p->box == NULL)
		server_event(s, sv, SERVER_EV_DRAINED);
	else
		server_stop(s, sv, p->conf->stop_timeout, "its worker ended");
}
