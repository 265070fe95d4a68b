#ifndef OZ0_EXAMPLES_DEMO_MCP_H
#define OZ0_EXAMPLES_DEMO_MCP_H

#include "examples/demo/demo.h"

/* The methods of MCP but tools/call. */

/* Answers; false: the method is unknown in that era (and was answered so). */
bool mcp_request(struct demo *d, enum era era, struct json_value id,
    struct json_value method, struct json_value params);
/* --silent-discover, --exit-on-discover, --discover-error: true, handled. */
bool mcp_discover_misbehaves(struct demo *d, struct json_value id);
/* Ends a subscription; false: there is none of that id. */
bool mcp_listener_drop(struct demo *d, struct json_value id);
void mcp_listener_drop_all(struct demo *d);
/*
 * tools/list_changed to whoever may be told: a legacy client, and each
 * subscription of 2026-07-28 basic/patterns/subscriptions.
 */
void mcp_list_changed(struct demo *d);

#endif
