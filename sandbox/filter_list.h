#ifndef OZ0_SANDBOX_FILTER_LIST_H
#define OZ0_SANDBOX_FILTER_LIST_H

/*
 * The system calls by name, NULL-terminated; a name that the architecture or
 * the library does not know is passed over.  Order has no meaning.
 */
extern const char *const filter_known[];   /* servers: allowed */
extern const char *const filter_refused[]; /* servers: EPERM */
extern const char *const filter_deadly[];  /* worker, journal: killed */
extern const char *const filter_worker[];  /* worker, journal: allowed */
extern const char *const filter_journal[]; /* journal: allowed besides */
extern const char *const filter_asan[];    /* both, built with ASan */

#endif
