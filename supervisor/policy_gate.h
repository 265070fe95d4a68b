#ifndef OZ0_SUPERVISOR_POLICY_GATE_H
#define OZ0_SUPERVISOR_POLICY_GATE_H

#include <stdbool.h>

#include "supervisor/call.h"
#include "supervisor/policy.h"

/* When the policy is asked for a call (LIFECYCLE L6.2). */
enum gate_at {
	GATE_ADMIT, /* it was accepted */
	GATE_START, /* its first attempt is about to start */
	GATE_AGAIN, /* a further one is (L3.6) */
};

enum gate {
	GATE_GO,
	GATE_WAIT,  /* it waits for an approval now */
	GATE_ENDED, /* it was refused */
};

enum gate gate_ask(struct supervisor *s, struct call *c, enum gate_at at);
/* The approval_timeout of a call that waits for an approval is over. */
void gate_timeout(struct supervisor *s, struct call *c);

/* An operator's word (L6.3); false: it does not wait for one. */
bool call_approve(struct supervisor *s, struct call *c, struct fault *f);
bool call_deny(struct supervisor *s, struct call *c, struct fault *f);

/* The policy in force: what was set last, else the configuration's. */
const struct policy *policy_now(const struct supervisor *s);
/* Another one is in force from now on; waiting calls are looked at anew.
 * from: "set over the control socket", "the configuration". */
void policy_changed(struct supervisor *s, const char *from);
/* policy/set: takes p over; NULL: back to the configuration's. */
void policy_set(struct supervisor *s, struct policy *p);

/* L1.9.  with_server: a plugin's shared server is stopped too. */
void tool_kill(struct supervisor *s, struct tool *t, bool with_server);
void tool_unkill(struct supervisor *s, struct tool *t);

#endif
