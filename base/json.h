#ifndef OZ0_BASE_JSON_H
#define OZ0_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The scanner: proves what a text is and finds parts of it, and builds no
 * tree.  It is what lets the node relay JSON without rewriting it, so it must
 * accept exactly RFC 8259 (UTF-8 checked; lone surrogates in escapes and
 * duplicate keys are JSON and pass) and have bounds for everything.
 * It allocates nothing and recurses no deeper than what is wanted of it.
 */

#define JSON_MAX_DEPTH 512
/*
 * A line of a server or a client may be nested so deep: with all that the node
 * itself puts around a part of it on the way (an answer, a step, a list, a
 * batch: five at most) it is within JSON_MAX_DEPTH for whoever reads it next.
 */
#define JSON_LINE_DEPTH 500

enum json_type {
	JSON_NONE, /* absent */
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

/* A value as it stands in the text, blanks around it not included. */
struct json_value {
	enum json_type type;
	const char *p;
	size_t len;
};

/* Where and why a text is not what it should be. */
struct json_fault {
	size_t offset;
	const char *why; /* static words: "invalid UTF-8", "too deep" */
	bool is_json;	 /* JSON all the same: not what pick was to find */
};

/*
 * A text that arrives in pieces.  Feed it; json_scan_end() says whether what
 * was fed is exactly one JSON value with blanks around it.  A fault is final.
 */
struct json_scan {
	uint64_t stack[JSON_MAX_DEPTH / 64]; /* bit: in an object */
	unsigned depth;
	unsigned state;
	unsigned utf8;
	uint8_t utf8_need;
	const char *word;
	size_t offset;
	unsigned max_depth; /* may be set lower after json_scan_init() */
	size_t at;    /* of the byte that is looked at */
	size_t ended; /* behind the last value that ended */
	struct json_notes *notes;
	struct json_fault fault;
};

void json_scan_init(struct json_scan *s);
bool json_scan_feed(struct json_scan *s, const char *p, size_t len);
bool json_scan_end(struct json_scan *s, struct json_fault *ret_fault);

/*
 * What a scan met on its way, so that nobody need walk through the text once
 * more: the members of the outermost object, and those of the objects that
 * are their values.  A member that has not ended yet has end 0.
 */
#define JSON_NOTES_MAX 32
struct json_notes {
	struct json_note {
		unsigned depth; /* 1, or 2 */
		size_t name, name_end;
		size_t value, end;
	} notes[JSON_NOTES_MAX];
	size_t n;
	size_t outer;  /* the last one of depth 1, if n is not 0 */
	bool too_many; /* there were more */
	bool breaks;   /* a CR or LF stands between two tokens */
};
/* Before the first byte is fed; notes has to last as long as the scan. */
void json_scan_note(struct json_scan *s, struct json_notes *notes);
/* The first byte of the value of a member of depth 1 that is being scanned;
 * false: it is in none of that name. */
bool json_notes_in(const struct json_notes *notes, const char *text,
    const char *name, size_t *ret_value);

/* Is this exactly one JSON value (blanks around it allowed)? */
bool json_check(const char *p, size_t len, struct json_value *ret_value,
    struct json_fault *ret_fault);
/* The same, nested no deeper than that (JSON_MAX_DEPTH at most). */
bool json_check_within(unsigned depth, const char *p, size_t len,
    struct json_value *ret_value, struct json_fault *ret_fault);

/*
 * One pass over a text that must be one JSON object: proves the whole text and
 * picks the values of the wanted members of its top level.  A wanted member
 * that is absent is left JSON_NONE.  One that stands there twice is a fault:
 * two readers of it could differ.  Keys are compared unescaped.
 * On a fault with is_json (no object, or a member twice) the wants hold what
 * was found first, so that an error can name the id; else JSON_NONE all.
 *
 * A want may have wants of its own: members of its value, picked in the same
 * pass.  inner_good says what json_pick() on the value would say.
 */
struct json_want {
	const char *name;
	struct json_value value;
	struct json_want *inner; /* NULL: none */
	size_t ninner;
	bool inner_good;
};
bool json_object_pick(const char *p, size_t len, struct json_want *wants,
    size_t nwants, struct json_fault *ret_fault);
/* depth: JSON_MAX_DEPTH at most, and no less than the wants go down. */
bool json_object_pick_within(unsigned depth, const char *p, size_t len,
    struct json_want *wants, size_t nwants, struct json_fault *ret_fault);

/*
 * The same from the notes of a scan of text that ended well: of the outermost
 * object, or of a value of depth 1 that was picked from it (object not NULL).
 * false, wants untouched: json_object_pick() has to say what is there.
 */
bool json_notes_pick(const struct json_notes *notes, const char *text,
    const struct json_value *object, struct json_want *wants, size_t nwants);

/*
 * Parts of a value that was proven.  json_pick() is json_object_pick() on a
 * value (false when it is no object, or a wanted member stands there twice).
 */
bool json_pick(struct json_value object, struct json_want *wants, size_t n);
/* One member by name; JSON_NONE when absent, twice there, or no object. */
struct json_value json_member(struct json_value object, const char *name);

struct json_iter {
	const char *p;
	const char *end;
	bool object;
};
void json_iter_init(struct json_iter *it, struct json_value container);
/* key is a string value (JSON_NONE in an array); false at the end. */
bool json_iter_next(
    struct json_iter *it, struct json_value *ret_key, struct json_value *ret);

/*
 * Typed readings.  Each is false, output untouched, when the value is not of
 * that type or does not fit.
 */
bool json_is(struct json_value v, enum json_type type);
bool json_to_bool(struct json_value v, bool *ret);
bool json_to_int64(struct json_value v, int64_t *ret); /* 7 and 7.0 and 7e0 */
bool json_to_uint64(struct json_value v, uint64_t *ret);
bool json_to_double(struct json_value v, double *ret); /* finite only */
/*
 * A string unescaped as UTF-8 into out (NUL added), at most size - 1 bytes.
 * false also when it holds U+0000 or a lone surrogate.
 */
bool json_to_string(struct json_value v, char *out, size_t size);
/* Would json_to_new_string() take it? */
bool json_fits_string(struct json_value v, size_t max);
/* The same in memory of its own, at most max bytes. */
bool json_to_new_string(struct json_value v, size_t max, char **ret);
bool json_string_is(struct json_value v, const char *s);

/* Replaces each CR and LF between tokens of a proven text by a space. */
void json_one_line(char *p, size_t len);

#endif
