#ifndef OZ0_BENCH_CLIENT_H
#define OZ0_BENCH_CLIENT_H

#include <stdint.h>

#include "base/json.h"

/*
 * A client of the control socket, for all that is not measured itself.  What
 * goes wrong ends the benchmark, with words.
 */

struct client;

struct client *client_open(const char *path);
void client_close(struct client *c);
int client_fd(const struct client *c);

/* Sends a request (params as JSON text) and returns its id. */
uint64_t client_send(struct client *c, const char *method, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));
/*
 * The result to it, good until the next call of these; answers to others that
 * come before are dropped.  An error ends the benchmark.
 */
struct json_value client_wait(struct client *c, uint64_t id);
struct json_value client_do(struct client *c, const char *method,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same, for a result whose "state" must be this. */
void client_want_state(struct json_value result, const char *state);

#endif
