#ifndef OZ0_BASE_CANON_H
#define OZ0_BASE_CANON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"

#define CANON_DIGEST_LEN 33 /* 32 hex digits and NUL */

/*
 * RFC 8785 canonical form with what LIFECYCLE L2.3 adds for numbers that are
 * no doubles: an integer that is no double by all its digits, a number beyond
 * the doubles' range by its own digits in ECMAScript's notation.  false when
 * RFC 8785 refuses the text (duplicate keys, lone surrogates): nothing of out
 * is to be used then.
 */
bool canon_write(struct json_value v, struct buf *out);

/*
 * The digest of a call's arguments (L2.3): the first 32 hex digits of the
 * SHA-256 of their canonical form, or of their bytes where there is none.
 * JSON_NONE (absent arguments) counts as {}.
 */
void canon_digest(struct json_value arguments, char ret[CANON_DIGEST_LEN]);

#endif
