/*
 * What a session costs: to start it, to cancel it with all that runs in it,
 * and to have it stand idle.  Part of oz0-bench.
 */
#include "bench/measure.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "bench/proc.h"
#include "bench/server.h"

#define TREE 20 /* processes: the server, and what it forked */
#define PATIENCE_MS 30000

static int
open_fifo(const struct measure *m)
{
	CLEANUP_FREE char *path =
	    mem_printf("%s/" SERVER_FIFO, m->node->first);
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		err(1, "open %s", path);
	return fd;
}

static void
wait_for_byte(int fifo)
{
	struct pollfd p = { fifo, POLLIN, 0 };
	char byte;
	int r;

	do
		r = poll(&p, 1, PATIENCE_MS);
	while (r < 0 && errno == EINTR);
	if (r <= 0 || read(fifo, &byte, 1) != 1)
		errx(1, "no server has started");
}

/* A job's first call: nothing of its session is there before. */
static void
start_once(struct measure *m, int fifo, size_t i, struct sample *first,
    struct sample *answer)
{
	struct client *c = m->node->client;
	double begin;
	char job[32];
	uint64_t id;

	snprintf(job, sizeof(job), "start-%03u-%03zu", m->round, i);
	client_do(c, "job/start", "{\"job\":\"%s\"}", job);
	begin = now_us();
	id = client_send(c, "call/start",
	    "{\"job\":\"%s\",\"function\":\"first.first\"}", job);
	wait_for_byte(fifo);
	sample_add(first, now_us() - begin);
	client_want_state(client_wait(c, id), "completed");
	sample_add(answer, now_us() - begin);
	client_do(c, "job/end", "{\"job\":\"%s\"}", job);
}

void
measure_start(struct measure *m)
{
	struct sample first = { 0 }, answer = { 0 }, floor = { 0 };
	int fifo = open_fifo(m);

	for (size_t i = 0; i < m->starts; i++)
		start_once(m, fifo, i, &first, &answer);
	close(fifo);
	proc_settle(m->node);
	for (size_t i = 0; i < m->starts; i++)
		sample_add(&floor, launcher_start(m->launcher));
	rows_add(m->rows, ROW_START, sample_quantile(&first, 0.5),
	    sample_quantile(&floor, 0.5));
	rows_add(m->rows, ROW_ANSWER, sample_quantile(&answer, 0.5),
	    sample_quantile(&floor, 0.5));
	sample_free(&first);
	sample_free(&answer);
	sample_free(&floor);
}

static double
cancel_once(struct measure *m, size_t i)
{
	struct client *c = m->node->client;
	double begin;
	char job[32];

	snprintf(job, sizeof(job), "cancel-%03u-%03zu", m->round, i);
	client_do(c, "job/start", "{\"job\":\"%s\"}", job);
	client_want_state(
	    client_do(c, "call/start",
		"{\"job\":\"%s\",\"function\":\"own.fork\","
		"\"arguments\":{\"children\":%d}}",
		job, TREE - 1),
	    "completed");
	client_send(c, "call/start",
	    "{\"job\":\"%s\",\"function\":\"own.sleep\","
	    "\"arguments\":{\"seconds\":600}}",
	    job);
	/* answered after the server has read the call before */
	client_want_state(
	    client_do(c, "call/start",
		"{\"job\":\"%s\",\"function\":\"own.read\"}", job),
	    "completed");
	begin = now_us();
	client_want_state(
	    client_do(c, "job/cancel", "{\"job\":\"%s\"}", job), "CANCELED");
	return now_us() - begin;
}

void
measure_cancel(struct measure *m)
{
	struct sample node = { 0 }, floor = { 0 };

	for (size_t i = 0; i < m->cancels; i++)
		sample_add(&node, cancel_once(m, i));
	proc_settle(m->node);
	for (size_t i = 0; i < m->cancels; i++)
		sample_add(&floor, launcher_kill(m->launcher, TREE));
	rows_add(m->rows, ROW_CANCEL, sample_quantile(&node, 0.5),
	    sample_quantile(&floor, 0.5));
	sample_free(&node);
	sample_free(&floor);
}

/* Sessions 1 to n of a job, each with a server that has answered once. */
static void
open_sessions(struct measure *m, const char *job)
{
	struct client *c = m->node->client;

	client_do(c, "job/start", "{\"job\":\"%s\"}", job);
	for (size_t i = 1; i <= m->sessions; i++) {
		client_do(c, "session/open",
		    "{\"job\":\"%s\",\"session\":%zu}", job, i);
		client_want_state(
		    client_do(c, "call/start",
			"{\"job\":\"%s\",\"session\":%zu,"
			"\"function\":\"own.read\"}",
			job, i),
		    "completed");
	}
	proc_settle(m->node);
}

void
measure_memory(struct measure *m)
{
	struct shares before, after;
	double n = (double)m->sessions, own;
	char job[32];

	snprintf(job, sizeof(job), "memory-%03u", m->round);
	proc_settle(m->node);
	if (!proc_shares(m->node, &before))
		return;
	open_sessions(m, job);
	if (!proc_shares(m->node, &after)) {
		warnx("this user may not look at the workers' memory");
	} else {
		if (after.workers != m->sessions || after.inits != m->sessions)
			errx(1, "%zu sessions, but %u workers and %u inits",
			    m->sessions, after.workers, after.inits);
		own = after.oz0d_kib - before.oz0d_kib;
		fprintf(stderr,
		    "# a session's KiB: worker %.0f, init %.0f, oz0d %.1f\n",
		    after.worker_kib / n, after.init_kib / n, own / n);
		rows_add(m->rows, ROW_MEMORY,
		    (after.worker_kib + after.init_kib + own) / n,
		    launcher_idle_kib(m->launcher, m->sessions));
	}
	client_do(m->node->client, "job/cancel", "{\"job\":\"%s\"}", job);
	proc_settle(m->node);
}
