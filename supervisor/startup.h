#ifndef OZ0_SUPERVISOR_STARTUP_H
#define OZ0_SUPERVISOR_STARTUP_H

#include "supervisor/supervisor.h"
#include "wire/record.h"

/*
 * From a locked state directory to a node that is ready, in the event loop
 * (LIFECYCLE L9.1): the log is read, what the node before left is killed and
 * waited for, what had not ended is closed as lost.
 */
void startup_begin(struct supervisor *s);
void startup_child(struct supervisor *s, const struct rec_child *c);
void startup_advance(struct supervisor *s); /* something has changed */
void startup_failed(struct supervisor *s, const char *why);
void startup_free(struct supervisor *s);

#endif
