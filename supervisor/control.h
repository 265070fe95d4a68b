#ifndef OZ0_SUPERVISOR_CONTROL_H
#define OZ0_SUPERVISOR_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "supervisor/supervisor.h"

/*
 * The control socket: connections, roles, methods, events (INTERFACES, The
 * control protocol).  It asks the core to act and shows what the core says.
 */
/* Listens (or takes the socket that LISTEN_FDS hands over); 0 or -errno. */
int control_start(struct supervisor *s);
void control_stop(struct supervisor *s); /* no new connections; unlinks */
void control_free(struct supervisor *s);
void control_flush(struct supervisor *s); /* answers and events leave */
/* What the buffers of connections hold (L9.6). */
size_t control_bytes(const struct supervisor *s);
/* record.c: a step was recorded (one line of JSON). */
void control_event(
    struct supervisor *s, uint64_t seq, const char *json, size_t len);
/* call.c: progress; it has no number and is not repeated. */
void control_progress(struct supervisor *s, const struct call *c);
/* A new configuration: roles are looked up anew. */
void control_reload(struct supervisor *s);
/* The node's state as `oz0 --json status` prints it (SIGUSR1 too). */
void status_write(struct supervisor *s, struct buf *out);

/* notify.c: sd_notify(3)'s protocol; without NOTIFY_SOCKET: nothing. */
void notify_ready(struct supervisor *s);
void notify_reloading(struct supervisor *s);
void notify_stopping(struct supervisor *s);
void notify_status(struct supervisor *s); /* STATUS=, at most once a second */
void notify_start_watchdog(struct supervisor *s);

#endif
