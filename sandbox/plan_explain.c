/*
 * A plan in words, for `oz0-sandbox --explain` and `oz0 sandbox explain`.
 *
 * Values of environment variables are not printed: they may be secrets.
 */
#include "sandbox/plan.h"

#include <string.h>

static void
put_words(struct buf *out, char *const *words)
{
	for (size_t i = 0; words[i] != NULL; i++)
		buf_printf(out, " %s", words[i]);
	buf_putc(out, '\n');
}

static void
put_mount(struct buf *out, const struct plan_mount *m)
{
	const char *optional = m->optional ? ", if it is there" : "";

	switch (m->kind) {
	case PLAN_BIND_RO:
	case PLAN_BIND_RW:
		buf_printf(out, "  %s  %s", m->target,
		    m->kind == PLAN_BIND_RO ? "read-only" : "writable");
		if (strcmp(m->source, m->target) == 0)
			buf_printf(out, ", as on the host%s\n", optional);
		else
			buf_printf(
			    out, ", the host's %s%s\n", m->source, optional);
		break;
	case PLAN_TMPFS:
		buf_printf(out, "  %s  empty, writable, %llu bytes\n",
		    m->target, (unsigned long long)m->size);
		break;
	case PLAN_SYMLINK:
		buf_printf(out, "  %s  link to %s\n", m->target, m->source);
		break;
	}
}

static void
put_identity(const struct plan *p, struct buf *out)
{
	buf_printf(out, "sandbox %s\n  command ", p->name);
	put_words(out, p->argv);
	buf_printf(out, "  in       %s\n", p->cwd != NULL ? p->cwd : "/");
	buf_printf(out,
	    "  as       uid %u, gid %u, without capabilities\n"
	    "  host     %s\n",
	    (unsigned)p->uid, (unsigned)p->gid,
	    p->hostname != NULL ? p->hostname : "oz0");
	buf_printf(out, "  network  %s\n",
	    p->network == PLAN_NET_HOST ? "the host's"
					: "none (a loopback of its own)");
	buf_puts(out, "  environment");
	for (size_t i = 0; p->envp[i] != NULL; i++)
		buf_printf(
		    out, " %.*s", (int)strcspn(p->envp[i], "="), p->envp[i]);
	buf_putc(out, '\n');
}

void
plan_explain(const struct plan *p, struct buf *out)
{
	put_identity(p, out);
	buf_printf(out,
	    "\nfiles: the root is empty and read-only but for\n"
	    "  /proc  its own processes alone; the machine's parts covered,\n"
	    "         /proc/sys read-only\n"
	    "  /dev   null, zero, full, random, urandom, pts, shm%s\n"
	    "  /tmp   empty, writable, %llu bytes\n",
	    p->tty ? ", tty" : "", (unsigned long long)p->tmp_size);
	for (size_t i = 0; i < p->nfiles; i++)
		buf_printf(out, "  %s  made up, %zu bytes\n",
		    p->files[i].target, strlen(p->files[i].text));
	for (size_t i = 0; i < p->nmounts; i++)
		put_mount(out, &p->mounts[i]);
	buf_printf(out,
	    "\nlimits\n  open files %llu, core dumps off\n"
	    "\nlayers\n"
	    "  user, mount, pid, ipc, uts%s and cgroup namespaces of its own\n"
	    "  no_new_privs, every capability set empty\n"
	    "  Landlock %s, seccomp %s\n"
	    "  a layer that the machine does not have is %s\n",
	    (unsigned long long)(p->nofile > 0 ? p->nofile : PLAN_NOFILE),
	    p->network == PLAN_NET_NONE ? ", network" : "",
	    p->landlock ? "on" : "off", p->seccomp ? "on" : "off",
	    p->best ? "left out and reported" : "an error");
}
