#ifndef OZ0_WIRE_CHAN_H
#define OZ0_WIRE_CHAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/frame.h"
#include "wire/message.h"

/*
 * One end of a socketpair between two processes of the node: frames out,
 * batched, and frames in, checked against the table of messages.  It never
 * blocks and knows no event loop: its owner polls chan_fd() for reading, and
 * for writing while chan_pending().
 */
#define CHAN_MAX_FDS 8

struct chan;

/*
 * A frame that was read.  It, its views and its descriptors last until the
 * next chan_next() or chan_read() of the channel.
 */
struct chan_frame {
	enum wire_type type;
	struct wire_reader body;
	const char *payload;
	size_t payload_len;
	void *map; /* it, where it came as a memfd; take it with STEAL_PTR() */
	int fds[CHAN_MAX_FDS]; /* take one with fd_steal(); others are closed */
	size_t nfds;
};

/*
 * Takes over fd (non-blocking).  me and peer say which messages may be sent
 * and received; max_payload bounds a payload in either direction.
 */
struct chan *chan_new(int fd, enum wire_role me, enum wire_role peer,
    size_t max_payload);
void chan_free(struct chan *c); /* closes; NULL is fine */
int chan_fd(const struct chan *c);
void chan_set_max_payload(struct chan *c, size_t max_payload);

/*
 * Sending: chan_begin(), fields by wire_put_*() onto what it returns, then
 * chan_end() with payload (may be NULL, 0) and descriptors (duplicated here:
 * the caller keeps its own).  0, or -errno (-EMFILE and the like: the frame
 * was not queued).  A payload over WIRE_INLINE_MAX travels as a sealed memfd.
 * An urgent frame (no descriptors) passes every frame not yet begun (L1.4a).
 */
struct buf *chan_begin(struct chan *c, enum wire_type type);
int chan_end(struct chan *c, const char *payload, size_t len, const int *fds,
    size_t nfds);
int chan_end_urgent(struct chan *c);
/*
 * Before chan_end(), with a payload over WIRE_INLINE_MAX of len bytes: fd, a
 * sealed memfd that is taken over, has it already.  -1 is fine, and whatever
 * the next chan_end() does not use is closed.
 */
void chan_give(struct chan *c, int fd, size_t len);
/* Writes what can be written now: 0, or -errno (-EPIPE: the peer is gone). */
int chan_flush(struct chan *c);
bool chan_pending(const struct chan *c);
size_t chan_queued(const struct chan *c); /* bytes, memfd payloads included */

/*
 * Receiving: chan_read() once readable: bytes read, 0 at the end of file,
 * -EAGAIN, or -errno.  Then chan_next() until it gives 0: 1 is a frame,
 * -EBADMSG a peer that broke the rules (*ret_why says which): end it.
 */
int chan_read(struct chan *c);
int chan_next(struct chan *c, struct chan_frame **ret, const char **ret_why);

#endif
