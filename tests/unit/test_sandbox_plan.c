/*
 * Plans: golden pairs of text and meaning, and what the decoder refuses.
 *
 * Run by make check; links the plan and base alone.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/plan.h"

static const char golden[] =
    "{\"name\":\"j1/1 files\",\"argv\":[\"node\",\"a \\\"b\\\"\"],"
    "\"env\":{\"PATH\":\"/usr/bin\",\"LANG\":\"C.UTF-8\",\"EMPTY\":\"\"},"
    "\"cwd\":\"/session\",\"hostname\":\"h\",\"uid\":70000,\"gid\":70001,"
    "\"network\":\"host\",\"mounts\":["
    "{\"kind\":\"ro\",\"source\":\"/usr\",\"target\":\"/usr\"},"
    "{\"kind\":\"rw\",\"source\":\"/srv/s\",\"target\":\"/session\","
    "\"optional\":true},"
    "{\"kind\":\"tmpfs\",\"target\":\"/t\",\"size\":4096},"
    "{\"kind\":\"symlink\",\"source\":\"usr/bin\",\"target\":\"/bin\"}],"
    "\"files\":[{\"target\":\"/etc/hosts\",\"text\":\"127.0.0.1 a\\n\"}],"
    "\"tmp\":1048576,\"nofile\":2048,\"tty\":true,\"best\":true,"
    "\"landlock\":false,\"seccomp\":true}";

static struct plan *
made_by_hand(void)
{
	static const char *const argv[] = {"node", "a \"b\"", NULL};
	struct plan *p = plan_new();

	free(p->name);
	p->name = strdup("j1/1 files");
	plan_set_argv(p, argv);
	plan_add_env(p, "PATH", "/usr/bin");
	plan_add_env(p, "EMPTY", "");
	p->cwd = strdup("/session");
	p->hostname = strdup("h");
	p->uid = 70000;
	p->gid = 70001;
	p->network = PLAN_NET_HOST;
	plan_add_mount(p, PLAN_BIND_RO, "/usr", "/usr", 0, false);
	plan_add_mount(p, PLAN_BIND_RW, "/srv/s", "/session", 0, true);
	plan_add_mount(p, PLAN_TMPFS, NULL, "/t", 4096, false);
	plan_add_mount(p, PLAN_SYMLINK, "usr/bin", "/bin", 0, false);
	plan_add_file(p, "/etc/hosts", "127.0.0.1 a\n");
	p->tmp_size = 1 << 20;
	p->nofile = 2048;
	p->tty = true;
	p->best = true;
	p->landlock = false;
	return p;
}

START_TEST(test_encode)
{
	CLEANUP(buf_free) struct buf out = {0};
	struct plan *p = made_by_hand();

	plan_encode(p, &out);
	buf_putc(&out, '\0');
	ck_assert_str_eq(buf_at(&out), golden);
	plan_free(p);
}
END_TEST

START_TEST(test_decode)
{
	CLEANUP(buf_free) struct buf out = {0};
	struct plan *p = NULL;
	const char *why = NULL;

	ck_assert_int_eq(plan_decode(golden, strlen(golden), &p, &why), 0);
	ck_assert_str_eq(p->name, "j1/1 files");
	ck_assert_str_eq(p->argv[1], "a \"b\"");
	ck_assert_ptr_null(p->argv[2]);
	ck_assert_str_eq(plan_get_env(p, "PATH"), "/usr/bin");
	ck_assert_ptr_null(plan_get_env(p, "HOME"));
	ck_assert_uint_eq(p->gid, 70001);
	ck_assert_uint_eq(p->nmounts, 4);
	ck_assert_int_eq(p->mounts[1].kind, PLAN_BIND_RW);
	ck_assert(p->mounts[1].optional);
	ck_assert(!p->mounts[0].optional);
	ck_assert_uint_eq(p->mounts[2].size, 4096);
	ck_assert(!p->landlock);
	plan_encode(p, &out);
	buf_putc(&out, '\0');
	ck_assert_str_eq(buf_at(&out), golden);
	plan_free(p);
}
END_TEST

START_TEST(test_defaults)
{
	static const char text[] =
	    " {\"argv\": [\"a\"], \"uid\": 5, \"gid\": 6} ";
	const char *why = NULL;
	struct plan *p = NULL;

	ck_assert_int_eq(plan_decode(text, strlen(text), &p, &why), 0);
	ck_assert(p->landlock && p->seccomp && !p->best && !p->tty);
	ck_assert_int_eq(p->network, PLAN_NET_NONE);
	ck_assert_uint_eq(p->tmp_size, PLAN_TMP_SIZE);
	ck_assert_ptr_null(p->cwd);
	ck_assert_ptr_nonnull(plan_get_env(p, "PATH"));
	plan_free(p);
}
END_TEST

#define PLAN(rest) "{\"argv\":[\"a\"],\"uid\":5,\"gid\":6" rest "}"
#define MOUNT(m) PLAN(",\"mounts\":[{" m "}]")

static const struct {
	const char *text;
	const char *why;
} bad[] = {
    {"", NULL},
    {"[]", "not a JSON object"},
    {PLAN(",\"wish\":1"), "unknown key"},
    {PLAN(",\"uid\":7"), "a key stands twice"},
    {PLAN(",\"name\":\"\""), "name is empty"},
    {PLAN(",\"name\":\"a\\u0000b\""), "name is no string"},
    {PLAN(",\"cwd\":\"x\""), "cwd is not absolute"},
    {PLAN(",\"network\":\"all\""), "network is neither none nor host"},
    {PLAN(",\"seccomp\":1"), "seccomp is no bool"},
    {PLAN(",\"tmp\":-1"), "tmp is no size"},
    {"{\"argv\":[],\"uid\":5,\"gid\":6}", "argv names no command"},
    {"{\"argv\":[1],\"uid\":5,\"gid\":6}", "argv: not an array of strings"},
    {"{\"argv\":[\"a\"],\"uid\":0,\"gid\":6}",
	"uid 0 is refused: name another uid"},
    {"{\"argv\":[\"a\"],\"uid\":5,\"gid\":0}",
	"gid 0 is refused: name another gid"},
    {"{\"argv\":[\"a\"],\"uid\":4294967295,\"gid\":1}", "uid is no uid"},
    {PLAN(",\"env\":{\"A=B\":\"\"}"),
	"env: not an object of strings with names of their own"},
    {PLAN(",\"env\":{\"A\":\"\",\"A\":\"\"}"),
	"env: not an object of strings with names of their own"},
    {PLAN(",\"env\":{\"A\":1}"),
	"env: not an object of strings with names of their own"},
    {MOUNT("\"kind\":\"ro\",\"source\":\"/a\""), "mounts: no target"},
    {MOUNT("\"kind\":\"ro\",\"target\":\"/a\""), "mounts: no source"},
    {MOUNT("\"kind\":\"x\",\"target\":\"/a\""),
	"mounts: kind is not ro, rw, tmpfs or symlink"},
    {MOUNT("\"kind\":\"ro\",\"source\":\"a\",\"target\":\"/a\""),
	"mounts: a source is not absolute"},
    {MOUNT("\"kind\":\"ro\",\"source\":\"/a\",\"target\":\"/a/../b\""),
	"mounts: a target is not absolute and plain"},
    {MOUNT("\"kind\":\"ro\",\"source\":\"/a\",\"target\":\"/\""),
	"mounts: a target is not absolute and plain"},
    {MOUNT("\"kind\":\"ro\",\"source\":\"/a\",\"target\":\"/a//b\""),
	"mounts: a target is not absolute and plain"},
    {MOUNT("\"kind\":\"tmpfs\",\"target\":\"/a\""),
	"mounts: a tmpfs has no size"},
    {PLAN(",\"files\":[{\"target\":\"etc\",\"text\":\"\"}]"),
	"files: a target is not absolute and plain"},
    {PLAN(",\"files\":[{\"target\":\"/etc/x\"}]"),
	"files: no target or no text"},
};

START_TEST(test_bad)
{
	struct plan *p = NULL;
	const char *why = NULL;

	ck_assert_int_eq(
	    plan_decode(bad[_i].text, strlen(bad[_i].text), &p, &why), -EINVAL);
	ck_assert_ptr_null(p);
	ck_assert_ptr_nonnull(why);
	if (bad[_i].why != NULL)
		ck_assert_str_eq(why, bad[_i].why);
}
END_TEST

START_TEST(test_command)
{
	static const char text[] = "{\"argv\":[\"sh\"],\"env\":{\"A\":\"b\"}}";
	struct plan *base = made_by_hand();
	struct plan_command c = {0};
	const char *why = NULL;

	ck_assert_int_eq(
	    plan_command_decode(text, strlen(text), base, &c, &why), 0);
	ck_assert_str_eq(c.envp[0], "A=b");
	ck_assert_ptr_null(c.envp[1]);
	ck_assert_str_eq(c.cwd, "/session");
	plan_command_clear(&c);
	ck_assert_int_eq(
	    plan_command_decode("{\"argv\":[\"sh\"]}", 15, base, &c, &why), 0);
	ck_assert_str_eq(c.envp[0], "PATH=/usr/bin");
	plan_command_clear(&c);
	ck_assert_int_eq(
	    plan_command_decode("{\"env\":{}}", 10, base, &c, &why), -EINVAL);
	ck_assert_str_eq(why, "argv names no command");
	plan_free(base);
}
END_TEST

START_TEST(test_base)
{
	struct plan *p = plan_new();
	static const char *const argv[] = {"/bin/sh", NULL};
	static const char *const other[] = {"/proc/version", NULL};
	bool passwd = false;
	size_t n;

	p->uid = 70000;
	p->gid = 70001;
	plan_add_base(p);
	for (size_t i = 0; i < p->nfiles; i++)
		if (strcmp(p->files[i].target, "/etc/passwd") == 0) {
			passwd = true;
			ck_assert_ptr_nonnull(
			    strstr(p->files[i].text, "oz0:x:70000:70001:"));
		}
	ck_assert(passwd);
	for (size_t i = 0; i < p->nmounts; i++)
		ck_assert_int_ne(p->mounts[i].kind, PLAN_BIND_RW);
	n = p->nmounts;
	plan_set_argv(p, argv); /* /bin is there already */
	plan_add_command(p);
	ck_assert_uint_eq(p->nmounts, n);
	plan_set_argv(p, other);
	plan_add_command(p);
	ck_assert_uint_eq(p->nmounts, n + 1);
	ck_assert_str_eq(p->mounts[n].target, "/proc/version");
	plan_free(p);
}
END_TEST

