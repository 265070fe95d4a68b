/*
 * /proc and /dev of a sandbox.
 *
 * Runs in oz0-sandbox alone, as root.c.  /proc shows the processes of this pid
 * namespace that the server may look at: not the init, which is not dumpable.
 * What of /proc is about the machine is covered; /dev has devices of the host
 * that give nothing away, each bound by itself.
 */
#include "sandbox/root.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/mount.h"

#define ATTR_PROC (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)
#define ATTR_DEVICE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)
#define SHM_SIZE "64m"

static const char *const device_names[ROOT_DEVICES] = {
    "null", "zero", "full", "random", "urandom", NULL};

/* Covered: about the machine, its kernel, or everybody on it. */
static const char *const masked[] = {"acpi", "asound", "bus", "config.gz",
    "driver", "fs", "interrupts", "iomem", "ioports", "irq", "kallsyms",
    "kcore", "key-users", "keys", "kmsg", "kpagecgroup", "kpagecount",
    "kpageflags", "latency_stats", "modules", "mtrr", "sched_debug", "scsi",
    "slabinfo", "softirqs", "sysrq-trigger", "timer_list", "timer_stats", "tty",
    "vmallocinfo", "zoneinfo"};

static int
open_devices(struct root *r, struct sandbox_fault *f)
{
	CLEANUP_CLOSE int dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dev < 0)
		return sandbox_fault_set(f, errno, "open /dev");
	for (size_t i = 0; device_names[i] != NULL; i++) {
		int fd = mount_clone(dev, device_names[i], false, ATTR_DEVICE);

		if (fd < 0)
			return sandbox_fault_set(
			    f, -fd, "bind /dev/%s", device_names[i]);
		r->devices[i] = fd;
	}
	if (r->plan->tty) {
		int fd = mount_clone(dev, "tty", false, ATTR_DEVICE);

		if (fd < 0)
			return sandbox_fault_set(f, -fd, "bind /dev/tty");
		r->tty = fd;
	}
	return 0;
}

/* Before the old root goes: the kernel wants an uncovered /proc in sight. */
int
root_open_proc(struct root *r, struct sandbox_fault *f)
{
	static const struct mount_option hide[] = {
	    {"hidepid", "ptraceable"},
	    {NULL, NULL},
	};
	int fd;

	fd = mount_new("proc", hide, ATTR_PROC);
	if (fd == -EINVAL) /* older than Linux 5.8 */
		fd = mount_new("proc", NULL, ATTR_PROC);
	if (fd >= 0)
		r->proc = fd;
	else if (!(r->plan->best && fd == -EPERM))
		return sandbox_fault_set(f, -fd, "mount /proc%s",
		    fd == -EPERM
			? " (in a container: its own /proc must be whole, as "
			  "with docker --security-opt systempaths=unconfined)"
			: "");
	return open_devices(r, f);
}

/* A file and a folder, both empty, that nobody may open: to cover with. */
struct empty {
	int file;
	int dir;
};

