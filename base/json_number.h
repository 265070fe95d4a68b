#ifndef OZ0_BASE_JSON_NUMBER_H
#define OZ0_BASE_JSON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

/*
 * Numbers of JSON by their decimal digits, for any length of text and without
 * memory of their own; no locale enters.
 */

/*
 * The value 0.d1d2d3... * 10^point.  The digits stand in the text from p on,
 * perhaps with a decimal point among them; neither the first nor the last is
 * 0, and count is 0 for zero.  point is exact between -JSON_POINT_EXACT and
 * JSON_POINT_EXACT; exponents beyond that are cut off, not wrapped.
 */
#define JSON_POINT_EXACT ((int64_t)1 << 56)
struct json_decimal {
	bool negative;
	bool integer; /* written without fraction and exponent */
	const char *p;
	size_t count;
	int64_t point;
};

/* false when v is no number. */
bool json_decimal_read(struct json_value v, struct json_decimal *ret);
/* The nearest double, ties to even; infinite when it is too large for one. */
double json_decimal_double(const struct json_decimal *d);

#define JSON_DIGITS_MAX 17
/*
 * The fewest digits that read back as d (finite, not 0; its sign is dropped),
 * of those the nearest to it: 0.DIGITS * 10^point.  NUL added; returns how
 * many.
 */
size_t json_double_digits(
    double d, char digits[JSON_DIGITS_MAX + 1], int *ret_point);

#define JSON_NUMBER_LEN 32
/*
 * Digits (count of them, at most JSON_DIGITS_MAX, neither first nor last 0) as
 * ECMAScript writes the number 0.DIGITS * 10^point; plus: whether with the +
 * of 1e+21.  Returns the length; NUL added.  |point| < 1000.
 */
size_t json_digits_format(bool negative, const char *digits, size_t count,
    int point, bool plus, char out[JSON_NUMBER_LEN]);
/* The same for a finite double (RFC 8785 §3.2.2.3). */
size_t json_double_format(double d, bool plus, char out[JSON_NUMBER_LEN]);
/*
 * The same for a number of 1 to DBL_DIG digits well within the doubles' range:
 * its own digits are the fewest that read back as the double nearest to it.
 * 0 when it is no such number.
 */
size_t json_decimal_format(
    const struct json_decimal *d, bool plus, char out[JSON_NUMBER_LEN]);

#endif
