/*
 * What a call costs: one, many at once, and one with a large result.  Part of
 * oz0-bench.
 *
 * The node is called first, since the floor moves lines of the sizes that the
 * caller of the node sees.
 */
#include "bench/measure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/floor.h"
#include "bench/load.h"
#include "bench/proc.h"

#define WARM_UP 200
#define WARM_UP_BIG 2
#define FIRST_ID 1000000000 /* all of one length; none of client.c's */
#define COMPLETED "\"state\":\"completed\""
#define WINDOW 32
#define RELAYS 2 /* oz0d and a worker */

/* The arguments of the small call; its line has some 200 bytes. */
#define SMALL "\"demo.echo\",\"arguments\":{\"text\":\"0123456789012345\"," \
	      "\"n\":1.10}"
#define BIG "\"demo.big\",\"arguments\":{\"bytes\":1048576}"

struct caller {
	const char *job;
	const char *what;
	uint64_t id;
};

static size_t
call_line(void *arg, char *at)
{
	struct caller *c = arg;
	int n = snprintf(at, LOAD_LINE_MAX,
	    "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"method\":\"call/start\","
	    "\"params\":{\"job\":\"%s\",\"function\":%s}}\n",
	    c->id++, c->job, c->what);

	return (size_t)n;
}

struct dummy {
	size_t len;
};

static size_t
dummy_line(void *arg, char *at)
{
	const struct dummy *d = arg;

	memset(at, 'r', d->len - 1);
	at[d->len - 1] = '\n';
	return d->len;
}

/* A job for one round's calls; ended by end_calls(). */
static void
begin_calls(struct measure *m, char job[32])
{
	snprintf(job, 32, "calls-%06u", m->kind++);
	client_do(m->node->client, "job/start", "{\"job\":\"%s\"}", job);
	proc_settle(m->node);
}

static void
end_calls(struct measure *m, const char *job)
{
	client_do(m->node->client, "job/end", "{\"job\":\"%s\"}", job);
	proc_settle(m->node);
}

/* What the node's own processes worked for each of n calls. */
static void
print_work(struct measure *m, const struct cpu *before, const char *what,
    size_t n)
{
	struct cpu now;
	double calls = (double)n;

	proc_settle(m->node);
	proc_cpu(m->node, &now);
	fprintf(stderr,
	    "# processor time of a %s: oz0d %.1f us, oz0-worker %.1f us, "
	    "oz0-journal %.1f us\n",
	    what, (now.oz0d - before->oz0d) / calls,
	    (now.workers - before->workers) / calls,
	    (now.journal - before->journal) / calls);
}

struct figures {
	double p50, p99, rate;
};

static void
run_small(struct load *l, const struct measure *m, struct figures *ret)
{
	struct sample us = { 0 };

	load_one_by_one(l, WARM_UP, &us);
	sample_free(&us);
	load_one_by_one(l, m->calls, &us);
	ret->p50 = sample_quantile(&us, 0.5);
	ret->p99 = sample_quantile(&us, 0.99);
	sample_free(&us);
	ret->rate = load_in_flight(l, m->pipelined, WINDOW);
}

static double
run_big(struct load *l, const struct measure *m)
{
	struct sample us = { 0 };
	double median;

	load_one_by_one(l, WARM_UP_BIG, &us);
	sample_free(&us);
	load_one_by_one(l, m->big, &us);
	median = sample_quantile(&us, 0.5);
	sample_free(&us);
	return median;
}

void
measure_calls(struct measure *m)
{
	struct figures node, bare;
	char job[32];
	struct caller c = { .job = job, .what = SMALL, .id = FIRST_ID };
	struct load l = { .fd = client_fd(m->node->client),
		.request = call_line, .arg = &c, .expect = COMPLETED };
	struct cpu cpu;
	struct dummy d;
	struct floor f;

	begin_calls(m, job);
	proc_cpu(m->node, &cpu);
	run_small(&l, m, &node);
	print_work(m, &cpu, "call", WARM_UP + m->calls + m->pipelined);
	end_calls(m, job);
	d.len = l.request_len;
	floor_open(&f, RELAYS, l.answer_len);
	l = (struct load) { .fd = f.fd, .request = dummy_line, .arg = &d };
	run_small(&l, m, &bare);
	floor_close(&f);
	rows_add(m->rows, ROW_CALL_P50, node.p50, bare.p50);
	rows_add(m->rows, ROW_CALL_P99, node.p99, bare.p99);
	rows_add(m->rows, ROW_CALLS, node.rate, bare.rate);
}

void
measure_big(struct measure *m)
{
	char job[32];
	struct caller c = { .job = job, .what = BIG, .id = FIRST_ID };
	struct load l = { .fd = client_fd(m->node->client),
		.request = call_line, .arg = &c, .expect = COMPLETED };
	struct cpu cpu;
	struct dummy d;
	struct floor f;
	double node;

	begin_calls(m, job);
	proc_cpu(m->node, &cpu);
	node = run_big(&l, m);
	print_work(m, &cpu, "result of 1 MiB", WARM_UP_BIG + m->big);
	end_calls(m, job);
	d.len = l.request_len;
	floor_open(&f, RELAYS, l.answer_len);
	l = (struct load) { .fd = f.fd, .request = dummy_line, .arg = &d };
	rows_add(m->rows, ROW_BIG, node, run_big(&l, m));
	floor_close(&f);
}
