#ifndef OZ0_EXAMPLES_DEMO_OUT_H
#define OZ0_EXAMPLES_DEMO_OUT_H

#include "base/jsonw.h"
#include "examples/demo/demo.h"

/* What the server writes: whole messages onto its queue for stdout. */

/* Raw bytes, and the end of a line (CR LF with --crlf). */
void out_put(struct demo *d, const void *p, size_t n);
void out_line_end(struct demo *d);
void out_line(struct demo *d, const char *line);

/*
 * A message: begin, members, end.  The id is put as JSON text; NULL leaves
 * it out.  out_result_begin() opens "result" and writes what the era asks for
 * (MCP 2026-07-28 basic, Responses); out_result_end() closes it.
 */
void out_result_begin(struct demo *d, struct jsonw *w, enum era era,
    const char *id, size_t id_len, const char *type);
/* meta: members of the result's _meta as JSON text, or NULL. */
void out_result_end(
    struct demo *d, struct jsonw *w, enum era era, const char *meta);
/* data: JSON text, or NULL. */
void out_error(struct demo *d, struct json_value id, int64_t code,
    const char *message, const char *data);
/* A notification; params as JSON text. */
void out_notify(struct demo *d, const char *method, const char *params);
/* A request of the server's own; returns its id. */
int64_t out_request(struct demo *d, const char *method);

/* Writes what stdout takes now, or (wait) all of it. */
void out_flush(struct demo *d, bool wait);

#endif
