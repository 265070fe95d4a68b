#ifndef OZ0_WORKER_MCP_VERSION_H
#define OZ0_WORKER_MCP_VERSION_H

#include <stdbool.h>

#include "base/json.h"

/*
 * The revisions of MCP that the node speaks.  A modern one says version and
 * client with each request; a legacy one begins with initialize.
 */
#define VERSION_MODERN "2026-07-28" /* the newest modern one */
#define VERSION_LEGACY "2025-11-25" /* the newest legacy one */

/* A known revision as a static string, NULL when it is none. */
const char *version_find(struct json_value v, bool *ret_modern);

/*
 * The best revision of a server's list: the newest modern one it shares with
 * the node, else NULL with *ret_legacy saying whether a legacy one is there.
 */
const char *version_pick(struct json_value list, bool *ret_legacy);

#endif
