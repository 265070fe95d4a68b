/*
 * The scanner for texts that are there as a whole: proves that they are JSON
 * (RFC 8259) and finds values in them.  Used by every process for every line
 * it reads.  Everything goes by prove_value(), also the walks over values that
 * were proven before: a walk cannot leave its text, whatever it is given.
 * json_scan.c does the same for texts in pieces and has the same faults.
 */
#include "base/json.h"

#include <string.h>

#include "base/json_text.h"

/* A text and what is wrong with it. */
struct text {
	const char *start;
	const char *end;
	unsigned depth; /* that it may have */
	struct json_fault fault;
};

static const char *
fault(struct text *t, const char *at, const char *why)
{
	t->fault.offset = (size_t)(at - t->start);
	t->fault.why = at == t->end ? JSON_WHY_END : why;
	t->fault.is_json = false;
	return NULL;
}

static inline const char *
skip_blanks(const char *p, const char *end)
{
	while (p < end && json_is_blank(*p))
		p++;
	return p;
}

/*
 * The provers take where something begins and return what is behind it, or
 * NULL after fault().
 */

/* p: where a string is wrong, or cut. */
static const char *
string_fault(struct text *t, const char *p)
{
	const char *bad;

	if (p == t->end)
		return fault(t, p, JSON_WHY_END);
	if ((unsigned char)*p >= 0x80) {
		json_utf8_len(p, t->end, &bad);
		return fault(t, bad, JSON_WHY_UTF8);
	}
	if (*p != '\\')
		return fault(t, p, JSON_WHY_CONTROL);
	p++;
	if (p < t->end && *p == 'u')
		for (p++; p < t->end && json_hex(*p) >= 0; p++)
			continue;
	return fault(t, p, JSON_WHY_ESCAPE);
}

/* p: at the opening quote, which the caller has seen. */
static const char *
prove_string(struct text *t, const char *p)
{
	p = json_run(p + 1, t->end);
	if (p < t->end && *p != '"')
		p = json_text_skip(p, t->end);
	if (p == t->end || *p != '"')
		return string_fault(t, p);
	return p + 1;
}

/* One digit or more. */
static const char *
prove_digits(struct text *t, const char *p)
{
	if (p == t->end || !json_is_digit(*p))
		return fault(t, p, JSON_WHY_CHAR);
	while (p < t->end && json_is_digit(*p))
		p++;
	return p;
}

static const char *
prove_number(struct text *t, const char *p)
{
	if (*p == '-')
		p++;
	if (p < t->end && *p == '0')
		p++;
	else
		p = prove_digits(t, p);
	if (p != NULL && p < t->end && *p == '.')
		p = prove_digits(t, p + 1);
	if (p != NULL && p < t->end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < t->end && (*p == '+' || *p == '-'))
			p++;
		p = prove_digits(t, p);
	}
	return p;
}

static const char *
prove_word(struct text *t, const char *p, const char *word)
{
	for (; *word != '\0'; word++, p++)
		if (p == t->end || *p != *word)
			return fault(t, p, JSON_WHY_CHAR);
	return p;
}

static const char *
prove_scalar(struct text *t, const char *p)
{
	if (p == t->end)
		return fault(t, p, JSON_WHY_END);
	switch (*p) {
	case '"':
		return prove_string(t, p);
	case 't':
		return prove_word(t, p, "true");
	case 'f':
		return prove_word(t, p, "false");
	case 'n':
		return prove_word(t, p, "null");
	default:
		return prove_number(t, p);
	}
}

/* A member's name, where no blank stands any more. */
static const char *
prove_key(struct text *t, const char *p)
{
	if (p == t->end || *p != '"')
		return fault(t, p, JSON_WHY_CHAR);
	return prove_string(t, p);
}

