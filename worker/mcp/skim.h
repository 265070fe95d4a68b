#ifndef OZ0_WORKER_MCP_SKIM_H
#define OZ0_WORKER_MCP_SKIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A guess at which of our requests a line answers that cannot be read: one
 * over the size limit, or one that is broken JSON.  It follows braces and
 * strings, proves nothing, and needs constant memory.  A wrong guess can only
 * end a call of the very server that wrote the line.
 */
struct skim {
	unsigned depth;
	uint8_t where; /* enum of skim.c */
	bool escape;
	bool is_id;
	bool method;
	bool done; /* the outermost object was closed, or there is none */
	uint8_t len;
	char text[24];
	int64_t id;
};

void skim_init(struct skim *s);
void skim_feed(struct skim *s, const char *p, size_t len);
/* The id, when it is a positive integer (or a string of one), no method was
 * met, and its value is complete; else 0. */
int64_t skim_id(const struct skim *s);

#endif
