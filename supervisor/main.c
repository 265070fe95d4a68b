/*
 * oz0d(8): the supervisor of a node, one binary that makes every process of it
 * (DESIGN, Processes).  main() makes its own process what it has to be whoever
 * started it, reads the configuration, takes the state directory, and runs the
 * loop; it never daemonises.
 *
 * It is no child subreaper: all that it starts is a child of its own or below
 * the init of a pid namespace, where orphans stay.  As pid 1 it reaps whatever
 * the kernel gives it, as at any other time (child.c).
 */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fatal.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/confine.h"
#include "sandbox/filter.h"
#include "supervisor/call.h"
#include "supervisor/control.h"
#include "supervisor/job.h"
#include "supervisor/leftover.h"
#include "supervisor/libexec.h"
#include "supervisor/lock.h"
#include "supervisor/policy.h"
#include "supervisor/processes.h"
#include "supervisor/record.h"
#include "supervisor/signals.h"
#include "supervisor/startup.h"
#include "supervisor/tool.h"
#include "supervisor/uidpool.h"

#define RESERVE ((size_t)4 << 20)
#define NOFILE_WANTED ((rlim_t)1 << 20)
#define FIRST_FREE_FD 10 /* what children inherit lies above theirs */

static const char usage_text[] =
    "usage: oz0d [-dnV] [-c FILE] [-s SOCKET]\n"
    "\n"
    "  -d, --debug          log in words; twice: also at debug level\n"
    "  -n, --check          check the configuration, print it with its\n"
    "                       defaults, exit\n"
    "  -c, --config FILE    read this configuration\n"
    "  -s, --socket SOCKET  listen there, whatever the configuration says\n"
    "  -V, --version        print the version\n"
    "      --help           print this\n";

struct options {
	unsigned debug;
	bool check;
	const char *conf, *socket;
};

static void
parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "debug", no_argument, NULL, 'd' },
		{ "check", no_argument, NULL, 'n' },
		{ "config", required_argument, NULL, 'c' },
		{ "socket", required_argument, NULL, 's' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "dnVc:s:", longs, NULL)) != -1) {
		switch (c) {
		case 'd':
			o->debug++;
			break;
		case 'n':
			o->check = true;
			break;
		case 'c':
			o->conf = optarg;
			break;
		case 's':
			o->socket = optarg;
			break;
		case 'V':
			printf("oz0d %s\n", PACKAGE_VERSION);
			exit(0);
		case 'h':
			fputs(usage_text, stdout);
			exit(0);
		default:
			fputs(usage_text, stderr);
			exit(EXIT_CODE_USAGE);
		}
	}
	if (optind != argc) {
		fputs(usage_text, stderr);
		exit(EXIT_CODE_USAGE);
	}
}

/* ---- this process ---- */

/* 0, 1 and 2 are open to something, so that nothing else gets their number. */
static void
open_std(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

/* What the launcher left open, but the sockets that LISTEN_FDS hands over. */
static void
close_inherited(void)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
	unsigned first = 3;

	if (pid != NULL && n != NULL && strtol(pid, NULL, 10) == getpid()) {
		long count = strtol(n, NULL, 10);

		if (count > 0 && count < 1024)
			first += (unsigned)count;
		for (unsigned fd = 3; fd < first; fd++)
			fd_cloexec((int)fd, true);
	}
	syscall(SYS_close_range, first, ~0u, 0);
}

static void
set_limits(void)
{
	struct rlimit none = { 0, 0 }, files;

	setrlimit(RLIMIT_CORE, &none);
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max == RLIM_INFINITY
		|| files.rlim_max > NOFILE_WANTED
	    ? NOFILE_WANTED
	    : files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		log_warning("RLIMIT_NOFILE: %s", strerror(errno));
}

/*
 * As root nobody else may look into it.  As an ordinary user it stays
 * dumpable: else its children could not open their own uid_map (DESIGN).
 */
static void
set_dumpable(bool root)
{
	if (root)
		prctl(PR_SET_DUMPABLE, 0);
}

/*
 * What happens where memory is short (LIFECYCLE L9.5) is ours to say, not the
 * libraries': libevent draws on the reserve as everything does, and libbsd's
 * generator, which ends the process when it cannot have its page, has it now.
 */
