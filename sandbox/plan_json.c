/*
 * A plan as JSON, and back.
 *
 * The supervisor encodes, oz0-sandbox decodes.  The decoder is strict: a key
 * that it does not know, one that stands twice, a path that is not absolute
 * and plain are errors, since a part of a plan that is not understood is a
 * part of the sandbox that is not there.
 */
#include "sandbox/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "sandbox/strv.h"

#define STRING_MAX ((size_t)128 * 1024) /* the kernel's for one argument */

static const char *const kind_names[] = {
	[PLAN_BIND_RO] = "ro",
	[PLAN_BIND_RW] = "rw",
	[PLAN_TMPFS] = "tmpfs",
	[PLAN_SYMLINK] = "symlink",
};
#define NKINDS (sizeof(kind_names) / sizeof(kind_names[0]))

static void
encode_env(struct jsonw *w, char *const *envp)
{
	jsonw_object(w, "env");
	for (size_t i = 0; envp[i] != NULL; i++) {
		const char *eq = strchr(envp[i], '=');
		char *name;

		if (eq == NULL)
			continue;
		name = mem_strndup(envp[i], (size_t)(eq - envp[i]));
		jsonw_string(w, name, eq + 1);
		free(name);
	}
	jsonw_object_end(w);
}

static void
encode_mount(struct jsonw *w, const struct plan_mount *m)
{
	jsonw_object(w, NULL);
	jsonw_string(w, "kind", kind_names[m->kind]);
	jsonw_string(w, "source", m->source);
	jsonw_string(w, "target", m->target);
	if (m->kind == PLAN_TMPFS)
		jsonw_uint(w, "size", m->size);
	if (m->optional)
		jsonw_bool(w, "optional", true);
	jsonw_object_end(w);
}

void
plan_encode(const struct plan *p, struct buf *out)
{
	struct jsonw w;

	jsonw_init(&w, out);
	jsonw_object(&w, NULL);
	jsonw_string(&w, "name", p->name);
	jsonw_array(&w, "argv");
	for (size_t i = 0; p->argv[i] != NULL; i++)
		jsonw_string(&w, NULL, p->argv[i]);
	jsonw_array_end(&w);
	encode_env(&w, p->envp);
	jsonw_string(&w, "cwd", p->cwd);
	jsonw_string(&w, "hostname", p->hostname);
	jsonw_uint(&w, "uid", p->uid);
	jsonw_uint(&w, "gid", p->gid);
	jsonw_string(
	    &w, "network", p->network == PLAN_NET_HOST ? "host" : "none");
	jsonw_array(&w, "mounts");
	for (size_t i = 0; i < p->nmounts; i++)
		encode_mount(&w, &p->mounts[i]);
	jsonw_array_end(&w);
	jsonw_array(&w, "files");
	for (size_t i = 0; i < p->nfiles; i++) {
		jsonw_object(&w, NULL);
		jsonw_string(&w, "target", p->files[i].target);
		jsonw_string(&w, "text", p->files[i].text);
		jsonw_object_end(&w);
	}
	jsonw_array_end(&w);
	jsonw_uint(&w, "tmp", p->tmp_size);
	jsonw_uint(&w, "nofile", p->nofile);
	jsonw_bool(&w, "tty", p->tty);
	jsonw_bool(&w, "best", p->best);
	jsonw_bool(&w, "landlock", p->landlock);
	jsonw_bool(&w, "seccomp", p->seccomp);
	jsonw_object_end(&w);
}

/*
 * Reading an object strictly: a table of its keys, each with a reader that
 * gives NULL or why not.
 */
struct field {
	const char *name;
	const char *(*read)(struct json_value v, void *into);
};

static const char *
read_object(struct json_value v, const struct field *fields, size_t n,
    void *into, const char *what)
{
	struct json_value key, value;
	struct json_iter it;
	uint32_t seen = 0;

	if (!json_is(v, JSON_OBJECT))
		return what;
	json_iter_init(&it, v);
	while (json_iter_next(&it, &key, &value)) {
		const char *why;
		size_t i = 0;

		while (i < n && !json_string_is(key, fields[i].name))
			i++;
		if (i == n)
			return "unknown key";
		if (seen & (1u << i))
			return "a key stands twice";
		seen |= 1u << i;
		why = fields[i].read(value, into);
		if (why != NULL)
			return why;
	}
	return NULL;
}

