/*
 * oz0 policy show, check, set: what may be called (LIFECYCLE L6).  Whether a
 * policy is right the node alone says.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cli/client.h"
#include "cli/print.h"
#include "cli/table.h"

#define FILE_MAX ((size_t)4 << 20)

/* ---- show ---- */

/* {"destructiveHint":true} as `destructiveHint`; false with a `not `. */
static void
annotations_cell(struct table *t, struct json_value rule)
{
	struct json_value key, one;
	char text[200] = "";
	struct json_iter it;
	size_t len;

	json_iter_init(&it, json_member(rule, "annotations"));
	while (json_iter_next(&it, &key, &one)) {
		char *name = text_of(key, &len);
		size_t at = strlen(text);
		bool wanted = false;

		json_to_bool(one, &wanted);
		snprintf(text + at, sizeof(text) - at, "%s%s%s",
		    at > 0 ? ", " : "", wanted ? "" : "not ", name);
		free(name);
	}
	table_cell(t, text[0] != '\0' ? text : "*");
}

static void
glob_cell(struct table *t, struct json_value rule, const char *name)
{
	const char *glob = member_text(rule, name);

	table_cell(t, *glob != '\0' ? glob : "*");
}

static void
print_policy(const struct cli *cli, struct json_value result)
{
	struct table *t = table_new(
	    "RULE TENANT TOOL FUNCTION ANNOTATIONS DECISION", cli->color);
	struct json_value key, one;
	struct json_iter it;
	unsigned n = 0;

	printf("policy of %s\n", member_text(result, "from"));
	member_items(result, "policy", &it);
	while (json_iter_next(&it, &key, &one)) {
		table_cellf(t, "%u", ++n);
		glob_cell(t, one, "tenant");
		glob_cell(t, one, "tool");
		glob_cell(t, one, "function");
		annotations_cell(t, one);
		table_cell(t, member_text(one, "decision"));
	}
	if (json_member(result, "policy").type == JSON_NONE)
		table_free(t);
	else
		table_print(t, "no rules: all calls are refused");
}

static int
run_show(struct cli *cli, struct args *a)
{
	struct client *c = client_open(cli);
	struct reply r;

	client_begin(c, "policy/show");
	client_do(c, client_end(c), &r);
	if (cli->json)
		print_json(r.result);
	else
		print_policy(cli, r.result);
	client_close(c);
	return CLI_DONE;
}

/* ---- check and set ---- */

/* The list: the file itself, or `policy` of a whole configuration. */
static struct json_value
list_of(const struct args *a, const char *path, char *text, size_t len)
{
	struct json_value v, list;
	struct json_fault f;

	if (!json_check(text, len, &v, &f))
		args_fail(a, "%s is not JSON: %s at byte %zu", path, f.why,
		    f.offset);
	list = v.type == JSON_OBJECT ? json_member(v, "policy") : v;
	if (list.type == JSON_NONE)
		args_fail(a, "%s has no `policy`", path);
	json_one_line(text, len);
	return list;
}

static int
send_policy(struct cli *cli, struct args *a, bool check)
{
	const char *path = args_operand(a, 0), *rules;
	struct json_value list;
	struct client *c;
	struct jsonw *w;
	struct reply r;
	char *text;
	size_t len;
	int code;

	code = fd_read_file(AT_FDCWD,
	    strcmp(path, "-") == 0 ? "/dev/stdin" : path, FILE_MAX, &text,
	    &len);
	if (code < 0)
		args_fail(a, "cannot read %s: %s", path, strerror(-code));
	list = list_of(a, path, text, len);
	c = client_open(cli);
	w = client_begin(c, "policy/set");
	jsonw_raw(w, "policy", list.p, list.len);
	if (check)
		jsonw_bool(w, "check", true);
	client_do(c, client_end(c), &r);
	rules = member_text(r.result, "rules");
	if (cli->json)
		print_json(r.result);
	else if (check)
		printf("%s: %s rule%s, without a mistake\n", path, rules,
		    strcmp(rules, "1") == 0 ? "" : "s");
	else
		printf("the policy has %s rule%s now, until the next reload "
		       "or start\n",
		    rules, strcmp(rules, "1") == 0 ? "" : "s");
	client_close(c);
	free(text);
	return CLI_DONE;
}

static int
run_check(struct cli *cli, struct args *a)
{
	return send_policy(cli, a, true);
}

static int
run_set(struct cli *cli, struct args *a)
{
	return send_policy(cli, a, false);
}

#define MORE                                                                \
	"FILE holds the list of rules, or a configuration with them as "    \
	"`policy`; -\nreads stdin.\n"

const struct command command_policy_show = {
	.name = "policy show",
	.operands = "",
	.what = "the rules in force, and where they come from",
	.fn = run_show,
};

const struct command command_policy_check = {
	.name = "policy check",
	.operands = "FILE",
	.what = "whether the node would take a policy; changes nothing",
	.more = MORE,
	.min = 1,
	.max = 1,
	.fn = run_check,
};

const struct command command_policy_set = {
	.name = "policy set",
	.operands = "FILE",
	.what = "put a policy in force until the next reload or start",
	.more = MORE "A mistake in it changes nothing and is printed.\n",
	.min = 1,
	.max = 1,
	.fn = run_set,
};