/* The colon behind a name, with the blanks around it. */
static const char *
prove_colon(struct text *t, const char *p)
{
	p = skip_blanks(p, t->end);
	if (p == t->end || *p != ':')
		return fault(t, p, JSON_WHY_CHAR);
	return skip_blanks(p + 1, t->end);
}

/* All that stands in front of a member's value. */
static const char *
prove_name(struct text *t, const char *p)
{
	p = prove_key(t, skip_blanks(p, t->end));
	return p != NULL ? prove_colon(t, p) : NULL;
}

/* The containers that are open, a bit each: 1 for an object. */
struct nest {
	uint64_t bits[JSON_MAX_DEPTH / 64];
	unsigned depth;
	unsigned max;
};

static bool
nest_push(struct nest *n, bool object)
{
	uint64_t bit = (uint64_t)1 << n->depth % 64;

	if (n->depth == n->max)
		return false;
	if (object)
		n->bits[n->depth / 64] |= bit;
	else
		n->bits[n->depth / 64] &= ~bit;
	n->depth++;
	return true;
}

static bool
nest_in_object(const struct nest *n)
{
	return n->bits[(n->depth - 1) / 64] >> (n->depth - 1) % 64 & 1;
}

/*
 * After a value: closes what ends here, and comes to where the next value
 * begins, or with n->depth 0 behind the outermost.
 */
static const char *
prove_rest(struct text *t, const char *p, struct nest *n)
{
	while (n->depth > 0) {
		bool object = nest_in_object(n);

		p = skip_blanks(p, t->end);
		if (p == t->end)
			return fault(t, p, JSON_WHY_END);
		if (*p == ',')
			return object ? prove_name(t, p + 1)
				      : skip_blanks(p + 1, t->end);
		if (*p != (object ? '}' : ']'))
			return fault(t, p, JSON_WHY_CHAR);
		n->depth--;
		p++;
	}
	return p;
}

/* p: where a value begins, no blank; around: how many containers it is in. */
static const char *
prove_value(struct text *t, const char *p, unsigned around)
{
	struct nest n;

	n.depth = 0;
	n.max = t->depth - around;
	do {
		if (p < t->end && (*p == '{' || *p == '[')) {
			bool object = *p == '{';

			if (!nest_push(&n, object))
				return fault(t, p, JSON_WHY_DEEP);
			p = skip_blanks(p + 1, t->end);
			if (p == t->end || *p != (object ? '}' : ']')) {
				if (object)
					p = prove_name(t, p);
				continue;
			}
			n.depth--;
			p++;
		} else {
			p = prove_scalar(t, p);
		}
		if (p != NULL)
			p = prove_rest(t, p, &n);
	} while (p != NULL && n.depth > 0);
	return p;
}

static struct json_value
value_at(const char *p, const char *end)
{
	struct json_value v = {JSON_NUMBER, p, (size_t)(end - p)};

	switch (*p) {
	case '{':
		v.type = JSON_OBJECT;
		break;
	case '[':
		v.type = JSON_ARRAY;
		break;
	case '"':
		v.type = JSON_STRING;
		break;
	case 't':
		v.type = JSON_TRUE;
		break;
	case 'f':
		v.type = JSON_FALSE;
		break;
	case 'n':
		v.type = JSON_NULL;
		break;
	}
	return v;
}

static void
text_init(struct text *t, const char *p, size_t len, unsigned depth)
{
	t->depth = depth;
	t->start = len != 0 ? p : "";
	t->end = t->start + len;
	t->fault = (struct json_fault){0};
}

/* Nothing but blanks may follow. */
static bool
prove_end(struct text *t, const char *p)
{
	p = skip_blanks(p, t->end);
	if (p == t->end)
		return true;
	fault(t, p, JSON_WHY_AFTER);
	return false;
}

static bool
check(struct text *t, struct json_value *ret_value)
{
	const char *p = skip_blanks(t->start, t->end);
	const char *behind = prove_value(t, p, 0);

	if (behind == NULL || !prove_end(t, behind))
		return false;
	*ret_value = value_at(p, behind);
	return true;
}

