/*
 * The values of the configuration: which are taken, which are refused and with
 * which words; secrets, and that they are not printed.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/conf.h"
#include "supervisor/policy.h"
#include "tests/unit/conf_text.h"

/* L6.1: no key allows all, an empty list refuses all; a bad rule is named. */
START_TEST(policy_rules)
{
	struct conf *c = good("{}");

	ck_assert(c->policy->absent);
	conf_free(c);
	c = good("{'policy':[]}");
	ck_assert(!c->policy->absent);
	ck_assert_uint_eq(c->policy->nrules, 0);
	conf_free(c);
	c = good("{'policy':[{'tenant':'acme','tool':'demo','function':"
		 "'refund_*','annotations':{'destructiveHint':true},"
		 "'decision':'ask'},{'decision':'allow'}]}");
	ck_assert_uint_eq(c->policy->nrules, 2);
	ck_assert_str_eq(c->policy->rules[0].function, "refund_*");
	ck_assert_int_eq(c->policy->rules[0].want[POLICY_DESTRUCTIVE],
	    POLICY_TRUE);
	ck_assert_int_eq(c->policy->rules[0].decision, POLICY_ASK);
	conf_free(c);
	bad("{'policy':{}}", "policy: must be a list");
	bad("{'policy':[1]}", "policy[0]: must be an object");
	bad("{'policy':[{'decision':'allow'},{'tool':'x'}]}",
	    "policy[1].decision: is missing");
	bad("{'policy':[{'decision':'maybe'}]}",
	    "policy[0].decision: must be allow, refuse or ask");
	bad("{'policy':[{'decision':'ask','when':'now'}]}",
	    "policy[0].when: unknown key");
	bad("{'policy':[{'decision':'ask','annotations':{'x':true}}]}",
	    "policy[0].annotations.x: unknown key");
	bad("{'policy':[{'decision':'ask','annotations':"
	    "{'readOnlyHint':1}}]}",
	    "policy[0].annotations.readOnlyHint");
}
END_TEST

START_TEST(unknown_keys)
{
	struct conf *c;

	bad("{'node':{'slotz':1}}", "node.slotz: unknown key");
	bad_oz0("sandox", "{}", "unknown key");
	bad_oz0("sandbox", "{'networkk':1}", "networkk: unknown key");
	bad("{'mcpServers':{'s':{'url':'https://x/'}}}",
	    "mcpServers.s.url: remote servers are not supported");
	c = good("{'$schema':'x','mcpServers':{'t':{'command':'x',"
		 "'disabled':true,'type':'stdio'}}}");
	ck_assert_str_eq(c->warnings[0], "$schema: unknown key, ignored");
	ck_assert_str_eq(
	    c->warnings[1], "mcpServers.t.disabled: unknown key, ignored");
	ck_assert_ptr_nonnull(c->warnings[2]);
	ck_assert_ptr_null(c->warnings[3]);
	conf_free(c);
}
END_TEST

/* B222, B223: never early, never wrapped. */
START_TEST(times_and_sizes)
{
	static const char *const never[] = {"-1", "0", "0.0004", "1e18",
	    "9223372036854775807", "9223372036854775", "'-1s'", "'1x'", "'NaN'",
	    "'inf'", "'1e3s'", "''", "'s'", "true", "null", "[1]",
	    "'9223372036854775807s'", "'11y'", "1e300", "'1.2.3s'"};
	struct conf *c;

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		bad_oz0("timeout", never[i], "must be a time from 0.001s");
	bad("{'node':{'drain_timeout':1e400}}", "line 1");
	bad("{'node':{'drain_timeout':NaN}}", "line 1");
	bad("{'node':{'drain_timeout':99999999999999999999}}", "line 1");
	c = good("{'mcpServers':{'t':{'command':'x','oz0':"
		 "{'timeout':31449600}}}}");
	ck_assert_int_eq(c->tools[0]->timeout.us, 31449600000000);
	conf_free(c);
	bad_node("max_message", "-1", "must be a size");
	bad_node("max_message", "'1MB'", "must be a size");
	bad_node("max_message", "1.5", "must be a size");
	bad_node("max_message", "1", "must be from 65536 to");
	bad_node("max_message", "'99999999999999999999TiB'", "must be a size");
	bad_node("message_budget", "'2MiB'", "at least twice max_message");
	bad_node("slots", "0", "from 1 to");
	bad_node("slots", "1.0", "whole number");
	bad_node("slots", "'64'", "whole number");
	bad_node("slots", "4294967297", "whole number");
	bad_oz0("backoff_cap", "'1ms'", "not be below backoff_base");
	bad_oz0("sandbox", "{'cpu':-1}", "cpu: must be a number");
	bad_oz0("sandbox", "{'pids':4294967297}", "pids: must be from");
}
END_TEST

