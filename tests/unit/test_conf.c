/*
 * The configuration: what is read, what is refused and with which words, the
 * defaults, and that what -n prints is read back to the same.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "supervisor/conf.h"
#include "supervisor/policy.h"
#include "supervisor/role.h"

/* ' stands for " in the texts below. */
static char *
quoted(const char *text)
{
	char *s = mem_strdup(text);

	for (char *p = s; *p != '\0'; p++)
		if (*p == '\'')
			*p = '"';
	return s;
}

static struct conf *
good(const char *text)
{
	char *s = quoted(text);
	struct conf_error e = {""};
	struct conf *c = NULL;

	ck_assert_msg(
	    conf_parse("x", s, strlen(s), &c, &e) == 0, "%s: %s", text, e.text);
	free(s);
	return c;
}

static void
bad(const char *text, const char *words)
{
	char *s = quoted(text);
	struct conf_error e = {""};
	struct conf *c = NULL;

	ck_assert_msg(conf_parse("x", s, strlen(s), &c, &e) == -EINVAL,
	    "%s was taken", text);
	ck_assert_ptr_null(c);
	ck_assert_msg(strstr(e.text, words) != NULL, "%s: %s, without %s", text,
	    e.text, words);
	free(s);
}

/* A value of a key under node, or of a tool's oz0. */
static void
bad_node(const char *key, const char *value, const char *words)
{
	char *text = mem_printf("{'node':{'%s':%s}}", key, value);
	char *path = mem_printf("node.%s: ", key);

	bad(text, path);
	bad(text, words);
	free(path);
	free(text);
}

static void
bad_oz0(const char *key, const char *value, const char *words)
{
	char *text = mem_printf(
	    "{'mcpServers':{'t':{'command':'x','oz0':{'%s':%s}}}}", key, value);
	char *path = mem_printf("mcpServers.t.oz0.%s", key);

	bad(text, path);
	bad(text, words);
	free(path);
	free(text);
}

static char *
printed(const struct conf *c)
{
	struct buf out = {0};

	conf_print(c, &out);
	return buf_steal(&out, NULL);
}

/* Reads what was printed again: the same, letter by letter. */
static void
comes_back(const struct conf *c)
{
	char *first = printed(c), *second;
	struct conf_error e;
	struct conf *again;

	ck_assert_msg(conf_parse("y", first, strlen(first), &again, &e) == 0,
	    "%s in %s", e.text, first);
	second = printed(again);
	ck_assert_str_eq(first, second);
	ck_assert_uint_eq(c->ntools, again->ntools);
	for (size_t i = 0; i < c->ntools; i++)
		ck_assert(conf_tool_same(c->tools[i], again->tools[i]));
	free(first);
	free(second);
	conf_free(again);
}

START_TEST(defaults)
{
	struct conf *c = good("{'mcpServers':{'t':{'command':'x'}}}");
	const struct conf_tool *t = c->tools[0];

	ck_assert_uint_eq(c->slots, 64);
	ck_assert_uint_eq(c->queue, 100000);
	ck_assert_int_eq(c->drain_timeout.us, 20000000);
	ck_assert_uint_eq(c->max_message, 16 << 20);
	ck_assert_uint_eq(c->message_budget, 512 << 20);
	ck_assert_uint_eq(c->result_limit, 1 << 20);
	ck_assert_int_eq(c->keep_jobs.us, 7LL * 86400 * 1000000);
	ck_assert_uint_eq(c->uid_first, 1879048192);
	ck_assert_uint_eq(c->uid_last, 1879113727);
	ck_assert(!c->power && !c->best && !c->follow_parent);
	ck_assert_int_eq(t->kind, CONF_JOB);
	ck_assert_int_eq(t->timeout.us, 60000000);
	ck_assert_int_eq(t->start_timeout.us, 30000000);
	ck_assert(span_is_none(t->call_timeout));
	ck_assert_int_eq(t->stop_timeout.us, 2000000);
	ck_assert_int_eq(t->backoff_base.us, 500000);
	ck_assert_int_eq(t->backoff_cap.us, 30000000);
	ck_assert_uint_eq(t->max_attempts, 3);
	ck_assert_uint_eq(t->sandbox.nofile, 1024);
	ck_assert_uint_eq(t->sandbox.tmp, 256 << 20);
	ck_assert(!t->sandbox.network_host && !t->stdio_pipe);
	comes_back(c);
	conf_free(c);
	c = good("{}");
	ck_assert_uint_eq(c->ntools, 0);
	comes_back(c);
	conf_free(c);
	/* SESSION: a plugin has the host's network */
	c = good("{'mcpServers':{'t':{'command':'x','oz0':{'kind':'plugin'}},"
		 "'u':{'command':'x','oz0':{'kind':'plugin','sandbox':"
		 "{'network':'none'}}}}}");
	ck_assert(c->tools[0]->sandbox.network_host);
	ck_assert(!c->tools[1]->sandbox.network_host);
	comes_back(c);
	conf_free(c);
}
END_TEST

