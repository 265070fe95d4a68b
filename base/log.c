/*
 * The log: whole lines to stderr, or to a sink.  A reader that went away or
 * does not read never blocks the writer: stderr is written once, and given up
 * for good when it is a broken pipe (B007).
 */
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOG_LINE 4096

static const char *log_ident = "oz0";
static bool log_prefixed;
static bool log_broken;
static enum log_level log_max = LOG_LEVEL_INFO;
static void (*log_sink)(enum log_level, const char *, void *);
static void *log_sink_arg;

static const struct {
	const char *word;
	enum log_level level;
} levels[] = { { "error", LOG_LEVEL_ERROR }, { "warning", LOG_LEVEL_WARNING },
	{ "notice", LOG_LEVEL_NOTICE }, { "info", LOG_LEVEL_INFO },
	{ "debug", LOG_LEVEL_DEBUG } };

void
log_init(const char *ident, bool prefixed)
{
	log_ident = ident;
	log_prefixed = prefixed;
}

void
log_set_level(enum log_level level)
{
	log_max = level;
}

enum log_level
log_get_level(void)
{
	return log_max;
}

bool
log_level_parse(const char *word, enum log_level *ret)
{
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (strcmp(word, levels[i].word) == 0) {
			*ret = levels[i].level;
			return true;
		}
	return false;
}

void
log_set_sink(void (*sink)(enum log_level, const char *, void *), void *arg)
{
	log_sink = sink;
	log_sink_arg = arg;
}

/* A log line never forges another one: control characters are shown. */
static void
tame(char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = '?';
}

static void
write_line(enum log_level level, const char *text)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
	char line[LOG_LINE + 64];
	const char *word = level <= LOG_LEVEL_ERROR ? "error: "
	    : level == LOG_LEVEL_WARNING	    ? "warning: "
						    : "";
	int n;

	if (log_broken)
		return;
	if (log_prefixed)
		n = snprintf(line, sizeof(line), "<%d>%s: %s\n", (int)level,
		    log_ident, text);
	else
		n = snprintf(
		    line, sizeof(line), "%s: %s%s\n", log_ident, word, text);
	if (n < 0 || poll(&p, 1, 0) < 0)
		return;
	if ((size_t)n >= sizeof(line)) {
		n = (int)sizeof(line) - 1;
		line[n - 1] = '\n';
	}
	if (p.revents & (POLLERR | POLLNVAL)) {
		log_broken = true;
		return;
	}
	if ((p.revents & POLLOUT) == 0)
		return; /* nobody reads: the line is dropped */
	if (write(STDERR_FILENO, line, (size_t)n) < 0 && errno == EPIPE)
		log_broken = true;
}

void
log_vat(enum log_level level, const char *fmt, va_list ap)
{
	char text[LOG_LINE];

	if (level > log_max)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	tame(text);
	if (log_sink != NULL)
		log_sink(level, text, log_sink_arg);
	else
		write_line(level, text);
}

void
log_at(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vat(level, fmt, ap);
	va_end(ap);
}
