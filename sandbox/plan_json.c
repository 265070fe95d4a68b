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
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "sandbox/strv.h"

#define STRING_MAX PLAN_JSON_MAX /* execve() has a bound of its own */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const kind_names[] = {
    [PLAN_BIND_RO] = "ro",
    [PLAN_BIND_RW] = "rw",
    [PLAN_TMPFS] = "tmpfs",
    [PLAN_SYMLINK] = "symlink",
};

static const char *const network_names[] = {
    [PLAN_NET_NONE] = "none",
    [PLAN_NET_HOST] = "host",
};

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
encode_mounts(struct jsonw *w, const struct plan *p)
{
	jsonw_array(w, "mounts");
	for (size_t i = 0; i < p->nmounts; i++) {
		const struct plan_mount *m = &p->mounts[i];

		jsonw_object(w, NULL);
		jsonw_string(w, "kind", kind_names[m->kind]);
		jsonw_string(w, "source", m->source);
		jsonw_string(w, "target", m->target);
		if (m->kind == PLAN_TMPFS)
			jsonw_uint(w, "size", m->size);
		if (m->optional)
			jsonw_bool(w, "optional", true);
		if (m->inode != 0) {
			jsonw_uint(w, "device", m->device);
			jsonw_uint(w, "inode", m->inode);
		}
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
}

static void
encode_files(struct jsonw *w, const struct plan *p)
{
	jsonw_array(w, "files");
	for (size_t i = 0; i < p->nfiles; i++) {
		jsonw_object(w, NULL);
		jsonw_string(w, "target", p->files[i].target);
		jsonw_string(w, "text", p->files[i].text);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
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
	jsonw_string(&w, "network", network_names[p->network]);
	encode_mounts(&w, p);
	encode_files(&w, p);
	jsonw_uint(&w, "tmp", p->tmp_size);
	jsonw_uint(&w, "nofile", p->nofile);
	jsonw_bool(&w, "tty", p->tty);
	jsonw_bool(&w, "best", p->best);
	jsonw_bool(&w, "landlock", p->landlock);
	jsonw_bool(&w, "seccomp", p->seccomp);
	jsonw_object_end(&w);
}

/*
 * Reading: a table of an object's keys, each with what reads its value into
 * the member at offset, and what is said when that fails.
 */
struct field {
	const char *name;
	bool (*read)(struct json_value v, void *member);
	size_t offset;
	const char *why;
};

static bool
read_bool(struct json_value v, void *member)
{
	return json_to_bool(v, member);
}

static bool
read_size(struct json_value v, void *member)
{
	return json_to_uint64(v, member);
}

/* A uid or gid: (uint32_t)-1 is nobody's. */
static bool
read_id(struct json_value v, void *member)
{
	uint32_t *id = member;
	uint64_t n;

	if (!json_to_uint64(v, &n) || n >= UINT32_MAX)
		return false;
	*id = (uint32_t)n;
	return true;
}

static bool
read_string(struct json_value v, void *member)
{
	char **field = member;
	char *s;

	if (!json_to_new_string(v, STRING_MAX, &s))
		return false;
	free(*field);
	*field = s;
	return true;
}

static bool
read_name(struct json_value v, const char *const *names, size_t n, int *ret)
{
	for (size_t i = 0; i < n; i++)
		if (json_string_is(v, names[i])) {
			*ret = (int)i;
			return true;
		}
	return false;
}

static bool
read_kind(struct json_value v, void *member)
{
	enum plan_mount_kind *kind = member;
	int n;

	if (!read_name(v, kind_names, COUNT(kind_names), &n))
		return false;
	*kind = (enum plan_mount_kind)n;
	return true;
}

static bool
read_network(struct json_value v, void *member)
{
	enum plan_network *network = member;
	int n;

	if (!read_name(v, network_names, COUNT(network_names), &n))
		return false;
	*network = (enum plan_network)n;
	return true;
}

static bool
read_argv(struct json_value v, void *member)
{
	char ***field = member;
	char **argv = mem_array(1, sizeof(*argv));
	struct json_value key, item;
	struct json_iter it;
	bool good = json_is(v, JSON_ARRAY);
	char *s;

	if (good)
		json_iter_init(&it, v);
	while (good && json_iter_next(&it, &key, &item)) {
		good = json_to_new_string(item, STRING_MAX, &s);
		if (good)
			strv_add(&argv, s);
	}
	if (!good) {
		strv_free(argv);
		return false;
	}
	strv_free(*field);
	*field = argv;
	return true;
}

/* One variable more; its name is none that is there, and has no '='. */
static bool
add_variable(char ***env, struct json_value key, struct json_value value)
{
	char *name = NULL, *text = NULL;
	bool good;

	good = json_to_new_string(key, STRING_MAX, &name) &&
	       json_to_new_string(value, STRING_MAX, &text) &&
	       name[0] != '\0' && strchr(name, '=') == NULL &&
	       strv_getenv(*env, name) == NULL;
	if (good)
		strv_setenv(env, name, text);
	free(name);
	free(text);
	return good;
}

static bool
read_env(struct json_value v, void *member)
{
	char ***field = member;
	char **env = mem_array(1, sizeof(*env));
	struct json_value key, item;
	struct json_iter it;
	bool good = json_is(v, JSON_OBJECT);

	if (good)
		json_iter_init(&it, v);
	while (good && json_iter_next(&it, &key, &item))
		good = add_variable(&env, key, item);
	if (!good) {
		strv_free(env);
		return false;
	}
	strv_free(*field);
	*field = env;
	return true;
}

/* NULL, or why not. */
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
		size_t i = 0;

		while (i < n && !json_string_is(key, fields[i].name))
			i++;
		if (i == n)
			return "unknown key";
		if (seen & (1u << i))
			return "a key stands twice";
		seen |= 1u << i;
		if (!fields[i].read(value, (char *)into + fields[i].offset))
			return fields[i].why;
	}
	return NULL;
}

