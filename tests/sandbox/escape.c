/*
 * Small attempts to get out of a sandbox, each of which must fail, and for the
 * reason expected: the table of all, and how each is made.  Those that are no
 * single row of the table are in escape_attempts.c.
 *
 * Started inside a sandbox by tests/sandbox/escapes.py; prints TAP.  Each
 * attempt is a process of its own and ends with the errno it got, 0 when it got
 * through.  `escape NAME` makes one attempt and ends with its errno.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sandbox/escape.h"

const struct escape *escape_now;

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
		escape_now = e;
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
