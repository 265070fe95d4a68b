/*
 * Who may do what on the control socket (SESSION, Who may do what): the role
 * of a peer follows from what the kernel says of it and from the lists of the
 * configuration, and from nothing that the peer says.  Runs in oz0d.
 */
#include "supervisor/role.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"

static int
read_groups(int fd, struct peer *p)
{
	socklen_t len = 16 * sizeof(gid_t);

	for (;;) {
		gid_t *groups = mem_alloc(len + sizeof(gid_t));

		if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) ==
		    0) {
			p->groups = groups;
			p->ngroups = len / sizeof(gid_t);
			return 0;
		}
		free(groups);
		if (errno == ENOPROTOOPT)
			return 0; /* none known: before Linux 4.13 */
		if (errno != ERANGE || len > PEER_MAX_GROUPS * sizeof(gid_t))
			return -errno;
	}
}

int
peer_read(int fd, struct peer *ret)
{
	struct peer p = {0};
	struct ucred cred;
	socklen_t len = sizeof(cred);
	int r;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0)
		return -errno;
	p.uid = cred.uid;
	p.gid = cred.gid;
	p.pid = cred.pid;
	r = read_groups(fd, &p);
	if (r == 0)
		*ret = p;
	return r;
}

void
peer_clear(struct peer *p)
{
	free(p->groups);
	memset(p, 0, sizeof(*p));
}

static bool
in_group(const struct peer *p, gid_t gid)
{
	if (p->gid == gid)
		return true;
	for (size_t i = 0; i < p->ngroups; i++)
		if (p->groups[i] == gid)
			return true;
	return false;
}

static bool
listed(const struct conf_who *w, const struct peer *p)
{
	for (size_t i = 0; i < w->nuids; i++)
		if (w->uids[i] == p->uid)
			return true;
	for (size_t i = 0; i < w->ngids; i++)
		if (in_group(p, w->gids[i]))
			return true;
	return false;
}

enum role
role_of(const struct conf *c, const struct peer *p)
{
	if (listed(&c->admins, p))
		return ROLE_ADMIN;
	if (listed(&c->schedulers, p))
		return ROLE_SCHEDULER;
	return listed(&c->observers, p) ? ROLE_OBSERVER : ROLE_NONE;
}

const char *
role_name(enum role r)
{
	static const char *const names[] = {
	    "none", "observer", "scheduler", "admin"};

	return names[r];
}

static bool
has_others(const struct conf_who *w, uid_t own)
{
	for (size_t i = 0; i < w->nuids; i++)
		if (w->uids[i] != own && w->uids[i] != 0)
			return true;
	return w->ngids > 0;
}

bool
role_others(const struct conf *c, uid_t own)
{
	return has_others(&c->admins, own) || has_others(&c->schedulers, own) ||
	       has_others(&c->observers, own);
}