#define MOUNT(m) offsetof(struct plan_mount, m)
static const struct field mount_fields[] = {
    {"kind", read_kind, MOUNT(kind),
	"mounts: kind is not ro, rw, tmpfs or symlink"},
    {"source", read_string, MOUNT(source), "mounts: source is no string"},
    {"target", read_string, MOUNT(target), "mounts: target is no string"},
    {"size", read_size, MOUNT(size), "mounts: size is no size"},
    {"optional", read_bool, MOUNT(optional), "mounts: optional is no bool"},
    {"device", read_size, MOUNT(device), "mounts: device is no number"},
    {"inode", read_size, MOUNT(inode), "mounts: inode is no number"},
};

static const struct field file_fields[] = {
    {"target", read_string, offsetof(struct plan_file, target),
	"files: target is no string"},
    {"text", read_string, offsetof(struct plan_file, text),
	"files: text is no string"},
};

static const char *
add_mount(struct plan *p, struct json_value v)
{
	struct plan_mount m = {.kind = PLAN_BIND_RO};
	const char *why = read_object(
	    v, mount_fields, COUNT(mount_fields), &m, "mounts: not an object");

	if (why == NULL && m.target == NULL)
		why = "mounts: no target";
	if (why == NULL && m.source == NULL && m.kind != PLAN_TMPFS)
		why = "mounts: no source";
	if (why == NULL) {
		plan_add_mount(
		    p, m.kind, m.source, m.target, m.size, m.optional);
		plan_pin_mount(p, m.device, m.inode);
	}
	free(m.source);
	free(m.target);
	return why;
}

static const char *
add_file(struct plan *p, struct json_value v)
{
	struct plan_file f = {0};
	const char *why = read_object(
	    v, file_fields, COUNT(file_fields), &f, "files: not an object");

	if (why == NULL && (f.target == NULL || f.text == NULL))
		why = "files: no target or no text";
	if (why == NULL)
		plan_add_file(p, f.target, f.text);
	free(f.target);
	free(f.text);
	return why;
}

