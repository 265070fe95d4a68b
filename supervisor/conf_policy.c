/*
 * The policy of the configuration, and of policy/set: a list of rules, each an
 * object whose keys are all known (INTERFACES, Configuration).  An empty list
 * refuses all; without the key all is allowed.  Runs in oz0d.
 */
#include "supervisor/conf_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "supervisor/policy.h"

#define RULES_MAX 10000

static const char *const rule_keys[] = {"tenant", "tool", "function",
    "annotations", "decision", NULL};

static bool
read_annotations(
    struct conf_reader *r, struct conf_at at, struct policy_rule *rule)
{
	const char *known[POLICY_ANNOTATIONS + 1] = {NULL};

	for (int a = 0; a < POLICY_ANNOTATIONS; a++)
		known[a] = policy_annotation_name((enum policy_annotation)a);
	if (!conf_check_keys(r, at, known))
		return false;
	for (int a = 0; a < POLICY_ANNOTATIONS; a++) {
		bool want;

		if (json_object_get(at.object, known[a]) == NULL)
			continue;
		if (!conf_get_bool(r, at, known[a], &want))
			return false;
		rule->want[a] = want ? POLICY_TRUE : POLICY_FALSE;
	}
	return true;
}

static bool
read_decision(
    struct conf_reader *r, struct conf_at at, struct policy_rule *rule)
{
	CLEANUP_FREE char *word = NULL;

	if (!conf_get_string(r, at, "decision", &word))
		return false;
	if (word == NULL)
		return conf_fail(r, at, "decision", "is missing");
	if (!policy_decision_parse(word, &rule->decision))
		return conf_fail(r, at, "decision",
		    "must be allow, refuse or ask, not `%s'", word);
	return true;
}

static bool
read_rule(struct conf_reader *r, struct conf_at at, struct policy_rule *rule)
{
	CLEANUP_FREE char *path = NULL;
	struct conf_at annotations;

	if (!json_is_object(at.object))
		return conf_fail(r, at, NULL, "must be an object");
	if (!conf_check_keys(r, at, rule_keys) ||
	    !conf_get_string(r, at, "tenant", &rule->tenant) ||
	    !conf_get_string(r, at, "tool", &rule->tool) ||
	    !conf_get_string(r, at, "function", &rule->function) ||
	    !conf_get_object(r, at, "annotations", &annotations))
		return false;
	path = (char *)annotations.path;
	if (annotations.object != NULL &&
	    !read_annotations(r, annotations, rule))
		return false;
	return read_decision(r, at, rule);
}

bool
conf_read_policy(
    struct conf_reader *r, struct conf_at top, struct policy **ret)
{
	json_t *list = json_object_get(top.object, "policy"), *one;
	struct policy *p = policy_new(list == NULL);
	size_t i;

	if (list != NULL && (!json_is_array(list) ||
				json_array_size(list) > RULES_MAX)) {
		policy_free(p);
		return conf_fail(r, top, "policy",
		    "must be a list of at most %d rules", RULES_MAX);
	}
	json_array_foreach(list, i, one)
	{
		CLEANUP_FREE char *path = mem_printf("policy[%zu]", i);
		struct conf_at at = {one, path};

		if (!read_rule(r, at, policy_add(p))) {
			policy_free(p);
			return false;
		}
	}
	*ret = p;
	return true;
}

int
conf_parse_policy(const char *text, size_t len, struct policy **ret,
    struct conf_error *ret_error)
{
	struct conf_reader r = {.conf = NULL, .error = ret_error};
	struct conf_at top = {NULL, ""};
	json_error_t error;
	json_t *list;
	bool ok;

	list = json_loadb(
	    text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (list == NULL) {
		snprintf(ret_error->text, sizeof(ret_error->text),
		    "policy: %s", error.text);
		return -1;
	}
	top.object = json_object();
	json_object_set_new(top.object, "policy", list);
	ok = conf_read_policy(&r, top, ret);
	json_decref(top.object);
	return ok ? 0 : -1;
}
