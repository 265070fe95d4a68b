/*
 * Faults on demand, for the system tests: calls of the C library that fail as
 * a broken disk makes them fail.  Preloaded into oz0d (LD_PRELOAD), linked
 * into a stand-in for oz0-journal, which is started with an empty
 * environment.  What fails is said by the words of a file, which the test
 * changes while the program runs: OZ0_FAULTS names it, else it is `faults` in
 * the program's own folder.  It is mapped before the program gives up its
 * rights.  Without the file nothing fails.  A sync can also be slow.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* tests/system/oz0test/faults.py counts the same. */
enum what { WRITE, SYNC, CREATE, FORK, WHATS };

/* The file: one for each, in the machine's own order. */
struct fault {
	int32_t error;	  /* 0: works */
	int32_t times;	  /* how often it fails; 0: until error is 0 */
	int32_t partial;  /* bytes that the first failing write still writes;
			   * ms that a sync takes at least */
	int32_t happened; /* how often it failed: ours to write */
};

static struct fault *faults;

__attribute__((constructor)) static void
map_faults(void)
{
	const char *name = getenv("OZ0_FAULTS");
	char path[PATH_MAX + 8];
	void *p;
	int fd;

	if (name == NULL) {
		ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
		char *slash;

		if (n <= 0)
			return;
		path[n] = '\0';
		slash = strrchr(path, '/');
		if (slash == NULL)
			return;
		strcpy(slash + 1, "faults");
		name = path;
	}
	fd = open(name, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	p = mmap(NULL, WHATS * sizeof(*faults), PROT_READ | PROT_WRITE,
	    MAP_SHARED, fd, 0);
	if (p != MAP_FAILED)
		faults = p;
	close(fd);
}

static int
fails(enum what w)
{
	struct fault *f = faults == NULL ? NULL : &faults[w];
	int error;

	if (f == NULL || f->error == 0)
		return 0;
	error = f->error;
	if (f->times > 0 && --f->times == 0)
		f->error = 0;
	f->happened++;
	return error;
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at);
ssize_t pwrite64(int fd, const void *p, size_t n, off_t at);
int fdatasync(int fd);
int openat(int dir, const char *path, int flags, ...);
int openat64(int dir, const char *path, int flags, ...);

/* How oz0d starts every process (sandbox/launch.c). */
int
clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
	static int (*real)(int (*)(void *), void *, int, void *, ...);
	void *pidfd;
	va_list ap;
	int e = fails(FORK);

	if (e != 0) {
		errno = e;
		return -1;
	}
	if (real == NULL)
		real = (int (*)(int (*)(void *), void *, int, void *, ...))
		    (uintptr_t)dlsym(RTLD_NEXT, "clone");
	va_start(ap, arg);
	pidfd = va_arg(ap, void *);
	va_end(ap);
	return real(fn, stack, flags, arg, pidfd);
}

ssize_t
pwrite64(int fd, const void *p, size_t n, off_t at)
{
	int e = fails(WRITE);
	size_t some = e != 0 ? (size_t)faults[WRITE].partial : 0;

	if (e != 0 && (some == 0 || some >= n)) {
		errno = e;
		return -1;
	}
	if (e != 0) {
		faults[WRITE].partial = 0;
		n = some;
	}
	return syscall(SYS_pwrite64, fd, p, n, at);
}

ssize_t
pwrite(int fd, const void *p, size_t n, off_t at)
{
	return pwrite64(fd, p, n, at);
}

int
fdatasync(int fd)
{
	int e = fails(SYNC);

	if (faults != NULL && faults[SYNC].partial > 0)
		poll(NULL, 0, faults[SYNC].partial);
	if (e == 0)
		return (int)syscall(SYS_fdatasync, fd);
	errno = e;
	return -1;
}

int
openat64(int dir, const char *path, int flags, ...)
{
	unsigned mode = 0;
	int e;

	if ((flags & O_CREAT) != 0) {
		va_list ap;

		va_start(ap, flags);
		mode = va_arg(ap, unsigned);
		va_end(ap);
		e = fails(CREATE);
		if (e != 0) {
			errno = e;
			return -1;
		}
	}
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

int
openat(int dir, const char *path, int flags, ...)
{
	unsigned mode;
	va_list ap;

	va_start(ap, flags);
	mode = (flags & O_CREAT) != 0 ? va_arg(ap, unsigned) : 0;
	va_end(ap);
	return openat64(dir, path, flags, mode);
}
