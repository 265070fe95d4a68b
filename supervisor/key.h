#ifndef OZ0_SUPERVISOR_KEY_H
#define OZ0_SUPERVISOR_KEY_H

#include <stdint.h>

/*
 * Idempotency keys (LIFECYCLE L2.2, L2.3): their two forms, and the numbers
 * that tell the calls of one session apart whose arguments are the same.
 * Names are proven by str_is_name() and its kin, so that no name can forge
 * another's key (L2.7).
 */

#define KEY_NAME_MAX 128 /* of a job or an activity (L2.7) */
#define KEY_PLAIN_SIZE (2 * KEY_NAME_MAX + sizeof("/anr4294967295/"))

/* <job>/<activity>, and <job>/anr<run>/<activity> from run 1 on. */
void key_plain(char ret[KEY_PLAIN_SIZE], const char *job, uint32_t run,
    const char *activity);

/*
 * <job>/s<session>/<function>#<digest>/<k>, with r<run>/ before s from run 1
 * on.  function: its full name; digest: canon_digest() of the arguments.
 * What is returned is to be freed.
 */
char *key_harness(const char *job, uint32_t run, uint32_t session,
    const char *function, const char *digest, uint64_t k);

/*
 * The numbers k in use in one start of one session.  A fresh start begins
 * with an empty set, and so gives the same calls the same keys (L2.5).
 */
struct key_set;

struct key_set *key_set_new(void);
void key_set_free(struct key_set *ks); /* NULL is fine */

/*
 * The smallest number from 1 that no call with that function and digest
 * holds.  It is taken when the call's first attempt is recorded, and kept
 * unless the call ends not_made.
 */
uint64_t key_set_take(
    struct key_set *ks, const char *function, const char *digest);
/* The call that took k ended not_made: the next one is the same call. */
void key_set_give_back(struct key_set *ks, const char *function,
    const char *digest, uint64_t k);

#endif
