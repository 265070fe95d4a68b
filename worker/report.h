#ifndef OZ0_WORKER_REPORT_H
#define OZ0_WORKER_REPORT_H

#include <stdint.h>

#include "base/log.h"
#include "wire/chan.h"
#include "worker/mcp/client.h"

/*
 * What oz0-worker tells the supervisor: one function a message, each queued on
 * the channel.  Texts that servers wrote are made printable first.
 */
void report_worker_ready(struct chan *c);
void report_pong(struct chan *c, uint64_t n);
void report_log(struct chan *c, enum log_level level, const char *line);
void report_ready(struct chan *c, uint32_t server, const char *era,
    const char *name, const char *version);
void report_function(
    struct chan *c, uint32_t server, const struct client_function *f);
void report_listed(struct chan *c, uint32_t server, uint32_t generation,
    uint32_t count, const char *problem);
void report_failed(struct chan *c, uint32_t server,
    enum wire_server_fault why, const char *text);
void report_stderr(
    struct chan *c, uint32_t server, const char *p, size_t len);
void report_drained(struct chan *c, uint32_t server);
void report_noise(struct chan *c, uint32_t server, enum wire_noise what,
    uint64_t count, const char *sample);
void report_call_sent(struct chan *c, uint64_t attempt);
void report_call_progress(struct chan *c, uint64_t attempt, double progress,
    bool has_total, double total);
void report_call_end(struct chan *c, const struct client_end *e);
void report_cancel_sent(struct chan *c, uint64_t attempt, bool written);

#endif
