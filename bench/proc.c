/*
 * Looking at the node's processes from outside.  Part of oz0-bench.
 *
 * Which they are is the node's own word (node/ps); what they take is the
 * kernel's.
 */
#include "bench/proc.h"

#include <err.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LOOK_MS 50
#define QUIET 3	    /* looks without work in a row */
#define LOOKS_MAX 1200
#define QUIET_US 500 /* of work in LOOK_MS, at most */

double
proc_pss(pid_t pid)
{
	char path[64], line[256];
	double kib = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "Pss: %lf", &kib) == 1)
			break;
	fclose(f);
	return kib;
}

/* us of processor time; 0 when it is gone. */
static double
work_of(pid_t pid)
{
	char path[64];
	double ns = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	if (fscanf(f, "%lf", &ns) != 1)
		ns = 0;
	fclose(f);
	return ns / 1000;
}

/* Does it run, or wait for a processor or a disk? */
static bool
is_at_work(pid_t pid)
{
	char path[64], text[512], *after;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	after = strrchr(text, ')');
	return after != NULL && (after[2] == 'R' || after[2] == 'D');
}

/* Each process that node/ps names. */
static void
each(struct node *n,
    void (*fn)(void *arg, pid_t pid, struct json_value process), void *arg)
{
	struct json_value all = json_member(
	    client_do(n->client, "node/ps", "{}"), "processes");
	struct json_value key, one;
	struct json_iter it;
	int64_t pid;

	if (all.type != JSON_ARRAY)
		errx(1, "node/ps lists no processes");
	json_iter_init(&it, all);
	while (json_iter_next(&it, &key, &one))
		if (json_to_int64(json_member(one, "pid"), &pid))
			fn(arg, (pid_t)pid, one);
}

struct look {
	struct shares *shares;
	bool ok;
};

static void
add_share(void *arg, pid_t pid, struct json_value process)
{
	struct look *l = arg;
	struct json_value role = json_member(process, "role");
	double kib;

	if (json_member(process, "job").type == JSON_NONE)
		return;
	kib = proc_pss(pid);
	if (kib < 0)
		l->ok = false;
	if (json_string_is(role, "worker")) {
		l->shares->worker_kib += kib;
		l->shares->workers++;
	} else if (json_string_is(role, "sandbox")) {
		l->shares->init_kib += kib;
		l->shares->inits++;
	}
}

bool
proc_shares(struct node *n, struct shares *ret)
{
	struct look l = { .shares = ret, .ok = true };

	memset(ret, 0, sizeof(*ret));
	each(n, add_share, &l);
	ret->oz0d_kib = proc_pss(n->pid);
	return l.ok && ret->oz0d_kib >= 0;
}

static void
add_work(void *arg, pid_t pid, struct json_value process)
{
	struct cpu *c = arg;
	struct json_value role = json_member(process, "role");

	if (json_string_is(role, "journal"))
		c->journal += work_of(pid);
	else if (json_string_is(role, "worker"))
		c->workers += work_of(pid);
}

void
proc_cpu(struct node *n, struct cpu *ret)
{
	memset(ret, 0, sizeof(*ret));
	each(n, add_work, ret);
	ret->oz0d = work_of(n->pid);
}

static void
note_work(void *arg, pid_t pid, struct json_value process)
{
	*(bool *)arg = *(bool *)arg || is_at_work(pid);
}

/*
 * Both looks are needed: one that waits for a busy machine's processor does
 * not work, and one that works in short turns may be met asleep.
 */
void
proc_settle(struct node *n)
{
	const struct timespec a_while = { 0, LOOK_MS * 1000000L };
	double before = 0;
	unsigned quiet = 0;

	for (unsigned i = 0; i < LOOKS_MAX && quiet < QUIET; i++) {
		bool busy = false;
		struct cpu c;
		double now;

		proc_cpu(n, &c); /* oz0d, which answers, is not asked for */
		each(n, note_work, &busy);
		now = c.workers + c.journal;
		quiet = !busy && now - before < QUIET_US ? quiet + 1 : 0;
		before = now;
		nanosleep(&a_while, NULL);
	}
}
