/*
 * The attempts of escape.c that a row of its table calls: each is made in a
 * process of its own, inside the sandbox, and gives the errno it got, 0 when it
 * got through.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/sandbox/escape.h"

static int
answer(long r)
{
	return r < 0 ? errno : 0;
}

int
do_open(void)
{
	return answer(
	    open(escape_now->path, escape_now->flags | O_CLOEXEC, 0600));
}

int
do_call(void)
{
	const long *c = escape_now->call;

	return answer(syscall(c[0], c[1], c[2], c[3], c[4], c[5]));
}

int
do_remove(void)
{
	return answer(unlink(escape_now->path));
}

/* Only what this sandbox started may be seen: no init, nothing of the host. */
int
other_processes(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int seen = 0;

	if (d == NULL)
		return WRONG;
	while ((e = readdir(d)) != NULL) {
		int pid = atoi(e->d_name);

		if (pid == 1)
			return 0;
		if (pid > 0)
			seen++;
	}
	closedir(d);
	/* this one and its parent, the escape that forked it */
	return seen == 2 ? ENOENT : 0;
}

int
read_memory_of_parent(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", 1);
	return answer(open(path, O_RDWR | O_CLOEXEC));
}

int
trace_parent(void)
{
	return answer(ptrace(PTRACE_ATTACH, getppid(), 0, 0));
}

int
trace_me(void)
{
	return answer(ptrace(PTRACE_TRACEME, 0, 0, 0));
}

int
kill_init(void)
{
	return answer(kill(1, SIGKILL));
}

int
become_root(void)
{
	return answer(setresuid(0, 0, 0));
}

int
become_root_group(void)
{
	return answer(setresgid(0, 0, 0));
}

int
set_groups(void)
{
	gid_t none = 0;

	return answer(syscall(SYS_setgroups, 1, &none));
}

int
type_into_terminal(void)
{
	int master, slave;
	char c = 'x';

	if (openpty(&master, &slave, NULL, NULL, NULL) < 0 || setsid() < 0 ||
	    ioctl(slave, TIOCSCTTY, 0) < 0)
		return WRONG;
	return answer(ioctl(slave, TIOCSTI, &c));
}

int
write_setting(void)
{
	return answer(
	    open("/proc/sys/kernel/core_pattern", O_WRONLY | O_CLOEXEC));
}

int
make_device(void)
{
	return answer(mknod("/tmp/null", S_IFCHR | 0666, 0x103));
}

int
raw_socket(void)
{
	return answer(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
}

int
far_network(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(80)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, "192.0.2.1", &a.sin_addr);
	return answer(connect(fd, (struct sockaddr *)&a, sizeof(a)));
}

/* OZ0_TEST_PORT: something of the host listens there. */
int
loopback_of_host(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	const char *port = getenv("OZ0_TEST_PORT");
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (port == NULL)
		return WRONG;
	a.sin_port = htons((uint16_t)atoi(port));
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return answer(connect(fd, (struct sockaddr *)&a, sizeof(a)));
}

/* OZ0_TEST_ABSTRACT: an abstract socket of the host of that name. */
int
abstract_socket_of_host(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	const char *name = getenv("OZ0_TEST_ABSTRACT");
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	size_t n;

	if (name == NULL)
		return WRONG;
	n = strlen(name);
	memcpy(a.sun_path + 1, name, n);
	return answer(connect(fd, (struct sockaddr *)&a,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)));
}

/* OZ0_TEST_PID: a process of the host. */
int
signal_host(void)
{
	const char *pid = getenv("OZ0_TEST_PID");

	return pid == NULL ? WRONG : answer(kill(atoi(pid), 0));
}

int
through_link(void)
{
	if (symlink("/proc/1/root/etc/shadow", "/tmp/out") < 0)
		return WRONG;
	return answer(open("/tmp/out", O_RDONLY | O_CLOEXEC));
}

int
capabilities(void)
{
	struct __user_cap_header_struct h = {
	    .version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d) < 0)
		return WRONG;
	for (int i = 0; i < 2; i++)
		if (d[i].effective | d[i].permitted | d[i].inheritable)
			return 0;
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1 ||
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) ==
			1)
			return 0;
	d[0].effective = d[0].permitted = 1u << CAP_SYS_CHROOT;
	return answer(syscall(SYS_capset, &h, d));
}

int
gain_privileges(void)
{
	return answer(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

int
unload_filter(void)
{
	/* mode 0 is no mode: there is no way to be rid of a filter */
	return answer(prctl(PR_SET_SECCOMP, 0, 0, 0, 0));
}

int
dump_core(void)
{
	struct rlimit r = {RLIM_INFINITY, RLIM_INFINITY};

	return answer(setrlimit(RLIMIT_CORE, &r));
}

int
real_time(void)
{
	struct sched_param p = {.sched_priority = 1};

	return answer(sched_setscheduler(0, SCHED_FIFO, &p));
}

int
give_away(void)
{
	int fd = open("/tmp/mine", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? WRONG : answer(fchown(fd, 0, 0));
}

int
file_capability(void)
{
	/* VFS_CAP_REVISION_2, CAP_SYS_ADMIN */
	static const uint32_t value[5] = {0x02000001, 1u << 21, 0, 0, 0};
	int fd = open("/tmp/caps", O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

	return fd < 0 ? WRONG
		      : answer(fsetxattr(fd, "security.capability", value,
			    sizeof(value), 0));
}

int
run_from_shm(void)
{
	char *argv[] = {NULL};
	int fd = open("/dev/shm/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

	if (fd < 0 || write(fd, "#!/bin/sh\n", 10) != 10)
		return WRONG;
	close(fd);
	return answer(execve("/dev/shm/x", argv, argv));
}

int
more_rights_by_map(void)
{
	int fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);

	return fd < 0 ? errno : answer(write(fd, "0 0 1", 5));
}

int
dodge_oom(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	return fd < 0 ? errno : answer(write(fd, "-1000", 5));
}

int
setuid_mounts(void)
{
	struct statvfs v;

	if (statvfs(escape_now->path, &v) < 0)
		return WRONG;
	return (v.f_flag & ST_NOSUID) ? EPERM : 0;
}

int
remount(void)
{
	return answer(
	    mount(NULL, escape_now->path, NULL, MS_REMOUNT | MS_BIND, NULL));
}

int
fill_tmp(void)
{
	static char block[1 << 16];
	int fd = open("/tmp/full", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	int error = WRONG;

	for (int i = 0; i < 4096; i++) /* the plan gives 16 MiB */
		if (write(fd, block, sizeof(block)) < 0) {
			error = errno;
			break;
		}
	unlink("/tmp/full");
	return error;
}

#ifdef __x86_64__
int
call_i386(void)
{
	long r;

	/* setuid(0), were it looked up in x86_64's table it is another call */
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory");
	return r < 0 ? (int)-r : 0;
}
#endif
