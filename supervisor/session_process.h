#ifndef OZ0_SUPERVISOR_SESSION_PROCESS_H
#define OZ0_SUPERVISOR_SESSION_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include <sys/queue.h>

#include "supervisor/folder.h"
#include "supervisor/process.h"
#include "supervisor/server_process.h"

struct harness;
struct worker;

/* What stands in a session: folder, uid, worker, servers, harness (SESSION). */
struct session_processes {
	TAILQ_ENTRY(session_processes) entry;
	struct session *session;
	uid_t uid;
	gid_t gid;
	bool pool_uid;	   /* given back once the folder is removed */
	char *folder;	   /* host path of what is /session inside */
	struct folder_id folder_id; /* of a workspace: as it was checked */
	char *folder_name; /* below sessions/; NULL: a workspace */
	struct server_list servers;
	struct worker *worker;	 /* NULL: none now */
	struct harness *harness; /* NULL: none runs */
	struct harness_end end;	 /* of the last one, where has_end */
	bool has_end;
	bool stopping, told;
	bool listed; /* in processes->sessions: something of it may live */
	struct deadline check;
	struct deadline patience; /* with a worker that does not drain */
};
TAILQ_HEAD(session_processes_list, session_processes);

/* A worker, server or harness of it died: goes on with a stop. */
void session_process_died(struct supervisor *s, struct session *ss);

/* harness.c */
void harness_stop(struct supervisor *s, struct session *ss, struct span time);
void harness_free(struct supervisor *s, struct session *ss);

#endif
