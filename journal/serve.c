/*
 * The supervisor's messages, each with the phase from which it may come, in
 * one table.  Handlers only note what is asked; turn.c does it.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fatal.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "journal/journal.h"

#define NAME_MAX_LEN 256
#define NICE 5 /* a third of the others' share, while they want it all */

/*
 * The directory is entered before rights are given up: afterwards the
 * process may be unable to walk there.
 */
static void
enter(struct journal *j)
{
	struct confine_fault fault = { 0 };

	if (fchdir(j->state_dir) < 0)
		fatal(EXIT_CODE_UNAVAILABLE, "entering the state directory");
	umask(077);
	if (confine_journal(j->state_dir, &j->confine, &fault) < 0)
		fatalx(EXIT_CODE_UNAVAILABLE, "confinement: %s: %s",
		    fault.act != NULL ? fault.act : "failed",
		    strerror(fault.error));
}

static void
open_log(struct journal *j)
{
	int r = logdir_open(j->state_dir, &j->log);

	if (r < 0)
		fatalx(EXIT_CODE_UNAVAILABLE, "state directory, log: %s",
		    strerror(-r));
	r = logdir_get_marks(j->log, &j->marks);
	if (r < 0)
		log_warning("log/marks: %s: not used", strerror(-r));
}

/*
 * The database may lag behind the log, calls may not wait for it: it takes no
 * processor away from what carries them.  Where acts wait for its syncs it is
 * a part of that.  Either may be refused, and does no harm then.
 */
static void
step_back(void)
{
	const struct sched_param p = { 0 };

	sched_setscheduler(0, SCHED_BATCH, &p);
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICE);
}

static bool
serve_init(struct journal *j, struct chan_frame *f)
{
	uint32_t version = wire_get_u32(&f->body);
	uint64_t keep = wire_get_u64(&f->body);
	bool sync = wire_get_bool(&f->body);
	uint64_t size = wire_get_u64(&f->body);

	if (!wire_get_end(&f->body) || size < 4096 || size > INT64_MAX)
		return false;
	if (version != WIRE_VERSION)
		fatalx(EXIT_CODE_INTERNAL, "of another version than oz0d");
	j->state_dir = fd_steal(&f->fds[0]);
	j->keep_jobs.us = keep > INT64_MAX ? INT64_MAX : (int64_t)keep;
	j->supply.size = size;
	j->supply.sync = sync;
	if (!sync)
		step_back();
	enter(j);
	open_log(j);
	j->phase = PHASE_INTAKE;
	return true;
}

static bool
serve_query(struct journal *j, struct chan_frame *f)
{
	char job[NAME_MAX_LEN];
	uint64_t id = wire_get_u64(&f->body);
	enum wire_query what = (enum wire_query)wire_get_enum(
	    &f->body, WIRE_QUERY_TRACE, WIRE_QUERY_RESULT);
	uint64_t since;
	uint32_t limit;

	wire_get_str(&f->body, job, sizeof(job));
	since = wire_get_u64(&f->body);
	limit = wire_get_u32(&f->body);
	if (!wire_get_end(&f->body))
		return false;
	if (since > INT64_MAX)
		since = INT64_MAX;
	queries_add(j->queries, id, what, job, since, limit);
	j->poll_at = time_mono(); /* it is to see all that was written */
	return true;
}

static bool
serve_sync(struct journal *j, struct chan_frame *f)
{
	uint64_t seq = wire_get_u64(&f->body);

	if (!wire_get_end(&f->body))
		return false;
	if (seq > j->sync_asked)
		j->sync_asked = seq;
	return true;
}

static bool
serve_ping(struct journal *j, struct chan_frame *f)
{
	uint64_t n = wire_get_u64(&f->body);

	if (!wire_get_end(&f->body))
		return false;
	wire_put_u64(chan_begin(j->chan, WIRE_JOURNAL_PONG), n);
	chan_end_urgent(j->chan);
	return true;
}

static bool
serve_rotated(struct journal *j, struct chan_frame *f)
{
	uint64_t number = wire_get_u64(&f->body);

	if (!wire_get_end(&f->body) || number == UINT64_MAX)
		return false;
	supply_rotated(&j->supply, number);
	return true;
}

static const struct {
	enum wire_type type;
	enum journal_phase from, to; /* in which phases it may come */
	bool (*serve)(struct journal *, struct chan_frame *);
} handlers[] = {
	{ WIRE_JOURNAL_INIT, PHASE_INIT, PHASE_INIT, serve_init },
	{ WIRE_JOURNAL_QUERY, PHASE_INTAKE, PHASE_LIVE, serve_query },
	{ WIRE_JOURNAL_SYNC, PHASE_INTAKE, PHASE_LIVE, serve_sync },
	{ WIRE_JOURNAL_PING, PHASE_INIT, PHASE_LIVE, serve_ping },
	{ WIRE_JOURNAL_ROTATED, PHASE_INTAKE, PHASE_LIVE, serve_rotated },
};

bool
journal_serve(struct journal *j, struct chan_frame *f)
{
	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++)
		if (handlers[i].type == f->type)
			return j->phase >= handlers[i].from
			    && j->phase <= handlers[i].to
			    && handlers[i].serve(j, f);
	return false;
}
