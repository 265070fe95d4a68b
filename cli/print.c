/*
 * What oz0 prints, and how it reads what it prints.  Runs in oz0.
 */
#include "cli/print.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/exit.h"

/* ---- out ---- */

void
print_json(struct json_value v)
{
	fwrite(v.p, 1, v.len, stdout);
	putchar('\n');
}

/* Bytes from p on that are one control character; 0: none. */
static size_t
control_at(const unsigned char *p, size_t len)
{
	if (p[0] == '\r' && len > 1 && p[1] == '\n')
		return 0; /* a line's end, as others write it */
	if ((p[0] < 0x20 && p[0] != '\n' && p[0] != '\t') || p[0] == 0x7f)
		return 1;
	/* U+0080 to U+009F do on many terminals what ESC does */
	return p[0] == 0xc2 && len > 1 && p[1] < 0xa0 ? 2 : 0;
}

void
print_text(FILE *f, const char *p, size_t len)
{
	if (!isatty(fileno(f))) {
		fwrite(p, 1, len, f);
		return;
	}
	for (size_t i = 0; i < len; i++) {
		size_t n = control_at((const unsigned char *)p + i, len - i);

		putc(n > 0 ? '?' : p[i], f);
		i += n > 0 ? n - 1 : 0;
	}
}

void
complain(const char *fmt, ...)
{
	va_list ap;
	char *s;

	fflush(stdout);
	va_start(ap, fmt);
	s = mem_vprintf(fmt, ap);
	va_end(ap);
	fputs("oz0: ", stderr);
	print_text(stderr, s, strlen(s));
	/* `run` may have made it raw */
	fputs(isatty(STDERR_FILENO) ? "\r\n" : "\n", stderr);
	free(s);
}

void
print_flush(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return;
	complain("cannot write the output: %s", strerror(errno));
	_exit(CLI_UNKNOWN);
}

/* ---- strings ---- */

static void
put_character(struct buf *b, uint32_t c)
{
	if (c < 0x80) {
		buf_putc(b, (char)c);
	} else if (c < 0x800) {
		buf_putc(b, (char)(0xc0 | c >> 6));
		buf_putc(b, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		buf_putc(b, (char)(0xe0 | c >> 12));
		buf_putc(b, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_putc(b, (char)(0x80 | (c & 0x3f)));
	} else {
		buf_putc(b, (char)(0xf0 | c >> 18));
		buf_putc(b, (char)(0x80 | (c >> 12 & 0x3f)));
		buf_putc(b, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_putc(b, (char)(0x80 | (c & 0x3f)));
	}
}

/* The four digits of \uXXXX at p; UINT32_MAX: it is none. */
static uint32_t
unit_at(const char *p, const char *end)
{
	char digits[5] = "";

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return UINT32_MAX;
	memcpy(digits, p + 2, 4);
	return (uint32_t)strtoul(digits, NULL, 16);
}

/* *p stands on a backslash of a proven string; it is moved on. */
static uint32_t
escape_at(const char **p, const char *end)
{
	static const char letters[] = "bfnrt", means[] = "\b\f\n\r\t";
	uint32_t c = unit_at(*p, end), low;
	const char *l;

	if (c == UINT32_MAX) {
		char letter = (*p)[1];

		*p += 2;
		l = strchr(letters, letter);
		return l != NULL ? (uint32_t)means[l - letters]
				 : (uint32_t)letter;
	}
	*p += 6;
	if (c < 0xd800 || c > 0xdfff)
		return c;
	low = c < 0xdc00 ? unit_at(*p, end) : 0;
	if (low < 0xdc00 || low > 0xdfff)
		return 0xfffd;
	*p += 6;
	return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
}

static char *
unescape(struct json_value v, size_t *ret_len)
{
	const char *p = v.p + 1, *end = v.p + v.len - 1;
	struct buf b = { 0 };

	while (p < end) {
		const char *esc = memchr(p, '\\', (size_t)(end - p));

		if (esc == NULL)
			esc = end;
		buf_put(&b, p, (size_t)(esc - p));
		p = esc;
		if (p < end)
			put_character(&b, escape_at(&p, end));
	}
	return buf_steal(&b, ret_len);
}

char *
text_of(struct json_value v, size_t *ret_len)
{
	char *s;

	if (v.type == JSON_STRING)
		return unescape(v, ret_len);
	s = v.type == JSON_NONE ? mem_strdup("") : mem_strndup(v.p, v.len);
	*ret_len = strlen(s);
	return s;
}

/* Texts of the message at hand. */
static struct member {
	struct member *next;
	char text[500];
} *members;

const char *
member_text(struct json_value object, const char *name)
{
	struct member *m = mem_alloc(sizeof(*m));
	size_t len;
	char *s;

	s = text_of(json_member(object, name), &len);
	str_copy(m->text, sizeof(m->text), s);
	free(s);
	m->next = members;
	members = m;
	return m->text;
}

void
member_forget(void)
{
	while (members != NULL) {
		struct member *m = members;

		members = m->next;
		free(m);
	}
}

bool
member_true(struct json_value object, const char *name)
{
	bool is = false;

	json_to_bool(json_member(object, name), &is);
	return is;
}

void
member_items(struct json_value object, const char *name, struct json_iter *ret)
{
	struct json_value list = json_member(object, name);

	if (list.type != JSON_ARRAY)
		list = (struct json_value) { JSON_ARRAY, "[]", 2 };
	json_iter_init(ret, list);
}

const char *
member_clock(struct json_value object, const char *name)
{
	static char out[13];
	const char *time = member_text(object, name);

	snprintf(out, sizeof(out), "%.12s", strlen(time) > 23 ? time + 11 : "");
	return out;
}

void
age_format(double seconds, char *out, size_t size)
{
	unsigned long n = seconds < 0 ? 0 : (unsigned long)seconds;

	if (n < 60)
		snprintf(out, size, "%lus", n);
	else if (n < 3600)
		snprintf(out, size, "%lum%02lus", n / 60, n % 60);
	else if (n < 86400)
		snprintf(out, size, "%luh%02lum", n / 3600, n / 60 % 60);
	else
		snprintf(out, size, "%lud%02luh", n / 86400, n / 3600 % 24);
}

/* ---- colour ---- */

#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"

static const struct {
	const char *word, *color;
} colors[] = {
	{ "failed", RED },
	{ "FAILED", RED },
	{ "lost", RED },
	{ "LOST", RED },
	{ "refused", RED },
	{ "degraded", RED },
	{ "stuck", RED },
	{ "backoff", RED },
	{ "fault", RED },
	{ "session_lost", RED },
	{ "worker_ended", RED },
	{ "canceled", YELLOW },
	{ "CANCELED", YELLOW },
	{ "cancelling", YELLOW },
	{ "closing", YELLOW },
	{ "draining", YELLOW },
	{ "holding", YELLOW },
	{ "stopping", YELLOW },
	{ "starting", YELLOW },
	{ "waiting_retry", YELLOW },
	{ "waiting_approval", YELLOW },
	{ "cancel_sent", YELLOW },
	{ "attempt_stopped", YELLOW },
	{ "call_cancelling", YELLOW },
	{ "job_cancelling", YELLOW },
	{ "job_canceled", YELLOW },
	{ "late_answer", YELLOW },
	{ "completed", GREEN },
	{ "ready", GREEN },
};

const char *
color_of(const char *word)
{
	for (size_t i = 0; i < sizeof(colors) / sizeof(colors[0]); i++)
		if (strcmp(colors[i].word, word) == 0)
			return colors[i].color;
	return "";
}