/* The sample of INTERFACES less what later issues bring. */
START_TEST(sample)
{
	struct conf *c = good(
	    "{ 'node': { 'name': 'n1', 'slots': 64 },"
	    "'mcpServers': {"
	    "'demo': { 'command': 'oz0-demo', 'oz0': { 'kind': 'plugin' } },"
	    "'files': { 'command': 'node', 'args': ['/x/index.js',"
	    "'/session'], 'oz0': { 'kind': 'job', 'timeout': '30s',"
	    "'sandbox': { 'network': 'none', 'memory': '1GiB', 'pids': 128,"
	    "'cpu': 1.0 } } } } }");
	const struct conf_tool *t = conf_tool_find(c, "files");

	ck_assert_str_eq(c->node, "n1");
	ck_assert_uint_eq(t->sandbox.memory, 1 << 30);
	ck_assert_uint_eq(t->sandbox.pids, 128);
	ck_assert(t->sandbox.cpu == 1.0);
	ck_assert_str_eq(t->args[1], "/session");
	ck_assert_ptr_null(t->args[2]);
	ck_assert_ptr_null(c->warnings);
	comes_back(c);
	conf_free(c);
}
END_TEST

START_TEST(everything)
{
	struct conf *c = good(
	    "{'node':{'name':'a.b','slots':1,'queue':2,"
	    "'state_dir':'/s','socket':'/t','admins':['0','@0'],"
	    "'schedulers':['1'],'observers':['@2'],'drain_timeout':0,"
	    "'max_message':'64KiB','message_budget':'1MiB',"
	    "'durability':'power','keep_jobs':'1h','result_limit':0,"
	    "'isolation':'best','uid_range':'1-2','follow_parent':true,"
	    "'log_level':'debug'},'mcpServers':{'t':{'command':'x',"
	    "'args':['',' a'],'env':{'A':'','B':'c'},'cwd':'/w','oz0':{"
	    "'timeout':0.001,'start_timeout':'1m','call_timeout':'3650d',"
	    "'stop_timeout':'10ms','max_attempts':1,'backoff_base':'1.5s',"
	    "'backoff_cap':'1d','max_running':7,'eager':true,"
	    "'restart_when_stuck':true,'stdio':'pipe','trace_payload':true,"
	    "'sandbox':{'read':['/r'],'write':['/w'],'root':'/q',"
	    "'network':'host','memory':1048576,'pids':1,'cpu':0.1,"
	    "'nofile':4096,'tmp':'1MiB'}}}}}");

	ck_assert_uint_eq(c->observers.gids[0], 2);
	ck_assert_int_eq(c->log_level, LOG_LEVEL_DEBUG);
	ck_assert_int_eq(c->tools[0]->timeout.us, 1000);
	comes_back(c);
	conf_free(c);
}
END_TEST

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

START_TEST(same)
{
	struct conf *a = good("{'mcpServers':{'t':{'command':'x'}}}");
	struct conf *b = good("{'mcpServers':{'t':{'command':'x','env':"
			      "{'A':'b'}}}}");
	struct conf *c = good("{'mcpServers':{'t':{'command':'x','oz0':"
			      "{'timeout':'60s','sandbox':{'pids':1}}}}}");
	struct conf *d = good("{'mcpServers':{'t':{'command':'x','oz0':"
			      "{'timeout':'7s','max_running':3}}}}");

	ck_assert(conf_tool_same(a->tools[0], a->tools[0]));
	ck_assert(!conf_tool_same(a->tools[0], b->tools[0]));
	ck_assert(!conf_tool_same(a->tools[0], c->tools[0]));
	ck_assert(!conf_tool_same(a->tools[0], d->tools[0]));
	ck_assert(!conf_tool_same_start(a->tools[0], b->tools[0]));
	ck_assert(!conf_tool_same_start(a->tools[0], c->tools[0]));
	ck_assert(conf_tool_same_start(a->tools[0], d->tools[0]));
	conf_free(d);
	conf_free(a);
	conf_free(b);
	conf_free(c);
}
END_TEST

START_TEST(load)
{
	struct conf_error e = {""};
	struct conf *c = NULL;

	ck_assert_int_eq(conf_load("/no/such/oz0.json", &c, &e), -ENOENT);
	ck_assert_str_eq(
	    e.text, "/no/such/oz0.json: No such file or directory");
	ck_assert_ptr_null(c);
}
END_TEST

