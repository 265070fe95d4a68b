/*
 * Capabilities, user ids and the maps of a user namespace.
 *
 * Called between clone and exec on the supervisor's memory (launch.c), by
 * oz0-sandbox, and by workers on themselves: so it makes system calls and
 * nothing else.  The struct of capget() is used as the kernel has it; libcap
 * would allocate.
 */
#include "sandbox/caps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAP_WORDS _LINUX_CAPABILITY_U32S_3
#define CAP_LIMIT 64 /* the sets are 64 bits wide */

static struct __user_cap_header_struct
header(void)
{
	return (struct __user_cap_header_struct){
	    .version = _LINUX_CAPABILITY_VERSION_3,
	};
}

int
caps_raise_ambient(void)
{
	struct __user_cap_header_struct h = header();
	struct __user_cap_data_struct d[CAP_WORDS];

	if (syscall(SYS_capget, &h, d) < 0)
		return -errno;
	for (int i = 0; i < CAP_WORDS; i++)
		d[i].inheritable = d[i].permitted;
	if (syscall(SYS_capset, &h, d) < 0)
		return -errno;
	for (int cap = 0; cap < CAP_LIMIT; cap++)
		if ((d[cap / 32].permitted & (1u << (cap % 32))) &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
			return -errno;
	return 0;
}

int
caps_drop(void)
{
	struct __user_cap_header_struct h = header();
	struct __user_cap_data_struct d[CAP_WORDS] = {{0}};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	for (int cap = 0; cap < CAP_LIMIT; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) {
			if (errno == EINVAL) /* past the kernel's last */
				break;
			return -errno;
		}
	return syscall(SYS_capset, &h, d) < 0 ? -errno : 0;
}

bool
caps_none(void)
{
	struct __user_cap_header_struct h = header();
	struct __user_cap_data_struct d[CAP_WORDS];

	if (syscall(SYS_capget, &h, d) < 0)
		return false;
	for (int i = 0; i < CAP_WORDS; i++)
		if (d[i].effective || d[i].permitted || d[i].inheritable)
			return false;
	for (int cap = 0; cap < CAP_LIMIT; cap++) {
		int held = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (held != 0)
			return held < 0 && errno == EINVAL;
	}
	return true;
}

int
caps_switch_user(uid_t uid, gid_t gid)
{
	if (syscall(SYS_setgroups, 0, NULL) < 0 ||
	    syscall(SYS_setresgid, gid, gid, gid) < 0 ||
	    syscall(SYS_setresuid, uid, uid, uid) < 0 ||
	    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

static int
write_file(const char *path, const char *text)
{
	size_t n = strlen(text);
	int r = 0;
	int fd;

	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, n) != (ssize_t)n)
		r = -errno;
	close(fd);
	return r;
}

int
caps_write_maps(uid_t uid, gid_t gid, const char **ret_act)
{
	char map[64];
	int r;

	*ret_act = "write setgroups";
	r = write_file("/proc/self/setgroups", "deny");
	if (r < 0)
		return r;
	*ret_act = "write uid_map";
	snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
	r = write_file("/proc/self/uid_map", map);
	if (r < 0)
		return r;
	*ret_act = "write gid_map";
	snprintf(map, sizeof(map), "%u %u 1\n", gid, gid);
	return write_file("/proc/self/gid_map", map);
}
