/*
 * Clocks, lengths of time and their spelling.
 */
#include "base/time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SPAN_MAX_SECONDS (100.0 * 366 * 86400)

static int64_t
clock_us(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

struct mono
time_mono(void)
{
	return (struct mono) { clock_us(CLOCK_BOOTTIME) };
}

struct wall
time_wall(void)
{
	return (struct wall) { clock_us(CLOCK_REALTIME) };
}

struct mono
mono_add(struct mono t, struct span d)
{
	if (d.us > 0 && t.us > INT64_MAX - d.us)
		return MONO_NEVER;
	return (struct mono) { t.us + d.us };
}

struct span
mono_since(struct mono later, struct mono earlier)
{
	return (struct span) { later.us - earlier.us };
}

bool
mono_before(struct mono a, struct mono b)
{
	return a.us < b.us;
}

struct span
span_min(struct span a, struct span b)
{
	return a.us < b.us ? a : b;
}

bool
span_is_none(struct span d)
{
	return d.us == INT64_MAX;
}

double
span_seconds(struct span d)
{
	return (double)d.us / 1e6;
}

bool
span_from_seconds(double s, struct span *ret)
{
	if (!isfinite(s) || s < 0 || s > SPAN_MAX_SECONDS)
		return false;
	ret->us = (int64_t)(s * 1e6 + 0.5);
	return true;
}

bool
span_parse(const char *s, struct span *ret)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = { { "", 1 }, { "us", 1e-6 }, { "ms", 1e-3 }, { "s", 1 },
		{ "m", 60 }, { "h", 3600 }, { "d", 86400 } };
	size_t digits = strspn(s, "0123456789.");
	char number[40], *end;
	double v;

	if (digits == 0 || digits >= sizeof(number))
		return false;
	memcpy(number, s, digits);
	number[digits] = '\0';
	v = strtod(number, &end);
	if (*end != '\0' || end == number)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(s + digits, units[i].unit) == 0)
			return span_from_seconds(v * units[i].seconds, ret);
	return false;
}

/* All digits, no exponent, a point whatever the locale. */
static void
format_seconds(int64_t us, char *out, size_t size)
{
	uint64_t n = us < 0 ? 0 - (uint64_t)us : (uint64_t)us;
	char fraction[] = ".000000";
	unsigned rest = (unsigned)(n % 1000000);
	size_t len = sizeof(fraction) - 1;

	for (size_t i = len - 1; i > 0; i--, rest /= 10)
		fraction[i] = (char)('0' + rest % 10);
	while (len > 0 &&
	    (fraction[len - 1] == '0' || fraction[len - 1] == '.'))
		fraction[--len] = '\0';
	snprintf(out, size, "%s%llu%ss", us < 0 ? "-" : "",
	    (unsigned long long)(n / 1000000), fraction);
}

void
span_format(struct span d, char *out, size_t size)
{
	if (span_is_none(d))
		snprintf(out, size, "none");
	else if (d.us != 0 && d.us % 86400000000 == 0)
		snprintf(out, size, "%lldd", (long long)(d.us / 86400000000));
	else if (d.us != 0 && d.us % 3600000000 == 0)
		snprintf(out, size, "%lldh", (long long)(d.us / 3600000000));
	else if (d.us != 0 && d.us % 60000000 == 0)
		snprintf(out, size, "%lldm", (long long)(d.us / 60000000));
	else
		format_seconds(d.us, out, size);
}

/* The last `digits` digits of n, zeroes in front. */
static char *
put_digits(char *at, unsigned n, int digits)
{
	for (int i = digits - 1; i >= 0; i--, n /= 10)
		at[i] = (char)('0' + n % 10);
	return at + digits;
}

/*
 * The date of a day since 1970, by the proleptic Gregorian calendar: counted
 * from 1 March of a year 400 * n, so that a leap day comes last.
 */
static void
date_of(int64_t day, unsigned *ret_year, unsigned *ret_month, unsigned *ret_day)
{
	int64_t d = day + 719468, era = d / 146097;
	unsigned in_era = (unsigned)(d - era * 146097);
	unsigned year = (in_era - in_era / 1460 + in_era / 36524
			    - in_era / 146096) / 365;
	unsigned in_year = in_era - (365 * year + year / 4 - year / 100);
	unsigned month = (5 * in_year + 2) / 153; /* 0: March */

	*ret_day = in_year - (153 * month + 2) / 5 + 1;
	*ret_month = month < 10 ? month + 3 : month - 9;
	*ret_year = (unsigned)(era * 400) + year + (*ret_month <= 2);
}

/* By hand: every step of a trace has a time.  Nothing is before 1970. */
void
wall_format(struct wall t, char out[TIME_WALL_LEN])
{
	int64_t us = t.us > 0 ? t.us : 0;
	unsigned of_day = (unsigned)(us / 1000000 % 86400);
	unsigned year, month, day;
	char *at = out;

	date_of(us / 86400000000, &year, &month, &day);
	at = put_digits(at, year, 4);
	*at++ = '-';
	at = put_digits(at, month, 2);
	*at++ = '-';
	at = put_digits(at, day, 2);
	*at++ = 'T';
	at = put_digits(at, of_day / 3600, 2);
	*at++ = ':';
	at = put_digits(at, of_day / 60 % 60, 2);
	*at++ = ':';
	at = put_digits(at, of_day % 60, 2);
	*at++ = '.';
	at = put_digits(at, (unsigned)(us % 1000000), 6);
	*at++ = 'Z';
	*at = '\0';
}
