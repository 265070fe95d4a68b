#ifndef OZ0_WORKER_STDIO_WRITER_H
#define OZ0_WORKER_STDIO_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"

/*
 * Lines on their way to a server's stdin, which may take them slowly or never
 * (B038): nothing here blocks.  An urgent line passes every line that is not
 * begun (LIFECYCLE L1.4a).  A tag says whose line it is; 0: nobody asks.
 */
struct writer_line {
	TAILQ_ENTRY(writer_line) entry;
	struct buf text;
	int64_t tag;
	bool begun;
};
TAILQ_HEAD(writer_queue, writer_line);

struct writer_ops {
	/* its first byte was written */
	void (*begun)(void *arg, int64_t tag);
	/* all of it was written; the text may be kept (moved out) */
	void (*written)(void *arg, int64_t tag, struct buf *text);
};

struct writer {
	int fd; /* owned; -1: ended */
	const struct writer_ops *ops;
	void *arg;
	struct writer_queue urgent, normal;
	struct writer_line *mid; /* the line begun */
	size_t queued;		 /* bytes */
};

void writer_init(struct writer *w, int fd, const struct writer_ops *ops,
    void *arg);
/* Takes the text over.  After the end it is dropped. */
void writer_put(struct writer *w, struct buf *text, int64_t tag, bool urgent);
/* Takes a line back that is not begun: false, it is, or there is none. */
bool writer_drop(struct writer *w, int64_t tag);
/* Writes what the server takes now: 0, or -errno when it takes no more. */
int writer_flush(struct writer *w);
bool writer_pending(const struct writer *w);
/* Nothing more is written, a line begun is abandoned, stdin is ended: by
 * shutdown() where it is a socket, since others may hold it too. */
void writer_end(struct writer *w);

#endif
