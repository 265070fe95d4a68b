#ifndef OZ0_SUPERVISOR_FOLDER_H
#define OZ0_SUPERVISOR_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisor/fault.h"
#include "supervisor/supervisor.h"

/*
 * Folders of sessions (state_dir/sessions) and of plugins' servers
 * (state_dir/tools).  As root each belongs to the uid that works in it.
 */

/* One folder, wherever it is moved and whatever takes its place. */
struct folder_id {
	uint64_t device, inode; /* inode 0: any */
};

/* Makes a fresh one, mode 0700; its name within dir in *ret_name. */
int folder_make(int dir, const char *prefix, uid_t uid, gid_t gid, bool chown,
    char **ret_name);
/*
 * The kept folder of a tool: its owner is the tool's uid from one start to the
 * next.  Makes it with uid and gid where it is not there.  0 or -errno.
 */
int folder_keep(int dir, const char *name, uid_t uid, gid_t gid, bool chown);
/* Whose is it?  0, or -ENOENT. */
int folder_owner(int dir, const char *name, uid_t *ret_uid);
/*
 * A workspace (SESSION): a directory that the caller owns, or any for an admin;
 * as root its owner is who the session runs as, never uid or gid 0.
 */
bool folder_check_workspace(const char *path, uid_t peer, bool admin,
    bool root, uid_t *ret_uid, gid_t *ret_gid, char **ret_path,
    struct folder_id *ret_id, struct fault *f);

/*
 * Removing, by a process of its own (`oz0-sandbox --remove`) that has the
 * folder's uid and nothing but the folder.  uid is given back to the pool
 * once it is gone, where give_uid.
 */
struct remover;
struct remover *remover_new(void);
void remover_free(struct supervisor *s, struct remover *r);
void remover_add(struct supervisor *s, const char *name, uid_t uid, gid_t gid,
    bool give_uid);
/* What the node before left in sessions/. */
void remover_sweep(struct supervisor *s);
bool remover_idle(const struct supervisor *s);

#endif