/* Each item of an array that may be absent. */
static const char *
add_each(struct plan *p, struct json_value array,
    const char *(*add)(struct plan *p, struct json_value v))
{
	struct json_value key, item;
	struct json_iter it;

	if (array.type == JSON_NONE)
		return NULL;
	json_iter_init(&it, array);
	while (json_iter_next(&it, &key, &item)) {
		const char *why = add(p, item);

		if (why != NULL)
			return why;
	}
	return NULL;
}

/* The plan, and the arrays whose items are read once it is known whole. */
struct reading {
	struct plan p;
	struct json_value mounts;
	struct json_value files;
};

static bool
read_array(struct json_value v, void *member)
{
	struct json_value *array = member;

	if (!json_is(v, JSON_ARRAY))
		return false;
	*array = v;
	return true;
}

#define PLAN(m) offsetof(struct reading, p.m)
static const struct field plan_fields[] = {
    {"name", read_string, PLAN(name), "name is no string"},
    {"argv", read_argv, PLAN(argv), "argv: not an array of strings"},
    {"env", read_env, PLAN(envp),
	"env: not an object of strings with names of their own"},
    {"cwd", read_string, PLAN(cwd), "cwd is no string"},
    {"hostname", read_string, PLAN(hostname), "hostname is no string"},
    {"uid", read_id, PLAN(uid), "uid is no uid"},
    {"gid", read_id, PLAN(gid), "gid is no gid"},
    {"network", read_network, PLAN(network),
	"network is neither none nor host"},
    {"mounts", read_array, offsetof(struct reading, mounts),
	"mounts: not an array"},
    {"files", read_array, offsetof(struct reading, files),
	"files: not an array"},
    {"tmp", read_size, PLAN(tmp_size), "tmp is no size"},
    {"nofile", read_size, PLAN(nofile), "nofile is no number"},
    {"tty", read_bool, PLAN(tty), "tty is no bool"},
    {"best", read_bool, PLAN(best), "best is no bool"},
    {"landlock", read_bool, PLAN(landlock), "landlock is no bool"},
    {"seccomp", read_bool, PLAN(seccomp), "seccomp is no bool"},
};

int
plan_decode(
    const char *text, size_t len, struct plan **ret, const char **ret_why)
{
	struct reading r = {0};
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
	r.p = *p;
	why = read_object(
	    v, plan_fields, COUNT(plan_fields), &r, "not a JSON object");
	*p = r.p;
	if (why == NULL)
		why = add_each(p, r.mounts, add_mount);
	if (why == NULL)
		why = add_each(p, r.files, add_file);
	if (why == NULL && plan_check(p, &why) == 0) {
		*ret = p;
		return 0;
	}
	plan_free(p);
	*ret_why = why;
	return -EINVAL;
}

static const struct field command_fields[] = {
    {"argv", read_argv, offsetof(struct plan_command, argv),
	"argv: not an array of strings"},
    {"env", read_env, offsetof(struct plan_command, envp),
	"env: not an object of strings with names of their own"},
    {"cwd", read_string, offsetof(struct plan_command, cwd),
	"cwd is no string"},
};

int
plan_command_decode(const char *text, size_t len, const struct plan *base,
    struct plan_command *ret, const char **ret_why)
{
	struct plan_command c = {0};
	struct json_fault fault;
	struct json_value v;
	const char *why;

	if (!json_check(text, len, &v, &fault)) {
		*ret_why = fault.why;
		return -EINVAL;
	}
	why = read_object(
	    v, command_fields, COUNT(command_fields), &c, "not a JSON object");
	if (why == NULL && (c.argv == NULL || c.argv[0] == NULL))
		why = "argv names no command";
	if (why == NULL && c.cwd != NULL && c.cwd[0] != '\0' && c.cwd[0] != '/')
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
	*c = (struct plan_command){0};
}
