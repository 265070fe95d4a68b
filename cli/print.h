#ifndef OZ0_CLI_PRINT_H
#define OZ0_CLI_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/json.h"

/*
 * Output.  For programs: JSON as it came.  For people: text from elsewhere,
 * which on a terminal cannot drive it (control characters are shown as `?`).
 */

/* The raw value and a newline: what --json prints. */
void print_json(struct json_value v);
void print_text(FILE *f, const char *p, size_t len);
/* "oz0: ..." and a newline on stderr. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* What was printed must be out; ends the program when it cannot be. */
void print_flush(void);

/* A string's characters: NUL for U+0000, U+FFFD for a lone surrogate; of
 * another value its JSON.  A NUL is added. */
char *text_of(struct json_value v, size_t *ret_len);
/* Members, for people: "" when absent, cut at 500 bytes.  The text stays as
 * long as the message that it is from: until member_forget(). */
const char *member_text(struct json_value object, const char *name);
void member_forget(void); /* client.c, before it reads the next message */
bool member_true(struct json_value object, const char *name);
/* An array's items; of what is no array none. */
void member_items(
    struct json_value object, const char *name, struct json_iter *ret);
/* 08:40:34.123 of 2026-12-01T08:40:34.123456Z. */
const char *member_clock(struct json_value object, const char *name);
/* 12s, 3m20s, 5h07m, 2d03h */
void age_format(double seconds, char *out, size_t size);

/* The escape sequence for a state's or an event's word; "" for most. */
const char *color_of(const char *word);
#define COLOR_END "\033[0m"

#endif