START_TEST(other_values)
{
	bad("", "line 1");
	bad("{'node':{},'node':{}}", "duplicate");
	bad("[]", "the file: must be a JSON object");
	bad("1", "the file: must be a JSON object");
	bad("{'node':1}", "node: must be an object");
	bad("{'mcpServers':{'t':1}}", "mcpServers.t: must be an object");
	bad("{'mcpServers':{'t':{}}}", "mcpServers.t: must have a `command'");
	bad_node("name", "'a b'", "A-Z a-z 0-9");
	bad_node("name", "''", "not empty");
	bad_node("state_dir", "'x'", "absolute");
	bad_node("state_dir", "'/a/../b'", "`..'");
	bad_node("durability", "'disk'", "\"process\" or \"power\"");
	bad_node("isolation", "false", "\"required\" or \"best\"");
	bad_node("follow_parent", "1", "true or false");
	bad_node("log_level", "'loud'", "must be error, warning");
	bad_node("admins", "'root'", "list of strings");
	bad_node("admins", "[1]", "[0]: must be a string");
	bad_node("admins", "['no-such-user-here']", "there is no user");
	bad_node("admins", "['@no-such-group-here']", "there is no group");
	bad_node("uid_range", "'0-5'", "FIRST-LAST");
	bad_node("uid_range", "'5-1'", "FIRST-LAST");
	bad_node("uid_range", "'5'", "FIRST-LAST");
	bad_node("uid_range", "'1-4294967295'", "FIRST-LAST");
	bad_node("uid_range", "'1--2'", "FIRST-LAST");
	bad_oz0("kind", "'remote'", "not supported");
	bad_oz0("kind", "'shared'", "\"job\" or \"plugin\"");
	bad_oz0("stdio", "'tty'", "\"socket\" or \"pipe\"");
	bad_oz0("sandbox", "{'user':'root'}", "never runs as uid 0");
	bad_oz0("sandbox", "{'user':'0'}", "never runs as uid 0");
	bad_oz0("sandbox", "{'network':['x:1']}", "not supported");
	bad_oz0("sandbox", "{'read':['r']}", "absolute");
	bad_oz0("sandbox", "{'memory':'1GiB','strict':true}",
	    "sandbox.memory: \"strict\" demands this limit");
	bad("{'mcpServers':{'t':{'command':'x','args':'y'}}}",
	    "mcpServers.t.args: must be a list");
	bad("{'mcpServers':{'t':{'command':'x','env':{'A=B':'x'}}}}",
	    "is no name of an environment variable");
	bad("{'mcpServers':{'t':{'command':'x','env':{'A':1}}}}",
	    "mcpServers.t.env.A: must be a string");
}
END_TEST

START_TEST(tool_names)
{
	bad("{'mcpServers':{'my server.v2':{'command':'x'}}}",
	    "call it `my-server-v2'");
	bad("{'mcpServers':{'a.b':{'command':'x'},'a-b':{'command':'x'}}}",
	    "call it `a-b-2'");
	bad("{'mcpServers':{'':{'command':'x'}}}", "call it `tool'");
	bad("{'mcpServers':{'\xc3\xa4':{'command':'x'}}}", "call it `tool'");
	bad("{'mcpServers':{'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa':{'command':'x'}}}",
	    "is no tool name");
}
END_TEST