static int
cover(int proc, const struct empty *empty, const char *name,
    struct sandbox_fault *f)
{
	CLEANUP_CLOSE int target =
	    openat(proc, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	CLEANUP_CLOSE int fd = -1;
	struct stat st;
	int e;

	if (target < 0 && errno == ENOENT)
		return 0;
	if (target < 0 || fstat(target, &st) < 0)
		return sandbox_fault_set(f, errno, "cover /proc/%s", name);
	e = mount_clone(S_ISDIR(st.st_mode) ? empty->dir : empty->file, "",
	    false, ATTR_PROC | MOUNT_ATTR_RDONLY);
	if (e >= 0) {
		fd = e;
		e = mount_put(fd, target);
	}
	return e < 0 ? sandbox_fault_set(f, -e, "cover /proc/%s", name) : 0;
}

static int
put_read_only(int proc, const char *name, struct sandbox_fault *f)
{
	CLEANUP_CLOSE int target =
	    openat(proc, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	CLEANUP_CLOSE int fd = -1;
	int e;

	if (target < 0)
		return sandbox_fault_set(f, errno, "open /proc/%s", name);
	e = mount_clone(target, "", false, ATTR_PROC | MOUNT_ATTR_RDONLY);
	if (e >= 0) {
		fd = e;
		e = mount_put(fd, target);
	}
	return e < 0 ? sandbox_fault_set(f, -e, "make /proc/%s read-only", name)
		     : 0;
}

/* They live in the root without a name: made, opened, removed. */
static int
make_empty(struct root *r, struct empty *ret, struct sandbox_fault *f)
{
	int fd =
	    openat(r->dir, ".file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);

	if (fd < 0 || mkdirat(r->dir, ".dir", 0) < 0)
		goto fail;
	fd_close(&fd);
	ret->file = openat(r->dir, ".file", O_PATH | O_CLOEXEC);
	ret->dir = openat(r->dir, ".dir", O_PATH | O_CLOEXEC);
	if (ret->file >= 0 && ret->dir >= 0)
		return 0;
fail:
	fd_close(&fd);
	return sandbox_fault_set(f, errno, "make empty covers");
}

static int
remove_empty(struct root *r, struct empty *empty, struct sandbox_fault *f)
{
	fd_close(&empty->file);
	fd_close(&empty->dir);
	if (unlinkat(r->dir, ".file", 0) < 0 ||
	    unlinkat(r->dir, ".dir", AT_REMOVEDIR) < 0)
		return sandbox_fault_set(f, errno, "remove empty covers");
	return 0;
}

int
root_put_proc(struct root *r, struct sandbox_fault *f)
{
	CLEANUP_CLOSE int place = root_place(r, "/proc", true, f);
	struct empty empty = {-1, -1};
	int e;

	if (place < 0)
		return place;
	if (r->proc < 0)
		return 0;
	e = mount_put(r->proc, place);
	if (e < 0)
		return sandbox_fault_set(f, -e, "mount /proc");
	e = make_empty(r, &empty, f);
	for (size_t i = 0; e == 0 && i < sizeof(masked) / sizeof(masked[0]);
	     i++)
		e = cover(r->proc, &empty, masked[i], f);
	if (e == 0)
		e = put_read_only(r->proc, "sys", f);
	return e < 0 ? e : remove_empty(r, &empty, f);
}

static int
put_device(int dev, const char *name, int *device, struct sandbox_fault *f)
{
	CLEANUP_CLOSE int fd = openat(
	    dev, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0);
	CLEANUP_CLOSE int place = -1;
	int e;

	if (fd < 0)
		return sandbox_fault_set(f, errno, "make /dev/%s", name);
	place = openat(dev, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (place < 0)
		return sandbox_fault_set(f, errno, "open /dev/%s", name);
	e = mount_put(*device, place);
	if (e < 0)
		return sandbox_fault_set(f, -e, "bind /dev/%s", name);
	fd_close(device);
	return 0;
}

static int
put_new(int dev, const char *name, const char *type,
    const struct mount_option *options, uint64_t attributes,
    struct sandbox_fault *f)
{
	CLEANUP_CLOSE int place = -1;
	CLEANUP_CLOSE int fd = -1;
	int e;

	if (mkdirat(dev, name, 0755) < 0)
		return sandbox_fault_set(f, errno, "make /dev/%s", name);
	place = openat(dev, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (place < 0)
		return sandbox_fault_set(f, errno, "open /dev/%s", name);
	e = mount_new(type, options, attributes);
	if (e >= 0) {
		fd = e;
		e = mount_put(fd, place);
	}
	return e < 0 ? sandbox_fault_set(f, -e, "mount /dev/%s", name) : 0;
}

static int
fill_dev(struct root *r, int dev, struct sandbox_fault *f)
{
	static const struct mount_option pts[] = {
	    {"ptmxmode", "0666"},
	    {"mode", "0620"},
	    {NULL, NULL},
	};
	static const struct mount_option shm[] = {
	    {"size", SHM_SIZE},
	    {"mode", "1777"},
	    {NULL, NULL},
	};
	static const char *const links[][2] = {
	    {"pts/ptmx", "ptmx"},
	    {"/proc/self/fd", "fd"},
	    {"/proc/self/fd/0", "stdin"},
	    {"/proc/self/fd/1", "stdout"},
	    {"/proc/self/fd/2", "stderr"},
	};
	int e = 0;

	for (size_t i = 0; e == 0 && device_names[i] != NULL; i++)
		e = put_device(dev, device_names[i], &r->devices[i], f);
	if (e == 0 && r->tty >= 0)
		e = put_device(dev, "tty", &r->tty, f);
	if (e == 0) /* not nodev: its files are devices */
		e = put_new(dev, "pts", "devpts", pts, ATTR_DEVICE, f);
	if (e == 0)
		e = put_new(dev, "shm", "tmpfs", shm, ATTR_PROC, f);
	for (size_t i = 0; e == 0 && i < sizeof(links) / sizeof(links[0]); i++)
		if (symlinkat(links[i][0], dev, links[i][1]) < 0)
			e = sandbox_fault_set(
			    f, errno, "link /dev/%s", links[i][1]);
	return e;
}

int
root_put_dev(struct root *r, struct sandbox_fault *f)
{
	static const struct mount_option options[] = {
	    {"size", "64k"},
	    {"mode", "0755"},
	    {NULL, NULL},
	};
	CLEANUP_CLOSE int place = root_place(r, "/dev", true, f);
	CLEANUP_CLOSE int dev = -1;
	int e;

	if (place < 0)
		return place;
	e = mount_new("tmpfs", options, ATTR_PROC);
	if (e >= 0) {
		dev = e;
		e = mount_put(dev, place);
	}
	if (e < 0)
		return sandbox_fault_set(f, -e, "mount /dev");
	e = fill_dev(r, dev, f);
	if (e < 0)
		return e;
	e = mount_change(dev, false, MOUNT_ATTR_RDONLY);
	if (e < 0)
		return sandbox_fault_set(f, -e, "make /dev read-only");
	return 0;
}
