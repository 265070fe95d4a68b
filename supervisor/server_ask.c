/*
 * What the core and others ask of servers (process.h): one is found or made,
 * wanted, stopped, shown.  Run by the supervisor; what follows is server.c's
 * table of states and events.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "supervisor/listing.h"
#include "supervisor/processes.h"

static const char *const state_names[SERVER_NSTATES] = {
	[SERVER_STOPPED] = "stopped",
	[SERVER_STARTING] = "starting",
	[SERVER_READY] = "ready",
	[SERVER_STOPPING] = "stopping",
	[SERVER_BACKOFF] = "backoff",
	[SERVER_STUCK] = "stuck",
};

static const char *const event_names[SERVER_NEVENTS] = {
	[SERVER_EV_WANT] = "wanted",
	[SERVER_EV_READY] = "is ready",
	[SERVER_EV_FAIL] = "failed",
	[SERVER_EV_STOP] = "to be stopped",
	[SERVER_EV_TIMER] = "time is over",
	[SERVER_EV_DEAD] = "tree is dead",
	[SERVER_EV_DRAINED] = "drained",
	[SERVER_EV_STUCK] = "three stops not confirmed",
	[SERVER_EV_CONFIRMED] = "answers again",
};

const char *
server_state_name(enum server_state st)
{
	return state_names[st];
}

const char *
server_event_name(enum server_event ev)
{
	return event_names[ev];
}

const char *
server_broken(const struct server *sv)
{
	if (sv->state == SERVER_STUCK)
		return "it confirmed none of three stops in a row and answers "
		       "nothing since";
	return sv->process->broken;
}

char *
server_title(const struct server *sv)
{
	if (sv->session == NULL)
		return mem_strdup(sv->tool->name);
	return mem_printf("%s/%u %s", sv->session->job->name,
	    sv->session->number, sv->tool->name);
}

struct server *
server_find(struct server_list *l, uint32_t id)
{
	struct server *sv;

	TAILQ_FOREACH(sv, l, entry)
		if (sv->id == id)
			return sv;
	return NULL;
}

static struct server *
make(struct supervisor *s, struct tool *tool, struct session *ss)
{
	struct server *sv = mem_zalloc(sizeof(*sv));
	struct server_process *p = mem_zalloc(sizeof(*p));

	sv->id = ++s->processes->last_server;
	sv->tool = tool;
	sv->session = ss;
	sv->process = p;
	TAILQ_INIT(&sv->waiting);
	TAILQ_INIT(&sv->attempts);
	for (int i = 0; i < 3; i++)
		p->std[i] = -1;
	p->stdin_end = -1;
	deadline_init(&p->timer, server_timer, sv);
	deadline_init(&p->hopeless, server_say_hopeless, sv);
	if (ss == NULL) {
		tool->plugin = sv;
		TAILQ_INSERT_TAIL(&s->processes->servers, sv, entry);
	} else {
		TAILQ_INSERT_TAIL(&ss->processes->servers, sv, entry);
	}
	return sv;
}

struct server *
server_get(struct supervisor *s, struct tool *tool, struct session *ss)
{
	struct server *sv;

	if (tool->conf->kind == CONF_PLUGIN)
		return tool->plugin != NULL ? tool->plugin
					    : make(s, tool, NULL);
	TAILQ_FOREACH(sv, &ss->processes->servers, entry)
		if (sv->tool == tool)
			return sv;
	return make(s, tool, ss);
}

void
server_want(struct supervisor *s, struct server *sv)
{
	server_event(s, sv, SERVER_EV_WANT);
}

void
server_stop(struct supervisor *s, struct server *sv, struct span time,
    const char *why)
{
	switch (sv->state) {
	case SERVER_STARTING:
	case SERVER_READY:
	case SERVER_STUCK:
		server_set_why(sv->process, why);
		server_begin_stopping(s, sv, time);
		break;
	case SERVER_STOPPING:
		ladder_begin(&sv->process->ladder, time_mono(), time);
		server_event(s, sv, SERVER_EV_TIMER);
		break;
	case SERVER_STOPPED:
	case SERVER_BACKOFF:
		server_event(s, sv, SERVER_EV_STOP);
		break;
	}
}

void
server_stop_for_good(struct supervisor *s, struct server *sv,
    struct span time, const char *why)
{
	sv->process->for_good = true;
	server_stop(s, sv, time, why);
}

void
server_restart(struct supervisor *s, struct server *sv, const char *why)
{
	sv->process->restart = true;
	if (sv->state == SERVER_BACKOFF)
		server_event(s, sv, SERVER_EV_TIMER);
	else if (sv->state == SERVER_STOPPED)
		server_event(s, sv, SERVER_EV_WANT);
	else
		server_stop(s, sv, sv->tool->conf->stop_timeout, why);
}

bool
server_is_dead(const struct server *sv)
{
	return sv->state == SERVER_STOPPED || sv->state == SERVER_BACKOFF;
}

void
server_each(struct supervisor *s,
    void (*fn)(void *arg, struct server *sv), void *arg)
{
	struct session_processes *sp, *nextsp;
	struct server *sv, *next;

	TAILQ_FOREACH_SAFE(sv, &s->processes->servers, entry, next)
		fn(arg, sv);
	TAILQ_FOREACH_SAFE(sp, &s->processes->sessions, entry, nextsp)
		TAILQ_FOREACH_SAFE(sv, &sp->servers, entry, next)
			fn(arg, sv);
}

void
server_confirmed(struct supervisor *s, struct server *sv, bool confirmed)
{
	if (sv->session != NULL)
		return; /* its own server's death is the receipt */
	if (!confirmed) {
		if (++sv->not_confirmed == 3)
			server_event(s, sv, SERVER_EV_STUCK);
		return;
	}
	sv->not_confirmed = 0;
	if (sv->state == SERVER_STUCK)
		server_event(s, sv, SERVER_EV_CONFIRMED);
}

void
server_free(struct supervisor *s, struct server *sv)
{
	struct server_process *p = sv->process;

	deadline_clear(s, &p->timer);
	deadline_clear(s, &p->hopeless);
	server_process_reset(p);
	listing_unref(sv->listing);
	free(p->broken);
	if (sv->session == NULL) {
		sv->tool->plugin = NULL;
		TAILQ_REMOVE(&s->processes->servers, sv, entry);
	} else {
		TAILQ_REMOVE(&sv->session->processes->servers, sv, entry);
	}
	free(p);
	free(sv);
}
