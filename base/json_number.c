/*
 * Decimal digits to doubles and back.  A leaf for json_value.c, jsonw.c and
 * canon.c.  libc converts, but is given and gives digits and an exponent
 * only: the decimal point, where locales differ, never passes through it.
 */
#include "base/json_number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"

#define EXPONENT_MAX ((int64_t)1 << 61)
/* Digits that can matter to the rounding of a double; see significant(). */
#define SIGNIFICANT_MAX 780

/* An exponent's sign and digits; cut off, not wrapped (B068). */
static int64_t
read_exponent(const char *p, const char *end)
{
	bool negative = p < end && *p == '-';
	int64_t n = 0;

	if (p < end && (*p == '-' || *p == '+'))
		p++;
	for (; p < end && json_is_digit(*p); p++)
		if (n < EXPONENT_MAX / 16)
			n = n * 10 + (*p - '0');
		else
			n = EXPONENT_MAX;
	return negative ? -n : n;
}

bool
json_decimal_read(struct json_value v, struct json_decimal *ret)
{
	struct json_decimal d = {.integer = true};
	const char *p = v.p, *end;
	size_t zeros = 0;
	bool point = false;

	if (v.type != JSON_NUMBER)
		return false;
	end = p + v.len;
	if (p < end && *p == '-') {
		d.negative = true;
		p++;
	}
	for (; p < end && (json_is_digit(*p) || *p == '.'); p++) {
		if (*p == '.') {
			point = true;
			d.integer = false;
			continue;
		}
		if (*p != '0') {
			if (d.count == 0)
				d.p = p;
			else
				d.count += zeros;
			d.count++;
			zeros = 0;
		} else {
			zeros++;
		}
		/* the point stands behind the digits before it; a 0 right
		 * behind it and before the first other digit moves it back */
		if (!point && d.count != 0)
			d.point++;
		else if (point && d.count == 0)
			d.point--;
	}
	if (p < end) {
		d.integer = false;
		d.point += read_exponent(p + 1, end);
	}
	*ret = d;
	return true;
}

/*
 * The first digits and, when more follow, a 1: no double and no middle between
 * two has more than 768 digits, so that more only have to be known to be there.
 */
static size_t
significant(const struct json_decimal *d, char *out)
{
	size_t n = 0;

	for (const char *p = d->p; n < d->count; p++) {
		if (*p == '.')
			continue;
		if (n == SIGNIFICANT_MAX) {
			out[n++] = '1';
			break;
		}
		out[n++] = *p;
	}
	return n;
}

double
json_decimal_double(const struct json_decimal *d)
{
	char text[SIGNIFICANT_MAX + 32];
	double v;

	if (d->count == 0 || d->point < -400)
		v = 0;
	else if (d->point > 400)
		v = HUGE_VAL;
	else {
		size_t n = significant(d, text);

		snprintf(
		    text + n, sizeof(text) - n, "e%d", (int)d->point - (int)n);
		v = strtod(text, NULL);
	}
	return d->negative ? -v : v;
}

/* d to n digits, correctly rounded; point as in json_double_digits(). */
static void
round_digits(double d, int n, char *digits, int *ret_point)
{
	char text[64];
	size_t count = 0;
	const char *p;

	snprintf(text, sizeof(text), "%.*e", n - 1, d);
	for (p = text; *p != 'e'; p++)
		if (json_is_digit(*p))
			digits[count++] = *p;
	digits[count] = '\0';
	*ret_point = atoi(p + 1) + 1;
}

static bool
reads_back(const char *digits, int point, double d)
{
	char text[64];

	snprintf(
	    text, sizeof(text), "%se%d", digits, point - (int)strlen(digits));
	return strtod(text, NULL) == d;
}

/* The next number of as many digits. */
static void
digits_up(char *digits, int *point)
{
	size_t i = strlen(digits);

	while (i > 0 && digits[i - 1] == '9')
		digits[--i] = '0';
	if (i > 0) {
		digits[i - 1]++;
	} else {
		digits[0] = '1';
		++*point;
	}
}

size_t
json_double_digits(double d, char digits[JSON_DIGITS_MAX + 1], int *ret_point)
{
	/* every double of 15 digits or less reads back from 15 digits with
	 * zeros at the end, except among the subnormals */
	int exponent, point, n;
	double fraction = frexp(fabs(d), &exponent);
	size_t len;

	d = fabs(d);
	for (n = d < 2.3e-308 ? 1 : 15; n < JSON_DIGITS_MAX; n++) {
		round_digits(d, n, digits, &point);
		if (reads_back(digits, point, d))
			break;
		/* Above a power of two doubles lie twice as far apart as
		 * below: the nearest may fail where the next one does not. */
		if (fraction == 0.5) {
			digits_up(digits, &point);
			if (reads_back(digits, point, d))
				break;
		}
	}
	if (n == JSON_DIGITS_MAX)
		round_digits(d, n, digits, &point);
	for (len = strlen(digits); len > 1 && digits[len - 1] == '0'; len--)
		continue;
	digits[len] = '\0';
	*ret_point = point;
	return len;
}

static char *
put_zeros(char *p, int n)
{
	memset(p, '0', (size_t)n);
	return p + n;
}

static char *
put_bytes(char *p, const char *s, size_t n)
{
	memcpy(p, s, n);
	return p + n;
}

/* ECMA-262, Number::toString; its k is count and its n is point. */
size_t
json_digits_format(bool negative, const char *digits, size_t count, int point,
    bool plus, char out[JSON_NUMBER_LEN])
{
	int k = (int)count;
	char *p = out;

	if (negative)
		*p++ = '-';
	if (k <= point && point <= 21) {
		p = put_bytes(p, digits, count);
		p = put_zeros(p, point - k);
	} else if (0 < point && point <= 21) {
		p = put_bytes(p, digits, (size_t)point);
		*p++ = '.';
		p = put_bytes(p, digits + point, count - (size_t)point);
	} else if (-6 < point && point <= 0) {
		p = put_bytes(p, "0.", 2);
		p = put_zeros(p, -point);
		p = put_bytes(p, digits, count);
	} else {
		*p++ = digits[0];
		if (k > 1)
			*p++ = '.';
		p = put_bytes(p, digits + 1, count - 1);
		return (size_t)(p - out) +
		       (size_t)snprintf(p, JSON_NUMBER_LEN - (size_t)(p - out),
			   plus && point > 0 ? "e+%d" : "e%d", point - 1);
	}
	*p = '\0';
	return (size_t)(p - out);
}

size_t
json_double_format(double d, bool plus, char out[JSON_NUMBER_LEN])
{
	char digits[JSON_DIGITS_MAX + 1];
	size_t count;
	int point;

	if (d == 0) {
		strcpy(out, "0");
		return 1;
	}
	count = json_double_digits(d, digits, &point);
	return json_digits_format(d < 0, digits, count, point, plus, out);
}

size_t
json_decimal_format(
    const struct json_decimal *d, bool plus, char out[JSON_NUMBER_LEN])
{
	char digits[DBL_DIG];
	const char *p = d->p;

	if (d->count == 0 || d->count > DBL_DIG || d->point > 300 ||
	    d->point < -300)
		return 0;
	for (size_t n = 0; n < d->count; p++)
		if (*p != '.')
			digits[n++] = *p;
	return json_digits_format(
	    d->negative, digits, d->count, (int)d->point, plus, out);
}
