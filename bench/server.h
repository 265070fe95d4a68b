#ifndef OZ0_BENCH_SERVER_H
#define OZ0_BENCH_SERVER_H

/*
 * The static server (server.c) that both the floor and the node start.
 */

#define SERVER_NAME "oz0-bench-server"
#define SERVER_FIFO "first" /* beside it: gets its first byte */

#endif
