#ifndef OZ0_SANDBOX_PLAN_H
#define OZ0_SANDBOX_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/*
 * A plan: everything that a sandbox is to be, as pure data.  The supervisor
 * makes one from the configuration, oz0-sandbox carries it out, and
 * `oz0-sandbox --explain` prints it in words (SESSION, What is in a sandbox).
 */

#define PLAN_JSON_MAX ((size_t)1 << 20) /* of an encoded plan */
#define PLAN_TMP_SIZE ((uint64_t)256 << 20)
#define PLAN_NOFILE 1024

enum plan_mount_kind {
	PLAN_BIND_RO, /* host path, read-only */
	PLAN_BIND_RW,
	PLAN_TMPFS,   /* source unused; size in bytes */
	PLAN_SYMLINK, /* source is what the link says */
};

struct plan_mount {
	enum plan_mount_kind kind;
	char *source;
	char *target;  /* absolute, inside */
	uint64_t size; /* PLAN_TMPFS */
	bool optional; /* a source that is not there is left out */
	/* the very file that the source must be; inode 0: any */
	uint64_t device, inode;
};

/* A file made up inside, read-only: /etc/passwd, /etc/hosts. */
struct plan_file {
	char *target;
	char *text;
};

enum plan_network {
	PLAN_NET_NONE, /* a namespace of its own, loopback up */
	PLAN_NET_HOST,
};

struct plan {
	char *name;  /* after "oz0-sandbox: " in ps: "j1/1 files" */
	char **argv; /* NULL-terminated; argv[0] is looked up in PATH inside */
	char **envp; /* NULL-terminated, whole */
	char *cwd;   /* inside; checked to lie inside the root; NULL: "/" */
	char *hostname; /* NULL: "oz0" */
	uid_t uid;	/* same number inside and outside; 0 is refused */
	gid_t gid;
	enum plan_network network;
	struct plan_mount *mounts;
	size_t nmounts;
	struct plan_file *files;
	size_t nfiles;
	uint64_t tmp_size; /* of /tmp */
	uint64_t nofile;   /* soft limit; 0: 1024 */
	bool tty;      /* stdin is a terminal: make it the controlling one */
	bool best;     /* isolation "best": a layer not to be had is left out
			  and reported, not an error */
	bool landlock; /* normally true; tests switch layers off */
	bool seccomp;
};

/*
 * Defaults: layers on, network none, the caller's own uid and gid, a PATH and
 * a LANG in the environment.
 */
struct plan *plan_new(void);
void plan_free(struct plan *p); /* NULL is fine */
void plan_set_argv(struct plan *p, const char *const *argv);
/* Replaces a variable of that name. */
void plan_add_env(struct plan *p, const char *name, const char *value);
/* NULL when there is none of that name. */
const char *plan_get_env(const struct plan *p, const char *name);
void plan_add_mount(struct plan *p, enum plan_mount_kind kind,
    const char *source, const char *target, uint64_t size, bool optional);
/* The mount added last is of this very file, whatever its path leads to by
 * the time it is mounted. */
void plan_pin_mount(struct plan *p, uint64_t device, uint64_t inode);
void plan_add_file(struct plan *p, const char *target, const char *text);
/*
 * The run-time's own places (/usr, /bin, /lib*, ...) and the made-up /etc
 * that every sandbox has (SESSION's table): user name and uid as planned.
 * Looks at the host; call it once uid, gid, network and hostname are set, and
 * before mounts of the tool's own, which may lie below these.
 */
void plan_add_base(struct plan *p);
/*
 * In place of that base: every entry of the host folder `dir` at the same place
 * below /, read-only; but for /dev, /proc and /tmp, which each sandbox makes.
 * 0 or a negative errno.
 */
int plan_add_root(struct plan *p, const char *dir);
/*
 * Where argv[0] is an absolute path that no mount covers so far, a read-only
 * bind of that file, and of what it links to.
 */
void plan_add_command(struct plan *p);
/* The first absolute path among the arguments that no mount shows: a likely
 * reason why a server cannot start.  NULL: there is none. */
const char *plan_hidden_argument(const struct plan *p);

/*
 * As JSON, and back; 0 or -EINVAL with *ret_why (static words).  Unknown and
 * repeated keys are errors; what a text leaves out has plan_new()'s defaults.
 */
void plan_encode(const struct plan *p, struct buf *out);
int plan_decode(
    const char *text, size_t len, struct plan **ret, const char **ret_why);
/* Is this a plan that can be carried out?  0 or -EINVAL with *ret_why. */
int plan_check(const struct plan *p, const char **ret_why);

/*
 * A further command for a running sandbox, as WIRE_SANDBOX_SPAWN carries it:
 * {"argv": [], "env": {}, "cwd": ""}.  Without env or cwd: those of base.
 */
struct plan_command {
	char **argv;
	char **envp;
	char *cwd;
};
int plan_command_decode(const char *text, size_t len, const struct plan *base,
    struct plan_command *ret, const char **ret_why);
void plan_command_clear(struct plan_command *c);

/* In words, for `--explain`. */
void plan_explain(const struct plan *p, struct buf *out);

#endif