/* B206, B207 */
START_TEST(socket_paths)
{
	char path[300], text[400];
	struct conf_error e;
	struct conf *c;

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[107] = '\0';
	snprintf(text, sizeof(text), "{'node':{'socket':'%s'}}", path);
	c = good(text);
	ck_assert_str_eq(c->socket, path);
	path[107] = 'x';
	path[108] = '\0';
	ck_assert_int_eq(conf_set_socket(c, path, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "at most 107 bytes, this one "
					     "has 108"));
	ck_assert_int_eq(conf_set_socket(c, "", &e), -EINVAL);
	ck_assert_int_eq(conf_set_socket(c, "rel", &e), 0);
	ck_assert_str_eq(c->socket, "rel");
	conf_free(c);
	snprintf(text, sizeof(text), "{'node':{'socket':'%s'}}", path);
	bad(text, "node.socket: a socket's path may have at most 107 bytes, "
		  "this one has 108");
}
END_TEST

START_TEST(secrets)
{
	char dir[] = "/tmp/oz0-test-XXXXXX", text[600], file[100], *out;
	struct conf *c;
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/s", dir);
	fd = open(file, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_eq(write(fd, "hush-file\n", 10), 10);
	close(fd);
	setenv("OZ0_TEST_SECRET", "hush-env", 1);
	snprintf(text, sizeof(text),
	    "{'mcpServers':{'t':{'command':'x','args':['--k=${env:"
	    "OZ0_TEST_SECRET}!','$HOME ${x}'],'env':{'A':'b ${file:%s}'}}}}",
	    file);
	c = good(text);
	ck_assert_str_eq(c->tools[0]->args[0], "--k=hush-env!");
	ck_assert_str_eq(c->tools[0]->args[1], "$HOME ${x}");
	ck_assert_str_eq(c->tools[0]->env[0].value, "b hush-file");
	ck_assert(c->tools[0]->env[0].secret);
	out = printed(c);
	ck_assert_ptr_null(strstr(out, "hush"));
	ck_assert_ptr_nonnull(strstr(out, "--k=${env:OZ0_TEST_SECRET}!"));
	free(out);
	comes_back(c);
	conf_free(c);
	/* missing and empty ones, and what is said of them */
	bad("{'mcpServers':{'t':{'command':'x','args':['a',"
	    "'${env:OZ0_NO_SUCH}']}}}",
	    "mcpServers.t.args: [1]: ${env:OZ0_NO_SUCH}: the variable is not "
	    "set");
	setenv("OZ0_TEST_SECRET", "", 1);
	bad("{'mcpServers':{'t':{'command':'x','env':{'A':"
	    "'${env:OZ0_TEST_SECRET}'}}}}",
	    "mcpServers.t.env.A: ${env:OZ0_TEST_SECRET}: the variable is "
	    "empty");
	bad("{'mcpServers':{'t':{'command':'x','args':['${env:}']}}}",
	    "names nothing");
	bad("{'mcpServers':{'t':{'command':'x','args':['${env:A']}}}",
	    "no closing");
	bad("{'mcpServers':{'t':{'command':'x','args':['${file:x}']}}}",
	    "must be absolute");
	bad("{'mcpServers':{'t':{'command':'x','args':['${file:/no/x}']}}}",
	    "${file:/no/x}: No such file");
	ck_assert_int_eq(truncate(file, 0), 0);
	snprintf(text, sizeof(text),
	    "{'mcpServers':{'t':{'command':'x','args':['${file:%s}']}}}", file);
	bad(text, "the file is empty");
	unlink(file);
	rmdir(dir);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("values of the configuration");
	TCase *t = tcase_create("all");

	tcase_add_test(t, policy_rules);
	tcase_add_test(t, unknown_keys);
	tcase_add_test(t, times_and_sizes);
	tcase_add_test(t, other_values);
	tcase_add_test(t, tool_names);
	tcase_add_test(t, socket_paths);
	tcase_add_test(t, secrets);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	SRunner *r = srunner_create(suite());
	int failed;

	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? 0 : 1;
}
