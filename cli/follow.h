#ifndef OZ0_CLI_FOLLOW_H
#define OZ0_CLI_FOLLOW_H

#include "cli/client.h"

/*
 * Waits until the node says something.  Ends the program, as SIGPIPE would,
 * when nobody reads stdout any more: a follower that has nothing to write
 * would not notice.
 */
void follow_wait(const struct client *c);

#endif