static const struct plan_mount *
mount_at(const struct plan *p, const char *target)
{
	for (size_t i = 0; i < p->nmounts; i++)
		if (strcmp(p->mounts[i].target, target) == 0)
			return &p->mounts[i];
	return NULL;
}

START_TEST(test_root)
{
	static const char *const argv[] = {"/opt/server", NULL};
	char dir[] = "/tmp/oz0-root-XXXXXX";
	struct plan *p = plan_new();
	const struct plan_mount *m;
	const char *why;
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(mkdirat(fd, "opt", 0755), 0);
	ck_assert_int_eq(mkdirat(fd, "proc", 0755), 0);
	ck_assert_int_eq(symlinkat("opt/server", fd, "link"), 0);
	ck_assert_int_eq(mkfifoat(fd, "fifo", 0600), 0);
	p->uid = p->gid = 70000;
	ck_assert_int_eq(plan_add_root(p, dir), 0);
	ck_assert_uint_eq(p->nmounts, 2);
	m = mount_at(p, "/opt");
	ck_assert_ptr_nonnull(m);
	ck_assert_int_eq(m->kind, PLAN_BIND_RO);
	ck_assert(strncmp(m->source, dir, strlen(dir)) == 0);
	ck_assert_str_eq(m->source + strlen(dir), "/opt");
	m = mount_at(p, "/link");
	ck_assert_ptr_nonnull(m);
	ck_assert_int_eq(m->kind, PLAN_SYMLINK);
	ck_assert_str_eq(m->source, "opt/server");
	plan_set_argv(p, argv); /* it is in the root: no bind of the host's */
	plan_add_command(p);
	ck_assert_uint_eq(p->nmounts, 2);
	ck_assert_int_eq(plan_check(p, &why), 0);
	ck_assert_int_eq(unlinkat(fd, "opt", AT_REMOVEDIR), 0);
	ck_assert_int_eq(unlinkat(fd, "proc", AT_REMOVEDIR), 0);
	ck_assert_int_eq(unlinkat(fd, "link", 0), 0);
	ck_assert_int_eq(unlinkat(fd, "fifo", 0), 0);
	close(fd);
	ck_assert_int_eq(rmdir(dir), 0);
	ck_assert_int_eq(plan_add_root(p, dir), -ENOENT);
	plan_free(p);
}
END_TEST

