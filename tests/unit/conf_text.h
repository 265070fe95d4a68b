#ifndef OZ0_TESTS_CONF_TEXT_H
#define OZ0_TESTS_CONF_TEXT_H

#include "supervisor/conf.h"

/*
 * Configurations as texts, for the tests of the configuration.  In these texts
 * ' stands for ".
 */
struct conf *good(const char *text); /* that is taken */

/* That is refused, with these words in the error. */
void bad(const char *text, const char *words);
/* The value of a key under node, or of a tool's oz0: the error names it. */
void bad_node(const char *key, const char *value, const char *words);
void bad_oz0(const char *key, const char *value, const char *words);

char *printed(const struct conf *c); /* by conf_print(); to be freed */
/* Reads what was printed again: the same, letter by letter. */
void comes_back(const struct conf *c);

#endif
