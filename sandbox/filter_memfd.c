/*
 * seccomp programs in a sealed memfd: made once, loaded by many.
 *
 * Made by the supervisor (libseccomp compiles), loaded by servers and workers
 * on themselves (one system call a program).  Used by filter_server.c and
 * filter_strict.c.
 */
#include "sandbox/filter_memfd.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "sandbox/filter.h"

#define MEMFD_MAX ((size_t)1 << 20)

/* At the front of the memfd; both ends are one build of one program. */
struct filter_head {
	char magic[8];
	uint32_t first;	 /* instructions of the first program */
	uint32_t second; /* and of the one that is loaded after it; may be 0 */
};
static const char filter_magic[8] = "oz0filt2";

static int export(scmp_filter_ctx ctx, struct buf *out, uint32_t *ret_count)
{
	CLEANUP_CLOSE int fd = memfd_create("seccomp", MFD_CLOEXEC);
	size_t before = buf_len(out);
	off_t size;
	int r;

	if (fd < 0)
		return -errno;
	r = seccomp_export_bpf(ctx, fd);
	if (r < 0)
		return r;
	size = lseek(fd, 0, SEEK_END);
	if (size <= 0 || (size_t)size > MEMFD_MAX ||
	    (size_t)size % sizeof(struct sock_filter) != 0)
		return -EIO;
	if (pread(fd, buf_room(out, (size_t)size), (size_t)size, 0) != size)
		return -EIO;
	buf_added(out, (size_t)size);
	*ret_count =
	    (uint32_t)((buf_len(out) - before) / sizeof(struct sock_filter));
	return 0;
}

static int
build(const struct filter_program *p, struct buf *out, uint32_t *ret_count)
{
	scmp_filter_ctx ctx = seccomp_init(p->fallback);
	int r;

	if (ctx == NULL)
		return -ENOMEM;
	r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, p->badarch);
	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r == 0)
		r = p->rules(ctx);
	if (r == 0)
		r = export(ctx, out, ret_count);
	seccomp_release(ctx);
	return r;
}

int
filter_memfd(
    const struct filter_program *first, const struct filter_program *second)
{
	CLEANUP(buf_free) struct buf out = {0};
	struct filter_head head = {.second = 0};
	int r;

	memcpy(head.magic, filter_magic, sizeof(head.magic));
	buf_put(&out, &head, sizeof(head));
	r = build(first, &out, &head.first);
	if (r == 0 && second != NULL)
		r = build(second, &out, &head.second);
	if (r < 0)
		return r;
	memcpy(out.data + out.start, &head, sizeof(head));
	return fd_sealed("oz0-filter", buf_at(&out), buf_len(&out));
}

static int
load(struct sock_filter *program, uint32_t count)
{
	struct sock_fprog prog = {
	    .len = (unsigned short)count,
	    .filter = program,
	};

	for (uint32_t i = 0; i < count; i++)
		if (program[i].code == (BPF_JMP | BPF_JEQ | BPF_K) &&
		    program[i].k == FILTER_OWN_PID)
			program[i].k = (uint32_t)getpid();
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0
		   ? -errno
		   : 0;
}

int
filter_apply_memfd(int fd)
{
	struct filter_head head;
	struct sock_filter *programs;
	size_t size;
	void *map;
	int r = -EBADMSG;

	if (!fd_is_sealed(fd, &size) || size < sizeof(head) || size > MEMFD_MAX)
		return -EBADMSG;
	/* a copy of its own: it puts its pid in */
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	memcpy(&head, map, sizeof(head));
	programs = (struct sock_filter *)((char *)map + sizeof(head));
	if (memcmp(head.magic, filter_magic, sizeof(head.magic)) == 0 &&
	    head.first > 0 && head.first <= BPF_MAXINSNS &&
	    head.second <= BPF_MAXINSNS &&
	    size ==
		sizeof(head) + (head.first + head.second) * sizeof(*programs)) {
		r = load(programs, head.first);
		if (r == 0 && head.second > 0)
			r = load(programs + head.first, head.second);
	}
	munmap(map, size);
	return r;
}
