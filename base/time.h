#ifndef OZ0_BASE_TIME_H
#define OZ0_BASE_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Three kinds of time that the compiler keeps apart, each in microseconds:
 * a point on CLOCK_BOOTTIME (counts suspend, never set), a point on the
 * calendar, and a length.
 */
struct mono {
	int64_t us;
};
struct wall {
	int64_t us;
};
struct span {
	int64_t us;
};

#define SPAN_US(n) ((struct span) { (int64_t)(n) })
#define SPAN_MS(n) ((struct span) { (int64_t)(n) * 1000 })
#define SPAN_S(n) ((struct span) { (int64_t)(n) * 1000000 })
#define SPAN_NONE ((struct span) { INT64_MAX }) /* no limit */
#define MONO_NEVER ((struct mono) { INT64_MAX })
#define TIME_WALL_LEN 28 /* "2026-12-01T08:40:34.123456Z" and NUL */

struct mono time_mono(void);
struct wall time_wall(void);
struct mono mono_add(struct mono t, struct span d); /* saturates */
struct span mono_since(struct mono later, struct mono earlier);
bool mono_before(struct mono a, struct mono b);
struct span span_min(struct span a, struct span b);
bool span_is_none(struct span d);
double span_seconds(struct span d);
/* Seconds as a finite number >= 0 and at most 100 years; else false. */
bool span_from_seconds(double s, struct span *ret);
/* "1.5s" "200ms" "2m" "1h" "7d" "90" (seconds); else false. */
bool span_parse(const char *s, struct span *ret);
/* Shortest exact form that span_parse reads: "1.5s"; "none" for SPAN_NONE. */
void span_format(struct span d, char *out, size_t size);
/* RFC 3339, UTC, microseconds (INTERFACES, Names in JSON). */
void wall_format(struct wall t, char out[TIME_WALL_LEN]);

#endif