static void
set_memory(void)
{
	unsigned char first;

	mem_reserve(RESERVE);
	event_set_mem_functions(mem_alloc, mem_realloc, free);
	arc4random_buf(&first, sizeof(first));
}

static void
become_fresh(void)
{
	open_std();
	close_inherited();
	signals_reset();
	set_limits();
	umask(022); /* what servers and harnesses begin with */
	set_memory();
	set_dumpable(geteuid() == 0);
	if (chdir("/") < 0)
		fatal(EXIT_CODE_INTERNAL, "chdir /");
}

/* ---- configuration ---- */

static struct conf *
read_conf(const struct options *o)
{
	struct conf_error e;
	struct conf *c;

	if (conf_load(o->conf, &c, &e) < 0)
		fatalx(EXIT_CODE_USAGE, "%s", e.text);
	if (o->socket != NULL && conf_set_socket(c, o->socket, &e) < 0)
		fatalx(EXIT_CODE_USAGE, "%s", e.text);
	for (char **w = c->warnings; w != NULL && *w != NULL; w++)
		log_warning("%s", *w);
	return c;
}

static int
check_conf(const struct conf *c)
{
	CLEANUP(buf_free) struct buf text = { 0 };

	conf_print(c, &text);
	if (fd_write_all(STDOUT_FILENO, buf_at(&text), buf_len(&text)) < 0)
		fatal(EXIT_CODE_INTERNAL, "stdout");
	return 0;
}

static void
choose_log_level(const struct options *o, const struct conf *c)
{
	if (o->debug >= 2)
		log_set_level(LOG_LEVEL_DEBUG);
	else if (c->log_level_set)
		log_set_level(c->log_level);
}

/* ---- the node ---- */

static void
open_state(struct supervisor *s)
{
	struct processes *ps = s->processes;
	const char *dir = s->conf->state_dir;
	struct lock_error e;

	if (lock_open_state_dir(dir, ps->root, &ps->state_dir, &e) < 0
	    || lock_take(ps->state_dir, dir, &ps->lock, &e) < 0
	    || lock_open_alive(ps->state_dir, &ps->alive, &e) < 0
	    || lock_open_folder(ps->state_dir, "sessions", ps->root,
		   &ps->sessions_dir, &e) < 0
	    || lock_open_folder(
		   ps->state_dir, "tools", ps->root, &ps->tools_dir, &e) < 0)
		fatalx(EXIT_CODE_UNAVAILABLE, "%s", e.text);
}

static void
raise_alive(struct processes *ps)
{
	int fd = fcntl(ps->alive, F_DUPFD_CLOEXEC, FIRST_FREE_FD);

	if (fd < 0)
		fatal(EXIT_CODE_INTERNAL, "dup");
	fd_close(&ps->alive);
	ps->alive = fd;
}

static void
open_programs(struct processes *ps)
{
	struct libexec l;
	char why[512];

	if (libexec_open(&l, why, sizeof(why)) < 0)
		fatalx(EXIT_CODE_UNAVAILABLE, "%s", why);
	ps->exe_worker = l.worker;
	ps->exe_sandbox = l.sandbox;
	ps->exe_journal = l.journal;
}

static void
open_filter(struct supervisor *s)
{
	struct processes *ps = s->processes;

	ps->filter = filter_server_memfd();
	if (ps->filter < 0) {
		errno = -ps->filter;
		fatal(EXIT_CODE_UNAVAILABLE, "the servers' seccomp filter");
	}
	ps->worker_filter = filter_strict_memfd(FILTER_WORKER);
	if (ps->worker_filter < 0) {
		errno = -ps->worker_filter;
		fatal(EXIT_CODE_UNAVAILABLE, "the workers' seccomp filter");
	}
	if (ps->root)
		ps->worker_network = confine_network();
	ps->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (ps->null < 0)
		fatal(EXIT_CODE_UNAVAILABLE, "/dev/null");
}

static void
parent_died(evutil_socket_t fd, short what, void *arg)
{
	struct supervisor *s = arg;

	event_del(s->processes->parent);
	node_stop_fast(s, "its launcher is dead (follow_parent)");
}

