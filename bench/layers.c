/*
 * The layers of a sandbox, bare: what the kernel itself asks for a server that
 * stands in as much as a node's does.  Part of oz0-bench; runs in a cloned
 * child of it.
 *
 * No plan is read, nothing is proven and nothing is reported, so that the time
 * that oz0-sandbox takes beyond this is its own.
 */
#include "bench/layers.h"

#include <err.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define BIND (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define LOCKED (BIND | MOUNT_ATTR_NOEXEC)

/* Bound where they are folders or files, linked where they are links. */
static const char *const places[] = { "/usr", "/bin", "/sbin", "/lib",
	"/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/ssl",
	"/etc/ca-certificates", "/etc/alternatives", "/etc/localtime",
	"/etc/protocols", "/etc/services" };
static const char *const devices[] = { "null", "zero", "full", "random",
	"urandom" };
static const char *const masked[] = { "acpi", "asound", "bus", "driver", "fs",
	"interrupts", "iomem", "ioports", "irq", "kallsyms", "kcore", "keys",
	"key-users", "kmsg", "kpagecgroup", "kpagecount", "kpageflags",
	"modules", "mtrr", "scsi", "slabinfo", "softirqs", "sysrq-trigger",
	"timer_list", "tty", "vmallocinfo", "zoneinfo" };

/* Trees of the host, taken before its root goes. */
struct trees {
	int places[COUNT(places)];
	int devices[COUNT(devices)];
	int folder;
	int proc;
};

static void __attribute__((noreturn))
die(const char *what)
{
	warn("floor: %s", what);
	_exit(1);
}

unsigned long
layers_namespaces(void)
{
	return CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
	    CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET;
}

static void
write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

static void
map_ids(uid_t uid, gid_t gid)
{
	char line[64];

	write_file("/proc/self/setgroups", "deny");
	snprintf(line, sizeof(line), "%u %u 1\n", (unsigned)uid, (unsigned)uid);
	write_file("/proc/self/uid_map", line);
	snprintf(line, sizeof(line), "%u %u 1\n", (unsigned)gid, (unsigned)gid);
	write_file("/proc/self/gid_map", line);
}

