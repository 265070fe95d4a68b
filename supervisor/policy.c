/*
 * The policy: rules and the question which of them decides (LIFECYCLE L6.1).
 * Knows nothing of calls; policy_gate.c asks it for them.  Runs in oz0d.
 */
#include "supervisor/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/mem.h"
#include "base/str.h"
#include "supervisor/process.h"

static const char *const decision_names[] = {
	[POLICY_ALLOW] = "allow",
	[POLICY_ASK] = "ask",
	[POLICY_REFUSE] = "refuse",
	[POLICY_LATER] = "later",
};

static const char *const annotation_names[] = {
	[POLICY_READ_ONLY] = "readOnlyHint",
	[POLICY_DESTRUCTIVE] = "destructiveHint",
	[POLICY_IDEMPOTENT] = "idempotentHint",
	[POLICY_OPEN_WORLD] = "openWorldHint",
};

struct policy *
policy_new(bool absent)
{
	struct policy *p = mem_zalloc(sizeof(*p));

	p->absent = absent;
	return p;
}

void
policy_free(struct policy *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->nrules; i++) {
		free(p->rules[i].tenant);
		free(p->rules[i].tool);
		free(p->rules[i].function);
	}
	free(p->rules);
	free(p);
}

struct policy_rule *
policy_add(struct policy *p)
{
	p->rules =
	    mem_realloc(p->rules, (p->nrules + 1) * sizeof(*p->rules));
	memset(&p->rules[p->nrules], 0, sizeof(*p->rules));
	return &p->rules[p->nrules++];
}

const char *
policy_decision_name(enum policy_decision d)
{
	return decision_names[d];
}

bool
policy_decision_parse(const char *word, enum policy_decision *ret)
{
	for (int d = POLICY_ALLOW; d < POLICY_LATER; d++)
		if (strcmp(word, decision_names[d]) == 0) {
			*ret = (enum policy_decision)d;
			return true;
		}
	return false;
}

const char *
policy_annotation_name(enum policy_annotation a)
{
	return annotation_names[a];
}

static bool
hint(enum wire_hint h, bool absent)
{
	return h == WIRE_HINT_ABSENT ? absent : h == WIRE_HINT_TRUE;
}

/*
 * What the function says, with the defaults of MCP 2026-07-28 (ToolAnnotations)
 * where it is silent: not read-only, destructive, not idempotent, open world.
 * One that only reads destroys nothing, whatever else it says.
 */
static bool
says(const struct function *f, enum policy_annotation a)
{
	bool read_only = hint(f->read_only, false);

	switch (a) {
	case POLICY_READ_ONLY:
		return read_only;
	case POLICY_DESTRUCTIVE:
		return !read_only && hint(f->destructive, true);
	case POLICY_IDEMPOTENT:
		return hint(f->idempotent, false);
	case POLICY_OPEN_WORLD:
		return hint(f->open_world, true);
	case POLICY_ANNOTATIONS:
		break;
	}
	return false;
}

static bool
glob_fits(const char *glob, const char *text)
{
	return glob == NULL || str_glob(glob, text);
}

enum match { MATCH_NO, MATCH_YES, MATCH_UNKNOWN };

static enum match
match(const struct policy_rule *r, const struct policy_question *q)
{
	if (!glob_fits(r->tenant, q->tenant) || !glob_fits(r->tool, q->tool) ||
	    !glob_fits(r->function, q->function))
		return MATCH_NO;
	for (int a = 0; a < POLICY_ANNOTATIONS; a++) {
		if (r->want[a] == POLICY_ANY)
			continue;
		if (q->listed == NULL)
			return MATCH_UNKNOWN;
		if (says(q->listed, (enum policy_annotation)a) !=
		    (r->want[a] == POLICY_TRUE))
			return MATCH_NO;
	}
	return MATCH_YES;
}

static void
write_rule(const struct policy_rule *r, struct jsonw *w)
{
	bool any = false;

	jsonw_object(w, NULL);
	jsonw_string(w, "tenant", r->tenant);
	jsonw_string(w, "tool", r->tool);
	jsonw_string(w, "function", r->function);
	for (int a = 0; a < POLICY_ANNOTATIONS; a++)
		any = any || r->want[a] != POLICY_ANY;
	if (any) {
		jsonw_object(w, "annotations");
		for (int a = 0; a < POLICY_ANNOTATIONS; a++)
			if (r->want[a] != POLICY_ANY)
				jsonw_bool(w, annotation_names[a],
				    r->want[a] == POLICY_TRUE);
		jsonw_object_end(w);
	}
	jsonw_string(w, "decision", decision_names[r->decision]);
	jsonw_object_end(w);
}

static char *
rule_text(const struct policy_rule *r)
{
	struct buf b = { 0 };
	struct jsonw w;

	jsonw_init(&w, &b);
	write_rule(r, &w);
	return buf_steal(&b, NULL);
}

void
policy_ask(const struct policy *p, const struct policy_question *q,
    struct policy_answer *ret)
{
	*ret = (struct policy_answer) {
		.decision = p->absent ? POLICY_ALLOW : POLICY_REFUSE,
	};
	for (size_t i = 0; i < p->nrules; i++) {
		switch (match(&p->rules[i], q)) {
		case MATCH_NO:
			continue;
		case MATCH_UNKNOWN:
			ret->decision = POLICY_LATER;
			break;
		case MATCH_YES:
			ret->decision = p->rules[i].decision;
			break;
		}
		ret->number = i + 1;
		if (ret->decision == POLICY_ASK)
			ret->rule = rule_text(&p->rules[i]);
		return;
	}
}

void
policy_answer_clear(struct policy_answer *a)
{
	free(a->rule);
	a->rule = NULL;
}

void
policy_write(const struct policy *p, struct jsonw *w)
{
	for (size_t i = 0; i < p->nrules; i++)
		write_rule(&p->rules[i], w);
}