static bool
read_string(struct json_value v, char **field)
{
	char *s;

	if (!json_to_new_string(v, STRING_MAX, &s))
		return false;
	free(*field);
	*field = s;
	return true;
}

static const char *
read_argv_into(struct json_value v, char ***ret)
{
	char **argv = mem_array(1, sizeof(*argv));
	struct json_value key, item;
	struct json_iter it;
	char *s;

	if (!json_is(v, JSON_ARRAY))
		goto bad;
	json_iter_init(&it, v);
	while (json_iter_next(&it, &key, &item)) {
		if (!json_to_new_string(item, STRING_MAX, &s))
			goto bad;
		strv_add(&argv, s);
	}
	strv_free(*ret);
	*ret = argv;
	return NULL;
bad:
	strv_free(argv);
	return "argv: not an array of strings";
}

static const char *
read_env_into(struct json_value v, char ***ret)
{
	char **env = mem_array(1, sizeof(*env));
	struct json_value key, item;
	const char *why = "env: not an object of strings";
	struct json_iter it;
	char *name = NULL, *s = NULL;

	if (!json_is(v, JSON_OBJECT))
		goto bad;
	json_iter_init(&it, v);
	while (json_iter_next(&it, &key, &item)) {
		if (!json_to_new_string(key, STRING_MAX, &name) ||
		    !json_to_new_string(item, STRING_MAX, &s))
			goto bad;
		why = "env: a name is empty, has a '=', or stands twice";
		if (name[0] == '\0' || strchr(name, '=') != NULL ||
		    strv_getenv(env, name) != NULL)
			goto bad;
		why = "env: not an object of strings";
		strv_setenv(&env, name, s);
		free(name);
		free(s);
		name = s = NULL;
	}
	strv_free(*ret);
	*ret = env;
	return NULL;
bad:
	free(name);
	free(s);
	strv_free(env);
	return why;
}

static const char *
mount_kind(struct json_value v, void *into)
{
	struct plan_mount *m = into;

	for (size_t i = 0; i < NKINDS; i++)
		if (json_string_is(v, kind_names[i])) {
			m->kind = (enum plan_mount_kind)i;
			return NULL;
		}
	return "mounts: kind is not ro, rw, tmpfs or symlink";
}

static const char *
mount_source(struct json_value v, void *into)
{
	struct plan_mount *m = into;

	return read_string(v, &m->source) ? NULL
					  : "mounts: source is no string";
}

static const char *
mount_target(struct json_value v, void *into)
{
	struct plan_mount *m = into;

	return read_string(v, &m->target) ? NULL
					  : "mounts: target is no string";
}

static const char *
mount_size(struct json_value v, void *into)
{
	struct plan_mount *m = into;

	return json_to_uint64(v, &m->size) ? NULL : "mounts: size is no size";
}

static const char *
mount_optional(struct json_value v, void *into)
{
	struct plan_mount *m = into;

	return json_to_bool(v, &m->optional) ? NULL
					     : "mounts: optional is no bool";
}

static const struct field mount_fields[] = {
	{ "kind", mount_kind },
	{ "source", mount_source },
	{ "target", mount_target },
	{ "size", mount_size },
	{ "optional", mount_optional },
};

static const char *
file_target(struct json_value v, void *into)
{
	struct plan_file *f = into;

	return read_string(v, &f->target) ? NULL
					  : "files: target is no string";
}

static const char *
file_text(struct json_value v, void *into)
{
	struct plan_file *f = into;

	return read_string(v, &f->text) ? NULL : "files: text is no string";
}

static const struct field file_fields[] = {
	{ "target", file_target },
	{ "text", file_text },
};

#define NFIELDS(f) (sizeof(f) / sizeof((f)[0]))

static const char *
plan_mounts(struct json_value v, void *into)
{
	struct plan *p = into;
	struct json_value key, item;
	struct json_iter it;

	if (!json_is(v, JSON_ARRAY))
		return "mounts: not an array";
	json_iter_init(&it, v);
	while (json_iter_next(&it, &key, &item)) {
		struct plan_mount m = { .kind = PLAN_BIND_RO };
		const char *why = read_object(item, mount_fields,
		    NFIELDS(mount_fields), &m, "mounts: not an object");

		if (why == NULL && m.target == NULL)
			why = "mounts: no target";
		if (why == NULL && m.source == NULL && m.kind != PLAN_TMPFS)
			why = "mounts: no source";
		if (why == NULL)
			plan_add_mount(p, m.kind, m.source, m.target, m.size,
			    m.optional);
		free(m.source);
		free(m.target);
		if (why != NULL)
			return why;
	}
	return NULL;
}

