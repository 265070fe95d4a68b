#ifndef OZ0_WORKER_STDIO_LINES_H
#define OZ0_WORKER_STDIO_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "worker/mcp/skim.h"
#include "worker/stdio/proof.h"

/*
 * Lines of a server's stdout.  Only LF ends one (MCP 2026-07-28
 * basic/transports/stdio); a CR before it, blank lines and a byte order mark
 * in front of the first are dropped.  A line longer than max is not kept:
 * it is skimmed for the id it answers and skipped up to the next LF, in
 * constant memory.
 */
struct lines {
	struct buf in;
	size_t seen; /* bytes of in that hold no LF */
	size_t max;
	uint64_t skipped; /* bytes of the line that is being skipped */
	bool skipping;
	bool told; /* its id was given out */
	bool started;
	struct skim skim;
	/* a line of more bytes than that is proven as it comes */
	size_t prove_from;
	struct proof proof;
	const char *line; /* the last one given out */
	const struct json_notes *notes;
};

enum lines_what {
	LINES_NONE,	/* nothing more for now */
	LINES_LINE,	/* a line; lasts until the next call */
	LINES_LONG_ID,	/* the line being skipped answers *ret_id */
	LINES_LONG_END, /* a skipped line has ended; its bytes in *ret_len */
};

void lines_init(struct lines *l, size_t max);
void lines_free(struct lines *l);
/* Where up to lines_room() bytes may be read to; then lines_added(). */
char *lines_room(struct lines *l, size_t *ret_size);
void lines_added(struct lines *l, size_t n);
enum lines_what lines_next(
    struct lines *l, char **ret_line, size_t *ret_len, int64_t *ret_id);
/* At the end of the stream: what stands there without LF; NULL: nothing. */
char *lines_rest(struct lines *l, size_t *ret_len);
/* Of the last line, when it was proven on its way; else NULL. */
const struct json_notes *lines_notes(const struct lines *l);
/* A payload within the last line: its memfd, sealed, the caller's; or -1. */
int lines_take_copy(struct lines *l, struct json_value payload);
size_t lines_held(const struct lines *l); /* bytes kept */
/*
 * Memory that a large line took is kept for the next one, which then need not
 * be copied as it grows: is there such memory?  Give it back.
 */
bool lines_spare(const struct lines *l);
void lines_shrink(struct lines *l);

#endif