/* -1: there is no such place. */
static int
take_tree(const char *path, unsigned long attributes)
{
	struct mount_attr attr = { .attr_set = attributes };
	int fd = open_tree(AT_FDCWD, path,
	    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	if (fd >= 0 && mount_setattr(fd, "", AT_EMPTY_PATH | AT_RECURSIVE,
			   &attr, sizeof(attr)) < 0)
		die(path);
	return fd;
}

static int
new_mount(const char *type, const char *size, unsigned long attributes)
{
	int fs = fsopen(type, FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0 ||
	    (size != NULL &&
		fsconfig(fs, FSCONFIG_SET_STRING, "size", size, 0) < 0) ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0 ||
	    (fd = fsmount(fs, FSMOUNT_CLOEXEC, (unsigned)attributes)) < 0)
		die(type);
	close(fs);
	return fd;
}

static void
put_at(int fd, const char *path)
{
	if (move_mount(fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		die(path);
	close(fd);
}

/* Below what is ours, so no name can lead out. */
static void
put_new(int fd, const char *path)
{
	struct stat st;
	int file;

	if (fstat(fd, &st) < 0)
		die(path);
	if (S_ISDIR(st.st_mode)) {
		if (mkdir(path, 0755) < 0)
			die(path);
	} else {
		file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0444);
		if (file < 0)
			die(path);
		close(file);
	}
	put_at(fd, path);
}

static void
take_all(struct trees *t, const char *folder)
{
	char path[64];
	struct stat st;

	for (size_t i = 0; i < COUNT(places); i++)
		t->places[i] =
		    lstat(places[i], &st) == 0 && !S_ISLNK(st.st_mode)
		    ? take_tree(places[i], BIND | MOUNT_ATTR_RDONLY)
		    : -1;
	for (size_t i = 0; i < COUNT(devices); i++) {
		snprintf(path, sizeof(path), "/dev/%s", devices[i]);
		t->devices[i] =
		    take_tree(path, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	}
	t->folder = take_tree(folder, BIND);
	t->proc = new_mount("proc", NULL, LOCKED);
	if (t->folder < 0)
		die(folder);
}

static void
enter_root(void)
{
	int fd = new_mount("tmpfs", "2m", LOCKED);

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		die("make mounts private");
	if (move_mount(fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
	    fchdir(fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		die("enter a new root");
	close(fd);
}

static void
fill_proc(int proc)
{
	char path[64];
	struct stat st;
	int fd;

	put_new(proc, "/proc");
	fd = open("/empty", O_WRONLY | O_CREAT | O_CLOEXEC, 0);
	if (fd < 0 || mkdir("/nothing", 0) < 0)
		die("make covers");
	close(fd);
	for (size_t i = 0; i < COUNT(masked); i++) {
		snprintf(path, sizeof(path), "/proc/%s", masked[i]);
		if (stat(path, &st) < 0)
			continue;
		put_at(take_tree(S_ISDIR(st.st_mode) ? "/nothing" : "/empty",
			   LOCKED | MOUNT_ATTR_RDONLY),
		    path);
	}
	put_at(take_tree("/proc/sys", LOCKED | MOUNT_ATTR_RDONLY), "/proc/sys");
}

static void
fill_dev(const struct trees *t)
{
	char path[64];

	put_new(new_mount("tmpfs", "64k", LOCKED), "/dev");
	for (size_t i = 0; i < COUNT(devices); i++) {
		snprintf(path, sizeof(path), "/dev/%s", devices[i]);
		put_new(t->devices[i], path);
	}
	put_new(new_mount("devpts", NULL,
		    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC),
	    "/dev/pts");
	put_new(new_mount("tmpfs", "64m", LOCKED), "/dev/shm");
}

static void
fill_root(const struct trees *t)
{
	struct mount_attr sealed = { .attr_set = MOUNT_ATTR_RDONLY };

	put_new(new_mount("tmpfs", "256m", BIND), "/tmp");
	if (mkdir("/etc", 0755) < 0)
		die("/etc");
	fill_proc(t->proc);
	fill_dev(t);
	for (size_t i = 0; i < COUNT(places); i++)
		if (t->places[i] >= 0)
			put_new(t->places[i], places[i]);
	put_new(t->folder, LAYERS_FOLDER);
	if (mount_setattr(AT_FDCWD, "/", 0, &sealed, sizeof(sealed)) < 0)
		die("seal the root");
}

static void
raise_loopback(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
		die("bring up the loopback");
	close(fd);
}

static void
allow(int ruleset, const char *path, unsigned long long access)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = access };

	rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (rule.parent_fd < 0 ||
	    syscall(SYS_landlock_add_rule, ruleset,
		LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		die(path);
	close(rule.parent_fd);
}

static void
enter_landlock(void)
{
	const unsigned long long all = (1ULL << 13) - 1;
	const unsigned long long look = LANDLOCK_ACCESS_FS_EXECUTE |
	    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
	struct landlock_ruleset_attr attr = { .handled_access_fs = all };
	int fd = (int)syscall(SYS_landlock_create_ruleset, &attr,
	    sizeof(attr.handled_access_fs), 0);

	if (fd < 0)
		die("make a Landlock ruleset");
	allow(fd, "/", look);
	allow(fd, "/tmp", all);
	allow(fd, "/dev", look | LANDLOCK_ACCESS_FS_WRITE_FILE);
	allow(fd, "/dev/shm", all);
	allow(fd, "/proc", look | LANDLOCK_ACCESS_FS_WRITE_FILE);
	allow(fd, LAYERS_FOLDER, all);
	if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		die("apply Landlock");
	close(fd);
}

static void
enter_seccomp(void)
{
	static const int denied[] = { SYS_ptrace, SYS_mount, SYS_umount2,
		SYS_pivot_root, SYS_bpf, SYS_keyctl, SYS_add_key, SYS_unshare,
		SYS_setns, SYS_init_module, SYS_finit_module, SYS_reboot,
		SYS_swapon, SYS_perf_event_open, SYS_userfaultfd,
		SYS_io_uring_setup, SYS_open_by_handle_at };
	struct sock_filter f[COUNT(denied) + 3];
	struct sock_fprog program = { .len = COUNT(f), .filter = f };
	size_t n = 0;

	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
	    offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < COUNT(denied); i++)
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
		    (unsigned)denied[i], (unsigned char)(COUNT(denied) - i), 0);
	f[n++] = (struct sock_filter)BPF_STMT(
	    BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[n++] = (struct sock_filter)BPF_STMT(
	    BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		die("load a seccomp filter");
}

static void
drop_capabilities(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capset, &head, none) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		die("drop capabilities");
}

void
layers_enter(uid_t uid, gid_t gid, const char *folder)
{
	struct trees trees;

	map_ids(uid, gid);
	take_all(&trees, folder);
	enter_root();
	fill_root(&trees);
	if (sethostname("oz0", 3) < 0)
		die("set the host name");
	raise_loopback();
	drop_capabilities();
	enter_landlock();
	enter_seccomp();
}
