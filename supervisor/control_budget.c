/*
 * What all connections together may hold.  Memory (LIFECYCLE L9.6): over the
 * budget calls are put aside (control_aside.c), and a peer that does not
 * read, or hardly, is cut off (its calls go on, it may join them again).
 * Connections: a new one takes the place of one that is idle, half a line
 * included (B210).  Runs in oz0d; called by control.c.
 */
#include "supervisor/control_internal.h"

#include "base/log.h"

#define STUCK SPAN_S(10)   /* over the budget, reads too little */
#define UNENDED SPAN_S(10) /* over the budget, does not end its line */

static size_t
used(const struct control *c)
{
	return c->bytes + c->s->payload_bytes;
}

size_t
control_bytes(const struct supervisor *s)
{
	return s->control == NULL ? 0 : s->control->bytes;
}

bool
budget_over(const struct control *c)
{
	return c->over;
}

/*
 * Cuts off the peers that do not read what waits for them, or hardly: all
 * others wait for them.
 */
static void
cut_stuck(struct control *c, struct mono now)
{
	struct conn *k, *next;

	TAILQ_FOREACH_SAFE(k, &c->conns, entry, next)
	if (k->stuck.us != MONO_NEVER.us &&
	    mono_since(now, k->stuck).us > STUCK.us)
		conn_kill(k, "the budget for messages is used up, and it "
			     "does not read its answers or events");
}

/* Cuts off the peers that began a long line and do not end it. */
static void
cut_unended(struct control *c, struct mono now)
{
	struct conn *k, *next;

	if (mono_since(now, c->over_since).us <= UNENDED.us)
		return;
	TAILQ_FOREACH_SAFE(k, &c->conns, entry, next)
	if (k->long_since.us != MONO_NEVER.us &&
	    mono_since(now, k->long_since).us > UNENDED.us)
		conn_kill(k, "the budget for messages is used up, and it "
			     "does not end its line");
}

static void
check_over(struct control *c)
{
	uint64_t budget = c->s->conf->message_budget;
	struct mono now;

	if (!c->over && used(c) <= budget)
		return;
	if (c->over && used(c) <= budget - budget / 8) {
		log_info("control: calls are taken again");
		c->over = false;
		return;
	}
	now = time_mono();
	if (!c->over) {
		log_warning("control: the budget for messages (%llu bytes) is "
			    "used up: calls wait until there is room",
		    (unsigned long long)budget);
		c->over_since = now;
	}
	c->over = true;
	cut_stuck(c, now);
	cut_unended(c, now);
	if (!c->resume.set)
		deadline_after(c->s, &c->resume, SPAN_S(1));
}

void
budget_check(struct control *c)
{
	check_over(c);
	aside_check(c);
}

/* ---- connections ---- */

/* The one that is idle for longest, of one uid or of all. */
static struct conn *
find_idle(struct control *c, const uid_t *uid, bool never_asked)
{
	struct conn *k;

	TAILQ_FOREACH(k, &c->conns, entry)
	if ((uid == NULL || k->peer.uid == *uid) && conn_idle(k) &&
	    (!never_asked || k->lines == 0))
		return k;
	return NULL;
}

static bool
evict(struct control *c, const uid_t *uid)
{
	struct conn *k = find_idle(c, uid, true);

	if (k == NULL)
		k = find_idle(c, uid, false);
	if (k == NULL)
		return false;
	if (control_seldom(&c->evicted_at))
		log_notice("control: all connections are in use: idle ones "
			   "(pid %ld, uid %lu) give their places to others",
		    (long)k->peer.pid, (unsigned long)k->peer.uid);
	conn_kill(k, NULL);
	return true;
}

bool
limit_make_room(struct control *c, const struct peer *p)
{
	unsigned mine = 0;
	struct conn *k;

	TAILQ_FOREACH(k, &c->conns, entry)
	mine += k->peer.uid == p->uid;
	if (mine >= c->max_per_uid && !evict(c, &p->uid))
		return false;
	return c->nconns < c->max_conns || evict(c, NULL);
}