/* RFC 8259; LIFECYCLE L9.4. */
bool
json_check_within(unsigned depth, const char *p, size_t len,
    struct json_value *ret_value, struct json_fault *ret_fault)
{
	struct json_value v;
	struct text t;
	bool ok;

	text_init(&t, p, len, depth);
	ok = check(&t, &v);
	if (ok && ret_value != NULL)
		*ret_value = v;
	if (!ok && ret_fault != NULL)
		*ret_fault = t.fault;
	return ok;
}

bool
json_check(const char *p, size_t len, struct json_value *ret_value,
    struct json_fault *ret_fault)
{
	return json_check_within(JSON_MAX_DEPTH, p, len, ret_value, ret_fault);
}

static struct json_want *
find_want(struct json_want *wants, size_t n, struct json_value name)
{
	for (size_t i = 0; i < n; i++)
		if (json_string_is(name, wants[i].name))
			return &wants[i];
	return NULL;
}

static void
forget(struct json_want *wants, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		wants[i].value = (struct json_value){0};
		wants[i].inner_good = false;
		if (wants[i].inner != NULL)
			forget(wants[i].inner, wants[i].ninner);
	}
}

static const char *pick(struct text *t, const char *p, unsigned around,
    struct json_want *wants, size_t n, const char **ret_twice);

/* A value; want: who asked for it first, NULL when nobody did. */
static const char *
pick_value(struct text *t, const char *p, unsigned around,
    struct json_want *want)
{
	const char *twice = NULL;

	if (want == NULL || want->inner == NULL || p == t->end || *p != '{')
		return prove_value(t, p, around);
	p = pick(t, p, around + 1, want->inner, want->ninner, &twice);
	want->inner_good = p != NULL && twice == NULL;
	return p;
}

/*
 * The members of the object at p (its brace), one by one; around: how many
 * containers a value of it is in.  Stops at the first thing that is no JSON;
 * of a wanted member that stands twice it keeps the first, and where the
 * second is in *ret_twice.
 */
static const char *
pick(struct text *t, const char *p, unsigned around, struct json_want *wants,
    size_t n, const char **ret_twice)
{
	p = skip_blanks(p + 1, t->end);
	if (p < t->end && *p == '}')
		return p + 1;
	for (;;) {
		const char *name = skip_blanks(p, t->end), *value;
		struct json_want *want;

		p = prove_key(t, name);
		if (p == NULL)
			return NULL;
		want = find_want(wants, n, value_at(name, p));
		if (want != NULL && want->value.type != JSON_NONE) {
			if (*ret_twice == NULL)
				*ret_twice = name;
			want = NULL;
		}
		value = prove_colon(t, p);
		if (value == NULL
		    || (p = pick_value(t, value, around, want)) == NULL)
			return NULL;
		if (want != NULL)
			want->value = value_at(value, p);
		p = skip_blanks(p, t->end);
		if (p < t->end && *p == '}')
			return p + 1;
		if (p == t->end || *p != ',')
			return fault(t, p, JSON_WHY_CHAR);
		p++;
	}
}

/* Faults of a text that is JSON, but not what pick wants. */
static bool
pick_fault(struct text *t, const char *at, const char *why)
{
	fault(t, at, why);
	t->fault.is_json = true;
	return false;
}

static bool
pick_text(struct text *t, struct json_want *wants, size_t n)
{
	const char *p = skip_blanks(t->start, t->end), *twice = NULL;
	struct json_value v;

	forget(wants, n);
	if (p == t->end || *p != '{')
		return check(t, &v) && pick_fault(t, p, "not an object");
	p = pick(t, p, 1, wants, n, &twice);
	if (p == NULL || !prove_end(t, p)) {
		forget(wants, n);
		return false;
	}
	return twice == NULL || pick_fault(t, twice, "a member stands twice");
}

