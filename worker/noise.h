#ifndef OZ0_WORKER_NOISE_H
#define OZ0_WORKER_NOISE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "wire/message.h"

/*
 * How often the supervisor is told of what a server wrote beside the point:
 * the first of a kind at once, then at most once a second with their number.
 */
#define NOISE_KINDS (WIRE_NOISE_LATE + 1)
#define NOISE_SAMPLE 512

struct noise {
	struct noise_kind {
		uint64_t count; /* since it was told */
		struct mono told;
		bool ever;
		char sample[NOISE_SAMPLE]; /* the first since it was told */
	} kinds[NOISE_KINDS];
};

/* One more.  true: it is due; then noise_take(). */
bool noise_add(struct noise *n, enum wire_noise what, const char *sample,
    struct mono now);
/* The next kind with something to tell, due or (all) not; false: none.  The
 * sample lasts until the next noise_add(). */
bool noise_take(struct noise *n, struct mono now, bool all,
    enum wire_noise *ret_what, uint64_t *ret_count, const char **ret_sample);
/* When noise_take() will have something; MONO_NEVER: not. */
struct mono noise_due(const struct noise *n);

#endif
