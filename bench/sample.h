#ifndef OZ0_BENCH_SAMPLE_H
#define OZ0_BENCH_SAMPLE_H

#include <stddef.h>

/* Measured values of one kind; zero-initialised is empty. */
struct sample {
	double *v;
	size_t n;
	size_t cap;
};

void sample_add(struct sample *s, double v);
/* q from 0 to 1: 0.5 is the median; NAN when there is none. */
double sample_quantile(const struct sample *s, double q);
void sample_free(struct sample *s);

/* Microseconds on a clock that nobody sets. */
double now_us(void);

#endif
