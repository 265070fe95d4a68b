/*
 * The processes' side as a whole: made, flushed, shown, and taken down.  Run by
 * the supervisor.
 */
#include "supervisor/process.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "supervisor/folder.h"
#include "supervisor/journal.h"
#include "supervisor/processes.h"
#include "supervisor/signals.h"
#include "supervisor/startup.h"
#include "supervisor/tool.h"
#include "supervisor/uidpool.h"

struct processes *
processes_new(struct supervisor *s)
{
	struct processes *ps = mem_zalloc(sizeof(*ps));

	ps->children = children_new();
	ps->links = links_new();
	ps->remover = remover_new();
	TAILQ_INIT(&ps->workers);
	TAILQ_INIT(&ps->servers);
	TAILQ_INIT(&ps->sessions);
	ps->exe_worker = ps->exe_sandbox = ps->exe_journal = -1;
	ps->state_dir = ps->sessions_dir = ps->tools_dir = -1;
	ps->lock = ps->alive = ps->filter = ps->null = -1;
	ps->worker_filter = ps->worker_network = -1;
	ps->timer_fd = ps->signal_fd = ps->parent_fd = -1;
	s->processes = ps;
	stop_init(s);
	return ps;
}

void
process_flush(struct supervisor *s)
{
	links_flush(s, s->processes->links);
}

void
process_each(struct supervisor *s,
    void (*fn)(void *arg, const struct process_info *p), void *arg)
{
	children_each(s, fn, arg);
}

static void
free_event(struct event **e)
{
	if (*e != NULL)
		event_free(*e);
	*e = NULL;
}

static void
close_descriptors(struct processes *ps)
{
	int *const fds[] = { &ps->exe_worker, &ps->exe_sandbox,
		&ps->exe_journal, &ps->state_dir, &ps->sessions_dir,
		&ps->tools_dir, &ps->lock, &ps->alive, &ps->filter,
		&ps->worker_filter, &ps->worker_network, &ps->null,
		&ps->timer_fd, &ps->parent_fd };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		fd_close(fds[i]);
}

void
processes_free(struct supervisor *s)
{
	struct processes *ps = s->processes;

	startup_free(s);
	deadline_clear(s, &ps->drain);
	deadline_clear(s, &ps->stop);
	deadline_clear(s, &ps->title.due);
	tools_free(s);
	journal_free(s);
	remover_free(s, ps->remover);
	children_free(s);
	links_free(ps->links);
	uidpool_free(ps->uids);
	signals_close(s);
	free_event(&ps->timer);
	free_event(&ps->parent);
	close_descriptors(ps);
	free(ps->conf_path);
	free(ps->socket_path);
	free(ps);
	s->processes = NULL;
}
