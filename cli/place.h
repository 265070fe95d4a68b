#ifndef OZ0_CLI_PLACE_H
#define OZ0_CLI_PLACE_H

/* Where a node's control socket is when nobody says; NULL: not to be told. */
char *place_socket(void);

#endif