static void
follow_parent(struct supervisor *s)
{
	struct processes *ps = s->processes;
	pid_t parent = getppid();

	if (!s->conf->follow_parent)
		return;
	if (parent <= 1)
		fatalx(EXIT_CODE_UNAVAILABLE,
		    "node.follow_parent: there is no launcher to follow");
	ps->parent_fd = (int)syscall(SYS_pidfd_open, parent, 0);
	if (ps->parent_fd < 0 || getppid() != parent)
		fatalx(EXIT_CODE_UNAVAILABLE,
		    "node.follow_parent: the launcher is dead already");
	ps->parent = event_new(
	    s->base, ps->parent_fd, EV_READ, parent_died, s);
	if (ps->parent == NULL || event_add(ps->parent, NULL) < 0)
		fatalx(EXIT_CODE_INTERNAL, "the event loop takes no pidfd");
}

static struct event_base *
open_base(void)
{
	struct event_config *c = event_config_new();
	struct event_base *b = NULL;

	if (c != NULL) {
		event_config_set_flag(c, EVENT_BASE_FLAG_NOLOCK);
		event_config_set_flag(c, EVENT_BASE_FLAG_IGNORE_ENV);
		b = event_base_new_with_config(c);
		event_config_free(c);
	}
	if (b == NULL)
		fatalx(EXIT_CODE_INTERNAL, "no event loop is to be had");
	return b;
}

static void
make_node(struct supervisor *s, struct conf *conf, const struct options *o)
{
	char why[512];
	struct processes *ps;

	RB_INIT(&s->deadlines);
	RB_INIT(&s->jobs);
	RB_INIT(&s->calls);
	RB_INIT(&s->attempts);
	TAILQ_INIT(&s->tools);
	TAILQ_INIT(&s->ready);
	TAILQ_INIT(&s->settling);
	TAILQ_INIT(&s->kept);
	TAILQ_INIT(&s->limited);
	s->state = NODE_STARTING;
	s->started = time_wall();
	s->base = open_base();
	s->recorder = recorder_new();
	ps = processes_new(s);
	ps->root = geteuid() == 0;
	ps->conf_path = mem_strdup(o->conf);
	ps->socket_path = mem_strdup(o->socket);
	ps->debug = o->debug >= 2;
	if (leftover_boot_id(s->boot_id) < 0)
		fatalx(EXIT_CODE_UNAVAILABLE,
		    "no boot id: is /proc mounted?");
	if (tools_configure(s, conf, why, sizeof(why)) < 0)
		fatalx(EXIT_CODE_USAGE, "%s", why);
}

static void
open_node(struct supervisor *s)
{
	struct processes *ps = s->processes;

	open_programs(ps);
	open_state(s);
	raise_alive(ps);
	open_filter(s);
	if (ps->root) {
		ps->uids = uidpool_new(s->conf->uid_first, s->conf->uid_last);
		tools_reserve_uids(s);
	}
	signals_open(s);
	follow_parent(s);
}

static void
free_node(struct supervisor *s)
{
	control_free(s);
	jobs_free(s);
	processes_free(s);
	policy_free(s->policy_set);
	recorder_free(s->recorder);
	conf_free(s->conf);
	event_base_free(s->base);
}

/* A path that was given is seen from where it was given. */
static const char *
absolute(const char *path)
{
	char *cwd, *whole;

	if (path == NULL || path[0] == '/')
		return path;
	cwd = getcwd(NULL, 0);
	if (cwd == NULL)
		fatal(EXIT_CODE_USAGE, "%s: the working directory", path);
	whole = mem_printf("%s/%s", cwd, path);
	free(cwd);
	return whole;
}

int
main(int argc, char **argv, char **envp)
{
	struct supervisor s = { 0 };
	struct options o = { 0 };
	struct conf *conf;
	int code;

	setproctitle_init(argc, argv, envp);
	log_init("oz0d", true);
	parse(argc, argv, &o);
	log_init("oz0d", o.debug == 0 && !o.check);
	o.conf = absolute(o.conf);
	o.socket = absolute(o.socket);
	become_fresh();
	conf = read_conf(&o);
	if (o.check) {
		code = check_conf(conf);
		conf_free(conf);
		return code;
	}
	choose_log_level(&o, conf);
	make_node(&s, conf, &o);
	open_node(&s);
	startup_begin(&s);
	code = supervisor_run(&s);
	free_node(&s);
	return code;
}
