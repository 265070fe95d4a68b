#ifndef OZ0_BENCH_NODE_H
#define OZ0_BENCH_NODE_H

#include <stdbool.h>
#include <sys/types.h>

#include "bench/client.h"

/*
 * A node of its own for the measurement: oz0d from the build tree, its state
 * and all that it starts in a folder made for it and removed after.
 */

struct node {
	char *dir;    /* private; its servers' folder is dir/first */
	char *first;
	char *socket;
	uid_t uid;    /* that oz0d runs as */
	gid_t gid;
	pid_t pid;    /* 0: not started */
	int notify;
	int sweeper_end; /* closed when we end, in whatever way */
	pid_t sweeper;
	struct client *client;
};

/* The folder, with the programs of `bin` (a build tree) that servers are. */
void node_prepare(struct node *n, const char *bin, uid_t uid, gid_t gid);
/* Starts oz0d and waits until it says that it is ready. */
void node_start(struct node *n, const char *bin);
/*
 * Stops it and waits until the folder is gone; it goes, and the node with it,
 * in whatever way the benchmark ends.
 */
void node_close(struct node *n);

#endif
