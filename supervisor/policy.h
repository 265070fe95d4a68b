#ifndef OZ0_SUPERVISOR_POLICY_H
#define OZ0_SUPERVISOR_POLICY_H

#include <stdbool.h>
#include <stddef.h>

struct function;
struct jsonw;

/*
 * What may be called (LIFECYCLE L6.1): rules in order, the first that matches
 * decides, none: refuse.  A policy never changes; a reload makes a new one.
 */
enum policy_decision {
	POLICY_ALLOW,
	POLICY_ASK,
	POLICY_REFUSE,
	POLICY_LATER, /* the function's annotations are not known yet */
};

/* The annotations of MCP that a rule may name, and what it wants of each. */
enum policy_annotation {
	POLICY_READ_ONLY,
	POLICY_DESTRUCTIVE,
	POLICY_IDEMPOTENT,
	POLICY_OPEN_WORLD,
	POLICY_ANNOTATIONS,
};
enum policy_want { POLICY_ANY, POLICY_FALSE, POLICY_TRUE };

struct policy_rule {
	char *tenant, *tool, *function; /* globs; NULL: any */
	enum policy_want want[POLICY_ANNOTATIONS];
	enum policy_decision decision; /* ALLOW, ASK or REFUSE */
};

struct policy {
	bool absent; /* no `policy` key: all is allowed */
	struct policy_rule *rules;
	size_t nrules;
};

struct policy *policy_new(bool absent);
void policy_free(struct policy *p); /* NULL is fine */
struct policy_rule *policy_add(struct policy *p);

struct policy_question {
	const char *tenant, *tool, *function;
	/* NULL: not listed yet.  Absent hints have the defaults of MCP. */
	const struct function *listed;
};

struct policy_answer {
	enum policy_decision decision;
	/*
	 * The rule that asks, as one line of JSON: what an approval holds for
	 * (L6.3).  NULL for every other decision.  To be freed.
	 */
	char *rule;
	size_t number; /* of the rule, from 1; 0: none */
};

void policy_ask(const struct policy *p, const struct policy_question *q,
    struct policy_answer *ret);
void policy_answer_clear(struct policy_answer *a);

const char *policy_decision_name(enum policy_decision d);
bool policy_decision_parse(const char *word, enum policy_decision *ret);
const char *policy_annotation_name(enum policy_annotation a);
/* The rules as the configuration has them, into an open array. */
void policy_write(const struct policy *p, struct jsonw *w);

#endif
