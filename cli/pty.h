#ifndef OZ0_CLI_PTY_H
#define OZ0_CLI_PTY_H

#include <stdbool.h>

/*
 * A terminal for a harness: a pseudo terminal between it and the one that
 * `oz0 run` was started on, which is made raw meanwhile.
 */
struct pty;
struct pty *pty_open(void); /* NULL: stdin and stdout are no terminal */
int pty_slave(const struct pty *p);
/* The harness has its end now. */
void pty_slave_close(struct pty *p);
int pty_master(const struct pty *p); /* to be polled for reading */
/* From the harness to stdout; false at its end. */
bool pty_out(struct pty *p);
/* From stdin to the harness; false when stdin ended. */
bool pty_in(struct pty *p);
void pty_resize(struct pty *p); /* after SIGWINCH */
/* Puts the terminal back; NULL is fine. */
void pty_close(struct pty *p);

#endif
