#ifndef OZ0_EXAMPLES_DEMO_RPC_H
#define OZ0_EXAMPLES_DEMO_RPC_H

#include "examples/demo/demo.h"

/* One line from the client, line end not included. */
void rpc_line(struct demo *d, const char *line, size_t len);

#endif
