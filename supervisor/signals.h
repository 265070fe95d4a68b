#ifndef OZ0_SUPERVISOR_SIGNALS_H
#define OZ0_SUPERVISOR_SIGNALS_H

#include "supervisor/supervisor.h"

/* Dispositions and mask as a fresh program has them, whoever started it. */
void signals_reset(void);
/* Blocks what is taken by descriptor from here on; then the loop reads it. */
void signals_open(struct supervisor *s);
void signals_close(struct supervisor *s);

#endif
