/*
 * The servers' seccomp filter, applied for real in a child of each test.
 *
 * Run by make check; links the filter and base alone.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/filter.h"

#define UNKNOWN_CALL 9999

static int filter = -1;

struct attempt {
	const char *what;
	long nr;
	long args[4];
	int error; /* expected; 0: let through by the filter */
};

static const struct attempt attempts[] = {
    {"clone3", SYS_clone3, {0, 0}, ENOSYS},
    {"a call of the future", UNKNOWN_CALL, {0}, ENOSYS},
    {"faccessat2", 439, {AT_FDCWD, (long)(uintptr_t) "/", 0, 0}, 0},
    {"mount", SYS_mount, {0}, EPERM},
    {"fsopen", 430, {0}, EPERM},
    {"umount2", SYS_umount2, {0}, EPERM},
    {"setns", SYS_setns, {-1, 0}, EPERM},
    {"ptrace", SYS_ptrace, {0}, EPERM},
    {"bpf", SYS_bpf, {0}, EPERM},
    {"io_uring_setup", 425, {1, 0}, EPERM},
    {"keyctl", SYS_keyctl, {0}, EPERM},
    {"perf_event_open", SYS_perf_event_open, {0}, EPERM},
    {"userfaultfd", SYS_userfaultfd, {0}, EPERM},
    {"unshare(NEWUSER)", SYS_unshare, {CLONE_NEWUSER}, EPERM},
    {"unshare(NEWNS|FILES)", SYS_unshare, {CLONE_NEWNS | CLONE_FILES}, EPERM},
    {"unshare(FILES)", SYS_unshare, {CLONE_FILES}, 0},
    {"clone(NEWUSER)", SYS_clone, {CLONE_NEWUSER | SIGCHLD}, EPERM},
    {"clone(NEWPID)", SYS_clone, {CLONE_NEWPID | SIGCHLD}, EPERM},
    {"TIOCSTI", SYS_ioctl, {0, TIOCSTI, 0}, EPERM},
    {"TIOCSTI with high bits", SYS_ioctl,
	{0, (long)(0x100000000UL | TIOCSTI), 0}, EPERM},
    {"TIOCLINUX", SYS_ioctl, {0, TIOCLINUX, 0}, EPERM},
    {"ioctl of no kind", SYS_ioctl, {-1, TCGETS, 0}, EBADF},
    {"AF_PACKET", SYS_socket, {AF_PACKET, SOCK_RAW, 0}, EAFNOSUPPORT},
    {"AF_VSOCK", SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}, EAFNOSUPPORT},
    {"AF_ALG", SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}, EAFNOSUPPORT},
    {"family with high bits", SYS_socket,
	{(long)(0x100000000UL | AF_VSOCK), SOCK_STREAM, 0}, EAFNOSUPPORT},
    {"netlink audit", SYS_socket, {AF_NETLINK, SOCK_RAW, 9}, EAFNOSUPPORT},
    {"netlink route", SYS_socket, {AF_NETLINK, SOCK_RAW, 0}, 0},
    {"AF_UNIX", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, 0},
    {"personality ask", SYS_personality, {0xffffffff}, 0},
    {"personality READ_IMPLIES_EXEC", SYS_personality, {READ_IMPLIES_EXEC},
	ENOSYS},
    {"getpid", SYS_getpid, {0}, 0},
#ifdef __x86_64__
    {"x32 getpid", 0x40000000 | SYS_getpid, {0}, ENOSYS},
#endif
};

/* In a child: applies the filter, makes the call, gives its errno. */
static int
try(const struct attempt *a)
{
	int status;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    filter_apply_memfd(filter) < 0)
			_exit(255);
		errno = 0;
		if (syscall(a->nr, a->args[0], a->args[1], a->args[2],
			a->args[3]) >= 0)
			_exit(0);
		_exit(errno);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(
	    WIFEXITED(status), "%s: killed by %d", a->what, WTERMSIG(status));
	return WEXITSTATUS(status);
}

START_TEST(test_attempt)
{
	const struct attempt *a = &attempts[_i];
	int error = try(a);

	ck_assert_msg(error == a->error, "%s: errno %d instead of %d", a->what,
	    error, a->error);
}
END_TEST

#ifdef __x86_64__
/* i386 getpid is 20, x86_64's writev: the architecture must be looked at. */
static long
int80_getpid(void)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory");
	return r;
}

START_TEST(test_int80)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    filter_apply_memfd(filter) < 0)
			_exit(255);
		_exit((int)-int80_getpid());
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	/* a kernel without 32-bit calls ends it at the instruction */
	if (WIFSIGNALED(status))
		ck_assert_int_eq(WTERMSIG(status), SIGSEGV);
	else
		ck_assert_int_eq(WEXITSTATUS(status), ENOSYS);
}
END_TEST
#endif

/* What is no filter of ours is not loaded. */
START_TEST(test_bad_memfd)
{
	static const char text[64] = "oz0filt1";
	int sealed = fd_sealed("x", text, sizeof(text));
	int open_one = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(sealed, 0);
	ck_assert_int_eq(filter_apply_memfd(sealed), -EBADMSG);
	ck_assert_int_eq(filter_apply_memfd(open_one), -EBADMSG);
	ck_assert_int_eq(filter_apply_memfd(-1), -EBADMSG);
	close(sealed);
	close(open_one);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("sandbox_filter");
	TCase *t = tcase_create("filter");
	SRunner *r = srunner_create(s);
	int failed;

	filter = filter_server_memfd();
	if (filter < 0)
		return 99;
	suite_add_tcase(s, t);
	tcase_add_loop_test(
	    t, test_attempt, 0, (int)(sizeof(attempts) / sizeof(attempts[0])));
#ifdef __x86_64__
	tcase_add_test(t, test_int80);
#endif
	tcase_add_test(t, test_bad_memfd);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	close(filter);
	return failed != 0;
}
