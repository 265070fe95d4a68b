/*
 * SIGTSTP and SIGCONT (INTERFACES): no new attempt while the node holds, and
 * what runs has that time on top of its limits (LIFECYCLE L3.5).  The credit is
 * given turn by turn, before deadlines are looked at, so no limit falls into
 * a hold.  Run by the supervisor.
 */
#include "supervisor/hold.h"

#include "base/log.h"
#include "supervisor/call.h"
#include "supervisor/control.h"

void
hold_begin(struct supervisor *s)
{
	if (s->state != NODE_READY)
		return;
	s->state = NODE_HOLDING;
	s->held_since = time_mono();
	log_notice("holding: no new attempt until SIGCONT");
	notify_status(s);
}

void
hold_credit(struct supervisor *s, struct mono now)
{
	if (s->state != NODE_HOLDING)
		return;
	attempts_credit(s, mono_since(now, s->held_since));
	s->held_since = now;
}

void
hold_end(struct supervisor *s)
{
	if (s->state != NODE_HOLDING)
		return;
	hold_credit(s, time_mono());
	s->state = NODE_READY;
	log_notice("going on");
	notify_status(s);
}