START_TEST(test_hidden_argument)
{
	static const char *const all_seen[] = {"/srv/cmd", "--x=/srv/a/b", "-v",
	    "/srv/a", "a=b", "/", "/dev/null", NULL};
	static const char *const next_to[] = {
	    "/srv/cmd", "/srv/a", "/srv/ab", NULL};
	static const char *const option[] = {
	    "/srv/cmd", "--file=/tmp/x", NULL};
	struct plan *p = plan_new();

	ck_assert_ptr_null(plan_hidden_argument(p)); /* no command yet */
	plan_add_mount(p, PLAN_BIND_RO, "/srv/a", "/srv/a", 0, false);
	plan_set_argv(p, all_seen);
	ck_assert_ptr_null(plan_hidden_argument(p));
	plan_set_argv(p, next_to);
	ck_assert_str_eq(plan_hidden_argument(p), "/srv/ab");
	plan_set_argv(p, option);
	ck_assert_str_eq(plan_hidden_argument(p), "/tmp/x");
	plan_free(p);
}
END_TEST

START_TEST(test_explain)
{
	CLEANUP(buf_free) struct buf out = {0};
	struct plan *p = made_by_hand();

	plan_add_env(p, "TOKEN", "hush-hush");
	plan_explain(p, &out);
	buf_putc(&out, '\0');
	ck_assert_ptr_nonnull(strstr(buf_at(&out), "uid 70000, gid 70001"));
	ck_assert_ptr_nonnull(strstr(buf_at(&out), " TOKEN"));
	ck_assert_ptr_null(strstr(buf_at(&out), "hush-hush"));
	ck_assert_ptr_nonnull(strstr(buf_at(&out), "Landlock off"));
	ck_assert_ptr_nonnull(
	    strstr(buf_at(&out), "/session  writable, the host's /srv/s"));
	plan_free(p);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("sandbox_plan");
	TCase *t = tcase_create("plan");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_add_test(t, test_encode);
	tcase_add_test(t, test_decode);
	tcase_add_test(t, test_defaults);
	tcase_add_loop_test(
	    t, test_bad, 0, (int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_test(t, test_command);
	tcase_add_test(t, test_base);
	tcase_add_test(t, test_root);
	tcase_add_test(t, test_hidden_argument);
	tcase_add_test(t, test_explain);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
