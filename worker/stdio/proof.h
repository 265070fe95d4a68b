#ifndef OZ0_WORKER_STDIO_PROOF_H
#define OZ0_WORKER_STDIO_PROOF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

/*
 * A large line, proven while it arrives, with notes of what stands where; and
 * its result, from the first byte on that is too much for a frame, put into
 * the memfd that will carry it to the supervisor.  When the line's last byte
 * is there, little is left to do.  What goes wrong here costs nothing but
 * time: whoever gets no notes or no memfd does without.
 */
struct proof {
	size_t copy_from; /* a result of more bytes than that is copied */
	bool on; /* a line is being proven */
	struct json_scan scan;
	struct json_notes notes;
	bool no_copy; /* it was tried, and is not to be had */
	int fd;	      /* of the result; -1: none */
	size_t value; /* where the result begins in the line */
	size_t upto;  /* and up to where it was written */
	bool sealed;
};

void proof_init(struct proof *p);
void proof_clear(struct proof *p); /* also between lines, cheap */
/*
 * The line as far as it is there, len bytes, more at each call; line breaks
 * between its tokens, which can only be CR, become spaces.
 */
void proof_feed(struct proof *p, char *line, size_t len);
/* That was all of it.  NULL: it has to be read without. */
const struct json_notes *proof_end(
    struct proof *p, const char *line, size_t len);
/* The sealed memfd of this payload, which is the caller's; -1: none. */
int proof_take(struct proof *p, const char *line, struct json_value payload);
/* Bytes in the memfd. */
size_t proof_held(const struct proof *p);

#endif
