#ifndef OZ0_SUPERVISOR_WORKER_PINGS_H
#define OZ0_SUPERVISOR_WORKER_PINGS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Is the other end alive?  A ping a second, each only once the loop has run
 * (so a supervisor that was stopped blames nobody); too many unanswered ones
 * say no (LIFECYCLE L9.2).
 */
#define PINGS_WORKER 5u
#define PINGS_JOURNAL 10u /* it works in pieces, a slow disk may hold one */

struct pings {
	uint64_t sent, answered;
	uint64_t excused; /* those up to it blame nobody */
};

/* The number of the next ping, or false: `max` have no answer. */
static inline bool
pings_next(struct pings *p, unsigned max, uint64_t *ret)
{
	uint64_t since = p->answered > p->excused ? p->answered : p->excused;

	if (p->sent - since >= max)
		return false;
	*ret = ++p->sent;
	return true;
}

/* Its answers were not read for a while: what it owes says nothing. */
static inline void
pings_excuse(struct pings *p)
{
	p->excused = p->sent;
}

/* false: an answer to what was never asked, or asked long ago. */
static inline bool
pings_answer(struct pings *p, uint64_t n)
{
	if (n <= p->answered || n > p->sent)
		return false;
	p->answered = n;
	return true;
}

#endif