static const char *
plan_files(struct json_value v, void *into)
{
	struct plan *p = into;
	struct json_value key, item;
	struct json_iter it;

	if (!json_is(v, JSON_ARRAY))
		return "files: not an array";
	json_iter_init(&it, v);
	while (json_iter_next(&it, &key, &item)) {
		struct plan_file f = { 0 };
		const char *why = read_object(item, file_fields,
		    NFIELDS(file_fields), &f, "files: not an object");

		if (why == NULL && (f.target == NULL || f.text == NULL))
			why = "files: no target or no text";
		if (why == NULL)
			plan_add_file(p, f.target, f.text);
		free(f.target);
		free(f.text);
		if (why != NULL)
			return why;
	}
	return NULL;
}

static const char *
plan_name(struct json_value v, void *into)
{
	struct plan *p = into;

	return read_string(v, &p->name) ? NULL : "name is no string";
}

static const char *
plan_argv(struct json_value v, void *into)
{
	struct plan *p = into;

	return read_argv_into(v, &p->argv);
}

static const char *
plan_env(struct json_value v, void *into)
{
	struct plan *p = into;

	return read_env_into(v, &p->envp);
}

static const char *
plan_cwd(struct json_value v, void *into)
{
	struct plan *p = into;

	return read_string(v, &p->cwd) ? NULL : "cwd is no string";
}

static const char *
plan_hostname(struct json_value v, void *into)
{
	struct plan *p = into;

	return read_string(v, &p->hostname) ? NULL : "hostname is no string";
}

static bool
read_id(struct json_value v, uint32_t *ret)
{
	uint64_t n;

	if (!json_to_uint64(v, &n) || n >= UINT32_MAX)
		return false;
	*ret = (uint32_t)n;
	return true;
}

static const char *
plan_uid(struct json_value v, void *into)
{
	struct plan *p = into;

	return read_id(v, &p->uid) ? NULL : "uid is no uid";
}

static const char *
plan_gid(struct json_value v, void *into)
{
	struct plan *p = into;

	return read_id(v, &p->gid) ? NULL : "gid is no gid";
}

static const char *
plan_network(struct json_value v, void *into)
{
	struct plan *p = into;

	if (json_string_is(v, "none"))
		p->network = PLAN_NET_NONE;
	else if (json_string_is(v, "host"))
		p->network = PLAN_NET_HOST;
	else
		return "network is neither none nor host";
	return NULL;
}

static const char *
plan_tmp(struct json_value v, void *into)
{
	struct plan *p = into;

	return json_to_uint64(v, &p->tmp_size) ? NULL : "tmp is no size";
}

static const char *
plan_nofile(struct json_value v, void *into)
{
	struct plan *p = into;

	return json_to_uint64(v, &p->nofile) ? NULL : "nofile is no number";
}

static const char *
plan_tty(struct json_value v, void *into)
{
	struct plan *p = into;

	return json_to_bool(v, &p->tty) ? NULL : "tty is no bool";
}

static const char *
plan_best(struct json_value v, void *into)
{
	struct plan *p = into;

	return json_to_bool(v, &p->best) ? NULL : "best is no bool";
}

static const char *
plan_landlock(struct json_value v, void *into)
{
	struct plan *p = into;

	return json_to_bool(v, &p->landlock) ? NULL : "landlock is no bool";
}

static const char *
plan_seccomp(struct json_value v, void *into)
{
	struct plan *p = into;

	return json_to_bool(v, &p->seccomp) ? NULL : "seccomp is no bool";
}

static const struct field plan_fields[] = {
	{ "name", plan_name },
	{ "argv", plan_argv },
	{ "env", plan_env },
	{ "cwd", plan_cwd },
	{ "hostname", plan_hostname },
	{ "uid", plan_uid },
	{ "gid", plan_gid },
	{ "network", plan_network },
	{ "mounts", plan_mounts },
	{ "files", plan_files },
	{ "tmp", plan_tmp },
	{ "nofile", plan_nofile },
	{ "tty", plan_tty },
	{ "best", plan_best },
	{ "landlock", plan_landlock },
	{ "seccomp", plan_seccomp },
};

