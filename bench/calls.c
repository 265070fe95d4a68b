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

struct figures {
	double p50, p99, rate, big;
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

static void
run_big(struct load *l, const struct measure *m, struct figures *ret)
{
	struct sample us = { 0 };

	load_one_by_one(l, 2, &us);
	sample_free(&us);
	load_one_by_one(l, m->big, &us);
	ret->big = sample_quantile(&us, 0.5);
	sample_free(&us);
}

static void
run_node(struct measure *m, struct figures *ret)
{
	char job[32];
	struct caller c = { .job = job, .id = 1000000000 };
	struct load l = { .fd = client_fd(m->node->client),
		.request = call_line, .arg = &c,
		.expect = "\"state\":\"completed\"" };

	snprintf(job, sizeof(job), "calls-%03u", m->round);
	client_do(m->node->client, "job/start", "{\"job\":\"%s\"}", job);
	proc_settle(m->node);
	c.what = SMALL;
	run_small(&l, m, ret);
	m->request_len = l.request_len;
	m->answer_len = l.answer_len;
	proc_settle(m->node);
	c.what = BIG;
	run_big(&l, m, ret);
	m->big_len = l.answer_len;
	client_do(m->node->client, "job/end", "{\"job\":\"%s\"}", job);
	proc_settle(m->node);
}

static void
run_floor(struct measure *m, struct figures *ret)
{
	struct dummy d = { .len = m->request_len };
	struct load l = { .request = dummy_line, .arg = &d };
	struct floor f;

	floor_open(&f, RELAYS, m->answer_len);
	l.fd = f.fd;
	run_small(&l, m, ret);
	floor_close(&f);
	floor_open(&f, RELAYS, m->big_len);
	l.fd = f.fd;
	run_big(&l, m, ret);
	floor_close(&f);
}

void
measure_calls(struct measure *m)
{
	struct figures node, floor;

	run_node(m, &node);
	run_floor(m, &floor);
	rows_add(m->rows, ROW_CALL_P50, node.p50, floor.p50);
	rows_add(m->rows, ROW_CALL_P99, node.p99, floor.p99);
	rows_add(m->rows, ROW_CALLS, node.rate, floor.rate);
	rows_add(m->rows, ROW_BIG, node.big, floor.big);
}
