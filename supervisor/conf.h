#ifndef OZ0_SUPERVISOR_CONF_H
#define OZ0_SUPERVISOR_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/time.h"

/*
 * The configuration, read and proven (INTERFACES, Configuration).  Once read
 * it never changes: SIGHUP makes a new one.  Tools are counted, so that a
 * running call keeps what it began with.
 */

enum conf_kind { CONF_JOB, CONF_PLUGIN, CONF_REMOTE };

struct conf_pair {
	char *name, *value; /* references already replaced by secrets */
	char *written;	    /* as the file has it, for -n */
	bool secret;	    /* value is never printed */
};

struct conf_sandbox {
	char **read, **write; /* NULL-terminated lists of host paths */
	char *root;	      /* NULL: the made-up one */
	bool network_host;
	bool strict;			    /* limits are demands */
	uint64_t memory, pids, nofile, tmp; /* 0: none; tmp: 256MiB */
	double cpu;			    /* 0: none */
	char *user;			    /* NULL: a dynamic uid */
	uid_t uid; /* of user, looked up when the file was read; never 0 */
	gid_t gid;
};

struct conf_tool {
	unsigned refs;
	char *name;
	enum conf_kind kind;
	char *command;
	char **args;	     /* NULL-terminated, command not included */
	char **args_written; /* the same before secrets, for -n */
	struct conf_pair *env;
	size_t nenv;
	char *cwd;
	struct span timeout, start_timeout, call_timeout, stop_timeout;
	struct span approval_timeout, backoff_base, backoff_cap;
	unsigned max_attempts;
	unsigned max_running; /* 0: none */
	bool eager, restart_when_stuck, stdio_pipe, trace_payload;
	struct conf_sandbox sandbox;
};

/* Who has a role: uids and gids, looked up when the file was read. */
struct conf_who {
	uid_t *uids;
	size_t nuids;
	gid_t *gids;
	size_t ngids;
	char **words; /* as written, for -n; NULL-terminated */
};

struct policy;

struct conf {
	char *path;
	char *node; /* its name */
	unsigned slots;
	unsigned queue;
	char *state_dir, *socket;
	struct conf_who admins, schedulers, observers;
	struct span drain_timeout, keep_jobs;
	uint64_t max_message, message_budget, result_limit;
	uint64_t kept_results; /* bytes of results kept for a rejoin, in all */
	struct policy *policy; /* absent: all is allowed */
	bool power; /* "durability": "power" */
	bool best;  /* "isolation": "best" */
	uid_t uid_first, uid_last;
	bool follow_parent;
	enum log_level log_level;
	bool log_level_set;
	struct conf_tool **tools;
	size_t ntools;
	char **warnings; /* NULL-terminated: unknown keys beside oz0's own */
};

/* What is wrong, with the path of the key: `mcpServers.files.oz0.timeout`. */
struct conf_error {
	char text[1024];
};

/* path NULL: the default place.  0, or -EINVAL / -errno with the error. */
int conf_load(
    const char *path, struct conf **ret, struct conf_error *ret_error);
int conf_parse(const char *path, const char *text, size_t len,
    struct conf **ret, struct conf_error *ret_error);
/* The list of policy/set; 0, or -1 with the error. */
int conf_parse_policy(const char *text, size_t len, struct policy **ret,
    struct conf_error *ret_error);
void conf_free(struct conf *c); /* its tools are unreferenced */
struct conf_tool *conf_tool_ref(struct conf_tool *t);
void conf_tool_unref(struct conf_tool *t);
struct conf_tool *conf_tool_find(const struct conf *c, const char *name);
bool conf_tool_same(const struct conf_tool *a, const struct conf_tool *b);
/* Is what was started with a as good as if with b? */
bool conf_tool_same_start(
    const struct conf_tool *a, const struct conf_tool *b);
/*
 * Another place for the control socket (`oz0d -s`): 0, or -EINVAL with the
 * error when no socket can have that path.
 */
int conf_set_socket(
    struct conf *c, const char *path, struct conf_error *ret_error);
/* Where the file is looked for without -c; NULL when there is no such place. */
char *conf_default_path(void);
/* `oz0d -n`: all keys with their defaults; secrets as their references. */
void conf_print(const struct conf *c, struct buf *out);

#endif