/* Absolute, and no part of it empty, "." or "..". */
static bool
is_plain_path(const char *s)
{
	if (s[0] != '/' || s[1] == '\0')
		return false;
	while (*s == '/') {
		size_t n = strcspn(++s, "/");

		if (n == 0 || (n == 1 && s[0] == '.') ||
		    (n == 2 && s[0] == '.' && s[1] == '.'))
			return false;
		s += n;
	}
	return true;
}

int
plan_check(const struct plan *p, const char **ret_why)
{
	const char *why = NULL;

	if (p->name[0] == '\0')
		why = "name is empty";
	else if (p->argv[0] == NULL || p->argv[0][0] == '\0')
		why = "argv names no command";
	else if (p->cwd != NULL && p->cwd[0] != '/')
		why = "cwd is not absolute";
	else if (p->uid == 0)
		why = "uid 0 is refused: name another uid";
	else if (p->gid == 0)
		why = "gid 0 is refused: name another gid";
	for (size_t i = 0; why == NULL && i < p->nmounts; i++) {
		const struct plan_mount *m = &p->mounts[i];

		if (!is_plain_path(m->target))
			why = "mounts: a target is not absolute and plain";
		else if ((m->kind == PLAN_BIND_RO || m->kind == PLAN_BIND_RW) &&
		    m->source[0] != '/')
			why = "mounts: a source is not absolute";
		else if (m->kind == PLAN_TMPFS && m->size == 0)
			why = "mounts: a tmpfs has no size";
	}
	for (size_t i = 0; why == NULL && i < p->nfiles; i++)
		if (!is_plain_path(p->files[i].target))
			why = "files: a target is not absolute and plain";
	if (why == NULL)
		return 0;
	*ret_why = why;
	return -EINVAL;
}

int
plan_decode(
    const char *text, size_t len, struct plan **ret, const char **ret_why)
{
	struct json_fault fault;
	struct json_value v;
	struct plan *p;
	const char *why;

	if (len > PLAN_JSON_MAX) {
		*ret_why = "too long";
		return -EINVAL;
	}
	if (!json_check(text, len, &v, &fault)) {
		*ret_why = fault.why;
		return -EINVAL;
	}
	p = plan_new();
	why = read_object(
	    v, plan_fields, NFIELDS(plan_fields), p, "not a JSON object");
	if (why == NULL && plan_check(p, &why) == 0) {
		*ret = p;
		return 0;
	}
	plan_free(p);
	*ret_why = why;
	return -EINVAL;
}

static const char *
command_argv(struct json_value v, void *into)
{
	struct plan_command *c = into;

	return read_argv_into(v, &c->argv);
}

static const char *
command_env(struct json_value v, void *into)
{
	struct plan_command *c = into;

	return read_env_into(v, &c->envp);
}

static const char *
command_cwd(struct json_value v, void *into)
{
	struct plan_command *c = into;

	return read_string(v, &c->cwd) ? NULL : "cwd is no string";
}

static const struct field command_fields[] = {
	{ "argv", command_argv },
	{ "env", command_env },
	{ "cwd", command_cwd },
};

int
plan_command_decode(const char *text, size_t len, const struct plan *base,
    struct plan_command *ret, const char **ret_why)
{
	struct plan_command c = { 0 };
	struct json_fault fault;
	struct json_value v;
	const char *why;

	if (!json_check(text, len, &v, &fault)) {
		*ret_why = fault.why;
		return -EINVAL;
	}
	why = read_object(v, command_fields, NFIELDS(command_fields), &c,
	    "not a JSON object");
	if (why == NULL && (c.argv == NULL || c.argv[0] == NULL))
		why = "argv names no command";
	if (why == NULL && c.cwd != NULL && c.cwd[0] != '\0' &&
	    c.cwd[0] != '/')
		why = "cwd is not absolute";
	if (why != NULL) {
		plan_command_clear(&c);
		*ret_why = why;
		return -EINVAL;
	}
	if (c.envp == NULL)
		c.envp = strv_copy((const char *const *)base->envp);
	if (c.cwd == NULL || c.cwd[0] == '\0') {
		free(c.cwd);
		c.cwd = mem_strdup(base->cwd);
	}
	*ret = c;
	return 0;
}

void
plan_command_clear(struct plan_command *c)
{
	strv_free(c->argv);
	strv_free(c->envp);
	free(c->cwd);
	*c = (struct plan_command) { 0 };
}
