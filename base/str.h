#ifndef OZ0_BASE_STR_H
#define OZ0_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names of jobs, activities and tools (LIFECYCLE L2.7). */
bool str_is_name(const char *s);      /* job, activity: 1..128 */
bool str_is_tool_name(const char *s); /* 1..64, no dot */
/*
 * A job may not be named as a call is: `c` and digits, however many (the
 * number is UINT64_MAX when it is larger).
 */
bool str_is_call_name(const char *s, uint64_t *ret_number);
/* "16MiB", "512KiB", "1GiB", "1024"; else false. */
bool str_parse_size(const char *s, uint64_t *ret);
/* fnmatch-like: `*` and `?` only, whole string. */
bool str_glob(const char *pattern, const char *s);
/* n random bytes (getrandom) as 2n hex digits and NUL. */
void str_random_hex(char *out, size_t nbytes);
/* At most size - 1 bytes (size > 0), no UTF-8 character cut; false if cut. */
bool str_copy(char *out, size_t size, const char *s);

#endif
