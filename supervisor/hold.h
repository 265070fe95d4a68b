#ifndef OZ0_SUPERVISOR_HOLD_H
#define OZ0_SUPERVISOR_HOLD_H

#include "supervisor/supervisor.h"

void hold_begin(struct supervisor *s);
void hold_end(struct supervisor *s);
/* Once a turn, before deadlines run; without a hold it does nothing. */
void hold_credit(struct supervisor *s, struct mono now);

#endif
