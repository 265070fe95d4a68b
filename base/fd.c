/*
 * Descriptors: closing, giving away, flags, and the few whole-file and memfd
 * helpers that every process needs.
 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

void
fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

int
fd_steal(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

int
fd_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

int
fd_cloexec(int fd, bool on)
{
	return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0) < 0 ? -errno : 0;
}

int
fd_socketpair(int ret_sv[2])
{
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		sv) < 0)
		return -errno;
	ret_sv[0] = sv[0];
	ret_sv[1] = sv[1];
	return 0;
}

int
fd_pipe(int ret_pv[2])
{
	int pv[2];

	if (pipe2(pv, O_CLOEXEC) < 0)
		return -errno;
	ret_pv[0] = pv[0];
	ret_pv[1] = pv[1];
	return 0;
}

int
fd_write_all(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n > 0) {
		ssize_t k = write(fd, at, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		at += k;
		n -= (size_t)k;
	}
	return 0;
}

static int
read_up_to(int fd, size_t max, char **ret_text, size_t *ret_len)
{
	size_t len = 0, cap = 4096;
	char *text = mem_alloc(cap + 1);

	for (;;) {
		ssize_t k;

		if (len == cap) {
			cap *= 2;
			text = mem_realloc(text, cap + 1);
		}
		k = read(fd, text + len, cap - len);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0) {
			int r = -errno;

			free(text);
			return r;
		}
		if (k == 0)
			break;
		len += (size_t)k;
		if (len > max) {
			free(text);
			return -EFBIG;
		}
	}
	text[len] = '\0';
	*ret_text = text;
	if (ret_len != NULL)
		*ret_len = len;
	return 0;
}

int
fd_read_file(int dirfd, const char *path, size_t max, char **ret_text,
    size_t *ret_len)
{
	int r, fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	r = read_up_to(fd, max, ret_text, ret_len);
	fd_close(&fd);
	return r;
}

int
fd_seal(int fd)
{
	if (fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) < 0)
		return -errno;
	return 0;
}

int
fd_sealed(const char *name, const void *p, size_t n)
{
	int r, fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, p, n);
	if (r == 0)
		r = fd_seal(fd);
	if (r < 0) {
		fd_close(&fd);
		return r;
	}
	return fd;
}

bool
fd_is_sealed(int fd, size_t *ret_size)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0)
		return false;
	*ret_size = (size_t)st.st_size;
	return true;
}
