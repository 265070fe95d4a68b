/*
 * The configuration: what is read, the defaults, that what -n prints is read
 * back to the same, and what follows from it: places, roles, the page.  What
 * is refused, and with which words, is in test_conf_values.c.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "supervisor/conf.h"
#include "supervisor/role.h"
#include "tests/unit/conf_text.h"

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
