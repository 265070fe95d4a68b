#ifndef OZ0_SUPERVISOR_CONF_INTERNAL_H
#define OZ0_SUPERVISOR_CONF_INTERNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/conf.h"

/*
 * What the readers of the configuration (conf*.c) share.  Every reader is
 * false on an error, which it has described with the path of the key; it
 * leaves *ret untouched when the key is absent.
 */
struct conf_reader {
	struct conf *conf;
	struct conf_error *error;
};

/* A JSON object of the file, and how one gets there: "node". */
struct conf_at {
	json_t *object;
	const char *path; /* "": the top */
};

/* Says what is wrong with a key (NULL: with the object itself); false. */
bool conf_fail(struct conf_reader *r, struct conf_at at, const char *key,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void conf_warn(struct conf_reader *r, struct conf_at at, const char *key,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* "node.slots"; new memory. */
char *conf_path(struct conf_at at, const char *key);
/* The object under a key; object NULL when it is absent.  Free ret->path. */
bool conf_get_object(struct conf_reader *r, struct conf_at at, const char *key,
    struct conf_at *ret);

/* Every key must be one of these (NULL-terminated), or it is an error. */
bool conf_check_keys(
    struct conf_reader *r, struct conf_at at, const char *const *known);

bool conf_get_string(
    struct conf_reader *r, struct conf_at at, const char *key, char **ret);
/* An absolute path without "." and ".." parts. */
bool conf_get_path(
    struct conf_reader *r, struct conf_at at, const char *key, char **ret);
bool conf_get_bool(
    struct conf_reader *r, struct conf_at at, const char *key, bool *ret);
/* One of two words: false for the first. */
bool conf_get_choice(struct conf_reader *r, struct conf_at at, const char *key,
    const char *first, const char *second, bool *ret);
bool conf_get_count(struct conf_reader *r, struct conf_at at, const char *key,
    unsigned min, unsigned max, unsigned *ret);
bool conf_get_size(struct conf_reader *r, struct conf_at at, const char *key,
    uint64_t min, uint64_t max, uint64_t *ret);
bool conf_get_span(struct conf_reader *r, struct conf_at at, const char *key,
    struct span min, struct span max, struct span *ret);
bool conf_get_double(struct conf_reader *r, struct conf_at at, const char *key,
    double min, double max, double *ret);
/* A list of strings, none of them empty where !empty_ok. */
bool conf_get_strings(struct conf_reader *r, struct conf_at at, const char *key,
    bool empty_ok, char ***ret);

/* NULL-terminated lists; NULL counts as empty. */
void conf_strings_free(char **v);
size_t conf_strings_len(char *const *v);
bool conf_strings_same(char *const *a, char *const *b);

/* conf_place.c: where things are when the file does not say. */
char *conf_default_state_dir(void); /* NULL: nowhere */
char *conf_default_socket(const char *state_dir);
bool conf_check_socket(const char *path, char *why, size_t size);

/* conf_secret.c */
#define CONF_SECRET_MAX ((size_t)64 * 1024)
/*
 * A text with its references ${env:NAME} and ${file:PATH} replaced; *ret_any
 * says whether there was one.  false with words that hold no secret.
 */
bool conf_secret_expand(
    const char *text, char **ret, bool *ret_any, char *why, size_t size);

/* conf_who.c */
bool conf_get_who(struct conf_reader *r, struct conf_at at, const char *key,
    struct conf_who *ret);
void conf_who_add_uid(struct conf_who *w, uid_t uid);
void conf_who_clear(struct conf_who *w);
/* A user by name or number; false: no such user. */
bool conf_user_find(const char *word, uid_t *ret_uid, gid_t *ret_gid);

/* conf_policy.c; the top of the file */
bool conf_read_policy(
    struct conf_reader *r, struct conf_at top, struct policy **ret);

/* conf_node.c, conf_tool.c, conf_sandbox.c */
bool conf_read_node(struct conf_reader *r, struct conf_at at);
bool conf_read_tools(struct conf_reader *r, struct conf_at at);
bool conf_read_sandbox(
    struct conf_reader *r, struct conf_at at, struct conf_sandbox *ret);
void conf_sandbox_defaults(struct conf_sandbox *s);
void conf_sandbox_clear(struct conf_sandbox *s);
bool conf_sandbox_same(
    const struct conf_sandbox *a, const struct conf_sandbox *b);

#endif
