/*
 * Small attempts to get out of a sandbox, each of which must fail, and for the
 * reason expected.
 *
 * Started inside a sandbox by tests/sandbox/escapes.py; prints TAP.  Each
 * attempt is a process of its own and ends with the errno it got, 0 when it got
 * through.  `escape NAME` makes one attempt and ends with its errno.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ANSWERS 3
#define WRONG 250 /* a fact that is not as it must be */

struct escape {
	const char *name;
	int (*fn)(void);
	int expected[ANSWERS]; /* errnos; 0 ends; WRONG never */
	const char *path;      /* for fn of the table's rows below */
	int flags;
	long call[6];
};

static const struct escape *now;

static int
answer(long r)
{
	return r < 0 ? errno : 0;
}

static int
do_open(void)
{
	return answer(open(now->path, now->flags | O_CLOEXEC, 0600));
}

static int
do_call(void)
{
	const long *c = now->call;

	return answer(syscall(c[0], c[1], c[2], c[3], c[4], c[5]));
}

static int
do_remove(void)
{
	return answer(unlink(now->path));
}

/* Only what this sandbox started may be seen: no init, nothing of the host. */
static int
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

static int
read_memory_of_parent(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", 1);
	return answer(open(path, O_RDWR | O_CLOEXEC));
}

static int
trace_parent(void)
{
	return answer(ptrace(PTRACE_ATTACH, getppid(), 0, 0));
}

static int
trace_me(void)
{
	return answer(ptrace(PTRACE_TRACEME, 0, 0, 0));
}

static int
kill_init(void)
{
	return answer(kill(1, SIGKILL));
}

static int
become_root(void)
{
	return answer(setresuid(0, 0, 0));
}

static int
become_root_group(void)
{
	return answer(setresgid(0, 0, 0));
}

static int
set_groups(void)
{
	gid_t none = 0;

	return answer(syscall(SYS_setgroups, 1, &none));
}

static int
type_into_terminal(void)
{
	int master, slave;
	char c = 'x';

	if (openpty(&master, &slave, NULL, NULL, NULL) < 0 || setsid() < 0 ||
	    ioctl(slave, TIOCSCTTY, 0) < 0)
		return WRONG;
	return answer(ioctl(slave, TIOCSTI, &c));
}

static int
write_setting(void)
{
	return answer(
	    open("/proc/sys/kernel/core_pattern", O_WRONLY | O_CLOEXEC));
}

static int
make_device(void)
{
	return answer(mknod("/tmp/null", S_IFCHR | 0666, 0x103));
}

static int
raw_socket(void)
{
	return answer(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
}

static int
far_network(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(80)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, "192.0.2.1", &a.sin_addr);
	return answer(connect(fd, (struct sockaddr *)&a, sizeof(a)));
}

/* OZ0_TEST_PORT: something of the host listens there. */
static int
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
static int
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
static int
signal_host(void)
{
	const char *pid = getenv("OZ0_TEST_PID");

	return pid == NULL ? WRONG : answer(kill(atoi(pid), 0));
}

static int
through_link(void)
{
	if (symlink("/proc/1/root/etc/shadow", "/tmp/out") < 0)
		return WRONG;
	return answer(open("/tmp/out", O_RDONLY | O_CLOEXEC));
}

static int
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

