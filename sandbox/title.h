#ifndef OZ0_SANDBOX_TITLE_H
#define OZ0_SANDBOX_TITLE_H

/* What ps shows of oz0-sandbox and oz0-worker (STYLE rule 20). */

void title_init(int argc, char **argv); /* first thing in main() */
void title_set(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
