/*
 * Revisions of MCP, in oz0-worker.
 */
#include "worker/mcp/version.h"

#include <stddef.h>

static const struct {
	const char *name;
	bool modern;
} versions[] = { /* newest first */
	{ VERSION_MODERN, true },
	{ VERSION_LEGACY, false },
	{ "2025-06-18", false },
	{ "2025-03-26", false },
	{ "2024-11-05", false },
};

#define NVERSIONS (sizeof(versions) / sizeof(versions[0]))

const char *
version_find(struct json_value v, bool *ret_modern)
{
	for (size_t i = 0; i < NVERSIONS; i++)
		if (json_string_is(v, versions[i].name)) {
			*ret_modern = versions[i].modern;
			return versions[i].name;
		}
	return NULL;
}

static bool
list_has(struct json_value list, const char *name)
{
	struct json_value key, v;
	struct json_iter it;

	json_iter_init(&it, list);
	while (json_iter_next(&it, &key, &v))
		if (json_string_is(v, name))
			return true;
	return false;
}

const char *
version_pick(struct json_value list, bool *ret_legacy)
{
	*ret_legacy = false;
	if (list.type != JSON_ARRAY)
		return NULL;
	for (size_t i = 0; i < NVERSIONS; i++) {
		if (!list_has(list, versions[i].name))
			continue;
		if (versions[i].modern)
			return versions[i].name;
		*ret_legacy = true;
	}
	return NULL;
}
