#ifndef OZ0_BENCH_LOAD_H
#define OZ0_BENCH_LOAD_H

#include <stddef.h>

#include "bench/sample.h"

/*
 * The caller's side of a measurement: lines go out, for each a line comes
 * back.  The same code drives the floor and the node.
 */

#define LOAD_LINE_MAX ((size_t)1024)  /* of a request */
#define LOAD_HEAD ((size_t)512)	      /* of an answer, looked at */

struct load {
	int fd; /* blocking; stays the caller's */
	/* Writes one request, its newline included; returns its length. */
	size_t (*request)(void *arg, char *at);
	void *arg;
	const char *expect; /* in the head of each answer; NULL: anything */
	/* of the last ones, newlines included */
	size_t request_len;
	size_t answer_len;
	/* private: the answer that is coming in */
	char head[LOAD_HEAD + 1];
	size_t have;
};

/* n requests, each after the answer to the one before; us each. */
void load_one_by_one(struct load *l, size_t n, struct sample *ret_us);
/* n requests with `window` of them open at any time; requests a second. */
double load_in_flight(struct load *l, size_t n, size_t window);

#endif