static int
gain_privileges(void)
{
	return answer(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

static int
unload_filter(void)
{
	/* mode 0 is no mode: there is no way to be rid of a filter */
	return answer(prctl(PR_SET_SECCOMP, 0, 0, 0, 0));
}

static int
dump_core(void)
{
	struct rlimit r = {RLIM_INFINITY, RLIM_INFINITY};

	return answer(setrlimit(RLIMIT_CORE, &r));
}

static int
real_time(void)
{
	struct sched_param p = {.sched_priority = 1};

	return answer(sched_setscheduler(0, SCHED_FIFO, &p));
}

static int
give_away(void)
{
	int fd = open("/tmp/mine", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? WRONG : answer(fchown(fd, 0, 0));
}

static int
file_capability(void)
{
	/* VFS_CAP_REVISION_2, CAP_SYS_ADMIN */
	static const uint32_t value[5] = {0x02000001, 1u << 21, 0, 0, 0};
	int fd = open("/tmp/caps", O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

	return fd < 0 ? WRONG
		      : answer(fsetxattr(fd, "security.capability", value,
			    sizeof(value), 0));
}

static int
run_from_shm(void)
{
	char *argv[] = {NULL};
	int fd = open("/dev/shm/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

	if (fd < 0 || write(fd, "#!/bin/sh\n", 10) != 10)
		return WRONG;
	close(fd);
	return answer(execve("/dev/shm/x", argv, argv));
}

static int
more_rights_by_map(void)
{
	int fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);

	return fd < 0 ? errno : answer(write(fd, "0 0 1", 5));
}

static int
dodge_oom(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	return fd < 0 ? errno : answer(write(fd, "-1000", 5));
}

static int
setuid_mounts(void)
{
	struct statvfs v;

	if (statvfs(now->path, &v) < 0)
		return WRONG;
	return (v.f_flag & ST_NOSUID) ? EPERM : 0;
}

static int
remount(void)
{
	return answer(mount(NULL, now->path, NULL, MS_REMOUNT | MS_BIND, NULL));
}

static int
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
static int
call_i386(void)
{
	long r;

	/* setuid(0), were it looked up in x86_64's table it is another call */
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory");
	return r < 0 ? (int)-r : 0;
}
#endif

#define CALL(nr, ...)                                                          \
	do_call, {EPERM}, NULL, 0,                                             \
	{                                                                      \
		nr, ##__VA_ARGS__                                              \
	}
#define ABSENT(p)                                                              \
	do_open, {ENOENT}, p, O_RDONLY,                                        \
	{                                                                      \
		0                                                              \
	}
#define COVERED(p)                                                             \
	do_open, {EACCES, ENOENT}, p, O_RDONLY,                                \
	{                                                                      \
		0                                                              \
	}
#define HIDDEN(p, f)                                                           \
	do_open, {ENOENT, EACCES}, p, f,                                       \
	{                                                                      \
		0                                                              \
	}
#define FIXED(p, f)                                                            \
	do_open, {EROFS, EACCES}, p, f,                                        \
	{                                                                      \
		0                                                              \
	}
#define PTR(x) ((long)(uintptr_t)(x))

static const struct escape escapes[] = {
    /* files of the host */
    {"read /etc/shadow", ABSENT("/etc/shadow")},
    {"read /root", ABSENT("/root")},
    {"read /home", ABSENT("/home")},
    {"read /var", ABSENT("/var")},
    {"read /run", ABSENT("/run")},
    {"read /sys", ABSENT("/sys")},
    {"read /boot", ABSENT("/boot")},
    {"read by a link through /proc/1", through_link, {ENOENT, EACCES}, NULL, 0,
	{0}},
    {"open a file by handle", CALL(SYS_open_by_handle_at, AT_FDCWD, 0, 0)},
    {"write the root", FIXED("/x", O_WRONLY | O_CREAT)},
    {"write /usr", FIXED("/usr/bin/x", O_WRONLY | O_CREAT)},
    {"write a program", FIXED("/usr/bin/env", O_WRONLY)},
    {"write /etc/passwd", FIXED("/etc/passwd", O_WRONLY)},
    {"remove /etc/passwd", do_remove, {EROFS, EACCES}, "/etc/passwd", 0, {0}},
    {"write /dev", FIXED("/dev/x", O_WRONLY | O_CREAT)},
    {"more than /tmp may hold", fill_tmp, {ENOSPC}, NULL, 0, {0}},
    {"run from /dev/shm", run_from_shm, {EACCES}, NULL, 0, {0}},
    {"setuid files of /usr", setuid_mounts, {EPERM}, "/usr", 0, {0}},
    {"setuid files of /tmp", setuid_mounts, {EPERM}, "/tmp", 0, {0}},
    {"a file with capabilities", file_capability, {EPERM}, NULL, 0, {0}},
    {"give a file to root", give_away, {EPERM, EINVAL}, NULL, 0, {0}},
    /* processes */
    {"see other processes", other_processes, {ENOENT}, NULL, 0, {0}},
    {"the init's root", HIDDEN("/proc/1/root", O_RDONLY)},
    {"the init's environment", HIDDEN("/proc/1/environ", O_RDONLY)},
    {"the init's descriptors", HIDDEN("/proc/1/fd", O_RDONLY)},
    {"the init's memory", read_memory_of_parent, {ENOENT, EACCES}, NULL, 0,
	{0}},
    {"trace its parent", trace_parent, {EPERM}, NULL, 0, {0}},
    {"be traced", trace_me, {EPERM}, NULL, 0, {0}},
    {"read another's memory", CALL(SYS_process_vm_readv, 1, 0, 0, 0, 0)},
    {"write another's memory", CALL(SYS_process_vm_writev, 1, 0, 0, 0, 0)},
    {"take another's descriptor", CALL(438, 0, 0, 0)},
    {"compare processes", CALL(SYS_kcmp, 1, 1, 0, 0, 0)},
    {"kill the init", kill_init, {EPERM}, NULL, 0, {0}},
    {"signal a process of the host", signal_host, {ESRCH}, NULL, 0, {0}},
    /* rights */
    {"become root", become_root, {EPERM, EINVAL}, NULL, 0, {0}},
    {"become root's group", become_root_group, {EPERM, EINVAL}, NULL, 0, {0}},
    {"other groups", set_groups, {EPERM}, NULL, 0, {0}},
    {"capabilities", capabilities, {EPERM}, NULL, 0, {0}},
    {"switch no_new_privs off", gain_privileges, {EINVAL}, NULL, 0, {0}},
    {"switch the filter off", unload_filter, {EINVAL}, NULL, 0, {0}},
    {"map more ids", more_rights_by_map, {EPERM, EACCES}, NULL, 0, {0}},
    {"dump core", dump_core, {EPERM}, NULL, 0, {0}},
    {"real-time priority", real_time, {EPERM}, NULL, 0, {0}},
    {"be spared by the oom killer", dodge_oom, {EACCES, EPERM}, NULL, 0, {0}},
    /* namespaces and mounts */
    {"unshare user", CALL(SYS_unshare, CLONE_NEWUSER)},
    {"unshare mount", CALL(SYS_unshare, CLONE_NEWNS)},
    {"unshare pid", CALL(SYS_unshare, CLONE_NEWPID)},
    {"unshare net", CALL(SYS_unshare, CLONE_NEWNET)},
    {"clone user", CALL(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)},
    {"clone3", do_call, {ENOSYS}, NULL, 0, {SYS_clone3, 0, 0}},
    {"setns", CALL(SYS_setns, 0, 0)},
    {"mount", CALL(SYS_mount, PTR("x"), PTR("/tmp"), PTR("tmpfs"), 0, 0)},
    {"remount the root", remount, {EPERM}, "/", 0, {0}},
    {"remount /usr", remount, {EPERM}, "/usr", 0, {0}},
    {"umount /proc/sys", CALL(SYS_umount2, PTR("/proc/sys"), 2)},
    {"pivot_root", CALL(SYS_pivot_root, PTR("/tmp"), PTR("/tmp"))},
    {"chroot", CALL(SYS_chroot, PTR("/tmp"))},
    {"fsopen", CALL(430, PTR("tmpfs"), 0)},
    {"open_tree", CALL(428, AT_FDCWD, PTR("/"), 1)},
    {"move_mount", CALL(429, AT_FDCWD, PTR("/"), AT_FDCWD, PTR("/"), 0)},
    {"mount_setattr", CALL(442, AT_FDCWD, PTR("/"), 0, 0, 0)},
    {"name_to_handle_at",
	CALL(SYS_name_to_handle_at, AT_FDCWD, PTR("/"), 0, 0, 0)},
    /* the kernel */
    {"io_uring_setup", CALL(425, 1, 0)},
    {"bpf", CALL(SYS_bpf, 0, 0, 0)},
    {"perf_event_open", CALL(SYS_perf_event_open, 0, 0, 0, 0, 0)},
    {"userfaultfd", CALL(SYS_userfaultfd, 1)},
    {"keyctl", CALL(SYS_keyctl, 0, -3, 1)},
    {"add_key", CALL(SYS_add_key, PTR("user"), PTR("x"), PTR("y"), 1, -3)},
    {"request_key", CALL(SYS_request_key, PTR("user"), PTR("x"), 0, 0)},
    {"init_module", CALL(SYS_init_module, 0, 0, PTR(""))},
    {"finit_module", CALL(SYS_finit_module, 0, PTR(""), 0)},
    {"delete_module", CALL(SYS_delete_module, PTR("x"), 0)},
    {"kexec_load", CALL(SYS_kexec_load, 0, 0, 0, 0)},
    {"reboot", CALL(SYS_reboot, 0xfee1dead, 672274793, 0, 0)},
    {"swapon", CALL(SYS_swapon, PTR("/tmp/x"), 0)},
    {"syslog", CALL(SYS_syslog, 3, 0, 0)},
    {"acct", CALL(SYS_acct, 0)},
    {"set the clock", CALL(SYS_clock_settime, 0, 0)},
    {"set the host name", CALL(SYS_sethostname, PTR("x"), 1)},
    {"fanotify", CALL(SYS_fanotify_init, 0, 0)},
    {"quotactl", CALL(SYS_quotactl, 0, 0, 0, 0)},
    {"personality", do_call, {ENOSYS}, NULL, 0,
	{SYS_personality, READ_IMPLIES_EXEC}},
    {"an unknown call", do_call, {ENOSYS}, NULL, 0, {9999}},
#ifdef __x86_64__
    {"iopl", CALL(SYS_iopl, 3)},
    {"modify_ldt", CALL(SYS_modify_ldt, 1, 0, 0)},
    {"the x32 ABI", do_call, {ENOSYS}, NULL, 0, {0x40000000 | SYS_getpid}},
    {"the i386 ABI", call_i386, {ENOSYS, 128 + SIGSEGV}, NULL, 0, {0}},
#endif
    {"write a setting of /proc/sys", write_setting, {EROFS, EACCES}, NULL, 0,
	{0}},
    {"sysrq", do_open, {EACCES, ENOENT, EROFS}, "/proc/sysrq-trigger", O_WRONLY,
	{0}},
    {"read /proc/kcore", COVERED("/proc/kcore")},
    {"read /proc/keys", COVERED("/proc/keys")},
    {"read /proc/kallsyms", COVERED("/proc/kallsyms")},
    {"read /proc/kmsg", COVERED("/proc/kmsg")},
    {"read /proc/timer_list", COVERED("/proc/timer_list")},
    {"read /proc/config.gz", COVERED("/proc/config.gz")},
    {"list /proc/bus", do_open, {EACCES, ENOENT}, "/proc/bus",
	O_RDONLY | O_DIRECTORY, {0}},
    /* devices */
    {"make a device", make_device, {EPERM}, NULL, 0, {0}},
    {"/dev/mem", ABSENT("/dev/mem")},
    {"/dev/kmsg", ABSENT("/dev/kmsg")},
    {"/dev/kvm", ABSENT("/dev/kvm")},
    {"/dev/fuse", ABSENT("/dev/fuse")},
    {"/dev/vda", ABSENT("/dev/vda")},
    {"/dev/tty", do_open, {ENOENT, ENXIO}, "/dev/tty", O_RDWR, {0}},
    {"type into a terminal", type_into_terminal, {EPERM}, NULL, 0, {0}},
    {"TIOCLINUX", CALL(SYS_ioctl, 0, TIOCLINUX, 0)},
    {"TIOCSTI with high bits",
	CALL(SYS_ioctl, 0, (long)(0x100000000UL | TIOCSTI), 0)},
    /* sockets */
    {"a raw socket", raw_socket, {EPERM}, NULL, 0, {0}},
    {"a packet socket", do_call, {EAFNOSUPPORT}, NULL, 0,
	{SYS_socket, AF_PACKET, SOCK_RAW, 0}},
    {"a vsock socket", do_call, {EAFNOSUPPORT}, NULL, 0,
	{SYS_socket, AF_VSOCK, SOCK_STREAM, 0}},
    {"a crypto socket", do_call, {EAFNOSUPPORT}, NULL, 0,
	{SYS_socket, AF_ALG, SOCK_SEQPACKET, 0}},
    {"netlink audit", do_call, {EAFNOSUPPORT}, NULL, 0,
	{SYS_socket, AF_NETLINK, SOCK_RAW, 9}},
    {"the network", far_network, {ENETUNREACH}, NULL, 0, {0}},
    {"the host's loopback", loopback_of_host, {ECONNREFUSED}, NULL, 0, {0}},
    {"the host's abstract socket", abstract_socket_of_host,
	{ECONNREFUSED, EPERM}, NULL, 0, {0}},
};
#define NESCAPES (sizeof(escapes) / sizeof(escapes[0]))

static int
attempt(const struct escape *e)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		now = e;
		_exit(e->fn());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return WRONG;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

static bool
is_expected(const struct escape *e, int error)
{
	for (int i = 0; i < ANSWERS && e->expected[i] != 0; i++)
		if (e->expected[i] == error)
			return true;
	return false;
}

static int
attempt_one(const char *name)
{
	for (size_t i = 0; i < NESCAPES; i++)
		if (strcmp(escapes[i].name, name) == 0)
			return attempt(&escapes[i]);
	return WRONG;
}

int
main(int argc, char **argv)
{
	int failed = 0;

	if (argc > 1)
		return attempt_one(argv[1]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < NESCAPES; i++) {
		const struct escape *e = &escapes[i];
		int error = attempt(e);
		bool ok = is_expected(e, error);

		failed += !ok;
		printf("%s - %s: %s\n", ok ? "ok" : "not ok", e->name,
		    error == 0	     ? "it got through"
		    : error == WRONG ? "could not be tried"
		    : error > 128    ? "killed"
				     : strerrorname_np(error));
	}
	return failed != 0;
}
