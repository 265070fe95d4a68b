/*
 * From configuration to plan (SESSION, What is in a sandbox): golden pairs of
 * what is given and what stands in the plan.
 *
 * Run by make check; links plan_make.c, the plan and base alone.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/plan.h"
#include "sandbox/strv.h"
#include "supervisor/plan_make.h"

static char *no_args[] = { NULL };

static struct plan_input
job_server(void)
{
	return (struct plan_input) {
		.name = "j1/1 files",
		.command = "node",
		.args = no_args,
		.folder = "/var/lib/oz0/sessions/j1.1.ab",
		.folder_at = "/session",
		.uid = 70000,
		.gid = 70000,
	};
}

static struct plan *
make(const struct plan_input *in)
{
	char why[256] = "";
	struct plan *p = plan_make(in, why, sizeof(why));

	ck_assert_msg(p != NULL, "%s", why);
	return p;
}

static const struct plan_mount *
mount_at(const struct plan *p, const char *target)
{
	const struct plan_mount *found = NULL;

	for (size_t i = 0; i < p->nmounts; i++)
		if (strcmp(p->mounts[i].target, target) == 0)
			found = &p->mounts[i];
	return found;
}

static void
check_env(const struct plan *p, const char *const *want)
{
	size_t n = 0;

	for (; want[n] != NULL; n += 2) {
		const char *is = plan_get_env(p, want[n]);

		ck_assert_msg(is != NULL, "no %s", want[n]);
		ck_assert_str_eq(is, want[n + 1]);
	}
	ck_assert_uint_eq(strv_len(p->envp), n / 2);
}

START_TEST(test_a_job_server_by_default)
{
	static const char *const env[] = { "PATH",
		"/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
		"HOME", "/session", "LANG", "C.UTF-8", "TZ", "UTC", "TMPDIR",
		"/tmp", NULL };
	struct conf_sandbox sandbox = { 0 };
	struct plan_input in = job_server();
	struct plan *p;

	setenv("OZ0_SECRET_OF_THE_NODE", "x", 1);
	in.sandbox = &sandbox;
	p = make(&in);
	ck_assert_str_eq(p->name, "j1/1 files");
	ck_assert_str_eq(p->argv[0], "node");
	ck_assert_ptr_null(p->argv[1]);
	check_env(p, env);
	ck_assert_str_eq(p->cwd, "/session");
	ck_assert_uint_eq(p->uid, 70000);
	ck_assert_uint_eq(p->gid, 70000);
	ck_assert_int_eq(p->network, PLAN_NET_NONE);
	ck_assert_uint_eq(p->tmp_size, PLAN_TMP_SIZE);
	ck_assert(p->landlock && p->seccomp && !p->best && !p->tty);
	ck_assert_int_eq(mount_at(p, "/session")->kind, PLAN_BIND_RW);
	ck_assert_str_eq(mount_at(p, "/session")->source, in.folder);
	ck_assert_int_eq(mount_at(p, "/usr")->kind, PLAN_BIND_RO);
	plan_free(p);
}
END_TEST

START_TEST(test_what_a_configuration_changes)
{
	char read_path[] = "/srv/data", write_path[] = "/srv/out";
	char *reads[] = { read_path, NULL }, *writes[] = { write_path, NULL };
	char arg[] = "--fast", *args[] = { arg, NULL };
	char home[] = "HOME", elsewhere[] = "/srv/out", key[] = "KEY";
	char secret[] = "s3cret";
	struct conf_pair env[] = { { .name = home, .value = elsewhere },
		{ .name = key, .value = secret, .secret = true } };
	struct conf_sandbox sandbox = {
		.read = reads,
		.write = writes,
		.network_host = true,
		.nofile = 4096,
		.tmp = 1 << 20,
		.memory = 1 << 30, /* not to be had is no error by itself */
	};
	struct plan_input in = job_server();
	struct plan *p;

	in.args = args;
	in.env = env;
	in.nenv = 2;
	in.cwd = "/srv/out";
	in.sandbox = &sandbox;
	in.best = true;
	p = make(&in);
	ck_assert_str_eq(p->argv[1], "--fast");
	ck_assert_str_eq(plan_get_env(p, "HOME"), "/srv/out");
	ck_assert_str_eq(plan_get_env(p, "KEY"), "s3cret");
	ck_assert_str_eq(p->cwd, "/srv/out");
	ck_assert_int_eq(p->network, PLAN_NET_HOST);
	ck_assert_uint_eq(p->nofile, 4096);
	ck_assert_uint_eq(p->tmp_size, 1 << 20);
	ck_assert(p->best);
	ck_assert_int_eq(mount_at(p, "/srv/data")->kind, PLAN_BIND_RO);
	ck_assert_int_eq(mount_at(p, "/srv/out")->kind, PLAN_BIND_RW);
	plan_free(p);
}
END_TEST

START_TEST(test_a_plugin_has_state)
{
	struct plan_input in = job_server();
	struct plan *p;

	in.folder = "/var/lib/oz0/tools/billing";
	in.folder_at = "/state";
	p = make(&in);
	ck_assert_str_eq(plan_get_env(p, "HOME"), "/state");
	ck_assert_str_eq(p->cwd, "/state");
	ck_assert_ptr_nonnull(mount_at(p, "/state"));
	ck_assert_ptr_null(mount_at(p, "/session"));
	plan_free(p);
}
END_TEST

START_TEST(test_a_harness_brings_environment)
{
	char a[] = "A=1=2", home[] = "HOME=/else", junk[] = "junk";
	char *more[] = { a, home, junk, NULL };
	struct plan_input in = job_server();
	struct plan *p;

	in.more_env = more;
	in.tty = true;
	p = make(&in);
	ck_assert_str_eq(plan_get_env(p, "A"), "1=2");
	ck_assert_str_eq(plan_get_env(p, "HOME"), "/else");
	ck_assert_ptr_null(plan_get_env(p, "junk"));
	ck_assert(p->tty);
	plan_free(p);
}
END_TEST

static void
check_refused(struct conf_sandbox sandbox, const char *word)
{
	struct plan_input in = job_server();
	char why[256] = "";

	sandbox.strict = true;
	in.sandbox = &sandbox;
	ck_assert_ptr_null(plan_make(&in, why, sizeof(why)));
	ck_assert_msg(strstr(why, word) != NULL, "%s: %s", word, why);
}

START_TEST(test_strict_limits_are_demands)
{
	struct conf_sandbox fine = { .strict = true, .nofile = 64 };
	struct plan_input in = job_server();

	check_refused((struct conf_sandbox) { .memory = 1 }, "memory");
	check_refused((struct conf_sandbox) { .pids = 1 }, "pids");
	check_refused((struct conf_sandbox) { .cpu = 0.5 }, "cpu");
	in.sandbox = &fine;
	plan_free(make(&in));
}
END_TEST

START_TEST(test_never_uid_0)
{
	struct plan_input in = job_server();
	char why[256] = "";

	in.uid = in.gid = 0;
	ck_assert_ptr_null(plan_make(&in, why, sizeof(why)));
	ck_assert_str_ne(why, "");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("process_plan");
	TCase *t = tcase_create("all");
	SRunner *r;
	int failed;

	tcase_add_test(t, test_a_job_server_by_default);
	tcase_add_test(t, test_what_a_configuration_changes);
	tcase_add_test(t, test_a_plugin_has_state);
	tcase_add_test(t, test_a_harness_brings_environment);
	tcase_add_test(t, test_strict_limits_are_demands);
	tcase_add_test(t, test_never_uid_0);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
