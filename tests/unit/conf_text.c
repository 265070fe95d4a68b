/*
 * Configurations as texts: see conf_text.h.
 */
#include "tests/unit/conf_text.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

static char *
quoted(const char *text)
{
	char *s = mem_strdup(text);

	for (char *p = s; *p != '\0'; p++)
		if (*p == '\'')
			*p = '"';
	return s;
}

struct conf *
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

void
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

void
bad_node(const char *key, const char *value, const char *words)
{
	char *text = mem_printf("{'node':{'%s':%s}}", key, value);
	char *path = mem_printf("node.%s: ", key);

	bad(text, path);
	bad(text, words);
	free(path);
	free(text);
}

void
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

char *
printed(const struct conf *c)
{
	struct buf out = {0};

	conf_print(c, &out);
	return buf_steal(&out, NULL);
}

void
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
