#ifndef OZ0_SUPERVISOR_TOOL_H
#define OZ0_SUPERVISOR_TOOL_H

#include "supervisor/supervisor.h"

/* Servers that are to run before anybody asks ("eager", plugins). */
void tools_start_eager(struct supervisor *s);
/* Once a turn: shared servers whose configuration changed, once idle. */
void tools_restart_stale(struct supervisor *s);
/* As root: the uids that tools' folders already have. */
void tools_reserve_uids(struct supervisor *s);
void tools_free(struct supervisor *s);

#endif
