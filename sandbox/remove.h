#ifndef OZ0_SANDBOX_REMOVE_H
#define OZ0_SANDBOX_REMOVE_H

/*
 * `oz0-sandbox --remove UID GID`: removes all that is in the directory that
 * descriptor 3 is, with the rights of that user and no other; started by oz0d
 * once the last process of a session is dead.  Exit code: 0, or 1 when
 * something is left.
 */
int remove_main(int argc, char **argv);

/* All that is in dir, however deep; 0, or -errno of what stays. */
int remove_below(int dir);

#endif
