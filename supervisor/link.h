#ifndef OZ0_SUPERVISOR_LINK_H
#define OZ0_SUPERVISOR_LINK_H

#include <stdbool.h>
#include <stddef.h>

#include <sys/queue.h>

#include "supervisor/supervisor.h"
#include "wire/chan.h"

/*
 * The supervisor's end of a channel to a worker, an init or the journal, in
 * the event loop.  What is sent waits until links_flush() at the end of the
 * turn, when the log is written.
 */
struct link;

/* false: the frame claims what is not so; the peer is to be ended. */
typedef bool link_fn(
    struct supervisor *s, void *arg, struct chan_frame *f);

struct link_handler {
	enum wire_type type;
	unsigned phases; /* bits of link_set_phase() in which it may come */
	link_fn *fn;
};

struct link_kind {
	enum wire_role peer;
	const struct link_handler *handlers;
	size_t nhandlers;
	/*
	 * The peer closed its end, or broke the rules (broken): called once,
	 * from a turn of the loop; link_free() is the owner's to call.
	 */
	void (*closed)(
	    struct supervisor *s, void *arg, bool broken, const char *why);
};

struct links;
struct links *links_new(void);
void links_free(struct links *ls);
void links_flush(struct supervisor *s, struct links *ls);

/* Takes over fd. */
struct link *link_new(struct supervisor *s, int fd, const struct link_kind *k,
    size_t max_payload, void *arg);
void link_free(struct link *l); /* also from within a handler; NULL is fine */
void link_set_phase(struct link *l, unsigned bit);
/*
 * Reads what is there now: the last words of a peer that is dead.  false: the
 * link was freed by a handler meanwhile.
 */
bool link_drain(struct link *l);
void link_pause(struct link *l, bool on); /* reading held back (L9.6) */
bool link_paused(const struct link *l);
bool link_is_closed(const struct link *l); /* also when it is NULL */
size_t link_queued(const struct link *l);

struct buf *link_begin(struct link *l, enum wire_type type);
int link_end(struct link *l, const char *payload, size_t len, const int *fds,
    size_t nfds);
int link_end_urgent(struct link *l);
/* A stop does not wait for the end of the turn. */
void link_flush_now(struct link *l);

#endif
