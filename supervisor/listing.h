#ifndef OZ0_SUPERVISOR_LISTING_H
#define OZ0_SUPERVISOR_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/process.h"

/*
 * What a server answered to tools/list, as its worker handed it on.  Filled
 * by one generation of WIRE_SERVER_FUNCTION frames, then never changed;
 * counted, since a tool keeps the last one of its servers.
 */
#define LISTING_MAX_FUNCTIONS 20000u
#define LISTING_MAX_BYTES ((size_t)64 << 20)

struct listing *listing_new(uint32_t generation);
struct listing *listing_ref(struct listing *l);
void listing_unref(struct listing *l); /* NULL is fine */
uint32_t listing_generation(const struct listing *l);
uint32_t listing_count(const struct listing *l);
/*
 * Takes over what f points to; false (nothing taken) when a function of that
 * name is there, or it would be over a bound.
 */
bool listing_add(struct listing *l, const struct function *f);
bool listing_same(struct listing *a, struct listing *b);

#endif
