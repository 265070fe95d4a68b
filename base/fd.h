#ifndef OZ0_BASE_FD_H
#define OZ0_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Descriptors start at -1, have one owner and are CLOEXEC from birth. */

void fd_close(int *fd);	     /* closes when >= 0, sets -1, keeps errno */
int fd_steal(int *fd);	     /* gives it away: the owner's becomes -1 */
int fd_nonblock(int fd);     /* 0 or -errno */
int fd_cloexec(int fd, bool on); /* 0 or -errno */
/* A CLOEXEC, non-blocking Unix stream socketpair; 0 or -errno. */
int fd_socketpair(int ret_sv[2]);
int fd_pipe(int ret_pv[2]); /* CLOEXEC, blocking ends; 0 or -errno */
/* All of n bytes, through EINTR and short writes; 0 or -errno. */
int fd_write_all(int fd, const void *p, size_t n);
/* Whole file, at most max bytes, NUL added; -EFBIG when longer. */
int fd_read_file(int dirfd, const char *path, size_t max, char **ret_text,
    size_t *ret_len);
/* A read-only memfd with this content, sealed against every change. */
int fd_sealed(const char *name, const void *p, size_t n);
int fd_seal(int fd); /* a memfd with no writable mapping; 0 or -errno */
/* Does fd carry the seals SHRINK, GROW and WRITE?  Size to *ret_size. */
bool fd_is_sealed(int fd, size_t *ret_size);

#endif
