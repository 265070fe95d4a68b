#ifndef OZ0_CLI_PTY_H
#define OZ0_CLI_PTY_H

#include <poll.h>
#include <stdbool.h>

/*
 * A terminal for a harness: a pseudo terminal between it and the one that
 * `oz0 run` was started on, which is made raw meanwhile.
 */
struct pty;
/* NULL: stdin and stdout are no terminal, or *ret_error says why not. */
struct pty *pty_open(const char **ret_error);
int pty_slave(const struct pty *p);
void pty_slave_close(struct pty *p); /* the harness has its end now */
/* What is to be polled for, and what to do then; NULL polls for nothing. */
void pty_watch(const struct pty *p, struct pollfd ret[2]);
void pty_turn(struct pty *p, const struct pollfd polled[2]);
void pty_resize(struct pty *p); /* after SIGWINCH */
/* What the harness wrote last is shown, the terminal put back; NULL is fine. */
void pty_close(struct pty *p);

#endif
