#ifndef OZ0_CLI_PROGRESS_H
#define OZ0_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/client.h"

/*
 * How far a call has got, on stderr: a bar on a terminal, lines elsewhere; with
 * --json its events on stdout.  It has a connection of its own, so that a
 * caller that does not read its events in time loses them and not the result.
 */
struct progress;

/* activity NULL: every call of the job. */
struct progress *progress_open(
    struct cli *cli, const char *job, const char *activity);
int progress_fd(const struct progress *p); /* -1: none, or lost */
void progress_read(struct progress *p);
void progress_close(struct progress *p); /* the bar goes; NULL is fine */

/* In the answer of job/status: the last call of that activity, of those that
 * have not ended (or of all); false: there is none. */
bool progress_call_in(struct json_value status, const char *activity,
    bool ended_too, char *ret_name, size_t size);

#endif