bool
json_object_pick_within(unsigned depth, const char *p, size_t len,
    struct json_want *wants, size_t nwants, struct json_fault *ret_fault)
{
	struct text t;
	bool ok;

	text_init(&t, p, len, depth);
	ok = pick_text(&t, wants, nwants);
	if (!ok && ret_fault != NULL)
		*ret_fault = t.fault;
	return ok;
}

bool
json_object_pick(const char *p, size_t len, struct json_want *wants,
    size_t nwants, struct json_fault *ret_fault)
{
	return json_object_pick_within(
	    JSON_MAX_DEPTH, p, len, wants, nwants, ret_fault);
}

/* A member of the notes with this name: NULL when none or two are there. */
static const struct json_note *
find_note(const struct json_notes *notes, const char *text, unsigned depth,
    size_t from, size_t end, const char *name, bool *ret_twice)
{
	const struct json_note *found = NULL;

	for (size_t i = 0; i < notes->n; i++) {
		const struct json_note *n = &notes->notes[i];

		if (n->depth != depth || n->name < from || n->name >= end ||
		    !json_string_is(
			value_at(text + n->name, text + n->name_end), name))
			continue;
		if (found != NULL)
			*ret_twice = true;
		found = n;
	}
	return found;
}

bool
json_notes_pick(const struct json_notes *notes, const char *text,
    const struct json_value *object, struct json_want *wants, size_t nwants)
{
	size_t from = object != NULL ? (size_t)(object->p - text) : 0;
	size_t end = object != NULL ? from + object->len : SIZE_MAX;
	const struct json_note *found[JSON_NOTES_MAX];
	bool twice = false;

	if (notes->too_many || nwants > JSON_NOTES_MAX ||
	    (object != NULL ? object->type != JSON_OBJECT : notes->n == 0))
		return false;
	for (size_t i = 0; i < nwants; i++)
		found[i] = find_note(notes, text, object != NULL ? 2 : 1,
		    from, end, wants[i].name, &twice);
	if (twice)
		return false;
	for (size_t i = 0; i < nwants; i++) {
		const struct json_note *n = found[i];

		wants[i].value = (struct json_value){0};
		if (n != NULL)
			wants[i].value =
			    value_at(text + n->value, text + n->end);
	}
	return true;
}

bool
json_pick(struct json_value object, struct json_want *wants, size_t n)
{
	return json_object_pick(object.p, object.len, wants, n, NULL);
}

struct json_value
json_member(struct json_value object, const char *name)
{
	struct json_want want = {.name = name};

	if (!json_pick(object, &want, 1))
		return (struct json_value){0};
	return want.value;
}

void
json_iter_init(struct json_iter *it, struct json_value container)
{
	it->object = container.type == JSON_OBJECT;
	if ((!it->object && container.type != JSON_ARRAY) ||
	    container.len < 2) {
		it->p = it->end = "";
		return;
	}
	it->p = container.p + 1;
	it->end = container.p + container.len - 1;
}

bool
json_iter_next(
    struct json_iter *it, struct json_value *ret_key, struct json_value *ret)
{
	struct text t = {
	    .start = it->p, .end = it->end, .depth = JSON_MAX_DEPTH};
	const char *p = skip_blanks(it->p, it->end), *behind;
	struct json_value key = {0};

	it->p = it->end; /* unless there is one more */
	if (p == it->end)
		return false;
	if (it->object) {
		behind = prove_key(&t, p);
		if (behind == NULL)
			return false;
		key = value_at(p, behind);
		p = prove_colon(&t, behind);
	}
	if (p == NULL || (behind = prove_value(&t, p, 0)) == NULL)
		return false;
	if (ret_key != NULL)
		*ret_key = key;
	*ret = value_at(p, behind);
	p = skip_blanks(behind, it->end);
	it->p = p < it->end ? p + 1 : p; /* a comma */
	return true;
}
