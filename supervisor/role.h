#ifndef OZ0_SUPERVISOR_ROLE_H
#define OZ0_SUPERVISOR_ROLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "supervisor/conf.h"

/* What a peer of the control socket may do; each may all that is below. */
enum role {
	ROLE_NONE,
	ROLE_OBSERVER,
	ROLE_SCHEDULER,
	ROLE_ADMIN,
};

#define PEER_MAX_GROUPS 65536 /* NGROUPS_MAX of Linux */

/* Who is at the other end, as the kernel says it. */
struct peer {
	uid_t uid;
	gid_t gid;
	pid_t pid;
	gid_t *groups;
	size_t ngroups;
};

/* By SO_PEERCRED and SO_PEERGROUPS; 0 or -errno. */
int peer_read(int fd, struct peer *ret);
void peer_clear(struct peer *p);

enum role role_of(const struct conf *c, const struct peer *p);
const char *role_name(enum role r); /* "admin" */
/* Has anybody a role but root and the node's own user? */
bool role_others(const struct conf *c, uid_t own);

#endif
