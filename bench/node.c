/*
 * The node that is measured: made, started, stopped.  Part of oz0-bench.
 *
 * Its configuration has oz0-demo as a plugin (`demo`) and as a job server
 * (`own`), and the static server as a job server (`first`).  As root the
 * servers run under uids of the node's range, so what they are started from
 * is copied to a folder that all may read.
 */
#include "bench/node.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "bench/server.h"

#define READY_MS 30000
#define SWEEPS_MAX 200

static const char config[] =
    "{\"node\":{\"name\":\"bench\",\"state_dir\":\"%1$s/state\","
    "\"socket\":\"%1$s/control.sock\",\"slots\":256},"
    "\"mcpServers\":{"
    "\"demo\":{\"command\":\"%1$s/first/oz0-demo\","
    "\"oz0\":{\"kind\":\"plugin\",\"eager\":true}},"
    "\"own\":{\"command\":\"%1$s/first/oz0-demo\","
    "\"oz0\":{\"kind\":\"job\",\"timeout\":\"1h\"}},"
    "\"first\":{\"command\":\"%1$s/first/" SERVER_NAME "\","
    "\"args\":[\"%1$s/first/" SERVER_FIFO "\"],"
    "\"oz0\":{\"kind\":\"job\",\"sandbox\":{\"write\":[\"%1$s/first\"]}}}"
    "}}\n";

static void
copy_program(const char *from, const char *dir, const char *name)
{
	CLEANUP_FREE char *to = mem_printf("%s/%s", dir, name);
	CLEANUP_CLOSE int in = open(from, O_RDONLY | O_CLOEXEC);
	CLEANUP_CLOSE int out =
	    open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	char buf[1 << 16];
	ssize_t n;

	if (in < 0 || out < 0)
		err(1, "copy %s to %s", from, to);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		if (fd_write_all(out, buf, (size_t)n) < 0)
			err(1, "write %s", to);
	if (n < 0 || fchmod(out, 0755) < 0)
		err(1, "copy %s to %s", from, to);
}

static void
write_config(const struct node *n)
{
	CLEANUP_FREE char *path = mem_printf("%s/oz0.json", n->dir);
	FILE *f = fopen(path, "we");

	if (f == NULL || fprintf(f, config, n->dir) < 0 || fclose(f) != 0)
		err(1, "write %s", path);
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	return remove(path);
}

/*
 * Removes the folder once the benchmark is gone, killed or not: what it
 * forked dies with it, and so does the node, which may need a moment.
 */
static void __attribute__((noreturn))
sweep(const char *dir, int end)
{
	const struct timespec a_while = { 0, 50 * 1000000L };
	char byte;

	setsid(); /* out of reach of what ends our process group */
	while (read(end, &byte, 1) < 0 && errno == EINTR)
		;
	for (int i = 0; i < SWEEPS_MAX; i++) {
		nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
		if (access(dir, F_OK) < 0)
			break;
		nanosleep(&a_while, NULL);
	}
	_exit(0);
}

static void
start_sweeper(struct node *n)
{
	int pv[2];

	if (getenv("OZ0_BENCH_KEEP") != NULL)
		return;
	if (pipe2(pv, O_CLOEXEC) < 0)
		err(1, "pipe");
	n->sweeper = fork();
	if (n->sweeper < 0)
		err(1, "fork");
	if (n->sweeper == 0) {
		close(pv[1]);
		sweep(n->dir, pv[0]);
	}
	close(pv[0]);
	n->sweeper_end = pv[1];
}

void
node_prepare(struct node *n, const char *bin, uid_t uid, gid_t gid)
{
	CLEANUP_FREE char *demo = mem_printf("%s/oz0-demo", bin);
	CLEANUP_FREE char *server = mem_printf("%s/bench/" SERVER_NAME, bin);
	CLEANUP_FREE char *fifo = NULL;
	const char *tmp = getenv("TMPDIR");
	char *dir = mem_printf(
	    "%s/oz0-bench-XXXXXX", tmp != NULL ? tmp : "/tmp");

	*n = (struct node) { .uid = uid, .gid = gid, .notify = -1,
		.sweeper_end = -1 };
	if (mkdtemp(dir) == NULL)
		err(1, "make %s", dir);
	n->dir = dir;
	start_sweeper(n);
	n->first = mem_printf("%s/first", dir);
	n->socket = mem_printf("%s/control.sock", dir);
	fifo = mem_printf("%s/" SERVER_FIFO, n->first);
	umask(022);
	if (mkdir(n->first, 0755) < 0 || mkfifo(fifo, 0600) < 0)
		err(1, "make %s", fifo);
	copy_program(demo, n->first, "oz0-demo");
	copy_program(server, n->first, SERVER_NAME);
	write_config(n);
	if (chmod(dir, 0755) < 0 || chmod(fifo, 0666) < 0 ||
	    (geteuid() == 0 && chown(dir, uid, gid) < 0))
		err(1, "open %s to the servers", dir);
}

static void
listen_for_ready(struct node *n)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	CLEANUP_FREE char *path = mem_printf("%s/notify", n->dir);

	if (strlen(path) >= sizeof(a.sun_path))
		errx(1, "%s: too long for a socket", path);
	strcpy(a.sun_path, path);
	n->notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (n->notify < 0 ||
	    bind(n->notify, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    chmod(path, 0666) < 0)
		err(1, "listen at %s", path);
	setenv("NOTIFY_SOCKET", path, 1);
}

static void
wait_for_ready(struct node *n)
{
	struct pollfd p = { n->notify, POLLIN, 0 };
	char text[1024];
	ssize_t got;

	for (;;) {
		if (poll(&p, 1, READY_MS) <= 0)
			errx(1, "oz0d was not ready in time, see %s/log",
			    n->dir);
		got = recv(n->notify, text, sizeof(text) - 1, 0);
		if (got < 0)
			err(1, "hear of oz0d");
		text[got] = '\0';
		if (strstr(text, "READY=1") != NULL)
			return;
	}
}

static void __attribute__((noreturn))
exec_node(const struct node *n, const char *bin)
{
	CLEANUP_FREE char *program = mem_printf("%s/oz0d", bin);
	CLEANUP_FREE char *conf = mem_printf("%s/oz0.json", n->dir);
	CLEANUP_FREE char *log = mem_printf("%s/log", n->dir);
	int fd;

	if (geteuid() == 0 && n->uid != 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(n->gid, n->gid, n->gid) < 0 ||
		setresuid(n->uid, n->uid, n->uid) < 0))
		_exit(126);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
		_exit(126);
	execl(program, "oz0d", "-c", conf, (char *)NULL);
	warn("exec %s", program);
	_exit(127);
}

void
node_start(struct node *n, const char *bin)
{
	listen_for_ready(n);
	n->pid = fork();
	if (n->pid < 0)
		err(1, "fork");
	if (n->pid == 0)
		exec_node(n, bin);
	unsetenv("NOTIFY_SOCKET");
	wait_for_ready(n);
	n->client = client_open(n->socket);
}

void
node_close(struct node *n)
{
	client_close(n->client);
	n->client = NULL;
	if (n->pid > 0) {
		kill(n->pid, SIGKILL); /* takes all that it started along */
		while (waitpid(n->pid, NULL, 0) < 0 && errno == EINTR)
			;
		n->pid = 0;
	}
	fd_close(&n->notify);
	fd_close(&n->sweeper_end);
	if (n->sweeper > 0)
		waitpid(n->sweeper, NULL, 0);
	free(n->dir);
	free(n->first);
	free(n->socket);
	n->dir = n->first = n->socket = NULL;
}
