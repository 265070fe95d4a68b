/*
 * Lists of people in the configuration: users and @groups, by name or by
 * number, looked up once when the file is read (SESSION, Who may do what), so
 * that no name is looked up while the node runs.  Runs in oz0d when the
 * configuration is read.
 */
#include "supervisor/conf_internal.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A uid or gid in digits; the last number means "none" to the kernel. */
static bool
parse_id(const char *s, uint32_t *ret)
{
	size_t n = strspn(s, "0123456789");
	unsigned long v;

	if (n == 0 || n > 10 || s[n] != '\0')
		return false;
	v = strtoul(s, NULL, 10);
	if (v >= UINT32_MAX)
		return false;
	*ret = (uint32_t)v;
	return true;
}

bool
conf_user_find(const char *word, uid_t *ret_uid, gid_t *ret_gid)
{
	struct passwd *pw = getpwnam(word);
	uint32_t id;

	if (pw == NULL && parse_id(word, &id)) {
		pw = getpwuid(id);
		*ret_uid = id;
		*ret_gid = pw != NULL ? pw->pw_gid : id;
		return true;
	}
	if (pw == NULL)
		return false;
	*ret_uid = pw->pw_uid;
	*ret_gid = pw->pw_gid;
	return true;
}

static bool
group_find(const char *word, gid_t *ret)
{
	struct group *gr = getgrnam(word);
	uint32_t id;

	if (gr != NULL)
		*ret = gr->gr_gid;
	else if (parse_id(word, &id))
		*ret = id;
	else
		return false;
	return true;
}

void
conf_who_add_uid(struct conf_who *w, uid_t uid)
{
	w->uids = mem_realloc(w->uids, (w->nuids + 1) * sizeof(*w->uids));
	w->uids[w->nuids++] = uid;
}

void
conf_who_clear(struct conf_who *w)
{
	free(w->uids);
	free(w->gids);
	conf_strings_free(w->words);
	memset(w, 0, sizeof(*w));
}

static bool
add_word(struct conf_reader *r, struct conf_at at, const char *key,
    const char *word, struct conf_who *w)
{
	uid_t uid;
	gid_t gid;

	if (word[0] != '@') {
		if (!conf_user_find(word, &uid, &gid))
			return conf_fail(
			    r, at, key, "there is no user `%s'", word);
		conf_who_add_uid(w, uid);
		return true;
	}
	if (!group_find(word + 1, &gid))
		return conf_fail(
		    r, at, key, "there is no group `%s'", word + 1);
	w->gids = mem_realloc(w->gids, (w->ngids + 1) * sizeof(*w->gids));
	w->gids[w->ngids++] = gid;
	return true;
}

bool
conf_get_who(struct conf_reader *r, struct conf_at at, const char *key,
    struct conf_who *ret)
{
	struct conf_who w = {0};

	if (!conf_get_strings(r, at, key, false, &w.words))
		return false;
	if (w.words == NULL)
		return true;
	for (size_t i = 0; w.words[i] != NULL; i++)
		if (!add_word(r, at, key, w.words[i], &w)) {
			conf_who_clear(&w);
			return false;
		}
	conf_who_clear(ret);
	*ret = w;
	return true;
}