/* An ordinary user's places, in a process that is one. */
static void
ordinary_user(void)
{
	struct conf *c;
	char *path;

	if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
		_exit(2);
	setenv("HOME", "/home/x", 1);
	setenv("XDG_CONFIG_HOME", "relative: to be ignored", 1);
	unsetenv("XDG_STATE_HOME");
	unsetenv("XDG_RUNTIME_DIR");
	c = good("{}");
	path = conf_default_path();
	ck_assert_str_eq(path, "/home/x/.config/oz0/oz0.json");
	free(path);
	ck_assert_str_eq(c->state_dir, "/home/x/.local/state/oz0");
	ck_assert_str_eq(c->socket, "/home/x/.local/state/oz0/control.sock");
	ck_assert_uint_eq(c->admins.nuids, 2);
	conf_free(c);
	setenv("XDG_CONFIG_HOME", "/c", 1);
	setenv("XDG_STATE_HOME", "/s", 1);
	setenv("XDG_RUNTIME_DIR", "/r", 1);
	c = good("{}");
	path = conf_default_path();
	ck_assert_str_eq(path, "/c/oz0/oz0.json");
	free(path);
	ck_assert_str_eq(c->state_dir, "/s/oz0");
	ck_assert_str_eq(c->socket, "/r/oz0/control.sock");
	conf_free(c);
	bad_oz0("sandbox", "{'user':'1'}", "only a node that root started");
}

START_TEST(places)
{
	ordinary_user();
}
END_TEST

START_TEST(places_of_root)
{
	struct conf *c;
	char *path;

	if (geteuid() != 0)
		return; /* ordinary_user() is the other half */
	c = good("{}");
	path = conf_default_path();
	ck_assert_str_eq(path, "/etc/oz0/oz0.json");
	free(path);
	ck_assert_str_eq(c->state_dir, "/var/lib/oz0");
	ck_assert_str_eq(c->socket, "/run/oz0/control.sock");
	conf_free(c);
}
END_TEST

START_TEST(roles)
{
	struct conf *c = good("{'node':{'admins':['10'],'schedulers':"
			      "['11','@20'],'observers':['@21','12']}}");
	gid_t groups[] = {5, 20};
	struct peer p = {.uid = 10, .gid = 1};

	ck_assert_int_eq(role_of(c, &p), ROLE_ADMIN);
	p.uid = 11;
	ck_assert_int_eq(role_of(c, &p), ROLE_SCHEDULER);
	p.uid = 12;
	ck_assert_int_eq(role_of(c, &p), ROLE_OBSERVER);
	p.uid = 0; /* root is an admin by default, not by nature */
	ck_assert_int_eq(role_of(c, &p), ROLE_NONE);
	p.gid = 21;
	ck_assert_int_eq(role_of(c, &p), ROLE_OBSERVER);
	p.groups = groups;
	p.ngroups = 2;
	ck_assert_int_eq(role_of(c, &p), ROLE_SCHEDULER);
	ck_assert(role_others(c, 10));
	conf_free(c);
	c = good("{}");
	ck_assert(!role_others(c, geteuid()));
	conf_free(c);
}
END_TEST

/* oz0.json(5) has every key that -n prints. */
START_TEST(page)
{
	struct conf *c = good(
	    "{'mcpServers':{'t':{'command':'x','cwd':'/w',"
	    "'oz0':{'call_timeout':1,'max_running':1,'sandbox':{'root':'/r',"
	    "'user':'65534','memory':'1MiB','pids':1,'cpu':1}}}}}");
	const char *top = getenv("OZ0_SRCDIR");
	char path[4096], *text, *shown = printed(c);
	unsigned keys = 0;
	size_t len;

	snprintf(
	    path, sizeof(path), "%s/man/oz0.json.5", top != NULL ? top : ".");
	ck_assert_int_eq(fd_read_file(AT_FDCWD, path, 1 << 20, &text, &len), 0);
	for (char *p = shown; (p = strstr(p, "\": ")) != NULL; p++) {
		char *key = p, item[100];

		*p = '\0';
		while (key[-1] != '"')
			key--;
		keys++;
		if (strcmp(key, "t") == 0)
			continue; /* the tool's name */
		snprintf(item, sizeof(item), " %s", key);
		ck_assert_msg(strstr(text, item) != NULL, "%s", key);
	}
	ck_assert_uint_gt(keys, 40);
	free(text);
	free(shown);
	conf_free(c);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("configuration");
	TCase *t = tcase_create("all");

	tcase_add_test(t, defaults);
	tcase_add_test(t, sample);
	tcase_add_test(t, everything);
	tcase_add_test(t, policy_rules);
	tcase_add_test(t, unknown_keys);
	tcase_add_test(t, times_and_sizes);
	tcase_add_test(t, other_values);
	tcase_add_test(t, tool_names);
	tcase_add_test(t, socket_paths);
	tcase_add_test(t, secrets);
	tcase_add_test(t, same);
	tcase_add_test(t, load);
	tcase_add_test(t, places);
	tcase_add_test(t, places_of_root);
	tcase_add_test(t, roles);
	tcase_add_test(t, page);
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
