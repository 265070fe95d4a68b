#ifndef OZ0_SUPERVISOR_CONTROL_POLICY_H
#define OZ0_SUPERVISOR_CONTROL_POLICY_H

#include "supervisor/control_internal.h"

/* Methods of control_method.c's table. */
void call_approve_request(
    struct supervisor *s, struct request *q, const struct params *p);
void call_deny_request(
    struct supervisor *s, struct request *q, const struct params *p);
void tool_kill_request(
    struct supervisor *s, struct request *q, const struct params *p);
void tool_unkill_request(
    struct supervisor *s, struct request *q, const struct params *p);
void policy_show(
    struct supervisor *s, struct request *q, const struct params *p);
void policy_set_request(
    struct supervisor *s, struct request *q, const struct params *p);

#endif
